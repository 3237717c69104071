/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/fuse/fusion_rules.h"

#include <string.h>

/* Sums over rows that are kept whole while rows are reduced too must fit the nearest caches. */
enum { MAX_SUMMED_COLUMNS = 4096, MAX_SUMS = 6, MAX_SIBLING_DISTANCE = 256 };

/* Ways in which the points of one unit may relate to those of another: how many to try. */
enum { SAME_POINTS = 1, ALL_LEVELS = 4 };

/* ---- Layouts over the space of a unit ---- */

static int64_t unit_rows(const MwUnit *unit)
{
    return unit->space.columns ? unit->space.points / unit->space.columns : 1;
}

MwLayout mw_units_spread(const MwUnit *unit, MwLevel level, const MwLayout *layout)
{
    MwLayout spread = *layout;
    if (level == MW_LEVEL_ROW)
        mw_layout_repeat_inside(&spread, unit->space.columns);
    else if (level == MW_LEVEL_COLUMN)
        mw_layout_repeat_outside(&spread, unit_rows(unit));
    else if (level == MW_LEVEL_TOTAL)
        mw_layout_repeat_outside(&spread, unit->space.points);
    mw_layout_collapse(&spread);
    return spread;
}

/* What a value of `level` looks like over the points of its unit. */
static MwLayout layout_of_level(const MwUnit *unit, MwLevel level)
{
    MwLayout layout = {0};
    int64_t points = unit->space.points, columns = unit->space.columns;
    if (level == MW_LEVEL_POINT)
        layout = (MwLayout){.dim_count = 1, .size = {points}, .stride = {1}};
    else if (level == MW_LEVEL_ROW)
        layout = (MwLayout){.dim_count = 2, .size = {points / columns, columns}, .stride = {1, 0}};
    else if (level == MW_LEVEL_COLUMN)
        layout = (MwLayout){.dim_count = 2, .size = {points / columns, columns}, .stride = {0, 1}};
    else
        layout = (MwLayout){.dim_count = 1, .size = {points}, .stride = {0}};
    MwLayout clean = {0};
    for (int d = 0; d < layout.dim_count; d++) {
        if (layout.size[d] == 1)
            continue;
        clean.size[clean.dim_count] = layout.size[d];
        clean.stride[clean.dim_count++] = layout.stride[d];
    }
    mw_layout_collapse(&clean);
    return clean;
}

static bool layouts_equal(const MwLayout *a, const MwLayout *b)
{
    size_t bytes = sizeof(int64_t) * (size_t)a->dim_count;
    return a->dim_count == b->dim_count && a->offset == b->offset &&
           a->shard_axes == b->shard_axes && memcmp(a->size, b->size, bytes) == 0 &&
           memcmp(a->stride, b->stride, bytes) == 0;
}

MwLevel mw_units_result_level(const MwLegal *legal, const MwUnits *units, int n)
{
    MwLevel level = mw_node_space(legal, mw_legal_at(legal, n)).result_level;
    return level == MW_LEVEL_POINT ? units->level[n] : level;
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
    return layouts_equal(&spread, &wanted);
}

/* ---- Cuts ---- */

/* Adds a boundary; false where it is at odds with those there are. */
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

/* The boundaries of what node n of the unit walks as `layout`. */
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

static bool add_node_cuts(const MwFusion *f, MwUnit *unit, int n)
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
    bool has_rows = unit->space.columns && unit->space.columns < unit->space.points;
    return !has_rows || unit->space.columns == 1 || add_cut(unit, unit->space.columns);
}

/* ---- Whether two units can be one ---- */

/* Brings `reach` up to date where it may have grown to `last` for units with nodes from `first` on:
 * units have nodes before and behind those of others, so that growth may run back and forth. */
static void update_reach(MwFusion *f, int first, int last)
{
    bool changed = true;
    while (changed) {
        changed = false;
        for (int n = first; n <= last; n++) {
            const MwNode *node = mw_legal_at(f->legal, n);
            int unit = f->out->unit_of[n], most = n;
            if (unit < 0)
                continue;
            for (int k = 0; k < node->operand_count; k++) {
                int giver = f->out->unit_of[mw_fusion_producer(f->legal, node, k)];
                most = giver < 0 ? most : (int)mw_max(most, f->reach[giver]);
            }
            changed = changed || most > f->reach[unit];
            f->reach[unit] = (int32_t)mw_max(most, f->reach[unit]);
        }
    }
}

/* Whether unit `from` depends on unit `to` through others than `through`. */
static bool depends_on(MwFusion *f, int from, int to, int through)
{
    const MwUnit *unit = mw_fusion_unit(f, from), *target = mw_fusion_unit(f, to);
    f->visited[from] = f->stamp;
    for (int i = 0; i < unit->nodes.count; i++) {
        const MwNode *node = mw_legal_at(f->legal, unit->nodes.at[i]);
        for (int k = 0; k < node->operand_count; k++) {
            int next = f->out->unit_of[mw_fusion_producer(f->legal, node, k)];
            if (next < 0 || next == from)
                continue;
            if (next == to) {
                if (from != through)
                    return true;
                continue;
            }
            bool may = f->reach[next] > target->nodes.at[0];
            if (f->visited[next] != f->stamp && may && depends_on(f, next, to, through))
                return true;
        }
    }
    return false;
}

