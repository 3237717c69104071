/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lower bounds of the least peak from weighted times.
 *
 * For weights w >= 0 of times t, every allowed choice x has a peak of at least
 *   sum of w[t] usage[t](x) / sum of w,  which is at least its minimum over x.
 * The minimum is a problem without a limit, and its bound in exact integers is the proof. The first
 * problem weights only the time at which the sum of least usages is greatest. Each solution x shows
 * that no weights prove more than the weighted average of x. The weights that are best for all
 * solutions so far come from a linear program and are asked next (Kelley, The cutting-plane method
 * for solving convex programs, SIAM Journal 8, 1960; Dantzig and Wolfe, Decomposition principle for
 * linear programs, Operations Research 8, 1960). A basic solution has no more non-zero weights than
 * there are solutions. Any weights give a proof, so rounding them to integers is safe.
 *
 * A solution for so few times may use any amount at other times. Choices of low peak come sooner if
 * the first problems weight all times, those more that were fuller in the solutions so far
 * (multiplicative weights: Plotkin, Shmoys and Tardos, Fast approximation algorithms for fractional
 * packing and covering problems, Mathematics of Operations Research 20, 1995). */
#include "solver/answer/peak_bound.h"

#include "solver/answer/hard_constraints.h"
#include "solver/driver/solve.h"
#include "solver/reduce/rules.h"
#include "solver/tuning.h"

#include <glpk.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Upper limit of peak times weight, which keeps weighted usages within the range of costs. */
static const double GREATEST_COST = 1e17;
enum { SHARES = 1 << 20 };
/* Greatest number of problems solved. */
#define STEPS (4 * MW_TUNED_PEAK_STEPS)
/* Exponent of the weight that a time gains for being full once: the greatest step for which
 * multiplicative weights are proven to converge (Arora, Hazan and Kale, The multiplicative weights
 * update method, Theory of Computing 8, 2012, section 2). */
static const double BOLDNESS = 0.5;
/* Relative gain over the proven bound that justifies another problem. */
static const double PROMISE = 1e-9;

struct MwPeakBound {
    MwArena *arena;
    const MwProblem *hard;
    MwSolveOptions options;
    MwStop stop;
    const MwCore *rows; /* rows of the nodes alone: what each node uses at the times that matter */
    MW_VEC(double *) solutions; /* [row] usages of each solution */
    MwInfeasibleTime *ask;      /* [rows] the weights to ask next */
    int ask_count, steps, spread_steps;
    double *fullness; /* [row] sum over the solutions of the usage, as a fraction of the least
                         peak met */
    bool ended;
    MwPeakProof best;
    int *choice;  /* the choice of least peak met; NULL: none */
    int64_t peak; /* its peak */
    bool impossible;
};

/* ---- Times ---- */

/* Returns the times that no other time dominates and at which some choice uses something. */
static const MwCore *list_rows(MwArena *arena, const MwProblem *hard)
{
    MwProblem nodes = *hard;
    nodes.edge_count = 0;
    nodes.usage_limit = 0;
    MwCore *rows = mw_core_build(arena, mw_tables_new(arena), &nodes, true);
    mw_reduce_rows(rows);
    return rows;
}

/* Adds to usage[row] the usage of `choice`; NULL: the least usage of each node. */
static void add_usages(const MwPeakBound *bound, const int *choice, double *usage)
{
    const MwCore *rows = bound->rows;
    for (int i = 0; i < rows->node_count; i++)
        for (int k = 0; k < rows->nodes[i].terms.count; k++) {
            const MwCoreTerm *term = &rows->nodes[i].terms.at[k];
            double used = choice ? (double)term->usage->at[choice[i]]
                                 : (double)mw_hard_least_usage(&bound->hard->nodes[i]);
            usage[term->first] += used;
            usage[term->last + 1] -= used;
        }
    for (int row = 1; row < rows->row_count; row++)
        usage[row] += usage[row - 1];
}

static int fullest_row(const MwPeakBound *bound)
{
    MwArena *scratch = mw_arena_new();
    double *usage = MW_NEW(scratch, double, bound->rows->row_count + 1);
    add_usages(bound, NULL, usage);
    int fullest = 0;
    for (int row = 1; row < bound->rows->row_count; row++)
        if (usage[row] > usage[fullest])
            fullest = row;
    mw_arena_free(&scratch);
    return fullest;
}

