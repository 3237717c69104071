/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operators that move elements of constants: of each element of the result it is computed where it
 * comes from, so that numbers and sizes move alike. */
#include "frontend/onnx/fold.h"
#include "frontend/onnx/shapes.h"

#include <string.h>

/* The elements of a result: `from[i]` is the place of element i in x; -1: it is 0. */
static MwOnnxTensor *take(MwOnnxImport *import, const MwOnnxTensor *x, MwOnnxTensor *result,
                          const int64_t *from)
{
    const size_t bytes = (size_t)mw_type_bytes(x->type);
    char *data = (char *)(uintptr_t)result->data;
    MwOnnxDim *dims = x->symbolic ? MW_NEW(import->arena, MwOnnxDim, result->count) : NULL;
    for (int64_t i = 0; i < result->count; i++) {
        if (from[i] < 0)
            continue;
        MW_ASSERT(from[i] < x->count);
        memcpy(data + (size_t)i * bytes, (const char *)x->data + (size_t)from[i] * bytes, bytes);
        if (dims)
            dims[i] = x->symbolic[from[i]];
    }
    result->symbolic = dims;
    return result;
}

/* An element of a result by its place along each dimension. */
typedef struct {
    const MwOnnxNode *node;
    const MwOnnxTensor *x, *ids;
    const MwOnnxRange *range;
    int axis;
    int64_t number;
} Move;

typedef int64_t (*PlaceOf)(const Move *move, const int64_t *at, const MwOnnxTensor *result);

static MwOnnxTensor *move_all(MwOnnxImport *import, const Move *move, int rank, const int64_t *dim,
                              PlaceOf place)
{
    MwOnnxTensor *result = mw_onnx_fold_new(import, move->x->type, rank, dim);
    if (!result)
        return NULL;
    int64_t at[MW_MAX_RANK] = {0};
    MwArena *scratch = mw_arena_new();
    int64_t *from = MW_NEW(scratch, int64_t, result->count);
    bool good = true;
    for (int64_t i = 0; i < result->count && good; i++) {
        from[i] = place(move, at, result);
        good = from[i] < move->x->count;
        for (int d = rank - 1; d >= 0 && ++at[d] == dim[d]; d--)
            at[d] = 0;
    }
    if (good)
        take(import, move->x, result, from);
    mw_arena_free(&scratch);
    return good ? result : NULL;
}

static int64_t stride_of(const MwOnnxTensor *x, int d)
{
    int64_t stride = 1;
    for (int i = d + 1; i < x->rank; i++)
        stride *= x->dim[i];
    return stride;
}

/* ---- Reshapes, which move nothing ---- */

static const MwOnnxTensor *reshaped(MwOnnxImport *import, const MwOnnxNode *node,
                                    const MwOnnxTensor *x)
{
    MwOnnxShape target;
    if (!mw_onnx_shape_target(import, node, &target))
        return NULL;
    MwOnnxTensor *result = mw_arena_dup(import->arena, x, sizeof *x);
    result->rank = target.rank;
    for (int i = 0; i < target.rank; i++) {
        if (!mw_onnx_dim_is_constant(&target.dim[i]))
            mw_onnx_fix(import, &target.dim[i]);
        result->dim[i] = target.dim[i].value;
    }
    int64_t count;
    return mw_onnx_count(result->rank, result->dim, &count) && count == x->count ? result : NULL;
}

/* ---- Each operator ---- */

static int64_t place_of_slice(const Move *move, const int64_t *at, const MwOnnxTensor *result)
{
    int64_t place = 0;
    for (int d = 0; d < result->rank; d++)
        place += (move->range[d].begin.value + at[d] * move->range[d].step) * stride_of(move->x, d);
    return place;
}

static const MwOnnxTensor *sliced(MwOnnxImport *import, const MwOnnxNode *node, Move *move)
{
    MwOnnxRange range[MW_MAX_RANK];
    int64_t dim[MW_MAX_RANK];
    if (!mw_onnx_shape_slice(import, node, range))
        return NULL;
    for (int d = 0; d < move->x->rank; d++) {
        if (!mw_onnx_dim_is_constant(&range[d].count) || !mw_onnx_dim_is_constant(&range[d].begin))
            return NULL;
        dim[d] = range[d].count.value;
    }
    move->range = range;
    return move_all(import, move, move->x->rank, dim, place_of_slice);
}

static int64_t place_of_transpose(const Move *move, const int64_t *at, const MwOnnxTensor *result)
{
    int64_t perm[MW_MAX_RANK], place = 0;
    const int count = mw_onnx_ints_of(move->node, "perm", perm, MW_MAX_RANK);
    for (int d = 0; d < result->rank; d++)
        place += at[d] * stride_of(move->x, count < 0 ? result->rank - 1 - d : (int)perm[d]);
    return place;
}

