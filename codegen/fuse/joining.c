/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/fuse/joining.h"

#include <string.h>

static int reach_of(const MwFusion *f, int unit)
{
    const int loop = unit < 0 ? -1 : mw_fusion_unit(f, unit)->loop;
    return unit < 0 ? -1 : (int)mw_max(f->reach[unit], loop < 0 ? -1 : f->loop_reach[loop]);
}

/* Inverts the operands by counting sort. While the lists are filled, begin[n + 1] is the end of the
 * list of node n so far. */
static void find_readers(MwFusion *f)
{
    const MwGraph *graph = f->legal->graph;
    const int nodes = graph->nodes.count;
    int32_t *begin = f->readers.begin = MW_NEW(f->arena, int32_t, nodes + 2);
    for (int n = 0; n < nodes; n++)
        for (int k = 0; k < graph->nodes.at[n].operand_count && f->out->unit_of[n] >= 0; k++)
            begin[mw_fusion_producer(f->legal, &graph->nodes.at[n], k) + 2]++;
    for (int n = 0; n < nodes; n++)
        begin[n + 2] += begin[n + 1];
    f->readers.at = MW_NEW(f->arena, int32_t, begin[nodes + 1]);
    for (int n = 0; n < nodes; n++)
        for (int k = 0; k < graph->nodes.at[n].operand_count && f->out->unit_of[n] >= 0; k++)
            f->readers.at[begin[mw_fusion_producer(f->legal, &graph->nodes.at[n], k) + 1]++] = n;
}

/* Lists the units of a loop, of which one reaches further than any did. */
static void raise_loop(MwFusion *f, int loop, int reach)
{
    const MwLoop *range = &f->legal->loops.at[loop];
    f->loop_reach[loop] = reach;
    for (int n = range->first; n <= range->last; n++)
        if (f->out->unit_of[n] >= 0 && f->legal->loops.of_node[n] == loop)
            mw_vec_push(f->arena, &f->raised, f->out->unit_of[n]);
}

/* Lists the unit if it has not reached so far yet. */
static void raise_unit(MwFusion *f, int unit, int reach)
{
    const int loop = mw_fusion_unit(f, unit)->loop;
    if (reach <= f->reach[unit])
        return;
    f->reach[unit] = reach;
    if (loop >= 0 && reach > f->loop_reach[loop])
        raise_loop(f, loop, reach);
    else
        mw_vec_push(f->arena, &f->raised, unit);
}

/* Brings `reach` of what depends on the listed units up to date. */
static void raise_readers(MwFusion *f)
{
    while (f->raised.count) {
        const int unit = f->raised.at[--f->raised.count], reach = reach_of(f, unit);
        const MwUnit *of = mw_fusion_unit(f, unit);
        for (int i = 0; i < of->nodes.count; i++)
            for (int r = f->readers.begin[of->nodes.at[i]];
                 r < f->readers.begin[of->nodes.at[i] + 1]; r++)
                raise_unit(f, f->out->unit_of[f->readers.at[r]], reach);
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
    mw_vec_push(f->arena, &f->raised, a);
    raise_readers(f);
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
    find_readers(&f);
    memset(f.reach, -1, sizeof *f.reach * (size_t)out->units.count);
    for (int n = 0; n < legal->graph->nodes.count; n++)
        if (out->unit_of[n] >= 0)
            raise_unit(&f, out->unit_of[n], n);
    raise_readers(&f);
    return f;
}
