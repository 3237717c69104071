/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operators that become kernel code: their operands in forms that the loops of a kernel can walk.
 *
 * A loop walks a dimension of an operand with one stride. Operands that are views may have
 * boundaries inside a dimension instead (a reshape of a transpose, say); the loop is then cut
 * there, which works as long as all operands have their boundaries at the same places. */
#include "codegen/legal/legalize_rules.h"
#include "codegen/legal/loops.h"

#include <string.h>

/* Whether dimension `axis` of a value has one stride. */
static bool has_stride(const MwLegalizer *l, MwValueId x, int axis)
{
    int64_t stride;
    return mw_layout_stride(&mw_legal_view(l, x)->layout, mw_legal_tensor(l, x), axis, &stride);
}

static bool has_strides(const MwLegalizer *l, MwValueId x)
{
    for (int d = 0; d < mw_legal_tensor(l, x)->rank; d++)
        if (!has_stride(l, x, d))
            return false;
    return true;
}

static bool has_same_sizes(const MwLayout *a, const MwLayout *b)
{
    size_t bytes = sizeof(int64_t) * (size_t)a->dim_count;
    return a->dim_count == b->dim_count && memcmp(a->size, b->size, bytes) == 0;
}

/* Copies operands whose boundaries inside dimensions differ from those of the first operand with
 * such boundaries. */
static void agree_on_boundaries(MwLegalizer *l, const MwNode *node, MwValueId *operands)
{
    MwLayout first = {0};
    for (int k = 0; k < node->operand_count; k++) {
        if (has_strides(l, operands[k]))
            continue;
        const MwLayout layout = mw_legal_view(l, operands[k])->layout;
        if (first.dim_count && !has_same_sizes(&first, &layout))
            operands[k] = mw_legal_dense(l, operands[k], mw_legal_tensor(l, operands[k])->type);
        else
            first = layout;
    }
}

/* Stores the table of a lookup such that its entries have one stride. */
static void store_table(MwLegalizer *l, const MwLookup *lookup, MwValueId *table)
{
    const MwTensor tensor = *mw_legal_tensor(l, *table);
    *table = mw_legal_cast(l, *table, tensor.type);
    if (!has_stride(l, *table, mw_lookup_axis(lookup, &tensor)))
        *table = mw_legal_dense(l, *table, tensor.type);
}

/* Stores an operand of an operator with loops of its own such that each dimension has one
 * stride. */
static void store_strided(MwLegalizer *l, MwValueId *x)
{
    *x = mw_legal_cast(l, *x, mw_legal_tensor(l, *x)->type);
    if (!has_strides(l, *x))
        *x = mw_legal_dense(l, *x, mw_legal_tensor(l, *x)->type);
}

static void add_points(MwLegalizer *l, const MwNode *node, MwValueId *operands, MwValueId *results)
{
    const MwLookup *lookup = mw_op_lookup(node->op);
    if (lookup)
        store_table(l, lookup, &operands[lookup->table]);
    for (int k = 0; k < node->operand_count && mw_op_has_own_loops(node->op); k++)
        store_strided(l, &operands[k]);
    agree_on_boundaries(l, node, operands);
    mw_legal_copy(l, node, operands, results);
}

/* If elements are picked from a cast of floats of 16 bits to f32, picks them before the cast and
 * casts them: the numbers are the same, and the cast need not be stored. */
static bool pick_before_cast(MwLegalizer *l, const MwNode *node, const MwValueId *operands,
                             MwValueId *results)
{
    if (node->op != MW_OP_PICK)
        return false;
    const MwNode *cast = mw_value_node(l->legal->graph, operands[0]);
    if (cast->op != MW_OP_CAST || mw_legal_tensor(l, operands[0])->type != MW_F32 ||
        !mw_type_is_half(mw_legal_tensor(l, cast->operands[0])->type))
        return false;
    MwValueId taken[] = {cast->operands[0], operands[1]};
    MwAttr type = mw_attr_int(MW_ATTR_TYPE, MW_F32);
    MwValueId picked;
    add_points(l, node, taken, &picked);
    results[0] = mw_legal_add(l, MW_OP_CAST, &picked, 1, &type, 1);
    return true;
}

void mw_legal_points(MwLegalizer *l, const MwNode *node, const MwValueId *operands,
                     MwValueId *results)
{
    if (pick_before_cast(l, node, operands, results))
        return;
    size_t bytes = sizeof *operands * (size_t)node->operand_count;
    add_points(l, node, mw_arena_dup(l->legal->graph->arena, operands, bytes), results);
}
