/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operators that change shapes and move elements. */
#include "frontend/onnx/operators.h"
#include "frontend/onnx/regroup.h"
#include "frontend/onnx/shapes.h"

#include <string.h>

static const int8_t as_it_stands[MW_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};

static bool has_elements(MwOnnxImport *import, const MwOnnxNode *node, const MwOnnxShape *shape)
{
    for (int i = 0; i < shape->rank; i++)
        if (shape->dim[i].value < 1)
            return mw_onnx_refuse(import, node, "a tensor without elements");
    return true;
}

bool mw_onnx_reshape_to(MwOnnxImport *import, const MwOnnxNode *node)
{
    MwOnnxShape target;
    int8_t order[MW_MAX_RANK];
    if (!mw_onnx_shape_target(import, node, &target) || !has_elements(import, node, &target))
        return false;
    MwOnnxTerm *term = mw_onnx_reshape_value(import, node->inputs[0], &target, order);
    return mw_onnx_set(import, node, 0, &target, term, order);
}

bool mw_onnx_transpose(MwOnnxImport *import, const MwOnnxNode *node)
{
    MwOnnxValue *value = node->inputs[0];
    const int rank = value->shape.rank;
    int64_t perm[MW_MAX_RANK];
    const int count = mw_onnx_ints_of(node, "perm", perm, MW_MAX_RANK);
    bool seen[MW_MAX_RANK] = {false};
    if (count >= 0 && count != rank)
        return mw_onnx_refuse(import, node, "attribute perm");
    for (int i = 0; i < rank; i++) {
        perm[i] = count < 0 ? rank - 1 - i : perm[i];
        if (perm[i] < 0 || perm[i] >= rank || seen[perm[i]])
            return mw_onnx_refuse(import, node, "attribute perm");
        seen[perm[i]] = true;
    }
    MwOnnxTerm *term = mw_onnx_term_as_is(import, value);
    MwOnnxShape shape = value->shape;
    int8_t place[MW_MAX_RANK], order[MW_MAX_RANK];
    for (int i = 0; i < rank; i++) {
        shape.dim[i] = value->shape.dim[perm[i]];
        place[perm[i]] = (int8_t)i;
    }
    for (int i = 0; i < rank; i++)
        order[i] = place[value->order[i]];
    return mw_onnx_set(import, node, 0, &shape, term, order);
}

bool mw_onnx_expand(MwOnnxImport *import, const MwOnnxNode *node)
{
    MwOnnxValue *value = node->inputs[0];
    MwOnnxShape target = {.type = value->shape.type}, shape;
    target.rank = mw_onnx_constant_dims(mw_onnx_input(node, 1), target.dim, MW_MAX_RANK);
    if (target.rank < 0)
        return mw_onnx_refuse(import, node, "a shape that is computed from elements");
    if (!mw_onnx_shape_broadcast(import, node, &value->shape, &target, &shape) ||
        !has_elements(import, node, &shape))
        return false;
    shape.type = value->shape.type;
    double number;
    const char *dims = mw_onnx_dims_text(import, shape.rank, shape.dim);
    bool same = shape.rank == value->shape.rank;
    for (int i = 0; same && i < shape.rank; i++)
        same = mw_onnx_dim_equal(&shape.dim[i], &value->shape.dim[i]);
    if (same)
        return mw_onnx_set_same(import, node, 0, value);
    MwOnnxTerm *term;
    if (mw_onnx_constant_number(value, &number))
        term = mw_onnx_emit(import, &shape,
                            mw_onnx_text(import, "constant(%s, [%s], type = %s)",
                                         mw_onnx_number_text(import, shape.type, number), dims,
                                         mw_type_name(shape.type)),
                            NULL, 0);
    else
        term = mw_onnx_emit1(import, &shape, mw_onnx_text(import, "broadcast($0, [%s])", dims),
                             mw_onnx_term(import, value));
    return mw_onnx_set(import, node, 0, &shape, term, NULL);
}

