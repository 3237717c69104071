/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solver/driver/search.h"

#include <math.h>

bool mw_search_done(const MwSearch *search)
{
    const MwSolution *solution = search->solution;
    const MwCost cutoff = search->options->cutoff;
    if (search->parent && mw_search_done(search->parent))
        return true;
    if (cutoff > 0 && solution->lower_bound >= cutoff)
        return true;
    if (!solution->choice)
        return search->impossible;
    return (double)(solution->cost - solution->lower_bound) <=
           search->options->gap * (double)solution->cost;
}

static void report(const MwSearch *search)
{
    if (search->options->report)
        search->options->report(search->options->context, search->solution,
                                mw_clock_s() - search->start_s);
}

typedef struct {
    bool legal;
    MwCost cost;
    int64_t peak, time; /* of a choice of the problem */
} Measured;

static Measured measure(const MwSearch *search, const int *choice)
{
    const MwProblem *problem = search->problem;
    const MwCore *root = search->root;
    Measured measured = {0};
    if (root) {
        measured.cost = mw_core_cost(root, choice) >> root->scale;
        measured.legal = mw_core_allows(root, choice) && mw_core_fits(root, choice);
    } else {
        measured.cost = mw_problem_cost(problem, choice);
        measured.peak = mw_problem_peak(problem, choice, &measured.time);
        measured.legal =
            mw_problem_allows(problem, choice) && measured.peak <= problem->usage_limit;
    }
    return measured;
}

bool mw_search_keeps_limit(const MwSearch *search, const int *choice)
{
    int64_t time;
    if (search->root)
        return mw_core_fits(search->root, choice);
    return mw_problem_peak(search->problem, choice, &time) <= search->problem->usage_limit;
}

/* Offers the choice to the improver, if it is a choice of the improver's core. */
static void offer_to_improver(const MwSearch *search, const int *choice)
{
    MwArena *scratch = mw_arena_new();
    const MwCore *core = mw_improver_core(search->improver);
    int *entered = mw_arena_dup(scratch, choice, sizeof *choice * (size_t)core->node_count);
    if (mw_core_reduce_choice(core, entered))
        mw_improver_offer(search->improver, entered);
    mw_arena_free(&scratch);
}

bool mw_search_offer(MwSearch *search, const int *choice)
{
    MwSolution *solution = search->solution;
    const Measured measured = measure(search, choice);
    const int nodes = search->root ? search->root->node_count : search->problem->node_count;
    if (!measured.legal || (solution->choice && measured.cost >= solution->cost))
        return false;
    solution->choice = mw_arena_dup(search->arena, choice, sizeof *choice * (size_t)nodes);
    solution->cost = measured.cost;
    solution->peak_usage = measured.peak;
    solution->peak_time = measured.time;
    report(search);
    if (search->improver)
        offer_to_improver(search, choice);
    return true;
}

bool mw_search_offer_core_choice(MwSearch *search, const MwCore *core, const int *choice)
{
    MwArena *scratch = mw_arena_new();
    int *restored = mw_arena_dup(scratch, choice, sizeof *choice * (size_t)core->node_count);
    mw_core_restore(core, restored);
    bool better = mw_search_offer(search, restored);
    mw_arena_free(&scratch);
    return better;
}

void mw_search_start_from(MwSearch *search, const MwCore *core, const int *choice)
{
    MwArena *scratch = mw_arena_new();
    int *entered = mw_arena_dup(scratch, choice, sizeof *choice * (size_t)core->node_count);
    if (search->improver && mw_core_restore_to(core, mw_improver_core(search->improver), entered))
        mw_improver_start(search->improver, entered);
    mw_arena_free(&scratch);
}

void mw_search_raise_bound(MwSearch *search, const MwCore *core, MwCost bound)
{
    MwSolution *solution = search->solution;
    MwCost unscaled = mw_core_unscaled_bound(core, bound);
    if (solution->choice && unscaled > solution->cost)
        unscaled = solution->cost;
    if (unscaled <= solution->lower_bound)
        return;
    solution->lower_bound = unscaled;
    report(search);
}

void mw_search_exhaust(MwSearch *search)
{
    if (search->solution->choice)
        search->solution->lower_bound = search->solution->cost;
    else
        search->impossible = true;
}

void mw_search_log(const MwSearch *search, const MwCore *core, const char *step)
{
    FILE *log = search->options->log;
    if (!log)
        return;
    int functions = 0;
    for (int i = 0; i < core->functions.count; i++)
        functions += core->functions.at[i].cost != NULL;
    fprintf(log,
            "%8.3f s  %-12s %d nodes, %lld strategies, %d cost functions, %lld entries, %d rows; "
            "cost %.0f, bound %.0f\n",
            mw_clock_s() - search->start_s, step, mw_core_nodes_left(core),
            (long long)mw_core_strategies_left(core), functions,
            (long long)mw_core_entries_left(core), core->row_count,
            search->solution->choice ? (double)search->solution->cost : INFINITY,
            (double)search->solution->lower_bound);
}
