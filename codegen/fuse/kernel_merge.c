/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/fuse/kernel_merge.h"

#include "codegen/tuning.h"

#include <string.h>

/* Returns the layout of a value of `level` over the points of its unit. */
static MwLayout layout_of_level(const MwUnit *unit, MwLevel level)
{
    const int64_t counts[] = {[MW_LEVEL_UNIFORM] = 1,
                              [MW_LEVEL_ROW] = mw_unit_rows(unit),
                              [MW_LEVEL_POINT] = unit->space.points,
                              [MW_LEVEL_COLUMN] = unit->space.columns,
                              [MW_LEVEL_TOTAL] = 1};
    const MwTensor values = mw_tensor(MW_F32, 1, &counts[level]);
    const MwLayout dense = mw_layout_dense(&values);
    return mw_units_spread(unit, level, &dense);
}

/* Whether code at `level` may use a value of `input` level. */
static bool level_sees(MwLevel level, MwLevel input)
{
    if (input == MW_LEVEL_COLUMN || input == MW_LEVEL_TOTAL)
        return level == input;
    return input <= level && level <= MW_LEVEL_POINT;
}

/* Whether node n can take operand k from registers. */
static bool operand_fits(const MwFusion *f, const MwUnit *unit, int n, int k, int producer)
{
    const MwNode *node = mw_legal_at(f->legal, n);
    int64_t stride, entries;
    MwLevel input = mw_units_result_level(f->legal, f->out, producer);
    MwLevel level = f->out->level[n];
    if (mw_node_gathers(f->legal, node, k, &stride, &entries) || !level_sees(level, input))
        return false;
    MwLayout access = mw_node_access(f->legal, node, k);
    MwLayout spread = mw_units_spread(unit, level, &access);
    MwLayout wanted = layout_of_level(unit, input);
    return mw_layout_equal(&spread, &wanted);
}

/* ---- Cuts ---- */

/* Adds a boundary between dimensions, with `inner` points inside of it. Returns false if it does
 * not fit the other boundaries. */
static bool add_cut(MwUnit *unit, int64_t inner)
{
    int at = 0;
    while (at < unit->cut_count && unit->cuts[at] < inner)
        at++;
    if (at < unit->cut_count && unit->cuts[at] == inner)
        return true;
    if (unit->cut_count == MW_SPACE_MAX_DIMS - 1 || (at > 0 && inner % unit->cuts[at - 1] != 0) ||
        (at < unit->cut_count && unit->cuts[at] % inner != 0))
        return false;
    memmove(&unit->cuts[at + 1], &unit->cuts[at], sizeof(int64_t) * (size_t)(unit->cut_count - at));
    unit->cuts[at] = inner;
    unit->cut_count++;
    return true;
}

/* Adds the boundaries between the dimensions of `layout`, an access of node n of the unit. Returns
 * false if one does not fit. */
static bool add_layout_cuts(const MwFusion *f, MwUnit *unit, int n, const MwLayout *layout)
{
    MwLayout spread = mw_units_spread(unit, f->out->level[n], layout);
    int64_t inner = 1;
    for (int d = spread.dim_count - 1; d > 0; d--) {
        inner *= spread.size[d];
        if (!add_cut(unit, inner))
            return false;
    }
    return true;
}

bool mw_fusion_cut_space(const MwFusion *f, MwUnit *unit, int n)
{
    const MwNode *node = mw_legal_at(f->legal, n);
    for (int k = 0; k < node->operand_count; k++) {
        MwLayout access = mw_node_access(f->legal, node, k);
        if (!add_layout_cuts(f, unit, n, &access))
            return false;
    }
    MwLayout places;
    if (mw_node_places(f->legal, node, &places) && !add_layout_cuts(f, unit, n, &places))
        return false;
    if (node->op == MW_OP_SCAN_OUT) {
        MwLayout stored = mw_node_store(f->legal, node, 0);
        if (!add_layout_cuts(f, unit, n, &stored))
            return false;
    }
    bool has_rows = unit->space.columns && unit->space.columns < unit->space.points;
    return !has_rows || unit->space.columns == 1 || add_cut(unit, unit->space.columns);
}