static const MwOnnxTensor *transposed(MwOnnxImport *import, const MwOnnxNode *node, Move *move)
{
    int64_t perm[MW_MAX_RANK], dim[MW_MAX_RANK];
    const int rank = move->x->rank, count = mw_onnx_ints_of(node, "perm", perm, MW_MAX_RANK);
    bool seen[MW_MAX_RANK] = {false};
    if (count >= 0 && count != rank)
        return NULL;
    for (int d = 0; d < rank; d++) {
        const int64_t from = count < 0 ? rank - 1 - d : perm[d];
        if (from < 0 || from >= rank || seen[from])
            return NULL;
        seen[from] = true;
        dim[d] = move->x->dim[from];
    }
    return move_all(import, move, rank, dim, place_of_transpose);
}

static int64_t place_of_gather(const Move *move, const int64_t *at, const MwOnnxTensor *result)
{
    const MwOnnxTensor *x = move->x, *ids = move->ids;
    int64_t which = 0, place = 0;
    for (int d = 0; d < ids->rank; d++)
        which = which * ids->dim[d] + at[move->axis + d];
    int64_t id = mw_onnx_integer(ids, which);
    id += id < 0 ? x->dim[move->axis] : 0;
    if (id < 0 || id >= x->dim[move->axis])
        return x->count; /* which is no place */
    for (int d = 0; d < x->rank; d++)
        place += (d < move->axis    ? at[d]
                  : d == move->axis ? id
                                    : at[d - 1 + ids->rank]) *
                 stride_of(x, d);
    (void)result;
    return place;
}

static const MwOnnxTensor *gathered(MwOnnxImport *import, const MwOnnxNode *node, Move *move)
{
    const MwOnnxTensor *x = move->x, *ids = mw_onnx_input(node, 1)->constant;
    int64_t dim[2 * MW_MAX_RANK];
    if (x->rank == 0 || ids->symbolic || !mw_type_is_index(ids->type) ||
        !mw_onnx_shape_axis(import, node, mw_onnx_int_of(node, "axis", 0), x->rank, &move->axis))
        return NULL;
    int rank = 0;
    for (int d = 0; d < x->rank; d++) {
        if (d != move->axis)
            dim[rank++] = x->dim[d];
        for (int i = 0; d == move->axis && i < ids->rank; i++)
            dim[rank++] = ids->dim[i];
    }
    move->ids = ids;
    return move_all(import, move, rank, dim, place_of_gather);
}

/* Rows of indices, each of as many leading dimensions. */
static int64_t place_of_gather_nd(const Move *move, const int64_t *at, const MwOnnxTensor *result)
{
    const MwOnnxTensor *x = move->x, *ids = move->ids;
    const int depth = (int)ids->dim[ids->rank - 1];
    int64_t row = 0, place = 0;
    for (int d = 0; d < ids->rank - 1; d++)
        row = row * ids->dim[d] + at[d];
    for (int d = 0; d < depth; d++) {
        int64_t id = mw_onnx_integer(ids, row * depth + d);
        id += id < 0 ? x->dim[d] : 0;
        if (id < 0 || id >= x->dim[d])
            return x->count;
        place += id * stride_of(x, d);
    }
    for (int d = depth; d < x->rank; d++)
        place += at[ids->rank - 1 + d - depth] * stride_of(x, d);
    (void)result;
    return place;
}

static const MwOnnxTensor *gathered_nd(MwOnnxImport *import, const MwOnnxNode *node, Move *move)
{
    const MwOnnxTensor *x = move->x, *ids = mw_onnx_input(node, 1)->constant;
    int64_t dim[2 * MW_MAX_RANK];
    if (ids->rank == 0 || ids->symbolic || !mw_type_is_index(ids->type) ||
        ids->dim[ids->rank - 1] < 1 || ids->dim[ids->rank - 1] > x->rank ||
        mw_onnx_int_of(node, "batch_dims", 0) != 0)
        return NULL;
    int rank = 0;
    for (int d = 0; d < ids->rank - 1; d++)
        dim[rank++] = ids->dim[d];
    for (int d = (int)ids->dim[ids->rank - 1]; d < x->rank; d++)
        dim[rank++] = x->dim[d];
    move->ids = ids;
    return move_all(import, move, rank, dim, place_of_gather_nd);
}

