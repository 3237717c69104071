/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The integer linear program, and its solution by GLPK's branch and cut.
 *
 *     minimise    sum cost[v][s] x[v][s] + sum cost[f][e] y[f][e]
 *     subject to  sum over s of x[v][s] = 1                           for each node v
 *                 sum over e with v in c of y[f][e] = sum over s in c of x[v][s]
 *                                                     for each function f, v in f, class c of v
 *                 sum usage[v][s] x[v][s] <= limit[row]               for each memory row
 *                 x binary, y >= 0
 *
 * With x integral, the second line forces y to be the indicator of the entry chosen. Entries that
 * are forbidden have no column. This is the linearisation of Alpa (OSDI 2022, section 4.2), and the
 * local polytope of Schlesinger (1976).
 *
 * Costs are rescaled for GLPK, and what it returns is only used as a choice, polished and costed
 * anew in integers; the bound leaves room for the tolerances of floating point. */
#include "solver/tree/ilp.h"

#include "solver/bound/polish.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>

/* One sparse constraint under construction. */
typedef struct {
    MwArena *arena;
    MW_VEC(int) column;
    MW_VEC(double) value;
} SparseRow;

static void clear_row(SparseRow *row)
{
    row->column.count = row->value.count = 0;
    /* GLPK counts from 1. */
    mw_vec_push(row->arena, &row->column, 0);
    mw_vec_push(row->arena, &row->value, 0);
}

static void add_to_row(SparseRow *row, int column, double value)
{
    mw_vec_push(row->arena, &row->column, column);
    mw_vec_push(row->arena, &row->value, value);
}

static int emit_row(glp_prob *program, const SparseRow *row, int type, double bound)
{
    int index = glp_add_rows(program, 1);
    glp_set_row_bnds(program, index, type, bound, bound);
    glp_set_mat_row(program, index, row->column.count - 1, row->column.at, row->value.at);
    return index;
}

static void build_node(MwIlp *ilp, const MwCore *core, int node, double scale, SparseRow *row)
{
    const MwTable *cost = core->nodes[node].cost;
    char name[48];
    ilp->column[node] = glp_add_cols(ilp->program, (int)cost->count);
    clear_row(row);
    for (int s = 0; s < cost->count; s++) {
        int column = ilp->column[node] + s;
        snprintf(name, sizeof name, "x_%d_%d", node, s);
        glp_set_col_name(ilp->program, column, name);
        glp_set_col_kind(ilp->program, column, GLP_BV);
        if (cost->at[s] < MW_FORBIDDEN)
            glp_set_obj_coef(ilp->program, column, (double)cost->at[s] * scale);
        else
            glp_set_col_bnds(ilp->program, column, GLP_FX, 0, 0);
        add_to_row(row, column, 1);
    }
    int index = emit_row(ilp->program, row, GLP_FX, 1);
    snprintf(name, sizeof name, "one_%d", node);
    glp_set_row_name(ilp->program, index, name);
}

/* Adds a column for each allowed entry of the cost function. Returns the columns; 0 for forbidden
 * entries. */
static const int *build_entries(MwIlp *ilp, MwArena *scratch, const MwCostFunction *function,
                                int index, double scale)
{
    const MwTable *cost = function->cost;
    int *columns = MW_NEW(scratch, int, cost->count);
    int allowed = 0;
    for (int64_t e = 0; e < cost->count; e++)
        allowed += cost->at[e] < MW_FORBIDDEN;
    int next = allowed ? glp_add_cols(ilp->program, allowed) : 0;
    for (int64_t e = 0; e < cost->count; e++) {
        if (cost->at[e] >= MW_FORBIDDEN)
            continue;
        char name[48];
        snprintf(name, sizeof name, "y_%d_%lld", index, (long long)e);
        glp_set_col_name(ilp->program, next, name);
        glp_set_col_bnds(ilp->program, next, GLP_LO, 0, 0);
        glp_set_obj_coef(ilp->program, next, (double)cost->at[e] * scale);
        columns[e] = next++;
    }
    return columns;
}

/* Adds -x[v][s] for each strategy s of the class. */
static void add_class(SparseRow *row, int column, const MwTable *classes, int class)
{
    for (int s = 0; s < classes->count; s++)
        if (classes->at[s] == class)
            add_to_row(row, column + s, -1);
}

