/* SPDX-License-Identifier: MIT */
#include "runtime/weights/weight_map.h"

#include "base/text.h"
#include "runtime/weights/weight_map_parse.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- Names ---- */

/* What the stars of a pattern stand for. */
typedef struct {
    const char *at[MW_MAP_MOST_STARS];
    size_t length[MW_MAP_MOST_STARS];
    int count;
} Stars;

static bool matches(const char *pattern, const char *name, Stars *stars)
{
    while (*pattern && *pattern != '*') {
        if (*pattern++ != *name++)
            return false;
    }
    if (!*pattern)
        return !*name;
    const int star = stars->count++;
    for (size_t length = strcspn(name, "."); star < MW_MAP_MOST_STARS; length--) {
        stars->at[star] = name;
        stars->length[star] = length;
        if (matches(pattern + 1, name + length, stars))
            return true;
        if (length == 0)
            break;
    }
    stars->count = star;
    return false;
}

/* The name that a pattern makes: with what its stars stand for, and the number of {AXIS}. */
static const char *fill_in(MwArena *arena, const char *pattern, const Stars *stars, int64_t number)
{
    MwText text = {.arena = arena};
    int star = 0;
    mw_text_add(&text, "");
    for (const char *c = pattern; *c; c++) {
        if (*c == '*' && star < stars->count) {
            mw_text_add_n(&text, stars->at[star], stars->length[star]);
            star++;
        } else if (*c == '{' && strchr(c, '}')) {
            mw_text_printf(&text, "%" PRId64, number);
            c = strchr(c, '}');
        } else {
            mw_text_add_n(&text, c, 1);
        }
    }
    return text.at;
}

bool mw_weight_map_skips(const MwWeightMap *map, const char *name)
{
    for (int i = 0; i < map->skipped.count; i++) {
        const char *pattern = map->skipped.at[i];
        const size_t prefix = strlen(map->prefix);
        Stars stars = {0}, others = {0};
        if (matches(pattern, name, &stars) || (strncmp(pattern, map->prefix, prefix) == 0 &&
                                               matches(pattern + prefix, name, &others)))
            return true;
    }
    return false;
}

/* ---- Sizes of axes ---- */

/* One side of the axes of a part, and the dimensions that they are of. */
typedef struct {
    const MwMapAxis *axes;
    int count, dims;
    const int64_t *dim; /* NULL: not known */
} Side;

/* What is resolved: a part of a rule, for a weight. */
typedef struct {
    const MwWeightMap *map;
    const MwMapRule *rule;
    const MwMapPart *part;
    const char *weight;
    int64_t size[MW_STORED_VIEW_MOST_AXES]; /* of part->from; 0: not known */
    MwFault *fault;
} Sizes;

static bool cannot(const Sizes *sizes, const char *what)
{
    return mw_fault_set(sizes->fault, "%s:%d: weight %.100s: %s", sizes->map->name,
                        sizes->rule->line, sizes->weight, what);
}

/* The index in part->from of an axis of either side; -1: it is a number. */
static int axis_index(const MwMapPart *part, const MwMapAxis *axis)
{
    for (int i = 0; axis->name && i < part->from_count; i++)
        if (part->from[i].name && strcmp(part->from[i].name, axis->name) == 0)
            return i;
    return -1;
}

/* The product; of sizes that are too large for any tensor the largest number. */
static int64_t times(int64_t a, int64_t b)
{
    int64_t c;
    return __builtin_mul_overflow(a, b, &c) ? INT64_MAX : c;
}

/* Sets the size of the only axis of a dimension whose size is not known. */
static void solve_dim(Sizes *sizes, const Side *side, int dim)
{
    int64_t known = 1;
    int unknown = -1;
    for (int i = 0; i < side->count; i++) {
        const int axis = axis_index(sizes->part, &side->axes[i]);
        if (side->axes[i].dim != dim || axis < 0)
            continue;
        if (sizes->size[axis] == 0 && unknown >= 0)
            return;
        if (sizes->size[axis] == 0)
            unknown = axis;
        else
            known = times(known, sizes->size[axis]);
    }
    if (unknown >= 0 && side->dim[dim] % known == 0)
        sizes->size[unknown] = side->dim[dim] / known;
}

static int64_t product(const Sizes *sizes, const Side *side, int dim)
{
    int64_t elements = 1;
    for (int i = 0; i < side->count; i++) {
        const int axis = axis_index(sizes->part, &side->axes[i]);
        if (side->axes[i].dim == dim && axis >= 0)
            elements = times(elements, sizes->size[axis]);
    }
    return elements;
}

static void take_given(Sizes *sizes, const Side *side)
{
    for (int i = 0; i < side->count; i++)
        if (side->axes[i].size)
            sizes->size[axis_index(sizes->part, &side->axes[i])] = side->axes[i].size;
}

