/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order in which reductions are tried.
 *
 * First all local reductions run until nothing changes: separation, forbidden and dominated
 * strategies, usage. Then follows a round of eliminations: of the nodes whose elimination makes the
 * smallest table, in order of index, all those that had no neighbour eliminated in this round. Then
 * both are repeated. Rounds treat the corresponding nodes of all repeated layers at the same time
 * and in the same context, so that the remembered results of one layer serve the others.
 *
 * Once time is up, only the reductions run on which other code relies: separation of cost
 * functions, and removal of forbidden strategies. */
#include "solver/reduce/reduce.h"

#include "solver/reduce/candidates.h"
#include "solver/reduce/rules.h"

typedef struct {
    MwCore *core;
    const MwReduceLimits *limits;
    MwCandidates heap; /* a candidate is valid if `entries` agrees with it */
    int64_t *entries;  /* [node] entries of the table its elimination makes; 0: not a candidate */
    int *round;        /* [node] the last round in which a neighbour was eliminated */
    int rounds;
    int64_t total;
    int64_t counted; /* work of the tables that has been counted */
} Reducer;

/* Counts the work since the last call. Returns true if work must end. */
static bool is_stopped(Reducer *reducer)
{
    const int64_t work = mw_tables_work(reducer->core->tables);
    mw_stop_count(&reducer->limits->stop, work - reducer->counted);
    reducer->counted = work;
    return mw_stopped(&reducer->limits->stop);
}

static int64_t function_entries(const MwCore *core, int node)
{
    int64_t entries = 0;
    for (int i = 0; i < core->nodes[node].functions.count; i++)
        entries += core->functions.at[core->nodes[node].functions.at[i]].cost->count;
    return entries;
}

/* Returns the entries of the table that eliminating the node makes; 0 if it must not be
 * eliminated. */
static int64_t candidate_entries(const Reducer *reducer, int node)
{
    const MwCore *core = reducer->core;
    const MwReduceLimits *limits = reducer->limits;
    if (core->nodes[node].terms.count > 0)
        return 0;
    int64_t entries =
        mw_elimination_entries(core, node, (int)mw_min(limits->arity, 2), limits->entries);
    if (entries > 0 || limits->arity <= 2)
        return entries;
    int64_t most = limits->entries;
    if (limits->shrinking)
        most = mw_min(most, function_entries(core, node));
    return mw_elimination_entries(core, node, limits->arity, most);
}

/* Updates the queue for the node. */
static void update_candidate(Reducer *reducer, int node)
{
    int64_t entries = candidate_entries(reducer, node);
    if (entries > 0 && entries != reducer->entries[node])
        mw_candidates_push(reducer->core->arena, &reducer->heap,
                           (MwCandidate){(double)entries, node});
    reducer->entries[node] = entries;
}

static void reduce_node(Reducer *reducer, int node)
{
    MwCore *core = reducer->core;
    if (!core->nodes[node].cost)
        return;
    mw_reduce_terms(core, node);
    mw_reduce_usage(core, node);
    mw_reduce_forbidden(core, node);
    if (core->infeasible || is_stopped(reducer))
        return;
    mw_reduce_dominated(core, node);
    mw_reduce_substitute(core, node);
    if (core->nodes[node].cost)
        update_candidate(reducer, node);
}

static void reduce_queued(Reducer *reducer)
{
    MwCore *core = reducer->core;
    int node = 0, function = 0;
    while (!core->infeasible) {
        if (function < core->changed_functions.count) {
            int index = core->changed_functions.at[function++];
            core->functions.at[index].queued = false;
            if (core->functions.at[index].cost)
                mw_reduce_separable(core, index);
        } else if (node < core->changed_nodes.count) {
            int index = core->changed_nodes.at[node++];
            core->nodes[index].queued = false;
            reduce_node(reducer, index);
        } else {
            break;
        }
    }
    core->changed_nodes.count = core->changed_functions.count = 0;
}

static void eliminate(Reducer *reducer, int node)
{
    int neighbours[MW_TABLE_ARITY];
    int count = mw_core_neighbours(reducer->core, node, MW_TABLE_ARITY, neighbours);
    for (int i = 0; i < count; i++)
        reducer->round[neighbours[i]] = reducer->rounds;
    reducer->total += mw_reduce_eliminate(reducer->core, node, count, neighbours);
}

/* Eliminates one round of nodes. Returns false if nothing can be eliminated within the limits. A
 * node that is skipped because of a neighbour was changed by the elimination of that neighbour, so
 * it becomes a candidate again when reduce_queued reaches it. */
static bool eliminate_round(Reducer *reducer)
{
    const MwReduceLimits *limits = reducer->limits;
    double least = 0;
    reducer->rounds++;
    while (reducer->heap.count > 0 && (least == 0 || reducer->heap.at[0].entries == least)) {
        MwCandidate next = mw_candidates_pop(&reducer->heap);
        if (!reducer->core->nodes[next.node].cost ||
            (double)reducer->entries[next.node] != next.entries)
            continue;
        reducer->entries[next.node] = 0;
        if (reducer->round[next.node] == reducer->rounds)
            continue;
        least = next.entries;
        if (reducer->total > limits->total || is_stopped(reducer))
            return false;
        eliminate(reducer, next.node);
    }
    return least > 0;
}

static void reduce_rows(MwCore *core, const MwReduceLimits *limits)
{
    if (limits->quick)
        mw_reduce_adjacent_rows(core);
    else
        mw_reduce_rows(core);
}

/* Applies the expensive reductions. They run only when nothing else applies. */
static void reduce_expensive(Reducer *reducer)
{
    MwCore *core = reducer->core;
    reduce_rows(core, reducer->limits);
    for (int i = 0; i < core->node_count && !core->infeasible && !reducer->limits->quick; i++)
        if (core->nodes[i].cost && !is_stopped(reducer))
            mw_reduce_jointly_dominated(core, i);
}

void mw_reduce(MwCore *core, const MwReduceLimits *limits)
{
    Reducer reducer = {.core = core, .limits = limits, .counted = mw_tables_work(core->tables)};
    reducer.entries = MW_NEW(core->arena, int64_t, core->node_count);
    reducer.round = MW_NEW(core->arena, int, core->node_count);
    for (int i = 0; i < core->node_count; i++)
        if (core->nodes[i].cost && !core->nodes[i].queued)
            update_candidate(&reducer, i);
    int rows;
    reduce_rows(core, limits);
    do {
        rows = core->row_count;
        do {
            reduce_queued(&reducer);
        } while (!core->infeasible && eliminate_round(&reducer));
        reduce_queued(&reducer);
        if (is_stopped(&reducer))
            break;
        reduce_expensive(&reducer);
    } while ((rows != core->row_count || core->changed_nodes.count > 0) && !core->infeasible);
    reduce_queued(&reducer);
}
