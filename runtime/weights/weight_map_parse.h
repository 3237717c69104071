/* SPDX-License-Identifier: MIT */
/* A map of names: which tensors of files the weights of a model are, in both directions. A line of
 * a .map file says what a tensor of the files is of the model's weights:
 *
 *     prefix model.
 *     skip model.*.rotary.bias
 *     model.*.ln_1.weight = layers.*.norm.scale
 *     model.*.c_attn.weight = layers.*.attention.wqkv [w t h d -> w (t h d)]
 *     model.*.query.weight = layers.*.attention.wqkv [w 0 h d -> (h d) w]
 *     model.*.qkv.weight = concat(0, layers.*.attention.wq [w h d -> (h d) w], ...)
 *     model.*.experts.{e}.w1 = layers.*.gate [e w h -> h w]
 *
 * A name in files may lack the prefix. `*` is any text without a dot, the same on both sides, in
 * order. Axes between brackets name the dimensions of the weight, and then those of the tensor: in
 * another order, joined in parentheses, split, of the size 1 where it says 1, or at one index,
 * which is a number or stands in the name as {e}. `p=16` gives the size of an axis that nothing
 * else tells. docs/running.md is the reference.
 *
 * Where several lines give a weight, the first whose tensor is there counts. */
#ifndef MW_RUNTIME_WEIGHTS_WEIGHT_MAP_PARSE_H
#define MW_RUNTIME_WEIGHTS_WEIGHT_MAP_PARSE_H

#include "base/vec.h"
#include "runtime/weights/stored_view.h"

enum { MW_MAP_MOST_STARS = 8 }; /* in a pattern */

/* An axis between brackets. */
typedef struct {
    const char *name; /* NULL: a number */
    int64_t number;   /* the index, or the size 1 of a dimension that the weight has not */
    int64_t size;     /* given by =; 0: not given */
    int dim;          /* of the weight, or of the tensor; those of one dimension are joined */
} MwMapAxis;

typedef struct {
    const char *weight; /* pattern */
    bool has_axes;      /* false: the tensor has the dimensions of the weight */
    MwMapAxis from[MW_STORED_VIEW_MOST_AXES], to[MW_STORED_VIEW_MOST_AXES];
    int from_count, to_count, from_dims, to_dims;
} MwMapPart;

/* One line: a tensor, and the weights that it consists of, one after another along a dimension. */
typedef struct {
    int line;
    const char *tensor; /* pattern */
    int along;
    MwMapPart *parts;
    int part_count;
} MwMapRule;

typedef MW_VEC(MwMapRule) MwMapRules;
typedef MW_VEC(const char *) MwMapPatterns;

typedef struct {
    const char *name;   /* for messages */
    const char *prefix; /* "" if there is none */
    MwMapPatterns skipped;
    MwMapRules rules;
} MwWeightMap;

/* The map in the file `name`, or the built-in one of that name. NULL after a fault. */
MwWeightMap *mw_weight_map_open(MwArena *arena, const char *name, MwFault *fault);
/* A map in memory; `name` is for messages. */
MwWeightMap *mw_weight_map_parse(MwArena *arena, const char *name, const char *text,
                                 MwFault *fault);
/* The names of the built-in maps: "hf-bert, hf-gpt2, ..." */
const char *mw_weight_map_names(void);

#endif