/* Finds the sizes of all axes; a fault if some cannot be told, or do not fit the weight. */
static bool solve_sizes(Sizes *sizes, const Side *from, const Side *to)
{
    take_given(sizes, from);
    take_given(sizes, to);
    for (int round = 0; round < MW_STORED_VIEW_MOST_AXES; round++) {
        for (int d = 0; d < from->dims; d++)
            solve_dim(sizes, from, d);
        for (int d = 0; to->dim && d < to->dims; d++)
            solve_dim(sizes, to, d);
    }
    for (int i = 0; i < from->count; i++)
        if (from->axes[i].name && sizes->size[i] == 0)
            return cannot(sizes, "the size of an axis is not known; give it, as in [(p=16 q) -> p "
                                 "q], or files to be like");
    for (int d = 0; d < from->dims; d++) {
        bool is_number = false;
        for (int i = 0; i < from->count; i++)
            is_number |= from->axes[i].dim == d && !from->axes[i].name;
        if (!is_number && product(sizes, from, d) != from->dim[d])
            return cannot(sizes, "the sizes of its axes are not those of its dimensions");
    }
    return true;
}

/* ---- Parts ---- */

/* A part as a tensor by itself: its dimensions, and which elements of the weight they are. */
typedef struct {
    int rank;
    int64_t dim[MW_MAX_RANK];
    Sizes sizes;
} Block;

static bool whole_block(const MwTensor *shape, Block *block)
{
    block->rank = shape->rank;
    memcpy(block->dim, shape->dim, sizeof block->dim);
    return true;
}

/* `stored` is the tensor of the file, or NULL: its dimensions help to tell sizes, but for the one
 * along which there are other parts. */
static bool make_block(Block *block, const MwTensor *shape, const MwSafetensor *stored)
{
    Sizes *sizes = &block->sizes;
    const MwMapPart *part = sizes->part;
    if (!part->has_axes)
        return whole_block(shape, block);
    const bool helps = stored && stored->rank == part->to_dims && sizes->rule->part_count == 1;
    const Side from = {part->from, part->from_count, part->from_dims, shape->dim};
    const Side to = {part->to, part->to_count, part->to_dims, helps ? stored->dim : NULL};
    if (part->from_dims != shape->rank)
        return cannot(sizes, "it has not as many dimensions as the map says");
    for (int i = 0; i < part->from_count; i++)
        if (!part->from[i].name && part->from[i].number >= shape->dim[part->from[i].dim])
            return cannot(sizes, "it has no such index as the map says");
    if (!solve_sizes(sizes, &from, &to))
        return false;
    block->rank = part->to_dims;
    for (int d = 0; d < part->to_dims; d++)
        block->dim[d] = product(sizes, &to, d);
    return true;
}

/* The distance in the tensor between elements that are neighbours along an axis of the weight. */
static int64_t stride_of(const Block *block, const MwMapAxis *axis, const int64_t *strides)
{
    const MwMapPart *part = block->sizes.part;
    int64_t inner = 1;
    for (int i = part->to_count - 1; i >= 0; i--) {
        const int at = axis_index(part, &part->to[i]);
        if (at < 0)
            continue;
        if (strcmp(part->to[i].name, axis->name) == 0)
            return strides[part->to[i].dim] * inner;
        inner = i > 0 && part->to[i - 1].dim == part->to[i].dim ? inner * block->sizes.size[at] : 1;
    }
    return 0; /* the axis stands in the name */
}

/* The view of the weight in a tensor with these strides, in which the block begins at `base`. */
static MwStoredView view_of(const Block *block, const MwTensor *shape, const int64_t *strides,
                            int64_t base, int64_t number)
{
    const MwMapPart *part = block->sizes.part;
    MwStoredView view = {.stored = -1, .base = base};
    view.axes = part->has_axes ? part->from_count : mw_max(shape->rank, 1);
    for (int a = 0; a < view.axes; a++) {
        if (!part->has_axes) {
            view.size[a] = view.end[a] = shape->rank ? shape->dim[a] : 1;
            view.stride[a] = shape->rank ? strides[a] : 1;
            continue;
        }
        const MwMapAxis *axis = &part->from[a];
        const bool is_number = !axis->name;
        view.size[a] = is_number ? shape->dim[axis->dim] : block->sizes.size[a];
        view.stride[a] = is_number ? 0 : stride_of(block, axis, strides);
        const bool is_index = is_number || view.stride[a] == 0;
        view.begin[a] = is_number ? axis->number : (is_index ? number : 0);
        view.end[a] = is_index ? view.begin[a] + 1 : view.size[a];
    }
    return view;
}

/* ---- Rules ---- */

/* A rule for a weight, which is that of its part `own`. */
typedef struct {
    MwArena *arena;
    const MwWeightMap *map;
    const MwMapRule *rule;
    int own;
    Stars stars;
    const char *weight;
    const MwWeightShapes *shapes;
    MwFault *fault;
} Match;