bool mw_onnx_tile(MwOnnxImport *import, const MwOnnxNode *node)
{
    MwOnnxShape shape = node->inputs[0]->shape;
    MwOnnxDim counts[MW_MAX_RANK];
    if (mw_onnx_constant_dims(mw_onnx_input(node, 1), counts, MW_MAX_RANK) != shape.rank)
        return mw_onnx_refuse(import, node, "counts that are computed from elements");
    for (int i = 0; i < shape.rank; i++)
        if (!mw_onnx_dim_mul(&shape.dim[i], &counts[i], &shape.dim[i]))
            return mw_onnx_refuse(import, node, "a size that is too large");
    if (!has_elements(import, node, &shape))
        return false;
    const char *text =
        mw_onnx_text(import, "tile($0, [%s])", mw_onnx_dims_text(import, shape.rank, counts));
    return mw_onnx_set(import, node, 0, &shape,
                       mw_onnx_emit1(import, &shape, text, mw_onnx_term(import, node->inputs[0])),
                       NULL);
}

/* Where dimension `axis` of a value stands in a term of an order. */
static int place_of(const int8_t *order, int rank, int axis)
{
    for (int i = 0; i < rank; i++)
        if (order[i] == axis)
            return i;
    MW_UNREACHABLE();
}

/* ---- Concat and Split ---- */

static bool concat_shape(MwOnnxImport *import, const MwOnnxNode *node, int axis, MwOnnxShape *shape)
{
    *shape = node->inputs[0]->shape;
    for (int i = 1; i < node->input_count; i++) {
        const MwOnnxValue *value = node->inputs[i];
        if (!value || value->shape.rank != shape->rank || value->shape.type != shape->type)
            return mw_onnx_refuse(import, node, "operands of several types or ranks");
        for (int d = 0; d < shape->rank; d++)
            if (d == axis) {
                if (!mw_onnx_dim_add(&shape->dim[d], &value->shape.dim[d], &shape->dim[d]))
                    return mw_onnx_refuse(import, node, "a size that is too large");
            } else if (!mw_onnx_shape_same_dim(import, &shape->dim[d], &value->shape.dim[d])) {
                return mw_onnx_refuse(import, node, "operands of several shapes");
            }
    }
    return true;
}

bool mw_onnx_concat(MwOnnxImport *import, const MwOnnxNode *node)
{
    MwOnnxTerm *terms[MW_ONNX_MAX_OPERANDS];
    MwOnnxShape shape;
    int axis, count = 0;
    if (node->input_count > MW_ONNX_MAX_OPERANDS)
        return mw_onnx_refuse(import, node, "more than %d operands", MW_ONNX_MAX_OPERANDS);
    if (!mw_onnx_shape_axis(import, node, mw_onnx_int_of(node, "axis", 0),
                            node->inputs[0]->shape.rank, &axis) ||
        !concat_shape(import, node, axis, &shape))
        return false;
    int8_t order[MW_MAX_RANK];
    memcpy(order, as_it_stands, sizeof order);
    for (int i = node->input_count - 1; i >= 0; i--)
        if (!node->inputs[i]->constant)
            memcpy(order, node->inputs[i]->order, sizeof order);
    MwText text = {.arena = import->arena};
    mw_text_add(&text, "concat(");
    for (int i = 0; i < node->input_count; i++) {
        if (node->inputs[i]->shape.dim[axis].value == 0)
            continue; /* nothing to join */
        terms[count] = mw_onnx_term_in(import, node->inputs[i], order);
        mw_text_printf(&text, "$%d, ", count++);
    }
    mw_text_printf(&text, "axis = %d)", place_of(order, shape.rank, axis));
    MwOnnxShape placed = shape;
    for (int i = 0; i < shape.rank; i++)
        placed.dim[i] = shape.dim[order[i]];
    if (!has_elements(import, node, &shape))
        return false;
    return mw_onnx_set(import, node, 0, &shape,
                       count == 1 ? terms[0] : mw_onnx_emit(import, &placed, text.at, terms, count),
                       order);
}