/* Along one axis each element has an index of its own. */
static int64_t place_of_element(const Move *move, const int64_t *at, const MwOnnxTensor *result)
{
    const MwOnnxTensor *x = move->x, *ids = move->ids;
    int64_t which = 0, place = 0;
    for (int d = 0; d < ids->rank; d++)
        which = which * ids->dim[d] + at[d];
    int64_t id = mw_onnx_integer(ids, which);
    id += id < 0 ? x->dim[move->axis] : 0;
    if (id < 0 || id >= x->dim[move->axis])
        return x->count;
    for (int d = 0; d < x->rank; d++)
        place += (d == move->axis ? id : at[d]) * stride_of(x, d);
    (void)result;
    return place;
}

static const MwOnnxTensor *gathered_elements(MwOnnxImport *import, const MwOnnxNode *node,
                                             Move *move)
{
    const MwOnnxTensor *x = move->x, *ids = mw_onnx_input(node, 1)->constant;
    if (ids->rank != x->rank || x->rank == 0 || ids->symbolic || !mw_type_is_index(ids->type) ||
        !mw_onnx_shape_axis(import, node, mw_onnx_int_of(node, "axis", 0), x->rank, &move->axis))
        return NULL;
    for (int d = 0; d < x->rank; d++)
        if (d != move->axis && ids->dim[d] > x->dim[d])
            return NULL;
    move->ids = ids;
    return move_all(import, move, ids->rank, ids->dim, place_of_element);
}

/* Of a tensor that is broadcast to the result, or repeated in it. */
static int64_t place_of_repeat(const Move *move, const int64_t *at, const MwOnnxTensor *result)
{
    const int ahead = result->rank - move->x->rank;
    int64_t place = 0;
    for (int d = 0; d < move->x->rank; d++)
        place += at[d + ahead] % move->x->dim[d] * stride_of(move->x, d);
    return place;
}

static const MwOnnxTensor *expanded(MwOnnxImport *import, const MwOnnxNode *node, Move *move)
{
    MwOnnxShape shape = {.type = move->x->type}, from = mw_onnx_input(node, 0)->shape, result;
    int64_t dim[MW_MAX_RANK];
    shape.rank = mw_onnx_constant_dims(mw_onnx_input(node, 1), shape.dim, MW_MAX_RANK);
    if (shape.rank < 0 || !mw_onnx_shape_broadcast(import, node, &from, &shape, &result))
        return NULL;
    for (int d = 0; d < result.rank; d++) {
        if (!mw_onnx_dim_is_constant(&result.dim[d]) || result.dim[d].value < 1)
            return NULL;
        dim[d] = result.dim[d].value;
    }
    return move_all(import, move, result.rank, dim, place_of_repeat);
}

static const MwOnnxTensor *tiled(MwOnnxImport *import, const MwOnnxNode *node, Move *move)
{
    int64_t counts[MW_MAX_RANK], dim[MW_MAX_RANK];
    const int rank = move->x->rank;
    if (mw_onnx_constant_ints(import, mw_onnx_input(node, 1), counts, MW_MAX_RANK) != rank)
        return NULL;
    for (int d = 0; d < rank; d++)
        if (counts[d] < 0 || __builtin_mul_overflow(move->x->dim[d], counts[d], &dim[d]))
            return NULL;
    return move_all(import, move, rank, dim, place_of_repeat);
}

/* The elements on or below, or above, a diagonal. */
static int64_t place_of_triangle(const Move *move, const int64_t *at, const MwOnnxTensor *result)
{
    const int rank = result->rank;
    const int64_t column = at[rank - 1], row = at[rank - 2];
    const bool upper = mw_onnx_int_of(move->node, "upper", 1) != 0;
    const bool in = upper ? column - row >= move->number : column - row <= move->number;
    int64_t place = 0;
    for (int d = 0; d < rank; d++)
        place += at[d] * stride_of(move->x, d);
    return in ? place : -1;
}

static const MwOnnxTensor *triangle(MwOnnxImport *import, const MwOnnxNode *node, Move *move)
{
    int64_t number = 0;
    if (mw_onnx_input(node, 1) &&
        mw_onnx_constant_ints(import, mw_onnx_input(node, 1), &number, 1) != 1)
        return NULL;
    move->number = number;
    return move->x->rank < 2 || move->x->symbolic
               ? NULL
               : move_all(import, move, move->x->rank, move->x->dim, place_of_triangle);
}