/* Makes the block of each part. */
static bool make_blocks(const Match *match, const MwSafetensor *stored, Block *blocks)
{
    for (int p = 0; p < match->rule->part_count; p++) {
        const MwMapPart *part = &match->rule->parts[p];
        const char *name = fill_in(match->arena, part->weight, &match->stars, 0);
        const MwTensor *shape = match->shapes->shape(match->shapes->context, name);
        blocks[p] = (Block){.sizes = {match->map, match->rule, part, name, {0}, match->fault}};
        if (!shape)
            return cannot(&blocks[p].sizes, "the model has no such weight");
        if (!make_block(&blocks[p], shape, stored))
            return false;
    }
    return true;
}

/* Puts the blocks one after another. Sets where the own one begins along the dimension. */
static bool join_blocks(const Match *match, const Block *blocks, MwMappedTensor *tensor,
                        int64_t *begin)
{
    const int along = match->rule->along;
    tensor->rank = blocks[0].rank;
    memcpy(tensor->dim, blocks[0].dim, sizeof tensor->dim);
    *begin = 0;
    for (int p = 1; p < match->rule->part_count; p++) {
        bool fits = blocks[p].rank == tensor->rank && along < tensor->rank;
        for (int d = 0; fits && d < tensor->rank; d++)
            fits = d == along || blocks[p].dim[d] == tensor->dim[d];
        if (!fits)
            return cannot(&blocks[p].sizes, "its shape does not fit beside that of the first part");
        if (p == match->own)
            *begin = tensor->dim[along];
        tensor->dim[along] += blocks[p].dim[along];
    }
    return true;
}

/* The tensor of the rule, at one number of the axis that stands in its name. */
static bool make_tensor(const Match *match, const MwSafetensor *stored, int64_t number,
                        MwMappedTensor *tensor)
{
    Block *blocks = MW_NEW(match->arena, Block, match->rule->part_count);
    int64_t strides[MW_MAX_RANK], begin, elements = 1;
    if (!make_blocks(match, stored, blocks) || !join_blocks(match, blocks, tensor, &begin))
        return false;
    for (int d = tensor->rank - 1; d >= 0; d--) {
        strides[d] = elements;
        elements *= tensor->dim[d];
    }
    const MwTensor *shape = match->shapes->shape(match->shapes->context, match->weight);
    const int64_t base = tensor->rank ? begin * strides[match->rule->along] : 0;
    tensor->view = view_of(&blocks[match->own], shape, strides, base, number);
    return true;
}

/* The index of a tensor, with the prefix of the map or without; -1: it is not there. */
static int find_stored(const MwWeightMap *map, MwStore *store, const char *name)
{
    const size_t prefix = strlen(map->prefix);
    const int index = mw_store_find(store, name);
    return index < 0 && prefix && strncmp(name, map->prefix, prefix) == 0
               ? mw_store_find(store, name + prefix)
               : index;
}

/* The dimension of the weight whose index stands in the name of the tensor; -1: none does. */
static int name_dim(const MwMapRule *rule, const MwMapPart *part)
{
    for (int i = 0; i < part->from_count; i++) {
        const MwMapAxis *axis = &part->from[i];
        bool is_used = !axis->name;
        for (int k = 0; k < part->to_count && !is_used; k++)
            is_used = part->to[k].name && strcmp(part->to[k].name, axis->name) == 0;
        if (!is_used && strchr(rule->tensor, '{'))
            return axis->dim;
    }
    return -1;
}

typedef MW_VEC(MwMappedTensor) MappedTensors;

static bool add_tensors(const Match *match, MwStore *store, MappedTensors *tensors)
{
    const MwTensor *shape = match->shapes->shape(match->shapes->context, match->weight);
    const int dim = name_dim(match->rule, &match->rule->parts[match->own]);
    const int64_t numbers = dim >= 0 && dim < shape->rank ? shape->dim[dim] : 1;
    for (int64_t number = 0; number < numbers; number++) {
        MwMappedTensor tensor = {
            .name = fill_in(match->arena, match->rule->tensor, &match->stars, number),
            .line = match->rule->line};
        const int stored = store ? find_stored(match->map, store, tensor.name) : -1;
        const MwSafetensor *found = NULL;
        if (store && stored < 0)
            continue;
        if (store && !(found = mw_store_tensor(store, stored, match->fault)))
            return false;
        if (!make_tensor(match, found, number, &tensor))
            return false;
        tensor.name = found ? found->name : tensor.name;
        tensor.view.stored = stored;
        mw_vec_push(match->arena, tensors, tensor);
    }
    return true;
}

int mw_weight_map_tensors(const MwWeightMap *map, MwArena *arena, const char *weight,
                          const MwWeightShapes *shapes, MwStore *store, MwMappedTensor **tensors,
                          MwFault *fault)
{
    MappedTensors list = {0};
    for (int r = 0; r < map->rules.count; r++) {
        const MwMapRule *rule = &map->rules.at[r];
        for (int p = 0; p < rule->part_count; p++) {
            Match match = {arena, map, rule, p, {.count = 0}, weight, shapes, fault};
            if (matches(rule->parts[p].weight, weight, &match.stars) &&
                !add_tensors(&match, store, &list))
                return -1;
        }
    }
    *tensors = list.at;
    return list.count;
}
