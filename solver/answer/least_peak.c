/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The least possible peak, bounded from below and from above.
 *
 * Costs do not matter, so most of a problem disappears at once (hard_constraints.c). Weighted
 * averages of the usage at several times give lower bounds (peak_bound.c). Choices give upper
 * bounds: those met on the way, and one that keeps the lower bound as its limit, if reductions find
 * one, which is the usual end. Otherwise the gap is closed by solving for the peak as if it were a
 * cost (peak_levels.c), repeatedly, with finer levels over a smaller interval. */
#include "solver/answer/least_peak.h"

#include "solver/answer/hard_constraints.h"
#include "solver/answer/peak_bound.h"
#include "solver/answer/peak_levels.h"
#include "solver/driver/search.h"
#include "solver/driver/solve.h"
#include "solver/reduce/reduce.h"
#include "solver/stop.h"

#include <math.h>

typedef struct {
    MwArena *arena; /* holds the answer */
    MwArena *scratch;
    MwProblem *hard;
    int64_t limit; /* the search may end once the least peak is known to be above or at most
                      this; MW_USAGE_UNLIMITED: only once it is known */
    bool thorough; /* solve levels with search too */
    MwSolveOptions options; /* options for the problems solved on the way */
    MwStop stop;
    double gap;
    MwLeastPeak *found;
} PeakSearch;

/* Gives the time left to the next problem. Returns whether work must end. */
static bool stopped(PeakSearch *search)
{
    mw_stop_pass_on(&search->stop, &search->options);
    return mw_stopped(&search->stop);
}

static bool is_done(PeakSearch *search)
{
    const MwLeastPeak *found = search->found;
    double gap = (double)(found->peak - found->lower_bound);
    return stopped(search) || found->status == MW_SOLVED_INFEASIBLE ||
           (found->choice && gap <= search->gap * (double)found->peak) ||
           (search->limit != MW_USAGE_UNLIMITED &&
            (found->lower_bound > search->limit ||
             (found->choice && found->peak <= search->limit)));
}

static void keep_if_lower(PeakSearch *search, const int *choice)
{
    MwLeastPeak *found = search->found;
    if (!choice || !mw_problem_allows(search->hard, choice))
        return;
    int64_t time, peak = mw_problem_peak(search->hard, choice, &time);
    if (found->choice && peak >= found->peak)
        return;
    found->choice =
        mw_arena_dup(search->arena, choice, sizeof *choice * (size_t)search->hard->node_count);
    found->peak = peak;
    found->time = time;
}

static void raise_bound(PeakSearch *search, MwCost bound)
{
    MwLeastPeak *found = search->found;
    if (found->choice && bound > found->peak)
        bound = found->peak;
    if (bound > found->lower_bound)
        found->lower_bound = bound < INT64_MAX ? (int64_t)bound : INT64_MAX;
}

/* Looks for a choice that keeps the lower bound, or the limit if only that is asked. Without costs
 * a search has no guidance, so only reductions are worth their time. */
static void try_reductions(PeakSearch *search)
{
    const MwReduceLimits limits = mw_reduce_shrinking(search->stop);
    MwArena *scratch = mw_arena_new();
    MwProblem limited = *search->hard;
    limited.usage_limit =
        search->limit != MW_USAGE_UNLIMITED ? search->limit : search->found->lower_bound;
    MwCore *core = mw_core_build(scratch, mw_tables_new(scratch), &limited, true);
    mw_reduce(core, &limits);
    if (core->infeasible) {
        raise_bound(search, (MwCost)limited.usage_limit + 1);
    } else if (mw_core_nodes_left(core) == 0) {
        int *choice = MW_NEW(scratch, int, core->node_count);
        mw_core_restore(core, choice);
        keep_if_lower(search, choice);
    }
    mw_arena_free(&scratch);
}

/* Raises the bound by weighted times as long as that makes progress. */
static void raise_bound_by_times(PeakSearch *search)
{
    MwPeakBound *bound = mw_peak_bound_new(search->scratch, search->hard, true, &search->options);
    bool progress = true;
    while (progress && !is_done(search)) {
        int64_t peak;
        progress = mw_peak_bound_step(bound);
        keep_if_lower(search, mw_peak_bound_choice(bound, &peak));
        raise_bound(search, mw_peak_bound_best(bound).bound);
        if (mw_peak_bound_impossible(bound))
            search->found->status = MW_SOLVED_INFEASIBLE;
    }
}

/* Solves one round of levels. Returns whether another round is worth it. */
static bool solve_levels(PeakSearch *search, bool quick)
{
    MwSolveOptions options = search->options;
    options.quick = quick;
    MwLeastPeak *found = search->found, before = *found;
    int64_t high = found->peak - 1;
    if (search->limit != MW_USAGE_UNLIMITED)
        high = mw_min(high, search->limit);
    MwArena *scratch = mw_arena_new();
    MwProblem *levels = mw_peak_levels(scratch, search->hard, found->lower_bound, high);
    if (levels) {
        MwSolution solution = mw_solve_plain(scratch, levels, &options, NULL);
        keep_if_lower(search, solution.choice);
        raise_bound(search, solution.status == MW_SOLVED_INFEASIBLE ? (MwCost)high + 1
                                                                    : solution.lower_bound);
    }
    mw_arena_free(&scratch);
    return mw_reduce_goes_on(before.peak - before.lower_bound, found->peak - found->lower_bound);
}

/* Solves rounds of levels, first with `quick`, then, if `thorough`, without. */
static void close_gap(PeakSearch *search)
{
    bool quick = true;
    while (!is_done(search)) {
        bool progress = solve_levels(search, quick);
        if (!progress && (!quick || !search->thorough))
            return;
        quick &= progress;
    }
}

static void find_least_peak(PeakSearch *search)
{
    MwLeastPeak *found = search->found;
    if (mw_hard_propagate(search->scratch, search->hard, NULL) >= 0) {
        found->status = MW_SOLVED_INFEASIBLE;
        return;
    }
    raise_bound_by_times(search);
    if (!is_done(search))
        try_reductions(search);
    if (found->choice && !search->options.quick)
        close_gap(search);
}

MwLeastPeak mw_least_peak_for(MwArena *arena, const MwProblem *problem, int64_t limit,
                              bool thorough, const MwSolveOptions *options)
{
    static const MwSolveOptions none = {0};
    MwLeastPeak found = {.status = MW_SOLVED_UNKNOWN};
    PeakSearch search = {.arena = arena,
                         .scratch = mw_arena_new(),
                         .limit = limit,
                         .thorough = thorough,
                         .found = &found};
    search.options = options ? *options : none;
    search.options.report = NULL;
    search.gap = search.options.gap;
    search.options.gap = 0;
    search.options.cutoff = 0; /* it refers to costs */
    search.stop = mw_stop_of(&search.options);
    search.hard = mw_hard_constraints(search.scratch, problem);
    find_least_peak(&search);
    if (found.choice)
        found.status = found.peak == found.lower_bound ? MW_SOLVED_OPTIMAL : MW_SOLVED_FEASIBLE;
    mw_arena_free(&search.scratch);
    return found;
}

MwLeastPeak mw_least_peak(MwArena *arena, const MwProblem *problem, const MwSolveOptions *options)
{
    return mw_least_peak_for(arena, problem, MW_USAGE_UNLIMITED, true, options);
}
