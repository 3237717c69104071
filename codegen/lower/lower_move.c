/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operators that move elements: lookups, concatenation, rotary embedding. */
#include "codegen/lower/lower_rules.h"
#include "codegen/tuning.h"

#include <math.h>

void mw_lower_embedding(MwLower *l)
{
    mw_lower_result(l, 0, mw_lower_operand(l, 1));
}

void mw_lower_pick(MwLower *l)
{
    mw_lower_result(l, 0, mw_lower_operand(l, 0));
}

/* d in the column that is the row's index, otherwise 0 */
void mw_lower_pick_grad(MwLower *l)
{
    const MwTensor *result = mw_lower_result_tensor(l, 0);
    int64_t columns = result->dim[result->rank - 1];
    MwLayout column = mw_layout_dense(result);
    for (int d = 0; d < column.dim_count; d++)
        column.stride[d] = columns > 1 && d == column.dim_count - 1;
    MwRef id = mw_lower_local_index(l, mw_lower_operand(l, 0), result->rank - 1, columns);
    MwRef at = mw_lower_index(l, &column, NULL, 0);
    MwRef value = mw_lower_expr(l, MW_SCALAR_F32, 1, "$0 == $1 ? $2 : 0.0f", 3, at, id,
                                mw_lower_operand(l, 1));
    mw_lower_result(l, 0, value);
}

/* ---- Kernels of their own ---- */

static const MwLayout *layout_of(const MwLower *l, int k)
{
    return &l->legal->views.at[mw_lower_node(l)->operands[k].index].layout;
}

static MwValueId result_of(const MwLower *l)
{
    return (MwValueId){mw_lower_node(l)->first_result};
}

/* The element of an operand: loaded, or computed if the operand is a generator. */
static MwRef load_from(MwLower *l, int k, const MwLayout *layout)
{
    MwAffine at = mw_lower_affine(l, layout);
    return mw_lower_load_at(l, mw_legal_root(l->legal, mw_lower_node(l)->operands[k]), &at);
}

static void store_to(MwLower *l, const MwLayout *layout, MwRef value)
{
    MwAffine at = mw_lower_affine(l, layout);
    mw_lower_store_at(l, result_of(l), &at, value);
}

static MwLayout slice_of(const MwTensor *tensor, int axis, int64_t begin, int64_t size)
{
    MwLayout layout = mw_layout_dense(tensor);
    MW_ASSERT(mw_layout_slice(&layout, tensor, axis, begin, size));
    return layout;
}

static void fill(MwLower *l, const MwTensor *part, const MwLayout *to, double value)
{
    mw_lower_nest(l, part->dim, part->rank, 0);
    store_to(l, to, mw_lower_constant(l, mw_scalar_of(part->type), value));
}

/* The effect `op` of each row of operand `rows` on that row of the result, a table, whose number is
 * the element of operand `ids`. A row of another device is left out. */
static void effect_on_rows(MwLower *l, MwKernelOp op, int ids, int rows)
{
    const MwTensor *table = mw_lower_result_tensor(l, 0);
    const MwTensor *from = mw_lower_operand_tensor(l, rows);
    mw_lower_nest(l, from->dim, from->rank, from->rank - 1);
    MwLayout numbers = *layout_of(l, ids);
    mw_layout_repeat_inside(&numbers, table->dim[1]);
    MwRef id = mw_lower_local_index(l, load_from(l, ids, &numbers), 0, table->dim[0]);
    const char *entry = mw_arena_printf(l->kernel->arena, "$0 >= 0 && $0 < %lld ? (int64_t)$0 : -1",
                                        (long long)table->dim[0]);
    MwRef row = mw_lower_expr(l, MW_SCALAR_I64, 1, entry, 1, id);
    MwRef value = load_from(l, rows, layout_of(l, rows));
    MwLayout column = slice_of(table, 0, 0, 1);
    mw_layout_repeat_outside(&column, mw_tensor_elements(from) / table->dim[1]);
    MwAffine at = mw_lower_affine(l, &column);
    mw_lower_effect_at(l, op, result_of(l), &at, table->dim[1], row, value);
}

/* Zeroes the result, then adds row after row, so that sums have the order of the rows. */
void mw_lower_embedding_grad(MwLower *l)
{
    const MwTensor *table = mw_lower_result_tensor(l, 0);
    MwLayout dense = mw_layout_dense(table);
    fill(l, table, &dense, 0);
    effect_on_rows(l, MW_KERNEL_ADD, 0, 1);
}

/* Copies the table, unless its buffer is that of the result; then writes or adds the rows. */
static void change_rows(MwLower *l, MwKernelOp op)
{
    const MwTensor *table = mw_lower_result_tensor(l, 0);
    const bool is_over = mw_lower_is_over(l, 0);
    if (!is_over) {
        MwLayout dense = mw_layout_dense(table);
        mw_lower_nest(l, table->dim, table->rank, 0);
        store_to(l, &dense, load_from(l, 0, layout_of(l, 0)));
    }
    effect_on_rows(l, op, 1, 2);
    if (is_over)
        mw_lower_keep_rest(l, 0);
}

void mw_lower_put_rows(MwLower *l)
{
    change_rows(l, MW_KERNEL_STORE);
}

