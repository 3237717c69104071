/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The solver's road.
 *
 * Reduce to a core that is no larger for it; raise its bound, find choices, take away what cannot
 * be in a better choice, and reduce again, as long as that shrinks the core; eliminate what is
 * left, or give it to GLPK. Without the memory limit first, where elimination is not held up by
 * usage and repeated layers cost nothing: that gives a bound, and often already the answer. If it
 * does not fit, the same with the limit. */
#include "solver/ascent.h"
#include "solver/dive.h"
#include "solver/ilp.h"
#include "solver/least_peak.h"
#include "solver/reduce.h"

#include <math.h>

/* As long as it makes the core no larger. */
static const MwReduceLimits SHRINKING = {
    .arity = 4, .entries = 1 << 22, .total = INT64_MAX, .shrinking = true};

/* Iterations of a first look, and of a serious try. */
enum { QUICK = 20, LONG = 400 };

typedef struct {
    const MwProblem *problem;
    MwArena *arena, *scratch;
    MwTables *tables;
    double start_s, deadline_s;
    double gap; /* that is good enough */
    bool quick;
    FILE *log; /* may be NULL */
    MwSolution *solution;
    bool impossible;
    double pace; /* of prices; see ascent.h */
} Solver;

static int nodes_left(const MwCore *core)
{
    int count = 0;
    for (int i = 0; i < core->node_count; i++)
        count += core->nodes[i].cost != NULL;
    return count;
}

static int64_t strategies_left(const MwCore *core)
{
    int64_t count = 0;
    for (int i = 0; i < core->node_count; i++)
        count += core->nodes[i].cost ? core->nodes[i].cost->count : 0;
    return count;
}

static bool out_of_time(const Solver *solver)
{
    return solver->deadline_s > 0 && mw_clock_s() > solver->deadline_s;
}

/* Nothing more is wanted: the gap is closed, or small enough. */
static bool done(const Solver *solver)
{
    const MwSolution *solution = solver->solution;
    if (!solution->choice)
        return solver->impossible;
    return (double)(solution->cost - solution->lower_bound) <= solver->gap * (double)solution->cost;
}

/* What is left of the core, after `step`. */
static void log_step(const Solver *solver, const MwCore *core, const char *step)
{
    if (!solver->log)
        return;
    int64_t nodes = 0, strategies = 0, factors = 0, entries = 0;
    for (int i = 0; i < core->node_count; i++)
        if (core->nodes[i].cost) {
            nodes++;
            strategies += core->nodes[i].cost->count;
        }
    for (int i = 0; i < core->factors.count; i++)
        if (core->factors.at[i].cost) {
            factors++;
            entries += core->factors.at[i].cost->count;
        }
    fprintf(solver->log,
            "%8.3f s  %-12s %lld nodes, %lld strategies, %lld factors, %lld entries, %d rows; "
            "cost %.0f, bound %.0f\n",
            mw_clock_s() - solver->start_s, step, (long long)nodes, (long long)strategies,
            (long long)factors, (long long)entries, core->row_count,
            solver->solution->choice ? (double)solver->solution->cost : INFINITY,
            (double)solver->solution->lower_bound);
}

static void reduce(Solver *solver, MwCore *core, const MwReduceLimits *limits)
{
    MwReduceLimits timed = *limits;
    timed.deadline_s = solver->deadline_s;
    mw_reduce(core, &timed);
    log_step(solver, core, "reduce");
}

/* Takes the choice for the solution if it is legal and the best so far. */
static void offer(Solver *solver, const int *choice)
{
    const MwProblem *problem = solver->problem;
    MwSolution *solution = solver->solution;
    MwCost cost = mw_problem_cost(problem, choice);
    int64_t time, peak = mw_problem_peak(problem, choice, &time);
    if (!mw_problem_allows(problem, choice) || peak > problem->usage_limit ||
        (solution->choice && cost >= solution->cost))
        return;
    solution->choice =
        mw_arena_dup(solver->arena, choice, sizeof *choice * (size_t)problem->node_count);
    solution->cost = cost;
    solution->peak_usage = peak;
    solution->peak_time = time;
}

/* `choice` is of `core`, and is kept. */
static void offer_of_core(Solver *solver, const MwCore *core, const int *choice)
{
    MwArena *scratch = mw_arena_new();
    int *restored = mw_arena_dup(scratch, choice, sizeof *choice * (size_t)core->node_count);
    mw_core_restore(core, restored);
    offer(solver, restored);
    mw_arena_free(&scratch);
}