static void build_function(MwIlp *ilp, const MwCore *core, int index, double scale, SparseRow *row)
{
    const MwCostFunction *function = &core->functions.at[index];
    MwArena *scratch = mw_arena_new();
    const int *columns = build_entries(ilp, scratch, function, index, scale);
    for (int dim = 0; dim < function->cost->arity; dim++) {
        int64_t inner = mw_table_inner(function->cost, dim), size = function->cost->dims[dim];
        for (int s = 0; s < size; s++) {
            clear_row(row);
            add_class(row, ilp->column[function->scope[dim]], function->classes[dim], s);
            for (int64_t e = 0; e < function->cost->count; e++)
                if (e / inner % size == s && columns[e])
                    add_to_row(row, columns[e], 1);
            char name[48];
            snprintf(name, sizeof name, "pair_%d_%d_%d", index, function->scope[dim], s);
            glp_set_row_name(ilp->program, emit_row(ilp->program, row, GLP_FX, 0), name);
        }
    }
    mw_arena_free(&scratch);
}

/* Sets usage[strategy] of the node in the memory row. Returns false if the node uses nothing
 * there. */
static bool row_usage(const MwCoreNode *node, int memory_row, double *usage)
{
    bool any = false;
    for (int k = 0; k < node->terms.count; k++) {
        const MwCoreTerm *term = &node->terms.at[k];
        if (memory_row < term->first || memory_row > term->last)
            continue;
        for (int s = 0; s < term->usage->count; s++)
            usage[s] = (any ? usage[s] : 0) + (double)term->usage->at[s];
        any = true;
    }
    return any;
}

static double *new_usage_scratch(MwArena *scratch, const MwCore *core)
{
    int64_t most = 1;
    for (int i = 0; i < core->node_count; i++)
        if (core->nodes[i].cost)
            most = mw_max(most, core->nodes[i].cost->count);
    return MW_NEW(scratch, double, most);
}

static void build_memory(MwIlp *ilp, const MwCore *core, int memory_row, SparseRow *row)
{
    clear_row(row);
    double limit = (double)core->limit[memory_row], scale = 1 / fmax(1, limit);
    double *usage = new_usage_scratch(row->arena, core);
    for (int i = 0; i < core->node_count; i++) {
        if (!core->nodes[i].cost || !row_usage(&core->nodes[i], memory_row, usage))
            continue;
        for (int s = 0; s < core->nodes[i].cost->count; s++)
            if (usage[s] > 0)
                add_to_row(row, ilp->column[i] + s, usage[s] * scale);
    }
    char name[48];
    snprintf(name, sizeof name, "memory_%lld", (long long)core->time[memory_row]);
    glp_set_row_name(ilp->program, emit_row(ilp->program, row, GLP_UP, limit * scale), name);
}

static MwIlp build_without_memory(MwArena *arena, const MwCore *core, double scale, SparseRow *row)
{
    MwIlp ilp = {glp_create_prob(), MW_NEW(arena, int, core->node_count)};
    glp_set_obj_dir(ilp.program, GLP_MIN);
    for (int i = 0; i < core->node_count; i++)
        if (core->nodes[i].cost)
            build_node(&ilp, core, i, scale, row);
    for (int i = 0; i < core->functions.count; i++)
        if (core->functions.at[i].cost)
            build_function(&ilp, core, i, scale, row);
    return ilp;
}

MwIlp mw_ilp_build(MwArena *arena, const MwCore *core, double scale)
{
    MwArena *scratch = mw_arena_new();
    SparseRow row = {.arena = scratch};
    MwIlp ilp = build_without_memory(arena, core, scale, &row);
    for (int i = 0; i < core->row_count; i++)
        build_memory(&ilp, core, i, &row);
    mw_arena_free(&scratch);
    return ilp;
}

/* ---- Solving ---- */

/* Greatest number of columns of a program whose relaxation GLPK solves within the limits below. */
enum { COLUMN_LIMIT = 30000 };

/* Limits of the work without a deadline, so that answers do not depend on the machine's speed:
 * slices of the simplex method, between which it checks the clock, iterations of a slice, and nodes
 * of the tree. */
enum { SIMPLEX_SLICES = 200, SIMPLEX_SLICE = 1000, TREE_NODE_LIMIT = 20000 };

/* Greatest number of entries that the choice of a branching variable visits without a check of the
 * clock. */
enum { TABLEAU_LIMIT = 1 << 24 };

/* Visits of each entry of the program that a simplex iteration counts for, as does a row of the
 * tableau. */
enum { ITERATION_VISITS = 8 };

/* Greatest cost in the program, well within the precision of a floating-point simplex method. */
static const double GREATEST_COST = 1e4;

/* Relative gap that GLPK's optimum may have. The tolerances set below are a tenth of it or less. */
static const double OPTIMALITY_TOLERANCE = 1e-6;

/* Tolerated excess of a memory row, as a fraction of its limit; greater than GLPK's own
 * tolerance. */
static const double ROW_TOLERANCE = 1e-6;