/* Whether unit b, whose rows mean nothing, can run over the rows, the columns or the whole of a. */
static bool spaces_allow(const MwUnit *a, const MwUnit *b, MwLevel level)
{
    const MwNodeSpace *s = &a->space, *t = &b->space;
    switch (level) {
    case MW_LEVEL_POINT:
        return s->points == t->points && (s->columns == t->columns || !t->columns || !s->columns);
    case MW_LEVEL_ROW:
        return s->columns && !t->columns && t->points * s->columns == s->points;
    case MW_LEVEL_COLUMN:
        return s->columns && !t->columns && t->points == s->columns;
    case MW_LEVEL_TOTAL:
        return !t->columns && t->points == 1;
    case MW_LEVEL_UNIFORM:
        break;
    }
    MW_UNREACHABLE();
}

static void relevel(MwFusion *f, const MwUnit *unit, MwLevel from, MwLevel to)
{
    for (int i = 0; i < unit->nodes.count; i++)
        if (f->out->level[unit->nodes.at[i]] == from)
            f->out->level[unit->nodes.at[i]] = to;
}

/* Whether b at `level` has only nodes that may run there. */
static bool results_allow(const MwFusion *f, const MwUnit *b, MwLevel level)
{
    for (int i = 0; i < b->nodes.count && level != MW_LEVEL_POINT; i++) {
        MwLevel result =
            mw_node_space(f->legal, mw_legal_at(f->legal, b->nodes.at[i])).result_level;
        if (result != MW_LEVEL_POINT && level != MW_LEVEL_ROW)
            return false;
    }
    return true;
}

/* Checks every operand of the merged unit: in registers where its producer is in the unit too. */
static bool operands_allow(const MwFusion *f, MwUnit *merged, int a, int b)
{
    for (int i = 0; i < merged->nodes.count; i++) {
        int n = merged->nodes.at[i];
        const MwNode *node = mw_legal_at(f->legal, n);
        for (int k = 0; k < node->operand_count; k++) {
            int producer = mw_fusion_producer(f->legal, node, k);
            int unit = f->out->unit_of[producer];
            if ((unit == a || unit == b) && !operand_fits(f, merged, n, k, producer))
                return false;
        }
        if (!mw_fusion_cut_space(f, merged, n))
            return false;
    }
    return true;
}

static bool sums_allow(const MwFusion *f, const MwUnit *merged)
{
    int column_sums = 0;
    bool binds_rows = false;
    for (int i = 0; i < merged->nodes.count; i++) {
        int n = merged->nodes.at[i];
        MwNodeSpace space = mw_node_space(f->legal, mw_legal_at(f->legal, n));
        column_sums += space.result_level == MW_LEVEL_COLUMN;
        bool reduces_rows = space.columns && space.result_level != MW_LEVEL_COLUMN;
        binds_rows = binds_rows || reduces_rows || space.result_level == MW_LEVEL_TOTAL ||
                     f->out->level[n] == MW_LEVEL_ROW;
    }
    if (column_sums && binds_rows && merged->space.columns > MW_TUNED_SUMMED_COLUMNS)
        return false;
    return column_sums <= MW_TUNED_COLUMN_SUMS;
}

static int outside_operands(const MwFusion *f, const MwUnit *merged, int a, int b)
{
    int count = 0;
    for (int i = 0; i < merged->nodes.count; i++) {
        const MwNode *node = mw_legal_at(f->legal, merged->nodes.at[i]);
        count += node->result_count;
        for (int k = 0; k < node->operand_count; k++) {
            int unit = f->out->unit_of[mw_fusion_producer(f->legal, node, k)];
            count += unit != a && unit != b;
        }
    }
    return count;
}

static bool is_scalar(const MwUnit *unit)
{
    return unit->space.points == 1;
}

/* Nodes of a unit, at most, and as many operands and results that come from or go to memory. */
static int most_parts(const MwUnit *unit)
{
    return is_scalar(unit) ? MW_TUNED_UNIT_SCALARS : MW_TUNED_UNIT_PARTS;
}

