/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Problem to core: interns the costs, scales them if they are huge, and finds the memory rows.
 *
 * A memory row stands for a maximal set of nodes that are live together. Usage only falls where an
 * interval ends, so a greatest usage is met at the last begin before an end; all other times are
 * dominated (the maximal cliques of an interval graph: Golumbic, Algorithmic Graph Theory and
 * Perfect Graphs, 1980, chapter 8). */
#include "base/hash.h"
#include "solver/core.h"

#include <stdlib.h>
#include <string.h>

/* The greatest finite value, or 0. */
static int64_t greatest_finite(const int64_t *cost, int64_t count)
{
    int64_t greatest = 0;
    for (int64_t i = 0; i < count; i++)
        if (cost[i] < MW_COST_INFINITE)
            greatest = mw_max(greatest, cost[i]);
    return greatest;
}

static int64_t edge_entries(const MwProblem *problem, const MwProblemEdge *edge)
{
    return (int64_t)problem->nodes[edge->a].strategy_count * problem->nodes[edge->b].strategy_count;
}

/* The greatest power of two, within reason, that keeps all finite costs together well below
 * MW_FORBIDDEN. Above zero it leaves room for fractions in bounds. */
static int best_scale(const MwProblem *problem)
{
    __int128 total = 0;
    for (int i = 0; i < problem->node_count; i++)
        total += greatest_finite(problem->nodes[i].cost, problem->nodes[i].strategy_count);
    for (int i = 0; i < problem->edge_count; i++)
        total += greatest_finite(problem->edges[i].cost, edge_entries(problem, &problem->edges[i]));
    int scale = 16;
    while ((scale >= 0 ? total << scale : total >> -scale) > MW_FORBIDDEN / 8)
        scale--;
    return scale;
}

static int64_t scaled(int64_t cost, int scale)
{
    return scale >= 0 ? cost << scale : cost >> -scale;
}

static const MwTable *scaled_table(MwCore *core, int arity, const int *dims, const int64_t *cost)
{
    int64_t count = arity == 1 ? dims[0] : (int64_t)dims[0] * dims[1];
    int64_t *values = mw_tables_scratch(core->tables, count);
    for (int64_t i = 0; i < count; i++)
        values[i] = cost[i] < MW_COST_INFINITE ? scaled(cost[i], core->scale) : MW_FORBIDDEN;
    return mw_table_intern(core->tables, arity, dims, values);
}

typedef struct {
    int64_t time;
    int node;
    bool begins;
} Event;

/* By time; at one time ends come before begins, because intervals are half-open. */
static int compare_events(const void *a, const void *b)
{
    const Event *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if (x->begins != y->begins)
        return x->begins ? 1 : -1;
    return (x->node > y->node) - (x->node < y->node);
}

static bool uses_memory(const MwProblemNode *node)
{
    return node->usage && node->begin < node->end;
}

static int sorted_events(const MwProblem *problem, Event *events)
{
    int count = 0;
    for (int i = 0; i < problem->node_count; i++) {
        const MwProblemNode *node = &problem->nodes[i];
        if (!uses_memory(node))
            continue;
        events[count++] = (Event){node->begin, i, true};
        events[count++] = (Event){node->end, i, false};
    }
    qsort(events, (size_t)count, sizeof *events, compare_events);
    return count;
}

static void add_term(MwCore *core, const MwProblemNode *from, int node, int first, int last)
{
    const MwTable *usage = mw_table_intern(core->tables, 1, &from->strategy_count, from->usage);
    mw_vec_push(core->arena, &core->nodes[node].terms, ((MwCoreTerm){first, last, usage}));
}

static void build_rows(MwCore *core, const MwProblem *problem)
{
    Event *events = MW_NEW(core->arena, Event, 2 * problem->node_count);
    int *first_row = MW_NEW(core->arena, int, problem->node_count);
    int count = sorted_events(problem, events);
    core->limit = MW_NEW(core->arena, __int128, problem->node_count);
    core->price = MW_NEW(core->arena, double, problem->node_count);
    core->time = MW_NEW(core->arena, int64_t, problem->node_count);
    for (int i = 0; i < count; i++) {
        const Event *event = &events[i];
        if (!event->begins) {
            add_term(core, &problem->nodes[event->node], event->node, first_row[event->node],
                     core->row_count - 1);
            continue;
        }
        first_row[event->node] = core->row_count;
        if (!events[i + 1].begins) {
            core->time[core->row_count] = event->time;
            core->limit[core->row_count++] = problem->usage_limit;
        }
    }
}

MwCore *mw_core_build(MwArena *arena, MwTables *tables, const MwProblem *problem, bool limited)
{
    MwCore *core = MW_NEW(arena, MwCore, 1);
    core->arena = arena;
    core->tables = tables;
    core->node_count = problem->node_count;
    core->nodes = MW_NEW(arena, MwCoreNode, problem->node_count);
    core->scale = best_scale(problem);
    for (int i = 0; i < problem->node_count; i++) {
        const MwProblemNode *node = &problem->nodes[i];
        core->nodes[i].cost = scaled_table(core, 1, &node->strategy_count, node->cost);
        core->nodes[i].queued = true;
        mw_vec_push(arena, &core->changed_nodes, i);
    }
    for (int i = 0; i < problem->edge_count; i++) {
        const MwProblemEdge *edge = &problem->edges[i];
        static const int reversed[] = {1, 0};
        int dims[] = {problem->nodes[edge->a].strategy_count,
                      problem->nodes[edge->b].strategy_count};
        int scope[] = {(int)mw_min(edge->a, edge->b), (int)mw_max(edge->a, edge->b)};
        const MwTable *cost = scaled_table(core, 2, dims, edge->cost);
        if (edge->a > edge->b)
            cost = mw_table_permute(tables, cost, reversed);
        const MwTable *classes[] = {mw_classes_identity(tables, cost->dims[0]),
                                    mw_classes_identity(tables, cost->dims[1])};
        mw_core_add_factor(core, scope, classes, cost);
    }
    if (limited && problem->usage_limit != MW_USAGE_UNLIMITED)
        build_rows(core, problem);
    return core;
}
