/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The solver's road.
 *
 * Reduce to a core that is no larger for it; raise its bound, find choices and improve them, take
 * away what cannot be in a better choice, and reduce again, as long as that shrinks the core;
 * eliminate what is left, or search it by branch and bound, or give it to GLPK; improve the choice
 * as long as that pays. What the first reduction leaves is looked at without the memory limit
 * first, where elimination is not held up by usage and repeated layers cost nothing: that gives a
 * bound, and often already the answer. If it does not fit, the same with the limit; and first,
 * where elimination without rows is no more than some sweeps, prices of memory by it. Where what
 * the first reduction leaves is in several components, each goes this road by itself (apart.c). */
#include "solver/solve.h"

#include "solver/apart.h"
#include "solver/dive.h"
#include "solver/ilp.h"
#include "solver/lagrange.h"
#include "solver/least_peak.h"
#include "solver/parallel.h"
#include "solver/polish.h"
#include "solver/reduce.h"
#include "solver/search.h"
#include "solver/widen.h"

#include <limits.h>
#include <math.h>

/* As long as it makes the core no larger. */
static const MwReduceLimits SHRINKING = {
    .arity = 4, .entries = 1 << 22, .total = INT64_MAX, .shrinking = true};

/* Iterations of a first look, of a second one, and of a serious try. */
enum { QUICK = 20, SOME = 40, LONG = 400 };

/* A share of the cost: an answer that close is good, if not the best. */
static const double NEAR = 0.005;

/* Of the time, for what is known without the limit. */
static const double RELAXED_SHARE = 0.25;

/* Work of improving for each entry of the core and iteration of the ascent: they take about the
 * same time. */
enum { IMPROVE_SHARE = 4 };

/* Of branch and bound where there is no deadline: some minutes. */
static const int64_t BRANCH_WORK = (int64_t)1 << 32;

/* Of the tables of a core, above which other work than branch and bound or diving is worth more. */
static const int64_t BRANCH_ENTRIES = 1 << 18;

/* Of the tables of a core, above which a bound takes so long that any choice comes first; and
 * prices by elimination longer than they are worth, if so many differ. */
static const int64_t LARGE_ENTRIES = 1 << 22;

/* Entries that elimination may compute, for each of the core, where its outcome may well be of no
 * use. */
enum { SMALL_SHARE = 16 };

/* In a row without gain, after which the search ends where no time limit ends it. */
enum { KICKS = 20 };
/* Likewise, of what is but a part. */
enum { FEW_KICKS = 3 };

static void reduce(MwSearch *search, MwCore *core, const MwReduceLimits *limits)
{
    MwReduceLimits timed = *limits;
    timed.stop = search->stop;
    mw_reduce(core, &timed);
    mw_search_log(search, core, "reduce");
}

/* The core has no choice, or just one, as all nodes are eliminated. */
static void finish(MwSearch *search, const MwCore *core)
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

/* Elimination of all of a core without rows, as long as no more than `total` entries have to be
 * computed; false if that is too little. The core is as it was. */
static bool eliminate_all(MwSearch *search, const MwCore *core, int64_t total)
{
    const MwReduceLimits limits = {.arity = MW_TABLE_ARITY, .entries = 1 << 22, .total = total};
    MwCore *copy = mw_core_copy(search->scratch, core);
    reduce(search, copy, &limits);
    if (mw_core_nodes_left(copy) > 0 && !copy->infeasible)
        return false;
    finish(search, copy);
    return true;
}

static void dive(MwSearch *search, const MwCore *core)
{
    MwArena *scratch = mw_arena_new();
    int *choice = MW_NEW(scratch, int, core->node_count);
    if (mw_dive(core, &search->stop, choice))
        mw_search_offer_of_core(search, core, choice);
    mw_search_log(search, core, "dive");
    mw_arena_free(&scratch);
}

static void offer_improved(void *context, const int *choice)
{
    MwSearch *search = context;
    mw_search_offer_of_core(search, mw_improver_core(search->improver), choice);
}

/* Neighbourhoods of the best choice so far, until `kicks` in a row lead to nothing better, or for
 * so much work. */
static void improve(MwSearch *search, int64_t work, int kicks)
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