/* The sizes of the parts: given, or as equal as the number of results makes them. */
static bool split_sizes(MwOnnxImport *import, const MwOnnxNode *node, const MwOnnxDim *whole,
                        MwOnnxDim *sizes)
{
    const int parts = node->output_count;
    const MwOnnxValue *given = mw_onnx_input(node, 1);
    if (given) {
        if (mw_onnx_constant_dims(given, sizes, MW_ONNX_MAX_OPERANDS) != parts)
            return mw_onnx_refuse(import, node, "sizes that are computed from elements");
        return true;
    }
    const int64_t count = mw_onnx_int_of(node, "num_outputs", parts);
    const MwOnnxDim divisor = mw_onnx_dim(parts);
    MwOnnxDim part;
    if (count != parts)
        return mw_onnx_refuse(import, node, "attribute num_outputs");
    if (!mw_onnx_dim_div(whole, &divisor, &part)) {
        mw_onnx_fix(import, whole);
        part = mw_onnx_dim(mw_ceil_div(whole->value, parts));
    }
    MwOnnxDim left = *whole;
    for (int i = 0; i < parts; i++) {
        sizes[i] = i + 1 < parts ? part : left;
        if (!mw_onnx_dim_sub(&left, &part, &left) && i + 1 < parts)
            return mw_onnx_refuse(import, node, "sizes of parts");
    }
    return true;
}

bool mw_onnx_split(MwOnnxImport *import, const MwOnnxNode *node)
{
    MwOnnxValue *value = node->inputs[0];
    MwOnnxDim sizes[MW_ONNX_MAX_OPERANDS];
    int axis;
    const int parts = node->output_count, rank = value->shape.rank;
    if (parts < 1 || parts > MW_ONNX_MAX_OPERANDS)
        return mw_onnx_refuse(import, node, "more than %d results", MW_ONNX_MAX_OPERANDS);
    if (!mw_onnx_shape_axis(import, node, mw_onnx_int_of(node, "axis", 0), rank, &axis) ||
        !split_sizes(import, node, &value->shape.dim[axis], sizes))
        return false;
    MwOnnxTerm *term = mw_onnx_term_as_is(import, value);
    MwOnnxTerm *whole = mw_onnx_emit1(import, &term->shape,
                                      mw_onnx_text(import, "split($0, [%s], axis = %d)",
                                                   mw_onnx_dims_text(import, parts, sizes),
                                                   place_of(value->order, rank, axis)),
                                      term);
    whole->parts = parts;
    MwOnnxDim sum = mw_onnx_dim(0);
    for (int i = 0; i < parts; i++) {
        MwOnnxShape shape = value->shape, placed = term->shape;
        shape.dim[axis] = placed.dim[place_of(value->order, rank, axis)] = sizes[i];
        if (!has_elements(import, node, &shape) || !mw_onnx_dim_add(&sum, &sizes[i], &sum))
            return false;
        mw_onnx_set(import, node, i, &shape,
                    parts == 1 ? term : mw_onnx_emit_part(import, &placed, whole, i), value->order);
    }
    return mw_onnx_shape_same_dim(import, &sum, &value->shape.dim[axis]) ||
           mw_onnx_refuse(import, node, "parts that are not the whole");
}

/* ---- Parts ---- */