bool mw_fusion_would_cycle(MwFusion *f, int a, int b)
{
    f->stamp++;
    if (depends_on(f, a, b, a))
        return true;
    f->stamp++;
    return depends_on(f, b, a, b);
}

/* The nodes of both, ascending. */
static void take_nodes(MwArena *arena, MwUnit *into, const MwUnit *from)
{
    MW_VEC(int32_t) merged = {0};
    int a = 0, b = 0;
    while (a < into->nodes.count || b < from->nodes.count) {
        bool first = b == from->nodes.count ||
                     (a < into->nodes.count && into->nodes.at[a] < from->nodes.at[b]);
        mw_vec_push(arena, &merged, first ? into->nodes.at[a++] : from->nodes.at[b++]);
    }
    into->nodes.at = merged.at;
    into->nodes.count = merged.count;
    into->nodes.capacity = merged.capacity;
}

void mw_fusion_join(MwFusion *f, int a, int b)
{
    MwUnit *into = mw_fusion_unit(f, a), *from = mw_fusion_unit(f, b);
    for (int i = 0; i < from->nodes.count; i++)
        f->out->unit_of[from->nodes.at[i]] = a;
    take_nodes(f->arena, into, from);
    from->nodes.count = 0;
    f->reach[a] = (int32_t)mw_max(f->reach[a], f->reach[b]);
    update_reach(f, into->nodes.at[0], f->reach[a]);
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
        if (!add_node_cuts(f, merged, n))
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
    if (column_sums && binds_rows && merged->space.columns > MAX_SUMMED_COLUMNS)
        return false;
    return column_sums <= MAX_SUMS;
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

static int most_operands(const MwUnit *unit)
{
    return is_scalar(unit) ? MW_UNIT_MAX_SCALARS : MW_UNIT_MAX_OPERANDS;
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

/* Merges b into a, b's nodes running at `level` of a; changes nothing where that does not work. */
static bool merge_at(MwFusion *f, int a, int b, MwLevel level)
{
    MwUnit *into = mw_fusion_unit(f, a), *from = mw_fusion_unit(f, b);
    if (!spaces_allow(into, from, level) || !results_allow(f, from, level) ||
        (level == MW_LEVEL_TOTAL && waits_for_others(f, a, b)))
        return false;
    MwUnit merged = *into;
    merged.space.columns = (int64_t)mw_max(into->space.columns, from->space.columns);
    take_nodes(f->arena, &merged, from);
    for (int i = 0; i < from->cut_count && level == MW_LEVEL_POINT; i++)
        if (!add_cut(&merged, from->cuts[i]))
            return false;
    relevel(f, from, MW_LEVEL_POINT, level);
    if (!operands_allow(f, &merged, a, b) || !sums_allow(f, &merged) ||
        outside_operands(f, &merged, a, b) > most_operands(&merged)) {
        relevel(f, from, level, MW_LEVEL_POINT);
        return false;
    }
    merged.nodes = into->nodes;
    *into = merged;
    mw_fusion_join(f, a, b);
    return true;
}

static bool can_merge_at_all(MwFusion *f, int a, int b)
{
    const MwUnit *x = mw_fusion_unit(f, a), *y = mw_fusion_unit(f, b);
    int most = is_scalar(x) && is_scalar(y) ? MW_UNIT_MAX_SCALARS : MW_UNIT_MAX_NODES;
    return a != b && x->is_kernel && y->is_kernel && x->phase == y->phase && !x->space.is_alone &&
           !y->space.is_alone && x->nodes.count + y->nodes.count <= most;
}

/* Merges a and b where one of the first `level_count` ways in which their points may relate allows
 * it. */
static void try_merge(MwFusion *f, int a, int b, int level_count)
{
    static const MwLevel levels[ALL_LEVELS] = {MW_LEVEL_POINT, MW_LEVEL_ROW, MW_LEVEL_COLUMN,
                                               MW_LEVEL_TOTAL};
    if (!can_merge_at_all(f, a, b) || mw_fusion_would_cycle(f, a, b))
        return;
    for (int i = 0; i < level_count; i++)
        if (merge_at(f, a, b, levels[i]) || merge_at(f, b, a, levels[i]))
            return;
}

/* ---- The walk ---- */

static bool node_has_unit(const MwNode *node)
{
    MwLowering lowering = mw_op_info(node->op)->lowering;
    return mw_node_is_kernel(node) || lowering == MW_LOWER_CONTRACT ||
           lowering == MW_LOWER_LIBRARY || lowering == MW_LOWER_COLLECTIVE ||
           lowering == MW_LOWER_TRANSFER;
}

static void start_units(MwFusion *f)
{
    const MwGraph *graph = f->legal->graph;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        f->out->level[n] = MW_LEVEL_POINT;
        f->out->unit_of[n] = -1;
        if (!node_has_unit(node))
            continue;
        f->out->unit_of[n] = f->out->units.count;
        MwUnit *unit = mw_vec_add(f->arena, &f->out->units);
        *unit = (MwUnit){.is_kernel = mw_node_is_kernel(node), .phase = node->phase};
        mw_vec_push(f->arena, &unit->nodes, n);
        if (!unit->is_kernel)
            continue;
        unit->space = mw_node_space(f->legal, node);
        if (!unit->space.is_alone)
            MW_ASSERT(add_node_cuts(f, unit, n));
    }
}

static void merge_with_producers(MwFusion *f, int n)
{
    const MwNode *node = mw_legal_at(f->legal, n);
    for (int k = 0; k < node->operand_count; k++) {
        int producer = f->out->unit_of[mw_fusion_producer(f->legal, node, k)];
        if (producer >= 0)
            try_merge(f, producer, f->out->unit_of[n], ALL_LEVELS);
    }
}

/* Merges the units of nodes that read the same large value not far from each other. */
static void merge_siblings(MwFusion *f, int n, int32_t *last_reader)
{
    const MwNode *node = mw_legal_at(f->legal, n);
    for (int k = 0; k < node->operand_count; k++) {
        MwValueId root = mw_legal_root(f->legal, node->operands[k]);
        const MwTensor *tensor = mw_value_tensor(f->legal->graph, root);
        bool large =
            mw_tensor_elements(tensor) >= mw_fusion_unit(f, f->out->unit_of[n])->space.points;
        int reader = last_reader[root.index];
        last_reader[root.index] = n;
        if (reader >= 0 && large && n - reader <= MAX_SIBLING_DISTANCE)
            try_merge(f, f->out->unit_of[reader], f->out->unit_of[n], SAME_POINTS);
    }
}

static void merge_units(MwFusion *f)
{
    const MwGraph *graph = f->legal->graph;
    int32_t *last_reader = MW_NEW(f->arena, int32_t, graph->values.count);
    memset(last_reader, -1, sizeof(int32_t) * (size_t)graph->values.count);
    for (int n = 0; n < graph->nodes.count; n++) {
        int unit = f->out->unit_of[n];
        if (unit < 0 || !mw_fusion_unit(f, unit)->is_kernel)
            continue;
        merge_with_producers(f, n);
        merge_siblings(f, n, last_reader);
    }
}

/* ---- What is stored ---- */

static void store(MwFusion *f, MwValueId value)
{
    MwValueId root = mw_legal_root(f->legal, value);
    MwOp op = mw_value_node(f->legal->graph, root)->op;
    if (!mw_op_is_generator(op) && op != MW_OP_SEND)
        f->out->is_stored[root.index] = true;
}

static void find_stored(MwFusion *f)
{
    const MwGraph *graph = f->legal->graph;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        int unit = f->out->unit_of[n];
        for (int k = 0; k < node->operand_count && unit >= 0; k++)
            if (f->out->unit_of[mw_fusion_producer(f->legal, node, k)] != unit)
                store(f, node->operands[k]);
        bool always = unit >= 0 ? !mw_fusion_unit(f, unit)->is_kernel &&
                                      mw_vec_last(&mw_fusion_unit(f, unit)->nodes) == n
                                : mw_op_info(node->op)->lowering == MW_LOWER_SOURCE;
        for (int k = 0; k < node->result_count && always; k++)
            store(f, (MwValueId){node->first_result + k});
    }
    for (int i = 0; i < graph->outputs.count; i++)
        store(f, graph->outputs.at[i].value);
    for (int i = 0; i < graph->assigns.count; i++)
        store(f, graph->assigns.at[i].value);
    if (mw_has_value(graph->train.loss))
        store(f, graph->train.loss);
}