bool mw_ilp_manageable(const MwCore *core)
{
    int64_t columns = 0;
    for (int i = 0; i < core->node_count; i++)
        columns += core->nodes[i].cost ? core->nodes[i].cost->count : 0;
    for (int i = 0; i < core->functions.count; i++)
        columns += core->functions.at[i].cost ? core->functions.at[i].cost->count : 0;
    return columns <= COLUMN_LIMIT;
}

static int64_t greatest_allowed(const MwTable *cost)
{
    int64_t greatest = 0;
    for (int64_t e = 0; cost && e < cost->count; e++)
        if (cost->at[e] < MW_FORBIDDEN)
            greatest = mw_max(greatest, cost->at[e]);
    return greatest;
}

static double cost_scale(const MwCore *core)
{
    int64_t greatest = 1;
    for (int i = 0; i < core->node_count; i++)
        greatest = mw_max(greatest, greatest_allowed(core->nodes[i].cost));
    for (int i = 0; i < core->functions.count; i++)
        greatest = mw_max(greatest, greatest_allowed(core->functions.at[i].cost));
    return GREATEST_COST / (double)greatest;
}

/* The search with lazy constraints: a memory row joins the program when the solution of a
 * relaxation exceeds it, because few rows ever bind. */
typedef struct {
    const MwCore *core;
    MwIlp *ilp;
    SparseRow row;
    int nodes;
    const MwStop *stop;
    int iterations; /* of the simplex method that have been counted */
} Search;

static double relaxed_usage(const Search *search, glp_prob *program, int memory_row)
{
    const MwCore *core = search->core;
    double usage = 0;
    for (int i = 0; i < core->node_count; i++)
        for (int k = 0; k < core->nodes[i].terms.count; k++) {
            const MwCoreTerm *term = &core->nodes[i].terms.at[k];
            if (memory_row < term->first || memory_row > term->last)
                continue;
            for (int s = 0; s < term->usage->count; s++)
                usage += (double)term->usage->at[s] *
                         glp_get_col_prim(program, search->ilp->column[i] + s);
        }
    return usage;
}

/* Adds the memory rows that the relaxation's solution exceeds. During the tree search, GLPK keeps
 * them for the current node and its descendants. Returns their number. */
static int add_exceeded_rows(Search *search, glp_prob *program)
{
    MwIlp relaxed = {program, search->ilp->column};
    int added = 0;
    for (int i = 0; i < search->core->row_count && !mw_stopped(search->stop); i++) {
        double limit = (double)search->core->limit[i];
        if (relaxed_usage(search, program, i) <= limit + ROW_TOLERANCE * fmax(1, limit))
            continue;
        build_memory(&relaxed, search->core, i, &search->row);
        added++;
    }
    return added;
}

/* Chooses the branching variable. GLPK's own rule (Driebeek and Tomlin) computes a row of the
 * tableau for each fractional column and cannot be interrupted. If that is too much work, the most
 * fractional column is taken. */
static void choose_branch(glp_tree *tree, const MwStop *stop)
{
    glp_prob *program = glp_ios_get_prob(tree);
    int64_t fractional = 0;
    int most = 0;
    double value = 0;
    for (int column = 1; column <= glp_get_num_cols(program); column++) {
        if (!glp_ios_can_branch(tree, column))
            continue;
        double here = glp_get_col_prim(program, column);
        if (fractional++ == 0 || fabs(here - 0.5) < fabs(value - 0.5)) {
            most = column;
            value = here;
        }
    }
    const int64_t entries = fractional * glp_get_num_nz(program);
    if (entries > TABLEAU_LIMIT)
        glp_ios_branch_upon(tree, most, value < 0.5 ? GLP_DN_BRNCH : GLP_UP_BRNCH);
    else
        mw_stop_count(stop, ITERATION_VISITS * entries);
}

/* Counts the iterations since the last call. Returns true if work must end. */
static bool is_stopped(Search *search, glp_prob *program)
{
    const int iterations = glp_get_it_cnt(program);
    mw_stop_count(search->stop, ITERATION_VISITS * (int64_t)(iterations - search->iterations) *
                                    (glp_get_num_nz(program) + glp_get_num_rows(program)));
    search->iterations = iterations;
    return mw_stopped(search->stop);
}

static void watch_tree(glp_tree *tree, void *context)
{
    Search *search = context;
    if (glp_ios_reason(tree) == GLP_IROWGEN)
        add_exceeded_rows(search, glp_ios_get_prob(tree));
    else if (glp_ios_reason(tree) == GLP_IBRANCH)
        choose_branch(tree, search->stop);
    else if (glp_ios_reason(tree) == GLP_ISELECT && ++search->nodes > TREE_NODE_LIMIT)
        glp_ios_terminate(tree);
    if (is_stopped(search, glp_ios_get_prob(tree)))
        glp_ios_terminate(tree);
}

