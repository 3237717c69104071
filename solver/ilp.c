/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The integer linear program, and its solution by GLPK's branch and cut.
 *
 *     minimise    sum cost[v][s] x[v][s] + sum cost[f][e] y[f][e]
 *     subject to  sum over s of x[v][s] = 1                           for each node v
 *                 sum over e with v in c of y[f][e] = sum over s in c of x[v][s]
 *                                                     for each factor f, v in f, class c of v
 *                 sum usage[v][s] x[v][s] <= limit[row]               for each memory row
 *                 x binary, y >= 0
 *
 * With x integral, the second line forces y to be the indicator of the entry chosen. Entries that
 * are forbidden have no column. This is the linearisation of Alpa (OSDI 2022, section 4.2), and the
 * local polytope of Schlesinger (1976).
 *
 * Costs are rescaled for GLPK, and what it returns is only used as a choice: its cost is computed
 * anew in integers. */
#include "solver/ilp.h"

#include "solver/reduce.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>

/* One sparse row being put together. */
typedef struct {
    MwArena *arena;
    MW_VEC(int) column;
    MW_VEC(double) value;
} Row;

static void clear_row(Row *row)
{
    row->column.count = row->value.count = 0;
    /* GLPK counts from 1. */
    mw_vec_push(row->arena, &row->column, 0);
    mw_vec_push(row->arena, &row->value, 0);
}

static void add_to_row(Row *row, int column, double value)
{
    mw_vec_push(row->arena, &row->column, column);
    mw_vec_push(row->arena, &row->value, value);
}

static int emit_row(glp_prob *program, const Row *row, int type, double bound)
{
    int index = glp_add_rows(program, 1);
    glp_set_row_bnds(program, index, type, bound, bound);
    glp_set_mat_row(program, index, row->column.count - 1, row->column.at, row->value.at);
    return index;
}

static void build_node(MwIlp *ilp, const MwCore *core, int node, double scale, Row *row)
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