MwPeakBound *mw_peak_bound_new(MwArena *arena, const MwProblem *hard, bool choices,
                               const MwSolveOptions *options)
{
    MwPeakBound *bound = MW_NEW(arena, MwPeakBound, 1);
    *bound = (MwPeakBound){
        .arena = arena, .hard = hard, .options = *options, .stop = mw_stop_of(options)};
    bound->rows = list_rows(arena, hard);
    bound->spread_steps = choices ? MW_TUNED_PEAK_STEPS : 0;
    bound->fullness = MW_NEW(arena, double, bound->rows->row_count);
    bound->ask = MW_NEW(arena, MwInfeasibleTime, bound->rows->row_count);
    if (bound->rows->row_count > 0) {
        bound->ask[0] = (MwInfeasibleTime){bound->rows->time[fullest_row(bound)], 1};
        bound->ask_count = 1;
    }
    return bound;
}

/* ---- Asking ---- */

static MwPeakProof prove(const MwPeakBound *bound, int count, const MwInfeasibleTime *times,
                         MwSolution *solution)
{
    MwArena *scratch = mw_arena_new();
    MwPeakProof proof = {.count = count};
    proof.times = mw_arena_dup(bound->arena, times, sizeof *times * (size_t)count);
    MwCost weights = 0;
    for (int i = 0; i < count; i++)
        weights += times[i].weight;
    const MwProblem *usage = mw_hard_usage(scratch, bound->hard, count, times);
    MwSolveOptions options = bound->options;
    mw_stop_pass_on(&bound->stop, &options);
    *solution = mw_solve_plain(bound->arena, usage, &options, NULL);
    proof.needed = solution->lower_bound;
    MwCost least = weights ? (proof.needed + weights - 1) / weights : 0;
    proof.bound = least < INT64_MAX ? (int64_t)least : INT64_MAX;
    mw_arena_free(&scratch);
    return proof;
}

MwPeakProof mw_peak_bound_prove(const MwPeakBound *bound, int count, const MwInfeasibleTime *times)
{
    MwSolution solution;
    return prove(bound, count, times, &solution);
}

static void keep_if_lower(MwPeakBound *bound, int *choice)
{
    int64_t time, peak = mw_problem_peak(bound->hard, choice, &time);
    if (bound->choice && peak >= bound->peak)
        return;
    bound->choice = choice;
    bound->peak = peak;
}

/* ---- The best weights for the solutions so far ---- */

static void keep_solution(MwPeakBound *bound, const int *choice)
{
    double *usage = MW_NEW(bound->arena, double, bound->rows->row_count + 1);
    add_usages(bound, choice, usage);
    mw_vec_push(bound->arena, &bound->solutions, usage);
    /* The first solution was asked for one time only, so it says nothing about the others. */
    for (int row = 0; row < bound->rows->row_count && bound->solutions.count > 1; row++)
        bound->fullness[row] += usage[row] / fmax(1, (double)bound->peak);
}

/* Adds the constraint that the least average is at most that of this solution, in the unit
 * given. */
static void add_solution(glp_prob *program, const double *usage, int rows, double unit)
{
    MwArena *scratch = mw_arena_new();
    int *column = MW_NEW(scratch, int, rows + 2), count = 1;
    double *value = MW_NEW(scratch, double, rows + 2);
    column[1] = 1;
    value[1] = -1;
    for (int row = 0; row < rows; row++)
        if (usage[row] > 0) {
            column[++count] = row + 2;
            value[count] = usage[row] / unit;
        }
    int index = glp_add_rows(program, 1);
    glp_set_row_bnds(program, index, GLP_LO, 0, 0);
    glp_set_mat_row(program, index, count, column, value);
    mw_arena_free(&scratch);
}

/* Builds the linear program: maximise the least average (column 1) over the weights of the rows
 * (column 2 + row), which sum to 1. */
static glp_prob *build_program(const MwPeakBound *bound, double unit)
{
    int rows = bound->rows->row_count;
    MwArena *scratch = mw_arena_new();
    int *column = MW_NEW(scratch, int, rows + 1);
    double *one = MW_NEW(scratch, double, rows + 1);
    glp_prob *program = glp_create_prob();
    glp_set_obj_dir(program, GLP_MAX);
    glp_add_cols(program, rows + 1);
    glp_set_col_bnds(program, 1, GLP_FR, 0, 0);
    glp_set_obj_coef(program, 1, 1);
    for (int row = 0; row < rows; row++) {
        glp_set_col_bnds(program, row + 2, GLP_LO, 0, 0);
        column[row + 1] = row + 2;
        one[row + 1] = 1;
    }
    glp_add_rows(program, 1);
    glp_set_row_bnds(program, 1, GLP_FX, 1, 1);
    glp_set_mat_row(program, 1, rows, column, one);
    for (int i = 0; i < bound->solutions.count; i++)
        add_solution(program, bound->solutions.at[i], rows, unit);
    mw_arena_free(&scratch);
    return program;
}