static int *read_choice(MwArena *arena, const MwCore *core, const MwIlp *ilp)
{
    int *choice = MW_NEW(arena, int, core->node_count);
    for (int i = 0; i < core->node_count; i++) {
        if (!core->nodes[i].cost)
            continue;
        for (int s = 1; s < core->nodes[i].cost->count; s++)
            if (glp_mip_col_val(ilp->program, ilp->column[i] + s) >
                glp_mip_col_val(ilp->program, ilp->column[i] + choice[i]))
                choice[i] = s;
    }
    return choice;
}

static int milliseconds_left(const MwStop *stop)
{
    return stop->work ? INT_MAX : (int)fmin(fmax(1e3 * mw_stop_left_s(stop), 1), INT_MAX);
}

/* Solves a relaxation in slices of iterations, between which the work can end. GLPK continues from
 * the basis of the last slice, so its presolver is off. Returns false if the relaxation was not
 * finished. */
static bool relax(Search *search, int method, int *slices)
{
    glp_prob *program = search->ilp->program;
    glp_smcp control;
    glp_init_smcp(&control);
    control.msg_lev = GLP_MSG_OFF;
    control.meth = method;
    control.it_lim = SIMPLEX_SLICE;
    int failure = GLP_EITLIM;
    while (failure == GLP_EITLIM && (*slices)++ < SIMPLEX_SLICES) {
        if (is_stopped(search, program))
            return false;
        control.tm_lim = milliseconds_left(search->stop);
        failure = glp_simplex(program, &control);
    }
    return failure == 0;
}

/* Solves the relaxation at the root and adds the memory rows that it exceeds. There may be
 * hundreds, and adding them inside the tree could not be interrupted. After rows are added, the
 * basis is still dual feasible. Returns false if the work was not finished. */
static bool solve_root(Search *search, bool *possible)
{
    glp_prob *program = search->ilp->program;
    int slices = 0, method = GLP_PRIMAL;
    glp_adv_basis(program, 0);
    do {
        if (!relax(search, method, &slices))
            return false;
        method = GLP_DUALP;
        *possible = glp_get_status(program) != GLP_NOFEAS;
        if (*possible && glp_get_status(program) != GLP_OPT)
            return false;
    } while (*possible && add_exceeded_rows(search, program) > 0);
    return true;
}

static int solve_tree(Search *search)
{
    glp_iocp control;
    glp_init_iocp(&control);
    control.msg_lev = GLP_MSG_OFF;
    control.tol_int = 1e-7;
    control.tol_obj = 1e-9;
    control.tm_lim = milliseconds_left(search->stop);
    control.sr_heur = GLP_OFF; /* the heuristic ignores rows that are added later */
    control.cb_func = watch_tree;
    control.cb_info = search;
    int failure = glp_intopt(search->ilp->program, &control);
    int status = glp_mip_status(search->ilp->program);
    return failure && status == GLP_OPT ? GLP_FEAS : status;
}

static MwIlpAnswer read_answer(MwArena *arena, const MwCore *core, const MwIlp *ilp, int status)
{
    MwIlpAnswer answer = {.proven = status == GLP_NOFEAS, .bound = core->constant};
    if (status != GLP_OPT && status != GLP_FEAS)
        return answer;
    int *choice = read_choice(arena, core, ilp);
    mw_polish(core, choice);
    if (!mw_core_allows(core, choice) || !mw_core_fits(core, choice))
        return answer; /* legal only within the tolerances */
    answer.choice = choice;
    if (status == GLP_OPT) {
        answer.proven = true;
        MwCost cost = mw_core_cost(core, answer.choice);
        answer.bound = cost - (MwCost)(OPTIMALITY_TOLERANCE * (double)(cost - core->constant));
    }
    return answer;
}

MwIlpAnswer mw_ilp_solve(MwArena *arena, const MwCore *core, const MwStop *stop)
{
    MwArena *scratch = mw_arena_new();
    SparseRow row = {.arena = scratch};
    MwIlp ilp = build_without_memory(scratch, core, cost_scale(core), &row);
    Search search = {.core = core, .ilp = &ilp, .row = row, .stop = stop};
    glp_term_out(GLP_OFF);
    bool possible;
    int status = GLP_UNDEF;
    if (solve_root(&search, &possible))
        status = possible ? solve_tree(&search) : GLP_NOFEAS;
    MwIlpAnswer answer = read_answer(arena, core, &ilp, status);
    glp_delete_prob(ilp.program);
    glp_free_env(); /* what GLPK keeps for a thread */
    mw_arena_free(&scratch);
    return answer;
}
