/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which times together need much memory.
 *
 * For shares w >= 0 of times t, every allowed choice x has a peak of at least
 *     sum of w[t] usage[t](x) / sum of w,  which is at least  min over x of that.
 * The minimum is a problem without a limit: the exact integers of its bound are the proof. It is
 * first asked for the time at which the least usages of all nodes come to most. Each answer x says
 * that no shares prove more than their average of its usages; the shares best for all answers so
 * far, which a linear program gives, are asked for next (Kelley, The cutting-plane method for
 * solving convex programs, SIAM Journal 8, 1960; Dantzig and Wolfe, Decomposition principle for
 * linear programs, Operations Research 8, 1960). As a basic solution they are few: no more than
 * there are answers. Rounded to integers they prove as well, as any shares do.
 *
 * What so few times ask for may use any amount at others. For choices of low peak it is better to
 * ask for all times at first, those the more that were fuller in the answers so far (multiplicative
 * weights: Plotkin, Shmoys and Tardos, Fast approximation algorithms for fractional packing and
 * covering problems, Mathematics of Operations Research 20, 1995). */
#include "solver/answer/peak_bound.h"

#include "solver/answer/bare.h"
#include "solver/reduce/rules.h"
#include "solver/road/solve.h"
#include "solver/tuning.h"

#include <glpk.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Peaks times shares are kept below this, so that they are costs of one problem. */
static const double GREATEST_COST = 1e17;
enum { SHARES = 1 << 20 };
/* Questions, at most. */
#define STEPS (4 * MW_TUNED_PEAK_STEPS)
/* How much more share a time gets for having been full once, as an exponent: the greatest step
 * for which multiplicative weights are shown to converge (Arora, Hazan and Kale, The
 * multiplicative weights update method, Theory of Computing 8, 2012, section 2). */
static const double BOLDNESS = 0.5;
/* A share more than is proven that is worth another question. */
static const double PROMISE = 1e-9;

struct MwPeakBound {
    MwArena *arena;
    const MwProblem *bare;
    MwSolveOptions options;
    MwStop stop;
    const MwCore *rows; /* the nodes alone: what each uses at which of the times that matter */
    MW_VEC(double *) answers; /* [row] usages */
    MwInfeasibleTime *ask;    /* [rows] next */
    int ask_count, steps, spread_steps;
    double *fullness; /* [row] sum over the answers of the usage, in best peaks */
    bool ended;
    MwPeakProof best;
    int *choice;  /* of the least peak; NULL: none */
    int64_t peak; /* of it */
    bool impossible;
};

/* ---- Times ---- */

/* Times that no other dominates, and at which some choice uses something. */
static const MwCore *list_rows(MwArena *arena, const MwProblem *bare)
{
    MwProblem nodes = *bare;
    nodes.edge_count = 0;
    nodes.usage_limit = 0;
    MwCore *rows = mw_core_build(arena, mw_tables_new(arena), &nodes, true);
    mw_reduce_rows(rows);
    return rows;
}