/* Nothing that is left of the core costs less than `bound`, in the core's scale; and nothing that
 * was cut from it costs less than the best known. */
static void raise_bound(Solver *solver, const MwCore *core, MwCost bound)
{
    MwSolution *solution = solver->solution;
    MwCost unscaled = mw_core_unscaled_bound(core, bound);
    if (solution->choice && unscaled > solution->cost)
        unscaled = solution->cost;
    if (unscaled > solution->lower_bound)
        solution->lower_bound = unscaled;
}

/* The core has no choice left: then the best known is best, or there is none. */
static void exhaust(Solver *solver)
{
    if (solver->solution->choice)
        solver->solution->lower_bound = solver->solution->cost;
    else
        solver->impossible = true;
}

/* The core has no choice, or just one, as all nodes are eliminated. */
static void finish(Solver *solver, const MwCore *core)
{
    if (core->infeasible) {
        exhaust(solver);
        return;
    }
    MwArena *scratch = mw_arena_new();
    offer_of_core(solver, core, MW_NEW(scratch, int, core->node_count));
    raise_bound(solver, core, core->constant);
    mw_arena_free(&scratch);
}

/* Elimination of all of a core without rows, as long as no more than `total` entries have to be
 * computed; false if that is too little. The core is as it was. */
static bool eliminate_all(Solver *solver, const MwCore *core, int64_t total)
{
    const MwReduceLimits limits = {.arity = MW_TABLE_ARITY, .entries = 1 << 22, .total = total};
    MwCore *copy = mw_core_copy(solver->scratch, core);
    reduce(solver, copy, &limits);
    if (nodes_left(copy) > 0 && !copy->infeasible)
        return false;
    finish(solver, copy);
    return true;
}

static void dive(Solver *solver, const MwCore *core)
{
    MwArena *scratch = mw_arena_new();
    int *choice = MW_NEW(scratch, int, core->node_count);
    if (mw_dive(core, solver->deadline_s, choice))
        offer(solver, choice);
    log_step(solver, core, "dive");
    mw_arena_free(&scratch);
}

/* Raises the bound of the core, looks for choices, cuts the core and reduces it. */
static void tighten(Solver *solver, MwCore *core, int iterations)
{
    MwArena *scratch = mw_arena_new();
    MwAscentLimits limits = {
        .iterations = iterations, .gap = solver->gap, .deadline_s = solver->deadline_s};
    MwCoreBest found = {.cost = MW_CORE_NONE};
    if (solver->solution->choice)
        found.cost = mw_core_cutoff(core, solver->solution->cost);
    MwDual *dual = mw_ascend(scratch, core, core->price, &solver->pace, &found, &limits);
    if (found.choice)
        offer_of_core(solver, core, found.choice);
    /* Potentials make equal tables differ, so they are moved in only where it shrinks the core. */
    bool worthwhile = solver->solution->choice && dual->surplus_count > dual->strategy_count / 10;
    MwCost bound = worthwhile
                       ? mw_dual_apply(dual, core, mw_core_cutoff(core, solver->solution->cost))
                       : mw_dual_certify(dual);
    raise_bound(solver, core, bound);
    mw_arena_free(&scratch);
    log_step(solver, core, "ascend");
    if (core->row_count > 0 && !done(solver))
        dive(solver, core);
    if (worthwhile && !done(solver))
        reduce(solver, core, &SHRINKING);
}

/* Nothing more to do on this core: there is an answer, or nothing left. */
static bool settled(Solver *solver, const MwCore *core)
{
    if (done(solver))
        return true;
    solver->solution->reduced_nodes = nodes_left(core);
    if (solver->solution->reduced_nodes > 0 && !core->infeasible)
        return false;
    finish(solver, core);
    return true;
}

/* Tightens as long as that takes away strategies. True if that settled it. */
static bool tighten_all(Solver *solver, MwCore *core, int iterations)
{
    int64_t before = INT64_MAX, left = strategies_left(core);
    for (; left < before / 10 * 9 && !settled(solver, core) && !out_of_time(solver);
         left = strategies_left(core)) {
        before = left;
        tighten(solver, core, iterations);
    }
    return settled(solver, core);
}