static MwCoreBest best_so_far(const MwSearch *search, const MwCore *core)
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
        improve(stage->search, stage->work, INT_MAX);
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
    const int64_t sweep =
        IMPROVE_SHARE * (mw_core_entries_left(core) + mw_core_nodes_left(core) + 1);
    int *choice = MW_NEW(scratch, int, core->node_count);
    bool guides = has_prices(core);
    if (search->improver && guides)
        mw_improver_set_prices(search->improver, core, core->price);
    for (int done = 0; stage.rises && done < iterations; done += stage.limits.iterations) {
        stage.limits.iterations = (int)mw_min(mw_min(mw_max(done, QUICK), SOME), iterations - done);
        stage.found = best_so_far(search, core);
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
    stage.found = best_so_far(search, core);
    MwDual *dual = mw_ascent_end(stage.ascent, &stage.found, core->price, &search->pace);
    if (stage.found.choice)
        mw_search_offer_of_core(search, core, stage.found.choice);
    return dual;
}

/* Raises the bound of the core, looks for choices, cuts the core and reduces it. */
static void tighten(MwSearch *search, MwCore *core, int iterations)
{
    MwArena *scratch = mw_arena_new();
    MwDual *dual = ascend(scratch, search, core, iterations);
    /* Potentials make equal tables differ, so they are moved in only where it shrinks the core. */
    bool worthwhile = search->solution->choice && dual->surplus_count > dual->strategy_count / 10;
    MwCost bound = worthwhile
                       ? mw_dual_apply(dual, core, mw_core_cutoff(core, search->solution->cost))
                       : mw_dual_certify(dual);
    mw_search_raise_bound(search, core, bound);
    mw_arena_free(&scratch);
    mw_search_log(search, core, "ascend");
    if (core->row_count > 0 && !mw_search_done(search) &&
        (!search->solution->choice || mw_core_entries_left(core) <= BRANCH_ENTRIES))
        dive(search, core);
    if (worthwhile && !mw_search_done(search))
        reduce(search, core, &SHRINKING);
}

/* Nothing more to do on this core: there is an answer, or nothing left. */
static bool settled(MwSearch *search, const MwCore *core)
{
    if (mw_search_done(search))
        return true;
    search->solution->reduced_nodes = mw_core_nodes_left(core);
    if (search->solution->reduced_nodes > 0 && !core->infeasible)
        return false;
    finish(search, core);
    return true;
}

/* Tightens as long as that takes away strategies, or finds better choices to do so with, if it need
 * not be quick. True if that settled it. */
static bool tighten_all(MwSearch *search, MwCore *core, int iterations)
{
    bool goes_on = true;
    while (goes_on && !settled(search, core) && !mw_stopped(&search->stop)) {
        const int *choice = search->solution->choice;
        int64_t before = mw_core_strategies_left(core);
        tighten(search, core, iterations);
        bool is_better = search->solution->choice != choice && !search->options->quick;
        goes_on = mw_core_strategies_left(core) < before / 10 * 9 || is_better;
    }
    return settled(search, core);
}

/* Where the branching tells what it finds. */
typedef struct {
    MwSearch *search;
    const MwCore *core;
    MwCost cost; /* of the best choice it has told of */
} Branching;

static bool hear_of_branching(void *context, MwCost bound, const MwCoreBest *best)
{
    Branching *branching = context;
    if (best->choice && best->cost < branching->cost) {
        mw_search_offer_of_core(branching->search, branching->core, best->choice);
        branching->cost = best->cost;
    }
    if (bound < MW_CORE_NONE) /* otherwise there is no choice */
        mw_search_raise_bound(branching->search, branching->core, bound);
    return !mw_search_done(branching->search);
}

/* A share of the time that is left: what is not proven in that would seldom be in twice as much,
 * which is better spent on something else. */
static MwStop part_of_time(const MwStop *stop, double share)
{
    MwStop part = *stop;
    if (stop->deadline_s > 0)
        part.deadline_s -= (1 - share) * mw_stop_left_s(stop);
    return part;
}

/* Proves the best choice of what is left of the core, if that is not too much. */
static void branch(MwSearch *search, const MwCore *core)
{
    MwArena *scratch = mw_arena_new();
    MwCoreBest best = {.cost = MW_CORE_NONE};
    if (search->solution->choice)
        best.cost = mw_core_cutoff(core, search->solution->cost);
    Branching branching = {search, core, best.cost};
    const MwBranchLimits limits = {.nodes = INT_MAX,
                                   .work = search->stop.deadline_s > 0 ? 0 : BRANCH_WORK,
                                   .threads = (int)mw_max(1, search->options->threads),
                                   .stop = part_of_time(&search->stop, 0.5),
                                   .report = hear_of_branching,
                                   .context = &branching};
    MwBranchAnswer answer = mw_widen(scratch, core, &best, &limits);
    if (answer.complete && !search->solution->choice)
        mw_search_exhaust(search);
    mw_search_log(search, core, "branch");
    mw_arena_free(&scratch);
}