/* Whether b takes what units other than a make: so a would wait for them. */
static bool waits_for_others(const MwFusion *f, int a, int b)
{
    const MwUnit *unit = mw_fusion_unit(f, b);
    for (int i = 0; i < unit->nodes.count; i++) {
        const MwNode *node = mw_legal_at(f->legal, unit->nodes.at[i]);
        for (int k = 0; k < node->operand_count; k++) {
            int maker = f->out->unit_of[mw_fusion_producer(f->legal, node, k)];
            if (maker >= 0 && maker != a && maker != b)
                return true;
        }
    }
    return false;
}

/* The levels at which the points of a unit may run in another unit that it is merged into, in the
 * order in which they are tried. */
static const MwLevel relations[] = {MW_LEVEL_POINT, MW_LEVEL_ROW, MW_LEVEL_COLUMN, MW_LEVEL_TOTAL};

/* Merges unit b into unit a, where the points of b run at `level`. Returns false, and changes
 * nothing, if that is impossible. Whether they would wait for each other is asked last: that may
 * visit all units between the two. */
static bool merge_at(MwFusion *f, int a, int b, MwLevel level)
{
    MwUnit *into = mw_fusion_unit(f, a), *from = mw_fusion_unit(f, b);
    if (!spaces_allow(into, from, level) || !results_allow(f, from, level) ||
        (level == MW_LEVEL_TOTAL && waits_for_others(f, a, b)))
        return false;
    MwUnit merged = *into;
    merged.space.columns = (int64_t)mw_max(into->space.columns, from->space.columns);
    mw_fusion_take_nodes(f, &merged, from);
    for (int i = 0; i < from->cut_count && level == MW_LEVEL_POINT; i++)
        if (!add_cut(&merged, from->cuts[i]))
            return false;
    relevel(f, from, MW_LEVEL_POINT, level);
    if (!operands_allow(f, &merged, a, b) || !sums_allow(f, &merged) ||
        outside_operands(f, &merged, a, b) > most_parts(&merged) ||
        mw_fusion_would_cycle(f, a, b)) {
        relevel(f, from, level, MW_LEVEL_POINT);
        return false;
    }
    merged.nodes = into->nodes;
    *into = merged;
    mw_fusion_join(f, a, b);
    return true;
}

/* Whether the units may merge but for their phases. */
static bool can_merge_at_all(MwFusion *f, int a, int b)
{
    const MwUnit *x = mw_fusion_unit(f, a), *y = mw_fusion_unit(f, b);
    int most = (int)mw_min(most_parts(x), most_parts(y));
    return a != b && x->is_kernel && y->is_kernel && x->loop == y->loop &&
           x->on_host == y->on_host && !x->space.is_alone && !y->space.is_alone &&
           x->nodes.count + y->nodes.count <= most;
}

static bool has_one_phase(const MwFusion *f, int a, int b)
{
    return mw_fusion_unit(f, a)->phase == mw_fusion_unit(f, b)->phase;
}

/* Tries the first `count` ways in which the points of one unit may relate to those of the other. */
static bool try_merge(MwFusion *f, int a, int b, int count)
{
    if (!can_merge_at_all(f, a, b))
        return false;
    for (int i = 0; i < count; i++)
        if (merge_at(f, a, b, relations[i]) || merge_at(f, b, a, relations[i]))
            return true;
    return false;
}

void mw_fusion_merge_points(MwFusion *f, int a, int b)
{
    if (has_one_phase(f, a, b))
        try_merge(f, a, b, 1);
}

void mw_fusion_merge_levels(MwFusion *f, int a, int b)
{
    if (has_one_phase(f, a, b))
        try_merge(f, a, b, MW_COUNT(relations));
}

bool mw_fusion_merge_phases(MwFusion *f, int a, int b)
{
    const MwPhase phase = mw_fusion_unit(f, b)->phase;
    if (!try_merge(f, a, b, MW_COUNT(relations)))
        return false;
    mw_fusion_unit(f, mw_fusion_unit(f, a)->nodes.count ? a : b)->phase = phase;
    return true;
}