/* Columns of the factor's entries; 0 where forbidden. */
static const int *build_entries(MwIlp *ilp, MwArena *scratch, const MwCoreFactor *factor, int index,
                                double scale)
{
    const MwTable *cost = factor->cost;
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

/* -x[v][s] for the strategies of one class. */
static void add_class(Row *row, int column, const MwTable *classes, int class)
{
    for (int s = 0; s < classes->count; s++)
        if (classes->at[s] == class)
            add_to_row(row, column + s, -1);
}

static void build_factor(MwIlp *ilp, const MwCore *core, int index, double scale, Row *row)
{
    const MwCoreFactor *factor = &core->factors.at[index];
    MwArena *scratch = mw_arena_new();
    const int *columns = build_entries(ilp, scratch, factor, index, scale);
    for (int dim = 0; dim < factor->cost->arity; dim++) {
        int64_t inner = mw_table_inner(factor->cost, dim), size = factor->cost->dims[dim];
        for (int s = 0; s < size; s++) {
            clear_row(row);
            add_class(row, ilp->column[factor->scope[dim]], factor->classes[dim], s);
            for (int64_t e = 0; e < factor->cost->count; e++)
                if (e / inner % size == s && columns[e])
                    add_to_row(row, columns[e], 1);
            char name[48];
            snprintf(name, sizeof name, "pair_%d_%d_%d", index, factor->scope[dim], s);
            glp_set_row_name(ilp->program, emit_row(ilp->program, row, GLP_FX, 0), name);
        }
    }
    mw_arena_free(&scratch);
}

static void build_memory(MwIlp *ilp, const MwCore *core, int memory_row, Row *row)
{
    clear_row(row);
    double limit = (double)core->limit[memory_row], scale = 1 / fmax(1, limit);
    for (int i = 0; i < core->node_count; i++)
        for (int k = 0; k < core->nodes[i].terms.count; k++) {
            const MwCoreTerm *term = &core->nodes[i].terms.at[k];
            if (memory_row < term->first || memory_row > term->last)
                continue;
            for (int s = 0; s < term->usage->count; s++)
                if (term->usage->at[s])
                    add_to_row(row, ilp->column[i] + s, (double)term->usage->at[s] * scale);
        }
    char name[48];
    snprintf(name, sizeof name, "memory_%lld", (long long)core->time[memory_row]);
    glp_set_row_name(ilp->program, emit_row(ilp->program, row, GLP_UP, limit * scale), name);
}

MwIlp mw_ilp_build(MwArena *arena, const MwCore *core, double scale)
{
    MwArena *scratch = mw_arena_new();
    Row row = {.arena = scratch};
    MwIlp ilp = {glp_create_prob(), MW_NEW(arena, int, core->node_count)};
    glp_set_obj_dir(ilp.program, GLP_MIN);
    for (int i = 0; i < core->node_count; i++)
        if (core->nodes[i].cost)
            build_node(&ilp, core, i, scale, &row);
    for (int i = 0; i < core->factors.count; i++)
        if (core->factors.at[i].cost)
            build_factor(&ilp, core, i, scale, &row);
    for (int i = 0; i < core->row_count; i++)
        build_memory(&ilp, core, i, &row);
    mw_arena_free(&scratch);
    return ilp;
}

/* Costs are brought to at most this, well inside the tolerances of a double simplex. */
static const double GREATEST_COST = 1e4;

static double good_scale(const MwCore *core)
{
    int64_t greatest = 1;
    for (int i = 0; i < core->node_count; i++)
        for (int s = 0; core->nodes[i].cost && s < core->nodes[i].cost->count; s++)
            if (core->nodes[i].cost->at[s] < MW_FORBIDDEN)
                greatest = mw_max(greatest, core->nodes[i].cost->at[s]);
    for (int i = 0; i < core->factors.count; i++)
        for (int64_t e = 0; core->factors.at[i].cost && e < core->factors.at[i].cost->count; e++)
            if (core->factors.at[i].cost->at[e] < MW_FORBIDDEN)
                greatest = mw_max(greatest, core->factors.at[i].cost->at[e]);
    return GREATEST_COST / (double)greatest;
}

enum { COLUMN_LIMIT = 200000 };

bool mw_ilp_manageable(const MwCore *core)
{
    int64_t columns = 0;
    for (int i = 0; i < core->node_count; i++)
        columns += core->nodes[i].cost ? core->nodes[i].cost->count : 0;
    for (int i = 0; i < core->factors.count; i++)
        columns += core->factors.at[i].cost ? core->factors.at[i].cost->count : 0;
    return columns <= COLUMN_LIMIT;
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

MwIlpAnswer mw_ilp_solve(MwArena *arena, const MwCore *core, double deadline_s)
{
    double scale = good_scale(core);
    MwIlp ilp = mw_ilp_build(arena, core, scale);
    MwIlpAnswer answer = {.bound = core->constant};
    glp_iocp control;
    glp_init_iocp(&control);
    control.msg_lev = GLP_MSG_OFF;
    control.presolve = GLP_ON;
    control.mip_gap = 0;
    if (deadline_s > 0)
        control.tm_lim = (int)fmin(fmax(1e3 * (deadline_s - mw_clock_s()), 1), INT_MAX);
    int failure = glp_intopt(ilp.program, &control);
    int status = failure ? GLP_UNDEF : glp_mip_status(ilp.program);
    if (failure == GLP_ENOPFS || status == GLP_NOFEAS)
        answer.proven = true;
    if (failure == GLP_ETMLIM || failure == GLP_EMIPGAP)
        status = glp_mip_status(ilp.program);
    if (status == GLP_OPT || status == GLP_FEAS) {
        answer.choice = read_choice(arena, core, &ilp);
        answer.proven = status == GLP_OPT;
    }
    if (answer.proven && answer.choice)
        answer.bound = mw_core_cost(core, answer.choice);
    glp_delete_prob(ilp.program);
    return answer;
}