static void finish_by_ilp(Solver *solver, MwCore *core)
{
    if (solver->quick || out_of_time(solver) || !mw_ilp_manageable(core))
        return;
    MwIlpAnswer answer = mw_ilp_solve(core->arena, core, solver->deadline_s);
    if (answer.choice)
        offer_of_core(solver, core, answer.choice);
    if (answer.proven && !answer.choice)
        exhaust(solver);
    else
        raise_bound(solver, core, answer.bound);
}

/* If `thorough` is false, only what is quickly done. */
static void solve_unlimited(Solver *solver, bool thorough)
{
    MwCore *core = mw_core_build(solver->scratch, solver->tables, solver->problem, false);
    reduce(solver, core, &SHRINKING);
    if (tighten_all(solver, core, QUICK))
        return;
    if (solver->quick && (tighten_all(solver, core, LONG) || solver->solution->choice))
        return;
    if (eliminate_all(solver, core, 1 << 24) || !thorough)
        return;
    if (!tighten_all(solver, core, LONG) && !eliminate_all(solver, core, 1 << 26))
        finish_by_ilp(solver, core);
}

/* The same problem without its limit: a bound, and an answer if it happens to keep the limit. */
static void solve_relaxed(Solver *solver)
{
    MwProblem unlimited = *solver->problem;
    unlimited.usage_limit = MW_USAGE_UNLIMITED;
    MwSolution relaxed = {0};
    Solver relaxing = *solver;
    relaxing.problem = &unlimited;
    relaxing.solution = &relaxed;
    solve_unlimited(&relaxing, false);
    solver->impossible = relaxing.impossible;
    solver->solution->lower_bound = relaxed.lower_bound;
    if (relaxed.choice)
        offer(solver, relaxed.choice);
}

/* Why there is no answer: what any choice needs at the fullest time. As the limit is proven to be
 * too little, that is at least one more, even where that time alone does not show it. */
static void explain_infeasible(Solver *solver)
{
    MwSolution *solution = solver->solution;
    __int128 usage;
    solution->peak_time = mw_fullest_time(solver->problem, &usage);
    MwSolution needed = {0};
    Solver needing = *solver;
    needing.problem = mw_usage_problem(solver->scratch, solver->problem, solution->peak_time);
    needing.solution = &needed;
    solve_unlimited(&needing, false);
    if (needed.lower_bound > usage)
        usage = needed.lower_bound;
    if (usage <= solver->problem->usage_limit)
        usage = (__int128)solver->problem->usage_limit + 1;
    solution->peak_usage = usage < INT64_MAX ? (int64_t)usage : INT64_MAX;
}

static void solve_limited(Solver *solver)
{
    MwCore *core = mw_core_build(solver->scratch, solver->tables, solver->problem, true);
    reduce(solver, core, &SHRINKING);
    if (!tighten_all(solver, core, LONG))
        finish_by_ilp(solver, core);
    if (solver->impossible)
        explain_infeasible(solver);
}

static void solve(Solver *solver)
{
    if (solver->problem->usage_limit == MW_USAGE_UNLIMITED) {
        solve_unlimited(solver, true);
        return;
    }
    solve_relaxed(solver);
    if (!done(solver))
        solve_limited(solver);
}

MwSolution mw_solve(MwArena *arena, const MwProblem *problem, const MwSolveOptions *options)
{
    double start_s = mw_clock_s();
    MwArena *scratch = mw_arena_new();
    MwSolution solution = {0};
    Solver solver = {.problem = problem,
                     .arena = arena,
                     .scratch = scratch,
                     .pace = 1,
                     .start_s = start_s,
                     .gap = options ? options->gap : 0,
                     .quick = options && options->quick,
                     .log = options ? options->log : NULL,
                     .tables = mw_tables_new(scratch),
                     .solution = &solution};
    if (options && options->time_limit_s > 0)
        solver.deadline_s = start_s + options->time_limit_s;
    solve(&solver);
    if (!solution.choice)
        solution.status = solver.impossible ? MW_SOLVED_INFEASIBLE : MW_SOLVED_UNKNOWN;
    else
        solution.status =
            solution.cost == solution.lower_bound ? MW_SOLVED_OPTIMAL : MW_SOLVED_FEASIBLE;
    solution.time_s = mw_clock_s() - start_s;
    mw_arena_free(&scratch);
    return solution;
}