/* Drops the units that were merged into others. */
static void compact(MwFusion *f)
{
    int32_t *new_index = MW_NEW(f->arena, int32_t, f->out->units.count);
    int count = 0;
    for (int u = 0; u < f->out->units.count; u++) {
        new_index[u] = count;
        if (mw_fusion_unit(f, u)->nodes.count)
            f->out->units.at[count++] = *mw_fusion_unit(f, u);
    }
    f->out->units.count = count;
    for (int n = 0; n < f->legal->graph->nodes.count; n++)
        if (f->out->unit_of[n] >= 0)
            f->out->unit_of[n] = new_index[f->out->unit_of[n]];
}

MwUnits *mw_units_form(const MwLegal *legal)
{
    MwArena *arena = legal->graph->arena;
    int nodes = legal->graph->nodes.count;
    MwUnits *units = MW_NEW(arena, MwUnits, 1);
    units->unit_of = MW_NEW(arena, int32_t, nodes);
    units->level = MW_NEW(arena, MwLevel, nodes);
    units->is_stored = MW_NEW(arena, bool, legal->graph->values.count);
    MwFusion f = {.arena = arena, .legal = legal, .out = units};
    start_units(&f);
    f.visited = MW_NEW(arena, int32_t, units->units.count);
    f.reach = MW_NEW(arena, int32_t, units->units.count);
    update_reach(&f, 0, nodes - 1);
    mw_gemm_units_absorb(&f);
    merge_units(&f);
    find_stored(&f);
    compact(&f);
    return units;
}