bool mw_onnx_slice(MwOnnxImport *import, const MwOnnxNode *node)
{
    MwOnnxValue *value = node->inputs[0];
    MwOnnxRange range[MW_MAX_RANK];
    if (!mw_onnx_shape_slice(import, node, range))
        return false;
    MwOnnxTerm *term = mw_onnx_term_as_is(import, value);
    MwOnnxShape shape = value->shape;
    for (int d = 0; d < shape.rank; d++) {
        MwOnnxRange *part = &range[d];
        if (part->step == 1 && mw_onnx_dim_equal(&part->count, &shape.dim[d]))
            continue;
        const int place = place_of(value->order, shape.rank, d);
        int64_t step = part->step;
        MwOnnxShape placed = term->shape;
        if (step < 0) { /* the elements in opposite order, from the end */
            term =
                mw_onnx_emit1(import, &placed, mw_onnx_text(import, "flip($0, %d)", place), term);
            part->begin = mw_onnx_dim(shape.dim[d].value - 1 - part->begin.value);
            step = -step;
        }
        MwOnnxDim end, length = part->count;
        if (step != 1)
            length = mw_onnx_dim((part->count.value - 1) * step + 1);
        shape.dim[d] = placed.dim[place] = part->count;
        if (!has_elements(import, node, &shape) || !mw_onnx_dim_add(&part->begin, &length, &end))
            return false;
        MwText text = {.arena = import->arena};
        mw_text_printf(&text, "slice($0, %d, %s, %s", place, mw_onnx_dim_text(import, &part->begin),
                       mw_onnx_dim_text(import, &end));
        if (step != 1)
            mw_text_printf(&text, ", stride = %lld", (long long)step);
        mw_text_add(&text, ")");
        term = mw_onnx_emit1(import, &placed, text.at, term);
    }
    return mw_onnx_set(import, node, 0, &shape, term, value->order);
}

/* What is added before and after each dimension. */
static bool read_pads(MwOnnxImport *import, const MwOnnxNode *node, int rank,
                      int64_t pads[2 * MW_MAX_RANK])
{
    int64_t given[2 * MW_MAX_RANK];
    int axes[MW_MAX_RANK];
    const int count = mw_onnx_shape_axes(import, node, 3, rank, axes);
    const int listed = count < 0 ? rank : count;
    if (count < -1)
        return false;
    if (mw_onnx_constant_ints(import, mw_onnx_input(node, 1), given, 2 * MW_MAX_RANK) != 2 * listed)
        return mw_onnx_refuse(import, node, "sizes that are computed");
    for (int i = 0; i < 2 * rank; i++)
        pads[i] = 0;
    for (int i = 0; i < listed; i++) {
        const int axis = count < 0 ? i : axes[i];
        pads[axis] = given[i];
        pads[axis + rank] = given[i + listed];
        if (given[i] < -((int64_t)1 << 31) || given[i] > (int64_t)1 << 31 ||
            given[i + listed] < -((int64_t)1 << 31) || given[i + listed] > (int64_t)1 << 31)
            return mw_onnx_refuse(import, node, "a size that is too large");
    }
    return true;
}

/* What is padded: zeros, or what `number` says, in tensors of their own. */
static MwOnnxTerm *add_around(MwOnnxImport *import, MwOnnxTerm *term, int place,
                              const int64_t sizes[2], const char *number)
{
    const MwOnnxDim added = mw_onnx_dim(sizes[0] + sizes[1]);
    MwOnnxShape shape = term->shape;
    if (!mw_onnx_dim_add(&shape.dim[place], &added, &shape.dim[place]))
        return NULL;
    if (!number)
        return mw_onnx_emit1(import, &shape,
                             mw_onnx_text(import, "pad($0, %d, begin = %lld, end = %lld)", place,
                                          (long long)sizes[0], (long long)sizes[1]),
                             term);
    const char *around[2] = {"", ""};
    for (int side = 0; side < 2; side++) {
        MwOnnxShape part = term->shape;
        part.dim[place] = mw_onnx_dim(sizes[side]);
        if (sizes[side])
            around[side] = mw_onnx_text(import, "constant(%s, [%s], type = %s), ", number,
                                        mw_onnx_dims_text(import, part.rank, part.dim),
                                        mw_type_name(part.type));
    }
    return mw_onnx_emit1(
        import, &shape,
        mw_onnx_text(import, "concat(%s$0, %saxis = %d)", around[0], around[1], place), term);
}

