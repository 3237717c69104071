/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The solver's road.
 *
 * Reduce to a core that is no larger for it; raise its bound, find choices and improve them, take
 * away what cannot be in a better choice, and reduce again, as long as that shrinks the core;
 * eliminate what is left, or search it by branch and bound, or give it to GLPK; improve the choice
 * as long as that pays. What the first reduction leaves is looked at without the memory limit
 * first, where elimination is not held up by usage and repeated layers cost nothing: that gives a
 * bound, and often already the answer. If it does not fit, the same with the limit; and first,
 * prices of memory by cutting planes (lagrange.c), with a choice among what is best at these. Where
 * what the first reduction leaves is in several components, each goes this road by itself
 * (apart.c). */
#include "solver/road/solve.h"

#include "solver/bound/polish.h"
#include "solver/reduce/rules.h"
#include "solver/road/apart.h"
#include "solver/road/lagrange.h"
#include "solver/road/tighten.h"
#include "solver/tree/branch.h"
#include "solver/tree/ilp.h"
#include "solver/tuning.h"

#include <limits.h>
#include <math.h>

/* The work limit of branch and bound where there is no deadline: visits of entries, some minutes. A
 * limit in seconds would make answers depend on the machine. */
static const int64_t BRANCH_WORK = (int64_t)1 << 32;

/* Entries that the elimination of a whole core may compute as the last resort but search. */
#define MOST_ENTRIES (16 * MW_TABLE_ENTRIES)

/* Elimination of all of a core without rows, as long as no more than `total` entries have to be
 * computed; false if that is too little. The core is as it was. */
