/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A core is tightened in rounds: its bound is raised (ascent.c) while another thread improves the
 * incumbent (improve.c); strategies that no better choice takes are fixed (certify.c); and the core
 * is reduced again. */
#include "solver/driver/tighten.h"

#include "base/threads.h"
#include "solver/bound/certify.h"
#include "solver/tuning.h"

#include <limits.h>

void mw_search_reduce(MwSearch *search, MwCore *core, const MwReduceLimits *limits)
{
    MwReduceLimits timed = *limits;
    timed.stop = search->stop;
    mw_reduce(core, &timed);
    mw_search_log(search, core, "reduce");
}

void mw_search_shrink(MwSearch *search, MwCore *core)
{
    MwReduceLimits limits = mw_reduce_shrinking(search->stop);
    limits.quick = search->options->quick && core->row_count == 0;
    mw_search_reduce(search, core, &limits);
}

void mw_search_finish(MwSearch *search, const MwCore *core)
{
    if (core->infeasible) {
        mw_search_exhaust(search);
        return;
    }
    MwArena *scratch = mw_arena_new();
    mw_search_offer_core_choice(search, core, MW_NEW(scratch, int, core->node_count));
    mw_search_raise_bound(search, core, core->constant);
    mw_arena_free(&scratch);
}

static void offer_improved(void *context, const int *choice)
{
    MwSearch *search = context;
    mw_search_offer_core_choice(search, mw_improver_core(search->improver), choice);
}

void mw_search_improve(MwSearch *search, int64_t work, int perturbations)
{
    const MwImproveLimits limits = {.work = work,
                                    .perturbations = perturbations,
                                    .stop = search->stop,
                                    .report = offer_improved,
                                    .context = search};
    if (search->improver && !mw_search_done(search)) {
        mw_improve(search->improver, &limits);
        mw_search_log(search, mw_improver_core(search->improver), "improve");
    }
}

MwIncumbent mw_search_incumbent(const MwSearch *search, const MwCore *core)
{
    MwIncumbent best = {.cost = MW_ABOVE_ANY_COST};
    if (search->solution->choice)
        best.cost = mw_core_cutoff(core, search->solution->cost);
    return best;
}

/* Some iterations of an ascent, and the improvement of the incumbent in parallel. */
typedef struct {
    MwSearch *search;
    MwAscent *ascent;
    MwAscentLimits limits;
    MwIncumbent found;
    bool rises;
    int64_t work; /* limit of the improvement; 0: none */
} AscentRun;

/* Runs task 0, the ascent, or task 1, the improvement. Only the improvement may access the search,
 * because both run at the same time. */
static void run_task(void *context, int task)
{
    AscentRun *run = context;
    if (task == 0)
        run->rises = mw_ascent_run(run->ascent, &run->found, &run->limits);
    else if (run->work > 0)
        mw_search_improve(run->search, run->work, INT_MAX);
}

static bool has_prices(const MwCore *core)
{
    bool has = false;
    for (int row = 0; row < core->row_count; row++)
        has |= core->price[row] > 0;
    return has;
}

/* Says whether the choice is about as close to the bound as the incumbent; if not, improving it
 * would take long. */
static bool is_good_start(const MwSearch *search, const MwCore *core, const int *choice)
{
    const MwSolution *solution = search->solution;
    const MwCost cost = mw_core_unscaled_bound(core, mw_core_cost(core, choice));
    return !solution->choice || cost - solution->cost <= solution->cost - solution->lower_bound;
}

/* Raises the bound of the core. In parallel, the incumbent is improved, with the current prices and
 * from the choices that earlier iterations decoded. Its cost determines the steps of the prices. */
