/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sizes of a graph: which dimensions of its values are one size, and what each is padded to.
 *
 * Dimensions that run over one factor of a node (ir/sharding/) are padded alike, so they are one
 * size; the value that a weight or state is assigned has the sizes of that. Every dimension of a
 * size consists of as many blocks, of one length in each; padding adds blocks at its end. So a
 * dimension of heads and one of heads merged with their widths are one size, whose blocks are
 * heads. A size of one block cannot be padded. That is so where a factor is fixed or a dimension
 * runs over none, since a node needs all of it as it is, and where a sum over it is of more than
 * its operands say (the column `padding` of ir/ops.def). */
#ifndef MW_PASSES_GRAPH_PAD_SIZES_H
#define MW_PASSES_GRAPH_PAD_SIZES_H

#include "ir/sharding/sharding.h"

typedef struct {
    int64_t blocks;
    int64_t padded;  /* blocks with padding; `blocks`: there is none */
    bool is_divided; /* it is the rows of a table, or the batch */
    /* of the contractions, convolutions and attention that run over it, once for each dimension in
     * which they do */
    double flops;
    double alike_flops; /* of all sizes of as many blocks, as equal layers have each their own */
    bool has_companion; /* mw_pad_find_companions */
    MwNodeId barrier;   /* the first node that does not let it be padded; none: any lets it */
} MwPadSize;

typedef struct {
    const MwGraph *graph;
    int count;       /* of the dimensions of all values */
    int *first;      /* [values] number of its dimension 0 */
    int *parent;     /* [dimensions] union-find; a root is its own parent */
    MwPadSize *size; /* [dimensions] of roots */
    double flops;    /* of all contractions, convolutions and attention */
} MwPadSizes;

/* The sizes of `graph`, without padding. Memory grows with the dimensions of all values, time
 * almost so, but for sorting them. In `arena`. */
MwPadSizes mw_pad_sizes(MwArena *arena, const MwGraph *graph);

/* Sets has_companion of sizes that `devices` do not divide: whether there is another that they
 * divide, over which every contraction, convolution and attention runs that runs over the size, and
 * which is summed in none that does not sum the size. To split the companion then moves no more
 * than to split the size, and needs no padding: so it is with the places for tokens of an expert,
 * beside the groups of tokens. What is kept or taken (weights, states, inputs) must not have the
 * size, since it would be whole on each device. Time and memory grow with the nodes. */
void mw_pad_find_companions(MwPadSizes *sizes, int devices);

/* The size that dimension `d` of `value` is. */
MwPadSize *mw_pad_size(const MwPadSizes *sizes, MwValueId value, int d);
bool mw_pad_is_padded(const MwPadSizes *sizes, MwValueId value, int d);
/* Whether devices divide it among them where they can, and it is worth padding for that: companions
 * must be known. */
bool mw_pad_matters(const MwPadSizes *sizes, const MwPadSize *size);
/* The fraction by which it may grow where `most` is the limit: hardly, where it matters only
 * together with those of equal layers. So a model of many layers has no plans that are made once
 * more. */
double mw_pad_growth(const MwPadSizes *sizes, const MwPadSize *size, double most);
/* The type of `value` with padding. */
MwTensor mw_pad_tensor(const MwPadSizes *sizes, MwValueId value);

/* The operand of a node that must be zero in the padding of `factor` of its rule, so that sums over
 * it are those of its elements. Sets *all: all operands that run over it must be. -1: none must
 * be; MW_PAD_NEVER: that would not do. */
enum { MW_PAD_NEVER = -2 };
int mw_pad_addend(const MwGraph *graph, const MwNode *node, const MwShardingRule *rule, int factor,
                  bool *all);

/* What no element of a type is less than. Of integers of 64 bits it is no constant. */
double mw_pad_least(MwType type);

/* Whether a result of the node lacks `factor`, which then is combined there. */
bool mw_pad_is_combined(const MwGraph *graph, const MwNode *node, const MwShardingRule *rule,
                        int factor);
/* The dimension of operand `k` that runs over `factor`; -1: none. */
int mw_pad_operand_dim(const MwGraph *graph, const MwNode *node, const MwShardingRule *rule, int k,
                       int factor);

#endif
