/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The solver's road: without the memory limit first, because that is quickly done, a bound, and
 * often already the answer; then, if it does not fit, with the limit. */
#include "solver/ilp.h"
#include "solver/reduce.h"

/* Without memory rows, elimination goes on through larger tables; with them it stays at pairs. */
static const MwReduceLimits UNLIMITED = {
    .arity = MW_TABLE_ARITY, .entries = 1 << 22, .total = 1 << 26};
static const MwReduceLimits PAIRS = {.arity = 2, .entries = 1 << 22, .total = INT64_MAX};

typedef struct {
    const MwProblem *problem;
    MwArena *arena;
    MwTables *tables;
    double deadline_s;
    MwSolution *solution;
} Solver;

static int nodes_left(const MwCore *core)
{
    int count = 0;
    for (int i = 0; i < core->node_count; i++)
        count += core->nodes[i].cost != NULL;
    return count;
}

/* Takes `choice` for the solution if it is legal and the best so far. */
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

/* False if there is proven to be no choice. */
static bool solve_core(Solver *solver, MwCore *core, const MwReduceLimits *limits)
{
    MwReduceLimits timed = *limits;
    timed.deadline_s = solver->deadline_s;
    mw_reduce(core, &timed);
    if (core->infeasible)
        return false;
    solver->solution->reduced_nodes = nodes_left(core);
    MwIlpAnswer answer = {.proven = true, .bound = core->constant};
    if (solver->solution->reduced_nodes > 0)
        answer = mw_ilp_solve(core->arena, core, solver->deadline_s);
    else
        answer.choice = MW_NEW(core->arena, int, core->node_count);
    if (!answer.choice)
        return !answer.proven;
    MwCost bound = answer.bound << core->shift;
    if (bound > solver->solution->lower_bound)
        solver->solution->lower_bound = bound;
    mw_core_restore(core, answer.choice);
    offer(solver, answer.choice);
    return true;
}

static bool solve_both(Solver *solver, MwArena *scratch)
{
    const MwProblem *problem = solver->problem;
    MwSolution *solution = solver->solution;
    if (!solve_core(solver, mw_core_build(scratch, solver->tables, problem, false), &UNLIMITED))
        return false;
    if (solution->choice && solution->cost == solution->lower_bound)
        return true;
    return problem->usage_limit == MW_USAGE_UNLIMITED ||
           solve_core(solver, mw_core_build(scratch, solver->tables, problem, true), &PAIRS);
}

MwSolution mw_solve(MwArena *arena, const MwProblem *problem, const MwSolveOptions *options)
{
    double start_s = mw_clock_s();
    MwArena *scratch = mw_arena_new();
    MwSolution solution = {0};
    Solver solver = {.problem = problem,
                     .arena = arena,
                     .tables = mw_tables_new(scratch),
                     .solution = &solution};
    if (options && options->time_limit_s > 0)
        solver.deadline_s = start_s + options->time_limit_s;
    bool possible = solve_both(&solver, scratch);
    if (!solution.choice)
        solution.status = possible ? MW_SOLVED_UNKNOWN : MW_SOLVED_INFEASIBLE;
    else if (solution.cost == solution.lower_bound)
        solution.status = MW_SOLVED_OPTIMAL;
    else
        solution.status = MW_SOLVED_FEASIBLE;
    solution.time_s = mw_clock_s() - start_s;
    mw_arena_free(&scratch);
    return solution;
}