static int compare_weights(const void *a, const void *b)
{
    const MwInfeasibleTime *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return (x->time > y->time) - (x->time < y->time);
}

/* Returns the integer that the weights sum to. */
static double weight_sum(double peak)
{
    return fmin(SHARES, fmax(1, GREATEST_COST / fmax(1, peak)));
}

/* Rounds the weights of the linear program to integers, to be asked next. */
static void round_weights(MwPeakBound *bound, glp_prob *program, double unit)
{
    double units = weight_sum(unit);
    bound->ask_count = 0;
    for (int row = 0; row < bound->rows->row_count; row++) {
        int64_t weight = llround(units * glp_get_col_prim(program, row + 2));
        if (weight > 0)
            bound->ask[bound->ask_count++] = (MwInfeasibleTime){bound->rows->time[row], weight};
    }
    qsort(bound->ask, (size_t)bound->ask_count, sizeof *bound->ask, compare_weights);
}

/* Weights all times by how full they were. */
static bool weight_all_times(MwPeakBound *bound)
{
    int rows = bound->rows->row_count;
    double most = 0, sum = 0, units = weight_sum((double)bound->peak);
    for (int row = 0; row < rows; row++)
        most = fmax(most, bound->fullness[row]);
    for (int row = 0; row < rows; row++)
        sum += exp(BOLDNESS * (bound->fullness[row] - most));
    bound->ask_count = 0;
    /* Rounding passes its remainder on to the next row: of many rows, most have a weight below one
     * unit. */
    double rest = 0;
    for (int row = 0; row < rows; row++) {
        double exact = units * exp(BOLDNESS * (bound->fullness[row] - most)) / sum + rest;
        int64_t weight = llround(exact);
        rest = exact - (double)weight;
        if (weight > 0)
            bound->ask[bound->ask_count++] = (MwInfeasibleTime){bound->rows->time[row], weight};
    }
    return bound->ask_count > 0;
}

/* Returns false if no weights promise more than is proven. */
static bool choose_weights(MwPeakBound *bound)
{
    double unit = fmax(1, (double)bound->peak);
    glp_term_out(GLP_OFF);
    glp_prob *program = build_program(bound, unit);
    glp_smcp control;
    glp_init_smcp(&control);
    control.msg_lev = GLP_MSG_OFF;
    bool good = glp_simplex(program, &control) == 0 && glp_get_status(program) == GLP_OPT;
    double promised = glp_get_obj_val(program) * unit;
    good = good && promised > (double)bound->best.bound * (1 + PROMISE);
    if (good)
        round_weights(bound, program, unit);
    glp_delete_prob(program);
    glp_free_env(); /* what GLPK keeps for a thread */
    return good && bound->ask_count > 0;
}

/* Solves for the weights to ask. Returns false if there is no solution to learn from. Without any
 * time it only asks whether some choice is allowed. */
static bool ask(MwPeakBound *bound)
{
    MwSolution solution;
    MwPeakProof proof = prove(bound, bound->ask_count, bound->ask, &solution);
    bound->impossible = solution.status == MW_SOLVED_INFEASIBLE;
    if (bound->impossible)
        return false;
    if (bound->steps++ == 0 || proof.bound > bound->best.bound)
        bound->best = proof;
    if (!solution.choice)
        return false;
    keep_if_lower(bound, solution.choice);
    keep_solution(bound, solution.choice);
    return true;
}

/* Chooses the next weights. GLPK serves only one thread, and `quick` callers may be on several. */
static bool choose_next(MwPeakBound *bound)
{
    if (bound->steps <= bound->spread_steps)
        return weight_all_times(bound);
    return !bound->options.quick && choose_weights(bound);
}

bool mw_peak_bound_step(MwPeakBound *bound)
{
    if (bound->ended)
        return false;
    bound->ended = !ask(bound) || bound->rows->row_count == 0 || bound->steps == STEPS ||
                   mw_stopped(&bound->stop) || !choose_next(bound);
    return !bound->ended;
}

MwPeakProof mw_peak_bound_best(const MwPeakBound *bound)
{
    return bound->best;
}

bool mw_peak_bound_impossible(const MwPeakBound *bound)
{
    return bound->impossible;
}

int *mw_peak_bound_choice(const MwPeakBound *bound, int64_t *peak)
{
    *peak = bound->peak;
    return bound->choice;
}
