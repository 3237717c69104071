/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/fuse/joining.h"

static int reach_of(const MwFusion *f, int unit)
{
    const int loop = unit < 0 ? -1 : mw_fusion_unit(f, unit)->loop;
    return unit < 0 ? -1 : (int)mw_max(f->reach[unit], loop < 0 ? -1 : f->loop_reach[loop]);
}

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
            for (int k = 0; k < node->operand_count; k++)
                most = (int)mw_max(
                    most, reach_of(f, f->out->unit_of[mw_fusion_producer(f->legal, node, k)]));
            changed = changed || most > f->reach[unit];
            f->reach[unit] = (int32_t)mw_max(most, f->reach[unit]);
            const int loop = mw_fusion_unit(f, unit)->loop;
            if (loop >= 0)
                f->loop_reach[loop] = (int32_t)mw_max(most, f->loop_reach[loop]);
        }
    }
}

static bool loop_depends_on(MwFusion *f, int loop, int to, int through);

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
            bool may = reach_of(f, next) > target->nodes.at[0];
            if (f->visited[next] != f->stamp && may && depends_on(f, next, to, through))
                return true;
        }
    }
    return unit->loop >= 0 && target->loop != unit->loop &&
           loop_depends_on(f, unit->loop, to, through);
}

/* What waits for a unit of a loop waits for all of them: the loop runs as a whole. */
static bool loop_depends_on(MwFusion *f, int loop, int to, int through)
{
    const MwLoop *range = &f->legal->loops.at[loop];
    for (int n = range->first; n <= range->last; n++) {
        const int unit = f->out->unit_of[n];
        if (unit >= 0 && f->legal->loops.of_node[n] == loop && f->visited[unit] != f->stamp &&
            depends_on(f, unit, to, through))
            return true;
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

void mw_fusion_take_nodes(const MwFusion *f, MwUnit *into, const MwUnit *b)
{
    MW_VEC(int32_t) merged = {0};
    int i = 0, k = 0;
    while (i < into->nodes.count || k < b->nodes.count) {
        bool first =
            k == b->nodes.count || (i < into->nodes.count && into->nodes.at[i] < b->nodes.at[k]);
        mw_vec_push(f->arena, &merged, first ? into->nodes.at[i++] : b->nodes.at[k++]);
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
    mw_fusion_take_nodes(f, into, from);
    from->nodes.count = 0;
    f->reach[a] = (int32_t)mw_max(f->reach[a], f->reach[b]);
    update_reach(f, into->nodes.at[0], f->reach[a]);
}

MwFusion mw_fusion_begin(const MwLegal *legal, MwUnits *out)
{
    MwArena *arena = legal->graph->arena;
    MwFusion f = {.arena = arena,
                  .legal = legal,
                  .out = out,
                  .visited = MW_NEW(arena, int32_t, out->units.count),
                  .reach = MW_NEW(arena, int32_t, out->units.count),
                  .loop_reach = MW_NEW(arena, int32_t, legal->loops.count)};
    update_reach(&f, 0, legal->graph->nodes.count - 1);
    return f;
}
