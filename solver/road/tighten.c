/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A core is tightened in turns: its bound is raised (ascent.c) while the best choice is improved
 * beside it (improve.c); what is then in no better choice is cut (certify.c), and the core is
 * reduced again. */
#include "solver/road/tighten.h"

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
    const MwReduceLimits limits = mw_reduce_shrinking(search->stop);
    mw_search_reduce(search, core, &limits);
}

void mw_search_finish(MwSearch *search, const MwCore *core)
{
    if (core->infeasible) {
        mw_search_exhaust(search);
        return;
    }
    MwArena *scratch = mw_arena_new();
    mw_search_offer_of_core(search, core, MW_NEW(scratch, int, core->node_count));
    mw_search_raise_bound(search, core, core->constant);
    mw_arena_free(&scratch);
}

static void offer_improved(void *context, const int *choice)
{
    MwSearch *search = context;
    mw_search_offer_of_core(search, mw_improver_core(search->improver), choice);
}

void mw_search_improve(MwSearch *search, int64_t work, int kicks)
{
    const MwImproveLimits limits = {.work = work,
                                    .kicks = kicks,
                                    .stop = search->stop,
                                    .report = offer_improved,
                                    .context = search};
    if (search->improver && !mw_search_done(search)) {
        mw_improve(search->improver, &limits);
        mw_search_log(search, mw_improver_core(search->improver), "improve");
    }
}

MwCoreBest mw_search_best(const MwSearch *search, const MwCore *core)
{
    MwCoreBest best = {.cost = MW_CORE_NONE};
    if (search->solution->choice)
        best.cost = mw_core_cutoff(core, search->solution->cost);
    return best;
}

/* Some iterations of an ascent, and improving beside them. */
typedef struct {
    MwSearch *search;
    MwAscent *ascent;
    MwAscentLimits limits;
    MwCoreBest found;
    bool rises;
    int64_t work; /* of improving; 0: none */
} Stage;

/* Only the improving has to do with the search meanwhile. */
static void take_side(void *context, int side)
{
    Stage *stage = context;
    if (side == 0)
        stage->rises = mw_ascent_run(stage->ascent, &stage->found, &stage->limits);
    else if (stage->work > 0)
        mw_search_improve(stage->search, stage->work, INT_MAX);
}

static bool has_prices(const MwCore *core)
{
    bool has = false;
    for (int row = 0; row < core->row_count; row++)
        has |= core->price[row] > 0;
    return has;
}

/* Whether the choice is hardly farther from the bound than the best one: otherwise it is a long way
 * from there. */
static bool is_worth_a_start(const MwSearch *search, const MwCore *core, const int *choice)
{
    const MwSolution *solution = search->solution;
    const MwCost cost = mw_core_unscaled_bound(core, mw_core_cost(core, choice));
    return !solution->choice || cost - solution->cost <= solution->cost - solution->lower_bound;
}

/* Raises the bound of the core. Meanwhile the best choice is improved, with the prices and from the
 * choices that earlier iterations led to; and its cost serves to choose the steps of the prices. */
static MwDual *ascend(MwArena *scratch, MwSearch *search, MwCore *core, int iterations)
{
    Stage stage = {.search = search, .rises = true};
    stage.ascent = mw_ascent_new(scratch, core, core->price, search->pace);
    stage.limits = (MwAscentLimits){.gap = search->options->gap, .stop = search->stop};
    const int64_t sweep = (int64_t)MW_TUNED_IMPROVE_WORK *
                          (mw_core_entries_left(core) + mw_core_nodes_left(core) + 1);
    int *choice = MW_NEW(scratch, int, core->node_count);
    bool guides = has_prices(core);
    if (search->improver && guides)
        mw_improver_set_prices(search->improver, core, core->price);
    for (int done = 0; stage.rises && done < iterations; done += stage.limits.iterations) {
        stage.limits.iterations =
            (int)mw_min(mw_min(mw_max(done, MW_QUICK), MW_SOME), iterations - done);
        stage.found = mw_search_best(search, core);
        stage.work = done > 0 || guides ? sweep * stage.limits.iterations : 0;
        mw_parallel(search->options->threads, 2, take_side, &stage);
        if (stage.found.choice)
            mw_search_offer_of_core(search, core, stage.found.choice);
        if (mw_stopped(&search->stop))
            break;
        mw_search_raise_bound(search, core, mw_ascent_certify(stage.ascent));
        if (!search->improver)
            continue;
        mw_improver_set_prices(search->improver, core, mw_ascent_price(stage.ascent));
        if (mw_ascent_decode(stage.ascent, choice) && is_worth_a_start(search, core, choice))
            mw_search_start_from(search, core, choice);
    }
    stage.found = mw_search_best(search, core);
    MwDual *dual = mw_ascent_end(stage.ascent, &stage.found, core->price, &search->pace);
    if (stage.found.choice)
        mw_search_offer_of_core(search, core, stage.found.choice);
    return dual;
}

void mw_tighten(MwSearch *search, MwCore *core, int iterations)
{
    MwArena *scratch = mw_arena_new();
    MwDual *dual = ascend(scratch, search, core, iterations);
    /* Potentials make equal tables differ, so they are moved in only where it shrinks the core. */
    bool worthwhile =
        search->solution->choice &&
        mw_reduce_goes_on(dual->strategy_count, dual->strategy_count - dual->surplus_count);
    MwCost bound = worthwhile
                       ? mw_dual_apply(dual, core, mw_core_cutoff(core, search->solution->cost))
                       : mw_dual_certify(dual);
    mw_search_raise_bound(search, core, bound);
    mw_arena_free(&scratch);
    mw_search_log(search, core, "ascend");
    if (worthwhile && !mw_search_done(search))
        mw_search_shrink(search, core);
}

bool mw_search_settled(MwSearch *search, const MwCore *core)
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
    while (goes_on && !mw_search_settled(search, core) && !mw_stopped(&search->stop)) {
        const int *choice = search->solution->choice;
        int64_t before = mw_core_strategies_left(core);
        mw_tighten(search, core, iterations);
        bool is_better = search->solution->choice != choice && !search->options->quick;
        goes_on = mw_reduce_goes_on(before, mw_core_strategies_left(core)) || is_better;
    }
    return mw_search_settled(search, core);
}