/* usage[row] of a choice of least usage of each node by itself (NULL), or of `choice`. */
static void add_usages(const MwPeakBound *bound, const int *choice, double *usage)
{
    const MwCore *rows = bound->rows;
    for (int i = 0; i < rows->node_count; i++)
        for (int k = 0; k < rows->nodes[i].terms.count; k++) {
            const MwCoreTerm *term = &rows->nodes[i].terms.at[k];
            double used = choice ? (double)term->usage->at[choice[i]]
                                 : (double)mw_bare_least(&bound->bare->nodes[i]);
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

MwPeakBound *mw_peak_bound_new(MwArena *arena, const MwProblem *bare, bool choices,
                               const MwSolveOptions *options)
{
    MwPeakBound *bound = MW_NEW(arena, MwPeakBound, 1);
    *bound = (MwPeakBound){
        .arena = arena, .bare = bare, .options = *options, .stop = mw_stop_of(options)};
    bound->rows = list_rows(arena, bare);
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
    MwCost shares = 0;
    for (int i = 0; i < count; i++)
        shares += times[i].share;
    const MwProblem *usage = mw_bare_usage(scratch, bound->bare, count, times);
    MwSolveOptions options = bound->options;
    mw_stop_hand_on(&bound->stop, &options);
    *solution = mw_solve_road(bound->arena, usage, &options, NULL);
    proof.needed = solution->lower_bound;
    MwCost least = shares ? (proof.needed + shares - 1) / shares : 0;
    proof.bound = least < INT64_MAX ? (int64_t)least : INT64_MAX;
    mw_arena_free(&scratch);
    return proof;
}

MwPeakProof mw_peak_bound_prove(const MwPeakBound *bound, int count, const MwInfeasibleTime *times)
{
    MwSolution solution;
    return prove(bound, count, times, &solution);
}

static void meet(MwPeakBound *bound, int *choice)
{
    int64_t time, peak = mw_problem_peak(bound->bare, choice, &time);
    if (bound->choice && peak >= bound->peak)
        return;
    bound->choice = choice;
    bound->peak = peak;
}

/* ---- Shares that are best for the answers so far ---- */

static void keep_answer(MwPeakBound *bound, const int *choice)
{
    double *usage = MW_NEW(bound->arena, double, bound->rows->row_count + 1);
    add_usages(bound, choice, usage);
    mw_vec_push(bound->arena, &bound->answers, usage);
    /* Of the first answer, which was asked for one time alone, nothing is learnt of the others. */
    for (int row = 0; row < bound->rows->row_count && bound->answers.count > 1; row++)
        bound->fullness[row] += usage[row] / fmax(1, (double)bound->peak);
}

/* The least average is at most that of this answer, in the unit given. */
static void add_answer(glp_prob *program, const double *usage, int rows, double unit)
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

/* Maximises the least average: column 1; the share of a row: column 2 + row. All sum up to 1. */
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
    for (int i = 0; i < bound->answers.count; i++)
        add_answer(program, bound->answers.at[i], rows, unit);
    mw_arena_free(&scratch);
    return program;
}

static int compare_shares(const void *a, const void *b)
{
    const MwInfeasibleTime *x = a, *y = b;
    if (x->share != y->share)
        return x->share > y->share ? -1 : 1;
    return (x->time > y->time) - (x->time < y->time);
}

/* Into how many parts shares are cut. */
static double parts_of(double peak)
{
    return fmin(SHARES, fmax(1, GREATEST_COST / fmax(1, peak)));
}

/* What to ask next: the shares of the program, in whole parts. */
static void read_shares(MwPeakBound *bound, glp_prob *program, double unit)
{
    double parts = parts_of(unit);
    bound->ask_count = 0;
    for (int row = 0; row < bound->rows->row_count; row++) {
        int64_t share = llround(parts * glp_get_col_prim(program, row + 2));
        if (share > 0)
            bound->ask[bound->ask_count++] = (MwInfeasibleTime){bound->rows->time[row], share};
    }
    qsort(bound->ask, (size_t)bound->ask_count, sizeof *bound->ask, compare_shares);
}

/* All times, by how full they were. */
static bool spread_shares(MwPeakBound *bound)
{
    int rows = bound->rows->row_count;
    double most = 0, sum = 0, parts = parts_of((double)bound->peak);
    for (int row = 0; row < rows; row++)
        most = fmax(most, bound->fullness[row]);
    for (int row = 0; row < rows; row++)
        sum += exp(BOLDNESS * (bound->fullness[row] - most));
    bound->ask_count = 0;
    double rest =
        0; /* what rounding leaves is handed on: of many rows, most have less than one part */
    for (int row = 0; row < rows; row++) {
        double exact = parts * exp(BOLDNESS * (bound->fullness[row] - most)) / sum + rest;
        int64_t share = llround(exact);
        rest = exact - (double)share;
        if (share > 0)
            bound->ask[bound->ask_count++] = (MwInfeasibleTime){bound->rows->time[row], share};
    }
    return bound->ask_count > 0;
}

/* False if no shares promise more than is proven. */
static bool choose_shares(MwPeakBound *bound)
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
        read_shares(bound, program, unit);
    glp_delete_prob(program);
    return good && bound->ask_count > 0;
}

/* Asks; false if there is no answer to learn from. Without any time it only asks whether anything
 * is allowed. */
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
    meet(bound, solution.choice);
    keep_answer(bound, solution.choice);
    return true;
}

/* GLPK is for one thread, and quick answers are for several. */
static bool choose(MwPeakBound *bound)
{
    if (bound->steps <= bound->spread_steps)
        return spread_shares(bound);
    return !bound->options.quick && choose_shares(bound);
}

bool mw_peak_bound_step(MwPeakBound *bound)
{
    if (bound->ended)
        return false;
    bound->ended = !ask(bound) || bound->rows->row_count == 0 || bound->steps == STEPS ||
                   mw_stopped(&bound->stop) || !choose(bound);
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