/* One dimension, of which negative sizes are cut off. NULL: it is not possible. */
static MwOnnxTerm *pad_dim(MwOnnxImport *import, MwOnnxTerm *term, int place, int64_t before,
                           int64_t after, const char *number)
{
    MwOnnxShape shape = term->shape;
    if (before < 0 || after < 0) {
        const MwOnnxDim begin = mw_onnx_dim(mw_max(-before, 0));
        const MwOnnxDim cut = mw_onnx_dim(mw_max(-before, 0) + mw_max(-after, 0));
        MwOnnxDim end;
        if (!mw_onnx_dim_sub(&shape.dim[place], &cut, &shape.dim[place]) ||
            !mw_onnx_dim_add(&begin, &shape.dim[place], &end) || shape.dim[place].value < 1)
            return NULL;
        term = mw_onnx_emit1(import, &shape,
                             mw_onnx_text(import, "slice($0, %d, %s, %s)", place,
                                          mw_onnx_dim_text(import, &begin),
                                          mw_onnx_dim_text(import, &end)),
                             term);
    }
    const int64_t sizes[2] = {mw_max(before, 0), mw_max(after, 0)};
    return sizes[0] || sizes[1] ? add_around(import, term, place, sizes, number) : term;
}

bool mw_onnx_pad(MwOnnxImport *import, const MwOnnxNode *node)
{
    MwOnnxValue *value = node->inputs[0];
    const int rank = value->shape.rank;
    int64_t pads[2 * MW_MAX_RANK];
    double fill = 0;
    if (!mw_onnx_text_is(node, "mode", "constant", "constant"))
        return mw_onnx_refuse(import, node, "attribute mode: only constant");
    if (mw_onnx_input(node, 2) && !mw_onnx_constant_number(mw_onnx_input(node, 2), &fill))
        return mw_onnx_refuse(import, node, "a value that is computed");
    if (!read_pads(import, node, rank, pads))
        return false;
    MwOnnxTerm *term = mw_onnx_term_as_is(import, value);
    MwOnnxShape shape = value->shape;
    const char *number = fill == 0 ? NULL : mw_onnx_number_text(import, shape.type, fill);
    for (int d = 0; d < rank; d++) {
        const int place = place_of(value->order, rank, d);
        term = pad_dim(import, term, place, pads[d], pads[d + rank], number);
        if (!term)
            return mw_onnx_refuse(import, node, "a tensor without elements");
        shape.dim[d] = term->shape.dim[place];
    }
    return mw_onnx_set(import, node, 0, &shape, term, value->order);
}

/* The elements on one side of a diagonal, by the difference of their places. */
bool mw_onnx_trilu(MwOnnxImport *import, const MwOnnxNode *node)
{
    const MwOnnxShape *shape = &node->inputs[0]->shape;
    int64_t diagonal = 0;
    if (shape->rank < 2 || (mw_onnx_input(node, 1) &&
                            mw_onnx_constant_ints(import, node->inputs[1], &diagonal, 1) != 1))
        return mw_onnx_refuse(import, node, "a diagonal that is computed");
    static const int64_t far = 1 << 30; /* than which no dimension is longer */
    diagonal = mw_max(-far, mw_min(diagonal, far));
    const MwOnnxDim *rows = &shape->dim[shape->rank - 2], *columns = &shape->dim[shape->rank - 1];
    const char *text =
        mw_onnx_text(import, "where(iota([%s]) - iota([%s, 1]) %s %lld, $0, %s)",
                     mw_onnx_dim_text(import, columns), mw_onnx_dim_text(import, rows),
                     mw_onnx_int_of(node, "upper", 1) ? ">=" : "<=", (long long)diagonal,
                     shape->type == MW_BOOL ? "false" : "0");
    return mw_onnx_set(import, node, 0, shape,
                       mw_onnx_emit1(import, shape, text, mw_onnx_term(import, node->inputs[0])),
                       NULL);
}