static void finish_by_ilp(MwSearch *search, const MwCore *core)
{
    if (!mw_ilp_manageable(core))
        return;
    MwArena *scratch = mw_arena_new();
    const MwStop stop = part_of_time(&search->stop, 0.5);
    MwIlpAnswer answer = mw_ilp_solve(scratch, core, &stop);
    if (answer.choice)
        mw_search_offer_of_core(search, core, answer.choice);
    if (answer.proven && !answer.choice)
        mw_search_exhaust(search);
    else
        mw_search_raise_bound(search, core, answer.bound);
    mw_search_log(search, core, "ilp");
    mw_arena_free(&scratch);
}

static void finish_by_search(MwSearch *search, const MwCore *core)
{
    if (search->options->quick || mw_core_entries_left(core) > BRANCH_ENTRIES)
        return;
    branch(search, core);
    if (!mw_search_done(search) && !mw_stopped(&search->stop))
        finish_by_ilp(search, core);
}

/* What is quickly done without rows. True if that settled it, as far as quick work is to. */
static bool begin_unlimited(MwSearch *search, MwCore *core)
{
    reduce(search, core, &SHRINKING);
    if (tighten_all(search, core, QUICK))
        return true;
    return search->options->quick && (tighten_all(search, core, LONG) || search->solution->choice);
}

/* From now on the best choice is improved, on `whole`, of which no strategy has been cut. */
static void begin_improving(MwSearch *search, MwCore *whole)
{
    if (!search->options->quick)
        search->improver =
            mw_improver_new(search->scratch, whole, (int)mw_max(search->options->threads, 1),
                            search->options->seed);
}

static void end_improving(MwSearch *search)
{
    improve(search, 0, search->options->time_limit_s > 0 ? INT_MAX : KICKS);
    if (search->improver)
        mw_improver_free(search->improver);
    search->improver = NULL;
}

/* Solves another problem on the way, of which nobody is told; `options` is where its own are put. */
static MwSearch aside(const MwSearch *search, const MwProblem *problem, MwSolution *solution,
                      MwSolveOptions *options)
{
    MwSearch other = *search;
    *options = *search->options;
    options->report = NULL;
    other.problem = problem;
    other.solution = solution;
    other.options = options;
    return other;
}

static bool is_near(const MwSearch *search)
{
    const MwSolution *solution = search->solution;
    return solution->choice &&
           (double)(solution->cost - solution->lower_bound) < NEAR * (double)solution->cost;
}

static bool keeps_limit(const MwSearch *search, const int *choice)
{
    return choice && mw_search_keeps_limit(search, choice);
}

/* Whether more work is worth it without the limit that `limited` has. */
static bool look_at_relaxed(MwSearch *relaxing, MwCore *core, const MwSearch *limited)
{
    if (relaxing->options->quick)
        return true;
    reduce(relaxing, core, &SHRINKING);
    if (!settled(relaxing, core) && !mw_stopped(&relaxing->stop))
        tighten(relaxing, core, QUICK);
    return !settled(relaxing, core) && keeps_limit(limited, relaxing->solution->choice);
}

static const MwCore *without_limit(MwArena *arena, const MwCore *core)
{
    MwCore *lifted = mw_core_copy(arena, core);
    mw_core_lift_limit(lifted);
    return lifted;
}

/* What is left of the problem, `limited`, without its limit: a bound, and an answer if it happens
 * to keep the limit. Where a good choice does not, the best one will hardly, and is not worth much
 * work. Returns the best choice found; NULL if there is none. All it makes is freed, as problems of
 * gigabytes are to fit. */
