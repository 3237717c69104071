/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The driver: which algorithm runs when.
 *
 * The core is reduced as long as that does not make it larger. Then its bound is raised, choices
 * are found and improved, strategies that no better choice takes are fixed, and the core is reduced
 * again, as long as that shrinks it. What is left is eliminated, or searched by branch and bound,
 * or given to GLPK. The incumbent is improved as long as time allows.
 *
 * After the first reduction, the core is first solved without its memory rows. Usage then does not
 * prevent elimination, and repeated layers are computed once. This gives a bound, and often the
 * answer. If the result exceeds a row, the core is solved with rows, and before that, prices of the
 * rows are found by cutting planes (lagrange.c), with a choice among the answers at these prices.
 *
 * If the reduced core has several connected components, each goes through these steps by itself
 * (decompose.c). */
#include "solver/driver/solve.h"

#include "solver/bound/polish.h"
#include "solver/driver/decompose.h"
#include "solver/driver/lagrange.h"
#include "solver/driver/tighten.h"
#include "solver/reduce/rules.h"
#include "solver/tree/branch.h"
#include "solver/tree/ilp.h"
#include "solver/tuning.h"

#include <limits.h>
#include <math.h>

/* Limit of the work of branch and bound without a deadline, in visits of entries; it takes some
 * minutes. A limit in seconds would make answers depend on the machine. */
static const int64_t BRANCH_WORK = (int64_t)1 << 32;

/* Entries that the elimination of a whole core may compute as the last resort before search. */
#define MOST_ENTRIES (16 * MW_TABLE_ENTRIES)

/* Eliminates all nodes of a copy of the core, which has no rows. Returns false if that takes more
 * than `total` entries. */
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

/* Context of the reports of branch and bound. */
typedef struct {
    MwSearch *search;
    const MwCore *core;
    MwCost cost; /* cost of the best choice reported */
} BranchReport;

static bool on_branch_report(void *context, MwCost bound, const MwIncumbent *best)
{
    BranchReport *report = context;
    if (best->choice && best->cost < report->cost) {
        mw_search_offer_core_choice(report->search, report->core, best->choice);
        report->cost = best->cost;
    }
    if (bound < MW_ABOVE_ANY_COST) /* otherwise there is no choice */
        mw_search_raise_bound(report->search, report->core, bound);
    return !mw_search_done(report->search);
}

