/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/fuse/library_unit.h"

#include "codegen/legal/library.h"

/* ---- Places ---- */

/* The place of operand k in the result of `concat`. */
static MwLayout place_of(const MwLegal *legal, const MwNode *concat, int k)
{
    const MwTensor *whole = mw_legal_result_tensor(legal, concat);
    const int axis = (int)mw_node_int(concat, MW_ATTR_AXIS);
    MwLayout layout = mw_layout_dense(whole);
    int64_t begin = 0;
    for (int i = 0; i < k; i++)
        begin += mw_legal_operand_tensor(legal, concat, i)->dim[axis];
    MW_ASSERT(mw_layout_slice(&layout, whole, axis, begin,
                              mw_legal_operand_tensor(legal, concat, k)->dim[axis]));
    return layout;
}

MwView mw_library_unit_result(const MwLegal *legal, const MwUnit *unit, int k)
{
    const MwNode *node = mw_legal_at(legal, unit->nodes.at[0]);
    const MwNode *last = mw_legal_at(legal, mw_vec_last(&unit->nodes));
    const MwValueId value = {node->first_result + k};
    for (int i = 0; i < last->operand_count && last->op == MW_OP_CONCAT; i++)
        if (mw_value_equal(mw_legal_root(legal, last->operands[i]), value))
            return (MwView){mw_legal_result(last), place_of(legal, last, i)};
    return legal->views.at[value.index];
}

/* ---- Which concatenations ---- */

/* Returns how many operands of node `n` show `root`. */
static int reads_of(const MwFusion *f, int n, MwValueId root)
{
    const MwNode *node = mw_legal_at(f->legal, n);
    int count = 0;
    for (int k = 0; k < node->operand_count; k++)
        count += mw_value_equal(mw_legal_root(f->legal, node->operands[k]), root);
    return count;
}

/* Whether node `n` alone reads `root`, a result of node `maker`, and reads it once. */
static bool is_only_reader(const MwFusion *f, int n, int maker, MwValueId root)
{
    for (int i = f->readers.begin[maker]; i < f->readers.begin[maker + 1]; i++)
        if (f->readers.at[i] != n && reads_of(f, f->readers.at[i], root))
            return false;
    return reads_of(f, n, root) == 1;
}

/* Whether the call of node `maker` can write operand k of the concatenation `n` in its place. */
static bool can_place(const MwFusion *f, int n, int maker, int k, MwPlanArg *args)
{
    const MwNode *concat = mw_legal_at(f->legal, n), *made = mw_legal_at(f->legal, maker);
    const MwValueId root = mw_legal_root(f->legal, concat->operands[k]);
    const MwLayout layout = place_of(f->legal, concat, k);
    return mw_fusion_producer(f->legal, concat, k) == maker &&
           mw_legal_takes_whole(f->legal, concat, k, root) && is_only_reader(f, n, maker, root) &&
           mw_library_place_result(f->legal, made, root.index - made->first_result, &layout, args);
}

static bool may_take(const MwFusion *f, int maker, int n)
{
    const MwNode *made = mw_legal_at(f->legal, maker), *concat = mw_legal_at(f->legal, n);
    if (f->out->unit_of[maker] < 0 || made->phase != concat->phase ||
        f->legal->loops.of_node[maker] != f->legal->loops.of_node[n] ||
        mw_op_info(made->op)->lowering != MW_LOWER_LIBRARY)
        return false;
    MwPlanArg *args = mw_library_args(f->arena, f->legal, made);
    for (int k = 0; k < concat->operand_count; k++)
        if (!can_place(f, n, maker, k, args))
            return false;
    return true;
}

static bool any_leaves(const MwFusion *f, const MwNode *concat, const bool *leaves)
{
    for (int k = 0; k < concat->operand_count; k++)
        if (leaves[mw_legal_root(f->legal, concat->operands[k]).index])
            return true;
    return false;
}

void mw_library_units_absorb(MwFusion *f)
{
    const MwGraph *graph = f->legal->graph;
    const bool *leaves = mw_legal_leaving(f->arena, f->legal);
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *concat = &graph->nodes.at[n];
        if (concat->op != MW_OP_CONCAT || any_leaves(f, concat, leaves))
            continue;
        const int maker = mw_fusion_producer(f->legal, concat, 0);
        if (may_take(f, maker, n))
            mw_fusion_join(f, f->out->unit_of[maker], f->out->unit_of[n]);
    }
}