static bool eliminate_all(MwSearch *search, const MwCore *core, int64_t total)
{
    const MwReduceLimits limits = {
        .arity = MW_TABLE_ARITY, .entries = MW_TABLE_ENTRIES, .total = total};
    MwCore *copy = mw_core_copy(search->scratch, core);
    mw_search_reduce(search, copy, &limits);
    if (mw_core_nodes_left(copy) > 0 && !copy->infeasible)
        return false;
    mw_search_finish(search, copy);
    return true;
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

/* Proves the best choice of what is left of the core, if that is not too much. */
static void branch(MwSearch *search, const MwCore *core)
{
    MwArena *scratch = mw_arena_new();
    MwCoreBest best = mw_search_best(search, core);
    Branching branching = {search, core, best.cost};
    const MwBranchLimits limits = {.nodes = INT_MAX,
                                   .work = search->stop.deadline_s > 0 ? 0 : BRANCH_WORK,
                                   .threads = (int)mw_max(1, search->options->threads),
                                   .stop = mw_stop_part(&search->stop, MW_TUNED_TIME_SHARE),
                                   .report = hear_of_branching,
                                   .context = &branching};
    MwBranchAnswer answer = mw_branch(scratch, core, &best, &limits);
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
    const MwStop stop = mw_stop_part(&search->stop, MW_TUNED_TIME_SHARE);
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
    if (search->options->quick || mw_core_entries_left(core) > MW_SEARCH_ENTRIES)
        return;
    branch(search, core);
    if (!mw_search_done(search) && !mw_stopped(&search->stop))
        finish_by_ilp(search, core);
}

/* What is quickly done without rows. True if that settled it, as far as quick work is to. */
static bool begin_unlimited(MwSearch *search, MwCore *core)
{
    mw_search_shrink(search, core);
    if (mw_tighten_all(search, core, MW_QUICK))
        return true;
    return search->options->quick &&
           (mw_tighten_all(search, core, MW_LONG) || search->solution->choice);
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
    mw_search_improve(search, 0, search->options->time_limit_s > 0 ? INT_MAX : MW_TUNED_KICKS);
    if (search->improver)
        mw_improver_free(search->improver);
    search->improver = NULL;
}

/* Solves another problem on the way, of which nobody is told; `options` is where its own are
 * put. */
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
    return solution->choice && (double)(solution->cost - solution->lower_bound) <
                                   MW_NEAR_OPTIMAL * (double)solution->cost;
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
    mw_search_shrink(relaxing, core);
    if (!mw_search_settled(relaxing, core) && !mw_stopped(&relaxing->stop))
        mw_tighten(relaxing, core, MW_QUICK);
    return !mw_search_settled(relaxing, core) && keeps_limit(limited, relaxing->solution->choice);
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
    relaxing.stop = mw_stop_part(&search->stop, MW_TUNED_TIME_SHARE * MW_TUNED_TIME_SHARE);
    relaxing.scratch = mw_arena_new();
    if (search->root)
        relaxing.root = without_limit(relaxing.scratch, search->root);
    MwCore *core = mw_core_copy_apart(relaxing.scratch, limited);
    relaxing.tables = core->tables;
    mw_core_lift_limit(core);
    if (look_at_relaxed(&relaxing, core, search) && !begin_unlimited(&relaxing, core) &&
        keeps_limit(search, relaxed.choice))
        eliminate_all(&relaxing, core,
                      is_near(&relaxing) ? MW_MANY_ENTRIES
                                         : MW_TUNED_REPEATS * mw_core_entries_left(core));
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
static void find_any_choice(MwSearch *search, Look look)
{
    if (!search->look_ahead || search->solution->choice || mw_search_done(search) ||
        mw_stopped(&search->stop) || (look != FIRST_LOOK && search->options->quick))
        return;
    MwArena *scratch = mw_arena_new();
    MwSolveOptions options = *search->options;
    options.quick |= look == FIRST_LOOK;
    mw_stop_hand_on(&search->stop, &options);
    MwLeastPeak least = search->look_ahead(scratch, search->problem, search->problem->usage_limit,
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

static void improve_beside(MwSearch *search, int64_t work)
{
    mw_search_improve(search, work, INT_MAX);
}

/* A good choice of what a copy of the core has been restricted to. */
static void solve_restricted(MwSearch *search, MwCore *restricted)
{
    MwSolution found = *search->solution;
    MwSolveOptions options;
    MwSearch searching = aside(search, search->problem, &found, &options);
    found.lower_bound = 0;
    searching.stop = mw_stop_part(&search->stop, MW_TUNED_TIME_SHARE);
    mw_search_shrink(&searching, restricted);
    begin_improving(&searching, mw_core_copy(search->scratch, restricted));
    mw_tighten_all(&searching, restricted, MW_LONG);
    mw_search_improve(&searching, 0, MW_TUNED_KICKS);
    if (!options.quick)
        mw_improver_free(searching.improver);
    if (found.choice)
        mw_search_offer(search, found.choice);
}

/* Prices of memory by cutting planes, and choices among what is best at such prices; where that is
 * worth it. `unlimited` is a good choice without the limit, or NULL. */
static void price_rows(MwSearch *search, MwCore *core, const int *unlimited)
{
    if (!unlimited || keeps_limit(search, unlimited) ||
        mw_core_distinct_entries(core) > MW_TABLE_ENTRIES)
        return;
    MwCore *restricted = mw_lagrange(search, core, unlimited, improve_beside);
    if (restricted)
        solve_restricted(search, restricted);
}

/* Nearly all the tables that this makes are of no use afterwards, and are freed. */
static MwCore *build_and_reduce(MwSearch *search)
{
    MwArena *making = mw_arena_new();
    MwCore *core = mw_core_build(making, mw_tables_new(making), search->problem, true);
    mw_search_shrink(search, core);
    core = mw_core_move(search->scratch, core);
    mw_arena_free(&making);
    return core;
}

/* What is quickly known of a component, or dear and worth it. */
static void look_at_component(MwSearch *search, MwCore *core)
{
    MwCore *whole = mw_core_copy(search->scratch, core);
    if (core->row_count == 0) {
        if (!begin_unlimited(search, core) && !eliminate_all(search, core, MW_MANY_ENTRIES))
            begin_improving(search, whole);
        return;
    }
    const int *unlimited = solve_relaxed(search, core);
    begin_improving(search, whole);
    if (!mw_search_settled(search, core))
        price_rows(search, core, unlimited);
}

static void find_any(MwSearch *search, MwCore *core)
{
    if (!search->solution->choice && !mw_search_settled(search, core))
        mw_tighten(search, core, MW_QUICK);
}

/* Where little is left to gain, sweeps serve to take away strategies. */
static void find_best(MwSearch *search, MwCore *core)
{
    const bool limited = core->row_count > 0;
    if (mw_tighten_all(search, core, limited && is_near(search) ? MW_SOME : MW_LONG))
        return;
    if (limited || !eliminate_all(search, core, MOST_ENTRIES))
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
    mw_search_shrink(search, core);
    MwCore *whole = mw_core_copy(search->scratch, core);
    if (begin_unlimited(search, core) || eliminate_all(search, core, MW_MANY_ENTRIES) ||
        solve_apart(search, whole))
        return;
    begin_improving(search, whole);
    find_best(search, core);
    end_improving(search);
}

static void solve_limited(MwSearch *search)
{
    MwCore *core = build_and_reduce(search);
    if (mw_search_settled(search, core))
        return;
    const bool is_large = mw_core_entries_left(core) > MW_TABLE_ENTRIES;
    if (is_large)
        find_any_choice(search, FIRST_LOOK);
    const int *unlimited = mw_search_done(search) ? NULL : solve_relaxed(search, core);
    if (!is_large)
        find_any_choice(search, FIRST_LOOK);
    find_any_choice(search, SECOND_LOOK);
    mw_search_log(search, core, "look ahead");
    if (mw_search_done(search))
        return;
    if (!solve_apart(search, core)) {
        begin_improving(search, mw_core_copy(search->scratch, core));
        if (!mw_search_settled(search, core))
            price_rows(search, core, unlimited);
        find_best(search, core);
        end_improving(search);
    }
    find_any_choice(search, LAST_LOOK);
}

static void solve(MwSearch *search)
{
    if (search->problem->usage_limit == MW_USAGE_UNLIMITED)
        solve_unlimited(search);
    else
        solve_limited(search);
}

MwSolution mw_solve_road(MwArena *arena, const MwProblem *problem, const MwSolveOptions *options,
                         MwLookAhead look_ahead)
{
    MwSolution solution = {0};
    MwSearch search = {.problem = problem,
                       .arena = arena,
                       .scratch = mw_arena_new(),
                       .options = options,
                       .look_ahead = look_ahead,
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
