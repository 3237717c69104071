/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The least possible peak, from below and from above.
 *
 * Costs do not matter, so most of a problem is gone at once (bare.c). From below comes what some
 * times together need (peak_bound.c). From above come choices: those met on that way, and one that
 * keeps what is proven so far as a limit, if there is one: that is the usual end. Otherwise the gap
 * is closed by solving for the peak as if it were a cost (peak_levels.c), again and again with
 * finer levels and less between. */
#include "solver/answer/least_peak.h"

#include "solver/answer/bare.h"
#include "solver/answer/peak_bound.h"
#include "solver/answer/peak_levels.h"
#include "solver/reduce/reduce.h"
#include "solver/road/search.h"
#include "solver/road/solve.h"
#include "solver/stop.h"

#include <math.h>

typedef struct {
    MwArena *arena; /* the answer's */
    MwArena *scratch;
    MwProblem *bare;
    int64_t limit;          /* as far as it is asked for; MW_USAGE_UNLIMITED: to the end */
    bool thorough;          /* with search */
    MwSolveOptions options; /* of what is solved on the way */
    MwStop stop;
    double gap;
    MwLeastPeak *found;
} Seek;

/* Leaves what is solved on the way the time that is left. */
static bool stopped(Seek *seek)
{
    mw_stop_hand_on(&seek->stop, &seek->options);
    return mw_stopped(&seek->stop);
}

static bool settled(Seek *seek)
{
    const MwLeastPeak *found = seek->found;
    double gap = (double)(found->peak - found->lower_bound);
    return stopped(seek) || found->status == MW_SOLVED_INFEASIBLE ||
           (found->choice && gap <= seek->gap * (double)found->peak) ||
           (seek->limit != MW_USAGE_UNLIMITED &&
            (found->lower_bound > seek->limit || (found->choice && found->peak <= seek->limit)));
}

static void meet(Seek *seek, const int *choice)
{
    MwLeastPeak *found = seek->found;
    if (!choice || !mw_problem_allows(seek->bare, choice))
        return;
    int64_t time, peak = mw_problem_peak(seek->bare, choice, &time);
    if (found->choice && peak >= found->peak)
        return;
    found->choice =
        mw_arena_dup(seek->arena, choice, sizeof *choice * (size_t)seek->bare->node_count);
    found->peak = peak;
    found->time = time;
}

static void raise_bound(Seek *seek, MwCost bound)
{
    MwLeastPeak *found = seek->found;
    if (found->choice && bound > found->peak)
        bound = found->peak;
    if (bound > found->lower_bound)
        found->lower_bound = bound < INT64_MAX ? (int64_t)bound : INT64_MAX;
}

/* Looks for a choice within what is proven, or within the limit if that is all that is asked. Costs
 * would say where to look, and there are none, so only what reductions show is worth the time. */
static void try_within(Seek *seek)
{
    const MwReduceLimits limits = mw_reduce_shrinking(seek->stop);
    MwArena *scratch = mw_arena_new();
    MwProblem limited = *seek->bare;
    limited.usage_limit =
        seek->limit != MW_USAGE_UNLIMITED ? seek->limit : seek->found->lower_bound;
    MwCore *core = mw_core_build(scratch, mw_tables_new(scratch), &limited, true);
    mw_reduce(core, &limits);
    if (core->infeasible) {
        raise_bound(seek, (MwCost)limited.usage_limit + 1);
    } else if (mw_core_nodes_left(core) == 0) {
        int *choice = MW_NEW(scratch, int, core->node_count);
        mw_core_restore(core, choice);
        meet(seek, choice);
    }
    mw_arena_free(&scratch);
}

/* Times and shares, as long as that leads on. */
static void raise_by_times(Seek *seek)
{
    MwPeakBound *bound = mw_peak_bound_new(seek->scratch, seek->bare, true, &seek->options);
    bool leads_on = true;
    while (leads_on && !settled(seek)) {
        int64_t peak;
        leads_on = mw_peak_bound_step(bound);
        meet(seek, mw_peak_bound_choice(bound, &peak));
        raise_bound(seek, mw_peak_bound_best(bound).bound);
        if (mw_peak_bound_impossible(bound))
            seek->found->status = MW_SOLVED_INFEASIBLE;
    }
}

/* One round of levels; false if it brought little. */
static bool close_in(Seek *seek, bool quick)
{
    MwSolveOptions options = seek->options;
    options.quick = quick;
    MwLeastPeak *found = seek->found, before = *found;
    int64_t high = found->peak - 1;
    if (seek->limit != MW_USAGE_UNLIMITED)
        high = mw_min(high, seek->limit);
    MwArena *scratch = mw_arena_new();
    MwProblem *levels = mw_peak_levels(scratch, seek->bare, found->lower_bound, high);
    if (levels) {
        MwSolution solution = mw_solve_road(scratch, levels, &options, NULL);
        meet(seek, solution.choice);
        raise_bound(seek, solution.status == MW_SOLVED_INFEASIBLE ? (MwCost)high + 1
                                                                  : solution.lower_bound);
    }
    mw_arena_free(&scratch);
    return mw_reduce_goes_on(before.peak - before.lower_bound, found->peak - found->lower_bound);
}

/* First what is quickly done, as far as that leads. */
static void close_in_all(Seek *seek)
{
    bool quick = true;
    while (!settled(seek)) {
        bool closer = close_in(seek, quick);
        if (!closer && (!quick || !seek->thorough))
            return;
        quick &= closer;
    }
}

static void seek_least(Seek *seek)
{
    MwLeastPeak *found = seek->found;
    if (mw_bare_propagate(seek->scratch, seek->bare, NULL) >= 0) {
        found->status = MW_SOLVED_INFEASIBLE;
        return;
    }
    raise_by_times(seek);
    if (!settled(seek))
        try_within(seek);
    if (found->choice && !seek->options.quick)
        close_in_all(seek);
}

MwLeastPeak mw_least_peak_for(MwArena *arena, const MwProblem *problem, int64_t limit,
                              bool thorough, const MwSolveOptions *options)
{
    static const MwSolveOptions none = {0};
    MwLeastPeak found = {.status = MW_SOLVED_UNKNOWN};
    Seek seek = {.arena = arena,
                 .scratch = mw_arena_new(),
                 .limit = limit,
                 .thorough = thorough,
                 .found = &found};
    seek.options = options ? *options : none;
    seek.options.report = NULL;
    seek.gap = seek.options.gap;
    seek.options.gap = 0;
    seek.options.cutoff = 0; /* that was one of costs */
    seek.stop = mw_stop_of(&seek.options);
    seek.bare = mw_bare_problem(seek.scratch, problem);
    seek_least(&seek);
    if (found.choice)
        found.status = found.peak == found.lower_bound ? MW_SOLVED_OPTIMAL : MW_SOLVED_FEASIBLE;
    mw_arena_free(&seek.scratch);
    return found;
}

MwLeastPeak mw_least_peak(MwArena *arena, const MwProblem *problem, const MwSolveOptions *options)
{
    return mw_least_peak_for(arena, problem, MW_USAGE_UNLIMITED, true, options);
}