static const int *solve_relaxed(MwSearch *search, const MwCore *limited)
{
    MwProblem unlimited = *search->problem;
    unlimited.usage_limit = MW_USAGE_UNLIMITED;
    MwSolution relaxed = {.lower_bound = search->solution->lower_bound};
    MwSolveOptions options;
    MwSearch relaxing = aside(search, &unlimited, &relaxed, &options);
    if (!options.quick)
        options.gap = 0; /* it costs little more */
    relaxing.stop = part_of_time(&search->stop, RELAXED_SHARE);
    relaxing.scratch = mw_arena_new();
    if (search->root)
        relaxing.root = without_limit(relaxing.scratch, search->root);
    MwCore *core = mw_core_copy_apart(relaxing.scratch, limited);
    relaxing.tables = core->tables;
    mw_core_lift_limit(core);
    if (look_at_relaxed(&relaxing, core, search) && !begin_unlimited(&relaxing, core) &&
        keeps_limit(search, relaxed.choice))
        eliminate_all(&relaxing, core,
                      is_near(&relaxing) ? 1 << 24 : SMALL_SHARE * mw_core_entries_left(core));
    search->impossible = relaxing.impossible;
    search->solution->lower_bound = relaxed.lower_bound;
    if (relaxed.choice)
        mw_search_offer(search, relaxed.choice);
    mw_arena_free(&relaxing.scratch);
    return relaxed.choice;
}

/* On the core of the whole problem. */
static void polish(const MwProblem *problem, int *choice)
{
    MwArena *scratch = mw_arena_new();
    MwCore *whole = mw_core_build(scratch, mw_tables_new(scratch), problem, true);
    mw_reduce_rows(whole);
    mw_polish(whole, choice);
    mw_arena_free(&scratch);
}

/* How hard it is looked for any choice: as quickly as can be; with the bounds of several times and
 * levels of the peak; by search, too, when all else is over. */
typedef enum { FIRST_LOOK, SECOND_LOOK, LAST_LOOK } Look;

/* Any choice that keeps the limit, and is then improved; or a proof that there is none. */
static void look_ahead(MwSearch *search, Look look)
{
    if (!search->looks_ahead || search->solution->choice || mw_search_done(search) ||
        mw_stopped(&search->stop) || (look != FIRST_LOOK && search->options->quick))
        return;
    MwArena *scratch = mw_arena_new();
    MwSolveOptions options = *search->options;
    options.quick |= look == FIRST_LOOK;
    mw_stop_hand_on(&search->stop, &options);
    MwLeastPeak least = mw_least_peak_for(scratch, search->problem, search->problem->usage_limit,
                                          look == LAST_LOOK, &options);
    if (least.choice && least.peak <= search->problem->usage_limit) {
        if (look != LAST_LOOK)
            polish(search->problem, least.choice);
        mw_search_offer(search, least.choice);
    }
    search->impossible =
        least.status == MW_SOLVED_INFEASIBLE || least.lower_bound > search->problem->usage_limit;
    mw_arena_free(&scratch);
}

/* Entries of the tables that factors have, each counted once. */
static int64_t distinct_entries(const MwCore *core)
{
    MwArena *scratch = mw_arena_new();
    int most = 0;
    for (int i = 0; i < core->factors.count; i++)
        if (core->factors.at[i].cost)
            most = (int)mw_max(most, core->factors.at[i].cost->id);
    bool *is_counted = MW_NEW(scratch, bool, most + 1);
    int64_t entries = 0;
    for (int i = 0; i < core->factors.count; i++) {
        const MwTable *cost = core->factors.at[i].cost;
        entries += cost && !is_counted[cost->id] ? cost->count : 0;
        if (cost)
            is_counted[cost->id] = true;
    }
    mw_arena_free(&scratch);
    return entries;
}

static void improve_beside(MwSearch *search, int64_t work)
{
    improve(search, work, INT_MAX);
}

/* A good choice of what a copy of the core has been restricted to. */
static void solve_part(MwSearch *search, MwCore *part)
{
    MwSolution found = *search->solution;
    MwSolveOptions options;
    MwSearch searching = aside(search, search->problem, &found, &options);
    found.lower_bound = 0;
    searching.stop = part_of_time(&search->stop, 0.5);
    reduce(&searching, part, &SHRINKING);
    begin_improving(&searching, mw_core_copy(search->scratch, part));
    tighten_all(&searching, part, LONG);
    improve(&searching, 0, FEW_KICKS);
    if (!options.quick)
        mw_improver_free(searching.improver);
    if (found.choice)
        mw_search_offer(search, found.choice);
}

/* Prices of memory by cutting planes, and choices among what is best at such prices; where that is
 * worth it. `unlimited` is a good choice without the limit, or NULL. */
static void price_rows(MwSearch *search, MwCore *core, const int *unlimited)
{
    if (!unlimited || keeps_limit(search, unlimited) || distinct_entries(core) > LARGE_ENTRIES)
        return;
    MwCore *part = mw_lagrange(search, core, unlimited, improve_beside);
    if (part)
        solve_part(search, part);
}

