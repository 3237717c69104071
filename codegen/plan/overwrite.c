/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/plan/overwrite.h"

#include "codegen/fuse/gemm_unit.h"

/* Whether a kernel takes its rows whole, and writes none before it has what a row takes: it reduces
 * them. */
static bool reduces_rows(const MwLegal *legal, const MwUnit *unit)
{
    for (int i = 0; i < unit->nodes.count; i++) {
        const MwNodeSpace space = mw_node_space(legal, mw_legal_at(legal, unit->nodes.at[i]));
        if (space.columns && space.result_level != MW_LEVEL_COLUMN)
            return true;
    }
    return false;
}

/* Whether node n picks operand k for each row of its kernel from that row of a root of one element
 * a point. */
static bool picks_from_own_row(const MwLiveRanges *live, int n, int k)
{
    const MwNode *node = mw_legal_at(live->legal, n);
    const MwUnit *unit = &live->units->units.at[live->units->unit_of[n]];
    const int64_t rows = mw_unit_rows(unit), columns = unit->space.columns;
    const MwTensor points = mw_tensor(MW_F32, 2, (int64_t[]){rows, columns});
    int64_t stride, entries;
    if (live->units->level[n] != MW_LEVEL_ROW || !reduces_rows(live->legal, unit) ||
        !mw_node_gathers(live->legal, node, k, &stride, &entries))
        return false;
    MwLayout first = mw_layout_dense(&points), access = mw_node_access(live->legal, node, k);
    MW_ASSERT(mw_layout_slice(&first, &points, 1, 0, 1));
    mw_layout_collapse(&first);
    mw_layout_collapse(&access);
    return mw_layout_equal(&first, &access);
}

/* Whether node n reads the elements of `root` one by one at `level`, or at the points, what it
 * picks for their rows, wherever it reads them; sets `reads` if it does read any. */
static bool reads_in_place(const MwLiveRanges *live, int n, MwLevel level, MwValueId root,
                           bool *reads)
{
    const MwNode *node = mw_legal_at(live->legal, n);
    const MwUnit *unit = &live->units->units.at[live->units->unit_of[n]];
    for (int k = 0; k < node->operand_count; k++) {
        int64_t stride, entries;
        if (!mw_value_equal(mw_legal_root(live->legal, node->operands[k]), root))
            continue;
        *reads = true;
        if (level == MW_LEVEL_POINT && picks_from_own_row(live, n, k))
            continue;
        if (unit->space.is_alone || live->units->level[n] != level ||
            mw_node_gathers(live->legal, node, k, &stride, &entries))
            return false;
        MwLayout access = mw_node_access(live->legal, node, k);
        mw_layout_collapse(&access);
        if (!mw_layout_is_dense(&access) ||
            mw_layout_elements(&access) !=
                mw_tensor_elements(mw_value_tensor(live->legal->graph, root)))
            return false;
    }
    return true;
}

/* Whether operand `k` of the node is all of `root` in its order, and no other operand is of it. */
static bool is_alone_in(const MwLiveRanges *live, const MwNode *node, int k, MwValueId root)
{
    const MwTensor *whole = mw_value_tensor(live->legal->graph, root);
    const MwLayout *layout = &live->legal->views.at[node->operands[k].index].layout;
    for (int i = 0; i < node->operand_count; i++)
        if (mw_value_equal(mw_legal_root(live->legal, node->operands[i]), root) != (i == k))
            return false;
    return mw_layout_is_dense(layout) && mw_layout_elements(layout) == mw_tensor_elements(whole);
}

MwValueId mw_unit_changes(const MwLiveRanges *live, MwValueId value)
{
    const int n = mw_value(live->legal->graph, value)->node.index;
    const MwNode *node = mw_legal_at(live->legal, n);
    const bool is_product =
        mw_unit_is_gemm(live->legal, &live->units->units.at[live->units->unit_of[n]]);
    const int changed = !is_product                    ? mw_op_changed_operand(node->op)
                        : node->op == MW_OP_ACCUMULATE ? 0
                                                       : -1;
    return changed < 0 ? mw_no_value() : mw_legal_root(live->legal, node->operands[changed]);
}

bool mw_unit_may_overwrite(const MwLiveRanges *live, MwValueId value, MwValueId host)
{
    int n = mw_value(live->legal->graph, value)->node.index;
    const MwUnit *unit = &live->units->units.at[live->units->unit_of[n]];
    if (mw_unit_is_gemm(live->legal, unit))
        return mw_value_equal(mw_unit_changes(live, value), host);
    const int changed = mw_op_changed_operand(mw_legal_at(live->legal, n)->op);
    if (changed >= 0)
        return is_alone_in(live, mw_legal_at(live->legal, n), changed, host);
    MwLevel level = mw_units_result_level(live->legal, live->units, n);
    for (int i = 0; i < unit->nodes.count; i++) {
        bool reads = false;
        bool fits = reads_in_place(live, unit->nodes.at[i], level, host, &reads);
        if (reads && (!fits || !unit->is_kernel || unit->space.is_alone))
            return false;
    }
    return true;
}

bool mw_values_fit(const MwLiveRanges *live, MwValueId a, MwValueId b)
{
    const MwTensor *x = mw_value_tensor(live->legal->graph, a),
                   *y = mw_value_tensor(live->legal->graph, b);
    return x->type == y->type && mw_tensor_elements(x) == mw_tensor_elements(y);
}