void mw_lower_add_rows(MwLower *l)
{
    change_rows(l, MW_KERNEL_ADD);
}

/* A point is a pair: an element of the first half of the last dimension and one of the second. */
void mw_lower_rope(MwLower *l)
{
    const MwNode *node = mw_lower_node(l);
    MwTensor x = *mw_lower_operand_tensor(l, 0), half = x;
    int64_t pairs = x.dim[3] / 2;
    half.dim[3] = pairs;
    mw_lower_nest(l, half.dim, 4, 0);
    MwLayout from[2], to[2];
    for (int h = 0; h < 2; h++) {
        from[h] = *layout_of(l, 0);
        MW_ASSERT(mw_layout_slice(&from[h], &x, 3, h * pairs, pairs));
        to[h] = slice_of(&x, 3, h * pairs, pairs);
    }
    int arg = mw_lower_position_arg(l, node, 1, x.dim[1], 1);
    MwTensor counted = mw_tensor(MW_I32, 4, half.dim);
    MwRef place[2];
    for (int i = 0; i < 2; i++) {
        int axis = i == 0 ? 1 : 3;
        MwLayout layout = mw_layout_dense(&counted);
        for (int d = 0, at = 0; d < 4; d++)
            if (half.dim[d] > 1)
                layout.stride[at++] = d == axis;
        MwKernelInstr index = {.op = MW_KERNEL_INDEX, .type = MW_SCALAR_I64};
        index.at = mw_lower_affine(l, &layout);
        if (i == 0 && arg >= 0)
            index.at.args[index.at.arg_count++] = arg;
        index.level = MW_LEVEL_POINT;
        place[i] = mw_kernel_add(l->kernel, &index);
    }
    const char *angle =
        mw_arena_printf(l->kernel->arena, "(double)$0 * mw_exp_f64((double)$1 * %s)",
                        mw_lower_literal(l->kernel->arena, MW_SCALAR_F64,
                                         -log(mw_node_float(node, MW_ATTR_BASE)) / (double)pairs));
    MwRef theta = mw_lower_expr(l, MW_SCALAR_F64, 20, angle, 2, place[0], place[1]);
    MwRef s = mw_lower_expr(l, MW_SCALAR_F32, 15, "mw_sin_quarter($0, 0)", 1, theta);
    MwRef c = mw_lower_expr(l, MW_SCALAR_F32, 15, "mw_sin_quarter($0, 1)", 1, theta);
    if (mw_node_int(node, MW_ATTR_INVERSE))
        s = mw_lower_expr(l, MW_SCALAR_F32, 1, "-$0", 1, s);
    MwRef a = load_from(l, 0, &from[0]), b = load_from(l, 0, &from[1]);
    store_to(l, &to[0], mw_lower_expr(l, MW_SCALAR_F32, 3, "$0 * $2 - $1 * $3", 4, a, b, c, s));
    store_to(l, &to[1], mw_lower_expr(l, MW_SCALAR_F32, 3, "$1 * $2 + $0 * $3", 4, a, b, c, s));
}

void mw_lower_pad(MwLower *l)
{
    const MwNode *node = mw_lower_node(l);
    const MwTensor *result = mw_lower_result_tensor(l, 0), *x = mw_lower_operand_tensor(l, 0);
    int axis = (int)mw_node_int(node, MW_ATTR_AXIS);
    int64_t begin = mw_node_int(node, MW_ATTR_BEGIN), end = mw_node_int(node, MW_ATTR_END);
    int64_t from[] = {0, begin + x->dim[axis]}, size[] = {begin, end};
    for (int i = 0; i < 2; i++) {
        MwTensor part = *result;
        part.dim[axis] = size[i];
        if (!size[i])
            continue;
        MwLayout to = slice_of(result, axis, from[i], size[i]);
        fill(l, &part, &to, 0);
    }
    mw_lower_nest(l, x->dim, x->rank, 0);
    MwLayout to = slice_of(result, axis, begin, x->dim[axis]);
    store_to(l, &to, load_from(l, 0, layout_of(l, 0)));
}

/* Whether the operands of a concatenation can be in one nest, instead of one nest each. */
static bool walks_together(const MwLower *l)
{
    const int count = mw_lower_node(l)->operand_count;
    for (int k = 1; k < count; k++)
        if (!mw_tensor_equal(mw_lower_operand_tensor(l, k), mw_lower_operand_tensor(l, 0)))
            return false;
    return count <= MW_TUNED_UNIT_PARTS;
}

void mw_lower_concat(MwLower *l)
{
    const MwNode *node = mw_lower_node(l);
    const MwTensor *result = mw_lower_result_tensor(l, 0);
    const int axis = (int)mw_node_int(node, MW_ATTR_AXIS);
    const bool together = walks_together(l);
    int64_t begin = 0;
    for (int k = 0; k < node->operand_count; k++) {
        const MwTensor *x = mw_lower_operand_tensor(l, k);
        if (k == 0 || !together)
            mw_lower_nest(l, x->dim, x->rank, 0);
        MwLayout to = slice_of(result, axis, begin, x->dim[axis]);
        store_to(l, &to, load_from(l, k, layout_of(l, k)));
        begin += x->dim[axis];
    }
}