/* Nearly all the tables that this makes are of no use afterwards, and are freed. */
static MwCore *build_and_reduce(MwSearch *search)
{
    MwArena *making = mw_arena_new();
    MwCore *core = mw_core_build(making, mw_tables_new(making), search->problem, true);
    reduce(search, core, &SHRINKING);
    core = mw_core_move(search->scratch, core);
    mw_arena_free(&making);
    return core;
}

/* What is quickly known of a component, or dear and worth it. */
static void look_at_component(MwSearch *search, MwCore *core)
{
    MwCore *whole = mw_core_copy(search->scratch, core);
    if (core->row_count == 0) {
        if (!begin_unlimited(search, core) && !eliminate_all(search, core, 1 << 24))
            begin_improving(search, whole);
        return;
    }
    const int *unlimited = solve_relaxed(search, core);
    begin_improving(search, whole);
    if (!settled(search, core))
        price_rows(search, core, unlimited);
}

static void find_any(MwSearch *search, MwCore *core)
{
    if (!search->solution->choice && !settled(search, core))
        tighten(search, core, QUICK);
}

/* Where little is left to gain, sweeps serve to take away strategies. */
static void find_best(MwSearch *search, MwCore *core)
{
    const bool limited = core->row_count > 0;
    if (tighten_all(search, core, limited && is_near(search) ? SOME : LONG))
        return;
    if (limited || !eliminate_all(search, core, 1 << 26))
        finish_by_search(search, core);
}

static void improve_to_the_end(MwSearch *search, MwCore *core)
{
    (void)core;
    end_improving(search);
}

/* The components of the core apart; false if it is in one piece. */
static bool solve_apart(MwSearch *search, const MwCore *core)
{
    static const MwStretch road[] = {{look_at_component},
                                     {find_any, .early = true},
                                     {find_best, .again = true},
                                     {improve_to_the_end}};
    return mw_solve_apart(search, core, MW_COUNT(road), road);
}

static void solve_unlimited(MwSearch *search)
{
    MwCore *core = mw_core_build(search->scratch, search->tables, search->problem, false);
    reduce(search, core, &SHRINKING);
    MwCore *whole = mw_core_copy(search->scratch, core);
    if (begin_unlimited(search, core) || eliminate_all(search, core, 1 << 24) ||
        solve_apart(search, whole))
        return;
    begin_improving(search, whole);
    find_best(search, core);
    end_improving(search);
}

static void solve_limited(MwSearch *search)
{
    MwCore *core = build_and_reduce(search);
    if (settled(search, core))
        return;
    const bool is_large = mw_core_entries_left(core) > LARGE_ENTRIES;
    if (is_large)
        look_ahead(search, FIRST_LOOK);
    const int *unlimited = mw_search_done(search) ? NULL : solve_relaxed(search, core);
    if (!is_large)
        look_ahead(search, FIRST_LOOK);
    look_ahead(search, SECOND_LOOK);
    mw_search_log(search, core, "look ahead");
    if (mw_search_done(search))
        return;
    if (!solve_apart(search, core)) {
        begin_improving(search, mw_core_copy(search->scratch, core));
        if (!settled(search, core))
            price_rows(search, core, unlimited);
        find_best(search, core);
        end_improving(search);
    }
    look_ahead(search, LAST_LOOK);
}

static void solve(MwSearch *search)
{
    if (search->problem->usage_limit == MW_USAGE_UNLIMITED)
        solve_unlimited(search);
    else
        solve_limited(search);
}

MwSolution mw_solve_road(MwArena *arena, const MwProblem *problem, const MwSolveOptions *options,
                         bool looks_ahead)
{
    MwSolution solution = {0};
    MwSearch search = {.problem = problem,
                       .arena = arena,
                       .scratch = mw_arena_new(),
                       .options = options,
                       .looks_ahead = looks_ahead,
                       .pace = 1,
                       .start_s = mw_clock_s(),
                       .solution = &solution};
    search.tables = mw_tables_new(search.scratch);
    search.stop = mw_stop_of(options);
    solve(&search);
    if (!solution.choice)
        solution.status = search.impossible ? MW_SOLVED_INFEASIBLE : MW_SOLVED_UNKNOWN;
    else
        solution.status =
            solution.cost == solution.lower_bound ? MW_SOLVED_OPTIMAL : MW_SOLVED_FEASIBLE;
    solution.time_s = mw_clock_s() - search.start_s;
    mw_arena_free(&search.scratch);
    return solution;
}