/* Proves an optimal choice of the core by branch and bound, as far as time allows. */
static void branch(MwSearch *search, const MwCore *core)
{
    MwArena *scratch = mw_arena_new();
    MwIncumbent best = mw_search_incumbent(search, core);
    BranchReport report = {search, core, best.cost};
    const MwBranchLimits limits = {.nodes = INT_MAX,
                                   .work = search->stop.deadline_s > 0 ? 0 : BRANCH_WORK,
                                   .threads = (int)mw_max(1, search->options->threads),
                                   .stop = mw_stop_within(&search->stop, MW_TUNED_TIME_SHARE),
                                   .report = on_branch_report,
                                   .context = &report};
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
    const MwStop stop = mw_stop_within(&search->stop, MW_TUNED_TIME_SHARE);
    MwIlpAnswer answer = mw_ilp_solve(scratch, core, &stop);
    if (answer.choice)
        mw_search_offer_core_choice(search, core, answer.choice);
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

/* Applies the quick methods to a core without rows. Returns true if the core needs no more work, or
 * if the search is `quick` and has a choice. */
static bool solve_quickly(MwSearch *search, MwCore *core)
{
    mw_search_shrink(search, core);
    if (mw_tighten_all(search, core, MW_ASCENT_QUICK))
        return true;
    return search->options->quick &&
           (mw_tighten_all(search, core, MW_ASCENT_LONG) || search->solution->choice);
}

/* Starts the improvement of the incumbent, on `whole`, in which no strategy is fixed. */
static void start_improver(MwSearch *search, MwCore *whole)
{
    if (!search->options->quick)
        search->improver =
            mw_improver_new(search->scratch, whole, (int)mw_max(search->options->threads, 1),
                            search->options->seed);
}

static void finish_improver(MwSearch *search)
{
    mw_search_improve(search, 0,
                      search->options->time_limit_s > 0 ? INT_MAX : MW_TUNED_PERTURBATIONS);
    if (search->improver)
        mw_improver_free(search->improver);
    search->improver = NULL;
}

/* Returns a search for another problem, without reports; `options` holds its options. */
static MwSearch nested_search(const MwSearch *search, const MwProblem *problem,
                              MwSolution *solution, MwSolveOptions *options)
{
    MwSearch other = *search;
    *options = *search->options;
    options->report = NULL;
    other.problem = problem;
    other.solution = solution;
    other.options = options;
    return other;
}

static bool is_near_optimal(const MwSearch *search)
{
    const MwSolution *solution = search->solution;
    return solution->choice && (double)(solution->cost - solution->lower_bound) <
                                   MW_NEAR_OPTIMAL * (double)solution->cost;
}

static bool keeps_limit(const MwSearch *search, const int *choice)
{
    return choice && mw_search_keeps_limit(search, choice);
}

/* Shrinks and tightens the core without rows. Returns true if more work on it is justified: it is
 * not solved, and its best choice keeps the limits of `limited`. */
static bool tighten_relaxed(MwSearch *relaxing, MwCore *core, const MwSearch *limited)
{
    if (relaxing->options->quick)
        return true;
    mw_search_shrink(relaxing, core);
    if (!mw_search_settle(relaxing, core) && !mw_stopped(&relaxing->stop))
        mw_tighten(relaxing, core, MW_ASCENT_QUICK);
    return !mw_search_settle(relaxing, core) && keeps_limit(limited, relaxing->solution->choice);
}

static const MwCore *without_rows(MwArena *arena, const MwCore *core)
{
    MwCore *relaxed = mw_core_copy(arena, core);
    mw_core_drop_rows(relaxed);
    return relaxed;
}

/* Solves the core `limited` without its rows. This gives a bound, and the answer if it happens to
 * keep the limit. If a good choice does not, the optimal one hardly will, and more work is not
 * justified. Returns the best choice found; NULL if there is none. Frees all its memory, because
 * problems of gigabytes must fit. */
static const int *solve_relaxed(MwSearch *search, const MwCore *limited)
{
    MwProblem unlimited = *search->problem;
    unlimited.usage_limit = MW_USAGE_UNLIMITED;
    MwSolution relaxed = {.lower_bound = search->solution->lower_bound};
    MwSolveOptions options;
    MwSearch relaxing = nested_search(search, &unlimited, &relaxed, &options);
    if (!options.quick)
        options.gap = 0; /* exactness costs little more here */
    relaxing.stop = mw_stop_within(&search->stop, MW_TUNED_TIME_SHARE * MW_TUNED_TIME_SHARE);
    relaxing.scratch = mw_arena_new();
    if (search->root)
        relaxing.root = without_rows(relaxing.scratch, search->root);
    MwCore *core = mw_core_copy_independent(relaxing.scratch, limited);
    relaxing.tables = core->tables;
    mw_core_drop_rows(core);
    if (tighten_relaxed(&relaxing, core, search) && !solve_quickly(&relaxing, core) &&
        keeps_limit(search, relaxed.choice))
        eliminate_all(&relaxing, core,
                      is_near_optimal(&relaxing) ? MW_MANY_ENTRIES
                                                 : MW_TUNED_REPEATS * mw_core_entries_left(core));
    search->impossible = relaxing.impossible;
    search->solution->lower_bound = relaxed.lower_bound;
    if (relaxed.choice)
        mw_search_offer(search, relaxed.choice);
    mw_arena_free(&relaxing.scratch);
    return relaxed.choice;
}

/* Improves a choice by local search on the core of the whole problem. */
static void polish(const MwProblem *problem, int *choice)
{
    MwArena *scratch = mw_arena_new();
    MwCore *whole = mw_core_build(scratch, mw_tables_new(scratch), problem, true);
    mw_reduce_rows(whole);
    mw_polish(whole, choice);
    mw_arena_free(&scratch);
}

/* How much is done to find any feasible choice: EFFORT_QUICK runs the quick methods, EFFORT_BOUNDS
 * adds bounds from weighted times and levels of the peak, EFFORT_SEARCH adds branch and bound. */
typedef enum { EFFORT_QUICK, EFFORT_BOUNDS, EFFORT_SEARCH } Effort;

/* Finds a choice that keeps the limit, whatever its cost, and improves it; or proves that there is
 * none. */
static void find_any_feasible(MwSearch *search, Effort effort)
{
    if (!search->find_feasible || search->solution->choice || mw_search_done(search) ||
        mw_stopped(&search->stop) || (effort != EFFORT_QUICK && search->options->quick))
        return;
    MwArena *scratch = mw_arena_new();
    MwSolveOptions options = *search->options;
    options.quick |= effort == EFFORT_QUICK;
    mw_stop_pass_on(&search->stop, &options);
    MwLeastPeak least = search->find_feasible(
        scratch, search->problem, search->problem->usage_limit, effort == EFFORT_SEARCH, &options);
    if (least.choice && least.peak <= search->problem->usage_limit) {
        if (effort != EFFORT_SEARCH)
            polish(search->problem, least.choice);
        mw_search_offer(search, least.choice);
    }
    search->impossible =
        least.status == MW_SOLVED_INFEASIBLE || least.lower_bound > search->problem->usage_limit;
    mw_arena_free(&scratch);
}

static void improve_in_background(MwSearch *search, int64_t work)
{
    mw_search_improve(search, work, INT_MAX);
}

/* Finds a good choice of a restricted copy of the core. */
static void solve_restricted(MwSearch *search, MwCore *restricted)
{
    MwSolution found = *search->solution;
    MwSolveOptions options;
    MwSearch searching = nested_search(search, search->problem, &found, &options);
    found.lower_bound = 0;
    searching.stop = mw_stop_within(&search->stop, MW_TUNED_TIME_SHARE);
    mw_search_shrink(&searching, restricted);
    start_improver(&searching, mw_core_copy(search->scratch, restricted));
    mw_tighten_all(&searching, restricted, MW_ASCENT_LONG);
    mw_search_improve(&searching, 0, MW_TUNED_PERTURBATIONS);
    if (!options.quick)
        mw_improver_free(searching.improver);
    if (found.choice)
        mw_search_offer(search, found.choice);
}

/* Finds prices of the rows by cutting planes, and choices among the answers at these prices, if
 * that is worth the work. */
static void price_rows(MwSearch *search, MwCore *core, const int *unlimited)
{
    if (!unlimited || keeps_limit(search, unlimited) ||
        mw_core_distinct_entries(core) > MW_TABLE_ENTRIES)
        return;
    MwCore *restricted = mw_lagrange(search, core, unlimited, improve_in_background);
    if (restricted)
        solve_restricted(search, restricted);
}

/* Builds and reduces the core. Nearly all tables made on the way are useless afterwards and are
 * freed. */
static MwCore *build_and_reduce(MwSearch *search)
{
    MwArena *making = mw_arena_new();
    MwCore *core = mw_core_build(making, mw_tables_new(making), search->problem, true);
    mw_search_shrink(search, core);
    core = mw_core_move(search->scratch, core);
    mw_arena_free(&making);
    return core;
}

/* The first step of solve_components: solves the component without rows, and finds prices of its
 * rows. */
static void begin_component(MwSearch *search, MwCore *core)
{
    MwCore *whole = mw_core_copy(search->scratch, core);
    if (core->row_count == 0) {
        if (!solve_quickly(search, core) && !eliminate_all(search, core, MW_MANY_ENTRIES))
            start_improver(search, whole);
        return;
    }
    const int *unlimited = solve_relaxed(search, core);
    start_improver(search, whole);
    if (!mw_search_settle(search, core))
        price_rows(search, core, unlimited);
}

static void find_first_choice(MwSearch *search, MwCore *core)
{
    if (!search->solution->choice && !mw_search_settle(search, core))
        mw_tighten(search, core, MW_ASCENT_QUICK);
}

/* The third step of solve_components, and the only one of a connected core: tightens and searches.
 * Near the optimum, short ascents suffice to fix strategies. */
static void solve_core(MwSearch *search, MwCore *core)
{
    const bool limited = core->row_count > 0;
    if (mw_tighten_all(search, core,
                       limited && is_near_optimal(search) ? MW_ASCENT_MEDIUM : MW_ASCENT_LONG))
        return;
    const int64_t most = search->options->quick ? MW_MANY_ENTRIES : MOST_ENTRIES;
    if (limited || !eliminate_all(search, core, most))
        finish_by_search(search, core);
}

static void finish_component(MwSearch *search, MwCore *core)
{
    (void)core;
    finish_improver(search);
}

/* Solves the components of the core one by one. Returns false if the core is connected. */
static bool solve_components(MwSearch *search, const MwCore *core)
{
    static const MwDriverStep steps[] = {{begin_component},
                                         {find_first_choice, .skip_if_single = true},
                                         {solve_core, .repeat = true},
                                         {finish_component}};
    return mw_solve_components(search, core, MW_COUNT(steps), steps);
}

static void solve_unlimited(MwSearch *search)
{
    MwCore *core = mw_core_build(search->scratch, search->tables, search->problem, false);
    mw_search_shrink(search, core);
    MwCore *whole = mw_core_copy(search->scratch, core);
    if (solve_quickly(search, core) || eliminate_all(search, core, MW_MANY_ENTRIES) ||
        solve_components(search, whole))
        return;
    start_improver(search, whole);
    solve_core(search, core);
    finish_improver(search);
}

static void solve_limited(MwSearch *search)
{
    MwCore *core = build_and_reduce(search);
    if (mw_search_settle(search, core))
        return;
    const bool is_large = mw_core_entries_left(core) > MW_TABLE_ENTRIES;
    if (is_large)
        find_any_feasible(search, EFFORT_QUICK);
    const int *unlimited = mw_search_done(search) ? NULL : solve_relaxed(search, core);
    if (!is_large)
        find_any_feasible(search, EFFORT_QUICK);
    find_any_feasible(search, EFFORT_BOUNDS);
    mw_search_log(search, core, "feasibility");
    if (mw_search_done(search))
        return;
    if (!solve_components(search, core)) {
        start_improver(search, mw_core_copy(search->scratch, core));
        if (!mw_search_settle(search, core))
            price_rows(search, core, unlimited);
        solve_core(search, core);
        finish_improver(search);
    }
    find_any_feasible(search, EFFORT_SEARCH);
}

static void solve(MwSearch *search)
{
    if (search->problem->usage_limit == MW_USAGE_UNLIMITED)
        solve_unlimited(search);
    else
        solve_limited(search);
}

MwSolution mw_solve_plain(MwArena *arena, const MwProblem *problem, const MwSolveOptions *options,
                          MwFindFeasible find_feasible)
{
    MwSolution solution = {0};
    MwSearch search = {.problem = problem,
                       .arena = arena,
                       .scratch = mw_arena_new(),
                       .options = options,
                       .find_feasible = find_feasible,
                       .step_scale = 1,
                       .start_s = mw_clock_s(),
                       .solution = &solution};
    search.tables = options->tables ? options->tables : mw_tables_new(search.scratch);
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