/* ---- Blocks of images ---- */

static bool block_shape(MwOnnxImport *import, const MwOnnxNode *node, bool to_space,
                        MwOnnxShape *shape, MwOnnxDim *block)
{
    const MwOnnxShape *from = &node->inputs[0]->shape;
    *block = mw_onnx_dim(mw_onnx_int_of(node, "blocksize", 0));
    *shape = *from;
    MwOnnxDim square;
    if (from->rank != 4 || block->value < 1 || !mw_onnx_dim_mul(block, block, &square))
        return mw_onnx_refuse(import, node, "attribute blocksize");
    const bool good = to_space ? mw_onnx_dim_div(&from->dim[1], &square, &shape->dim[1]) &&
                                     mw_onnx_dim_mul(&from->dim[2], block, &shape->dim[2]) &&
                                     mw_onnx_dim_mul(&from->dim[3], block, &shape->dim[3])
                               : mw_onnx_dim_mul(&from->dim[1], &square, &shape->dim[1]) &&
                                     mw_onnx_dim_div(&from->dim[2], block, &shape->dim[2]) &&
                                     mw_onnx_dim_div(&from->dim[3], block, &shape->dim[3]);
    return good || mw_onnx_refuse(import, node, "sizes that blocks do not divide");
}

/* A reshape, a transposition, a reshape. */
static bool set_blocks(MwOnnxImport *import, const MwOnnxNode *node, const MwOnnxShape *shape,
                       const MwOnnxDim *between, const int *perm)
{
    MwOnnxShape split = mw_onnx_shape_new(shape->type, 6, between), moved = split;
    for (int i = 0; i < 6; i++)
        moved.dim[i] = split.dim[perm[i]];
    MwOnnxTerm *term = mw_onnx_reshape(import, mw_onnx_term(import, node->inputs[0]), &split);
    term = mw_onnx_emit1(import, &moved,
                         mw_onnx_text(import, "transpose($0, [%d, %d, %d, %d, %d, %d])", perm[0],
                                      perm[1], perm[2], perm[3], perm[4], perm[5]),
                         term);
    return mw_onnx_set(import, node, 0, shape, mw_onnx_reshape(import, term, shape), NULL);
}

bool mw_onnx_depth_to_space(MwOnnxImport *import, const MwOnnxNode *node)
{
    MwOnnxShape shape;
    MwOnnxDim block;
    if (!block_shape(import, node, true, &shape, &block))
        return false;
    const MwOnnxShape *from = &node->inputs[0]->shape;
    if (mw_onnx_text_is(node, "mode", "DCR", "CRD")) {
        const MwOnnxDim between[] = {from->dim[0], shape.dim[1], block,
                                     block,        from->dim[2], from->dim[3]};
        return set_blocks(import, node, &shape, between, (const int[]){0, 1, 4, 2, 5, 3});
    }
    const MwOnnxDim between[] = {from->dim[0], block,        block,
                                 shape.dim[1], from->dim[2], from->dim[3]};
    return set_blocks(import, node, &shape, between, (const int[]){0, 3, 4, 1, 5, 2});
}

bool mw_onnx_space_to_depth(MwOnnxImport *import, const MwOnnxNode *node)
{
    MwOnnxShape shape;
    MwOnnxDim block;
    if (!block_shape(import, node, false, &shape, &block))
        return false;
    const MwOnnxShape *from = &node->inputs[0]->shape;
    const MwOnnxDim between[] = {from->dim[0], from->dim[1], shape.dim[2],
                                 block,        shape.dim[3], block};
    return set_blocks(import, node, &shape, between, (const int[]){0, 3, 5, 1, 2, 4});
}