const MwOnnxTensor *mw_onnx_fold_move(MwOnnxImport *import, const MwOnnxNode *node)
{
    static const struct {
        const char *op;
        const MwOnnxTensor *(*fold)(MwOnnxImport *, const MwOnnxNode *, Move *);
        int operands;
    } moves[] = {
        {"Slice", sliced, 3},
        {"Transpose", transposed, 1},
        {"Gather", gathered, 2},
        {"GatherND", gathered_nd, 2},
        {"GatherElements", gathered_elements, 2},
        {"Expand", expanded, 2},
        {"Tile", tiled, 2},
        {"Trilu", triangle, 1},
    };
    for (int i = 0; i < (int)mw_max(1, node->input_count) && i < 2; i++)
        if (!mw_onnx_input(node, i) && i == 0)
            return NULL;
    Move move = {.node = node, .x = mw_onnx_input(node, 0)->constant};
    for (int row = 0; row < MW_COUNT(moves); row++)
        if (strcmp(moves[row].op, node->op) == 0) {
            for (int i = 0; i < moves[row].operands; i++)
                if (!mw_onnx_input(node, i))
                    return NULL;
            return moves[row].fold(import, node, &move);
        }
    return reshaped(import, node, move.x);
}

const MwOnnxTensor *mw_onnx_fold_concat(MwOnnxImport *import, const MwOnnxNode *node)
{
    const MwOnnxTensor *first = mw_onnx_input(node, 0) ? node->inputs[0]->constant : NULL;
    int axis;
    if (!first || first->rank == 0 ||
        !mw_onnx_shape_axis(import, node, mw_onnx_int_of(node, "axis", 0), first->rank, &axis))
        return NULL;
    int64_t dim[MW_MAX_RANK] = {0};
    bool symbolic = false;
    for (int i = 0; i < node->input_count; i++) {
        const MwOnnxTensor *x = node->inputs[i] ? node->inputs[i]->constant : NULL;
        if (!x || x->rank != first->rank || x->type != first->type)
            return NULL;
        for (int d = 0; d < x->rank; d++)
            if (d != axis && x->dim[d] != first->dim[d])
                return NULL;
        symbolic |= x->symbolic != NULL;
        dim[axis] += x->dim[axis];
    }
    for (int d = 0; d < first->rank; d++)
        dim[d] = d == axis ? dim[axis] : first->dim[d];
    MwOnnxTensor *result = mw_onnx_fold_new(import, first->type, first->rank, dim);
    if (!result)
        return NULL;
    MwOnnxDim *dims = symbolic ? MW_NEW(import->arena, MwOnnxDim, result->count) : NULL;
    const size_t bytes = (size_t)mw_type_bytes(first->type);
    const int64_t inner = stride_of(first, axis);
    const int64_t outer = result->count ? result->count / (dim[axis] * inner) : 0;
    int64_t to = 0;
    for (int64_t o = 0; o < outer; o++)
        for (int i = 0; i < node->input_count; i++) {
            const MwOnnxTensor *x = node->inputs[i]->constant;
            const int64_t run = x->dim[axis] * inner;
            memcpy((char *)(uintptr_t)result->data + (size_t)to * bytes,
                   (const char *)x->data + (size_t)(o * run) * bytes, (size_t)run * bytes);
            for (int64_t k = 0; dims && k < run; k++)
                dims[to + k] = x->symbolic ? x->symbolic[o * run + k]
                                           : mw_onnx_dim(mw_onnx_integer(x, o * run + k));
            to += run;
        }
    result->symbolic = dims;
    return result;
}

/* ConstantOfShape; what depends on symbols stays a computation. */
const MwOnnxTensor *mw_onnx_fold_fill(MwOnnxImport *import, const MwOnnxNode *node)
{
    MwOnnxDim dims[MW_MAX_RANK];
    int64_t dim[MW_MAX_RANK];
    const int rank = mw_onnx_constant_dims(mw_onnx_input(node, 0), dims, MW_MAX_RANK);
    for (int d = 0; d < rank; d++) {
        if (!mw_onnx_dim_is_constant(&dims[d]))
            return NULL;
        dim[d] = dims[d].value;
    }
    const MwOnnx__AttributeProto *attribute = mw_onnx_attribute(node, "value");
    const MwOnnxTensor *value = NULL;
    if (attribute && attribute->t)
        value = mw_onnx_tensor_read(import->arena, attribute->t, import->graph->path, node->label,
                                    import->diags);
    if (rank < 0 || (attribute && (!value || value->count != 1)))
        return NULL;
    MwOnnxTensor *result = mw_onnx_fold_new(import, value ? value->type : MW_F32, rank, dim);
    const size_t bytes = value ? (size_t)mw_type_bytes(value->type) : 0;
    for (int64_t i = 0; result && value && i < result->count; i++)
        memcpy((char *)(uintptr_t)result->data + (size_t)i * bytes, value->data, bytes);
    return result;
}
