/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The solver's road.
 *
 * Without the memory limit first, by reductions and elimination alone: that is quickly done, a
 * bound, and often already the answer. Otherwise with the limit (or where elimination is too dear):
 * reduce to a core of pairs; raise its bound and find choices; take away what cannot be in a better
 * choice; reduce again, as long as that shrinks the core. What is left goes to elimination, if
 * there are no memory rows, or to GLPK. */
#include "solver/ascent.h"
#include "solver/ilp.h"
#include "solver/reduce.h"

#include <limits.h>
#include <math.h>

static const MwReduceLimits ELIMINATION = {
    .arity = MW_TABLE_ARITY, .entries = 1 << 22, .total = 1 << 26};
static const MwReduceLimits PAIRS = {.arity = 2, .entries = 1 << 22, .total = INT64_MAX};

typedef struct {
    const MwProblem *problem;
    MwArena *arena, *scratch;
    MwTables *tables;
    double start_s, deadline_s;
    FILE *log; /* may be NULL */
    MwSolution *solution;
    bool impossible;
} Solver;

static int nodes_left(const MwCore *core)
{
    int count = 0;
    for (int i = 0; i < core->node_count; i++)
        count += core->nodes[i].cost != NULL;
    return count;
}

static bool out_of_time(const Solver *solver)
{
    return solver->deadline_s > 0 && mw_clock_s() > solver->deadline_s;
}

static bool proven(const Solver *solver)
{
    const MwSolution *solution = solver->solution;
    return solver->impossible || (solution->choice && solution->cost <= solution->lower_bound);
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

/* Eliminates all of a core without rows; false if that is too dear, and then it is spoilt. */
static bool eliminate_all(Solver *solver, MwCore *core)
{
    reduce(solver, core, &ELIMINATION);
    if (core->infeasible) {
        exhaust(solver);
        return true;
    }
    solver->solution->reduced_nodes = nodes_left(core);
    if (solver->solution->reduced_nodes > 0)
        return false;
    raise_bound(solver, core, core->constant);
    offer_of_core(solver, core, MW_NEW(core->arena, int, core->node_count));
    return true;
}

/* One round of ascent, cutting and reduction. */
static void tighten(Solver *solver, MwCore *core)
{
    MwArena *scratch = mw_arena_new();
    MwAscentLimits limits = {.iterations = 400, .deadline_s = solver->deadline_s};
    MwCoreBest found = {.cost = MW_CORE_NONE};
    if (solver->solution->choice)
        found.cost = mw_core_cutoff(core, solver->solution->cost);
    MwDual *dual = mw_ascend(scratch, core, core->price, &found, &limits);
    if (found.choice)
        offer_of_core(solver, core, found.choice);
    raise_bound(solver, core, mw_dual_certify(dual));
    log_step(solver, core, "ascend");
    if (solver->solution->choice && !proven(solver))
        mw_dual_cut(dual, core, mw_core_cutoff(core, solver->solution->cost));
    mw_arena_free(&scratch);
    reduce(solver, core, &PAIRS);
}

static void finish_by_ilp(Solver *solver, MwCore *core)
{
    if (out_of_time(solver) || !mw_ilp_manageable(core))
        return;
    MwIlpAnswer answer = mw_ilp_solve(core->arena, core, solver->deadline_s);
    if (answer.choice)
        offer_of_core(solver, core, answer.choice);
    if (answer.proven && !answer.choice)
        exhaust(solver);
    else
        raise_bound(solver, core, answer.bound);
}

static void solve_core(Solver *solver, MwCore *core)
{
    reduce(solver, core, &PAIRS);
    for (int before = INT_MAX, left; !core->infeasible && !proven(solver); before = left) {
        left = nodes_left(core);
        solver->solution->reduced_nodes = left;
        if (left == 0 || left > before * 0.9 || out_of_time(solver))
            break;
        tighten(solver, core);
        if (core->row_count == 0 && !core->infeasible && !proven(solver) &&
            eliminate_all(solver, mw_core_copy(core->arena, core)))
            return;
    }
    if (proven(solver))
        return;
    if (core->infeasible)
        exhaust(solver);
    else if (solver->solution->reduced_nodes > 0)
        finish_by_ilp(solver, core);
    else {
        offer_of_core(solver, core, MW_NEW(core->arena, int, core->node_count));
        raise_bound(solver, core, core->constant);
    }
}

static void solve(Solver *solver)
{
    bool limited = solver->problem->usage_limit != MW_USAGE_UNLIMITED;
    MwCore *core = mw_core_build(solver->scratch, solver->tables, solver->problem, false);
    bool complete = eliminate_all(solver, core);
    if (proven(solver) || (complete && !limited))
        return;
    solve_core(solver, mw_core_build(solver->scratch, solver->tables, solver->problem, limited));
}

MwSolution mw_solve(MwArena *arena, const MwProblem *problem, const MwSolveOptions *options)
{
    double start_s = mw_clock_s();
    MwArena *scratch = mw_arena_new();
    MwSolution solution = {0};
    Solver solver = {.problem = problem,
                     .arena = arena,
                     .scratch = scratch,
                     .start_s = start_s,
                     .log = options ? options->log : NULL,
                     .tables = mw_tables_new(scratch),
                     .solution = &solution};
    if (options && options->time_limit_s > 0)
        solver.deadline_s = start_s + options->time_limit_s;
    solve(&solver);
    if (!solution.choice)
        solution.status = solver.impossible ? MW_SOLVED_INFEASIBLE : MW_SOLVED_UNKNOWN;
    else
        solution.status = proven(&solver) ? MW_SOLVED_OPTIMAL : MW_SOLVED_FEASIBLE;
    solution.time_s = mw_clock_s() - start_s;
    mw_arena_free(&scratch);
    return solution;
}