static MwDual *ascend(MwArena *scratch, MwSearch *search, MwCore *core, int iterations)
{
    AscentRun run = {.search = search, .rises = true};
    run.ascent = mw_ascent_new(scratch, core, core->price, search->step_scale);
    run.limits = (MwAscentLimits){.gap = search->options->gap, .stop = search->stop};
    const int64_t sweep = (int64_t)MW_TUNED_IMPROVE_WORK *
                          (mw_core_entries_left(core) + mw_core_nodes_left(core) + 1);
    int *choice = MW_NEW(scratch, int, core->node_count);
    bool guides = has_prices(core);
    if (search->improver && guides)
        mw_improver_set_prices(search->improver, core, core->price);
    for (int done = 0; run.rises && done < iterations; done += run.limits.iterations) {
        run.limits.iterations =
            (int)mw_min(mw_min(mw_max(done, MW_ASCENT_QUICK), MW_ASCENT_MEDIUM), iterations - done);
        run.found = mw_search_incumbent(search, core);
        run.work = done > 0 || guides ? sweep * run.limits.iterations : 0;
        mw_parallel(search->options->threads, 2, run_task, &run);
        search->solution->visits += run.limits.iterations * mw_core_entries_left(core);
        if (run.found.choice)
            mw_search_offer_core_choice(search, core, run.found.choice);
        if (mw_stopped(&search->stop))
            break;
        mw_search_raise_bound(search, core, mw_ascent_certify(run.ascent));
        if (!search->improver)
            continue;
        mw_improver_set_prices(search->improver, core, mw_ascent_price(run.ascent));
        if (mw_ascent_decode(run.ascent, choice) && is_good_start(search, core, choice))
            mw_search_start_from(search, core, choice);
    }
    run.found = mw_search_incumbent(search, core);
    MwDual *dual = mw_ascent_end(run.ascent, &run.found, core->price, &search->step_scale);
    if (run.found.choice)
        mw_search_offer_core_choice(search, core, run.found.choice);
    return dual;
}

/* Returns how many of the iterations a quick search may do. */
static int affordable(const MwSearch *search, const MwCore *core, int iterations)
{
    if (!search->options->quick)
        return iterations;
    int64_t most = MW_TUNED_QUICK_VISITS / mw_max(1, mw_core_entries_left(core));
    return (int)mw_min(iterations, mw_max(most, MW_ASCENT_QUICK));
}

void mw_tighten(MwSearch *search, MwCore *core, int iterations)
{
    iterations = affordable(search, core, iterations);
    MwArena *scratch = mw_arena_new();
    MwDual *dual = ascend(scratch, search, core, iterations);
    /* Potentials make equal tables differ, so they are moved into the costs only if the core
     * shrinks. */
    bool worthwhile =
        search->solution->choice &&
        mw_reduce_goes_on(dual->strategy_count, dual->strategy_count - dual->fixable_count);
    MwCost bound = worthwhile
                       ? mw_dual_apply(dual, core, mw_core_cutoff(core, search->solution->cost))
                       : mw_dual_certify(dual);
    mw_search_raise_bound(search, core, bound);
    mw_arena_free(&scratch);
    mw_search_log(search, core, "ascend");
    if (worthwhile && !mw_search_done(search))
        mw_search_shrink(search, core);
}

bool mw_search_settle(MwSearch *search, const MwCore *core)
{
    if (mw_search_done(search))
        return true;
    search->solution->reduced_nodes = mw_core_nodes_left(core);
    if (search->solution->reduced_nodes > 0 && !core->infeasible)
        return false;
    mw_search_finish(search, core);
    return true;
}

bool mw_tighten_all(MwSearch *search, MwCore *core, int iterations)
{
    bool goes_on = true;
    while (goes_on && !mw_search_settle(search, core) && !mw_stopped(&search->stop)) {
        const int *choice = search->solution->choice;
        int64_t before = mw_core_strategies_left(core);
        mw_tighten(search, core, iterations);
        bool is_better = search->solution->choice != choice && !search->options->quick;
        goes_on = mw_reduce_goes_on(before, mw_core_strategies_left(core)) || is_better;
    }
    return mw_search_settle(search, core);
}
