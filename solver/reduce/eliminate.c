/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Elimination of a node without usage terms.
 *
 * The cost functions of a node v are replaced by one over its neighbours N: for each choice of N,
 * the minimum over the strategies of v of v's cost plus its cost functions. A choice of the other
 * nodes is completed by the strategy of v that attains the minimum (of equals, the lowest), which
 * the trail stores; the least cost therefore does not change. Without neighbours the result is a
 * constant, with one a unary cost, with two a matrix (Scholz and Eckstein, LCTES 2002, reductions
 * R0, RI, RII), with more a larger table (bucket elimination: Dechter, Artificial Intelligence 113,
 * 1999, section 3).
 *
 * The table is over joint classes: strategies of a neighbour that no cost function of v
 * distinguishes share one. The result depends only on the tables, the class lists, and the
 * neighbour that each dimension belongs to; it is remembered under these. */
#include "solver/reduce/rules.h"

#include <stdlib.h>
#include <string.h>

/* The scope of the new cost function: the neighbours of v, each with the coarsest classes that
 * refine those of all cost functions of v. */
typedef struct {
    int count;
    const int *nodes;                       /* [count] ascending */
    const MwTable *classes[MW_TABLE_ARITY]; /* joint class list of each neighbour */
    int dims[MW_TABLE_ARITY];               /* number of joint classes of each neighbour */
} Scope;

/* A cost function of v, with entries [classes of its other nodes][strategies of v]. */
typedef struct {
    int arity;                               /* without v */
    int neighbour[MW_TABLE_ARITY];           /* position in the scope of each dimension's node */
    const int64_t *class_of[MW_TABLE_ARITY]; /* class in the cost function for each joint class */
    int64_t stride[MW_TABLE_ARITY];          /* in entries */
    const int64_t *at;
} Input;

/* The rows of an input along the last level, with the other levels fixed. */
typedef struct {
    const int64_t *at, *class_of;
    int64_t stride;
} Column;

typedef struct {
    const Scope *scope;
    int strategies, input_count;
    int index[MW_TABLE_ARITY]; /* current joint class of each neighbour */
    Input *inputs;
    Column *columns; /* [input_count] */
    /* [level][strategy] costs that are known once the first `level` neighbours are fixed */
    /* [level][strategy] costs known once `level` neighbours are */
    int64_t *sum[MW_TABLE_ARITY + 1];
    int64_t *least; /* next entry of the result */
    int32_t *choice;
} Work;

static const int64_t *input_row(const Work *work, const Input *input)
{
    const int64_t *row = input->at;
    for (int i = 0; i < input->arity; i++)
        row += input->class_of[i][work->index[input->neighbour[i]]] * input->stride[i];
    return row;
}

/* Computes the costs of v's strategies once neighbours 0 to `level` are fixed: `before` plus the
 * inputs whose last neighbour is `level`. */
static const int64_t *sum_level(Work *work, int level, const int64_t *before)
{
    int64_t *sum = work->sum[level + 1];
    const int64_t *from = before;
    for (int i = 0; i < work->input_count; i++) {
        const Input *input = &work->inputs[i];
        if (input->neighbour[input->arity - 1] != level)
            continue;
        const int64_t *row = input_row(work, input);
        for (int s = 0; s < work->strategies; s++)
            sum[s] = mw_cost_add(from[s], row[s]);
        from = sum;
    }
    return from;
}

static inline void store_least(Work *work, const int64_t *sum)
{
    int64_t least = MW_FORBIDDEN, choice = work->strategies - 1;
    for (int s = 0; s < work->strategies; s++)
        least = mw_min(least, sum[s]);
    for (int s = 0; s < work->strategies; s++)
        choice = mw_min(choice, sum[s] == least ? s : INT64_MAX);
    *work->least++ = least;
    *work->choice++ = (int32_t)choice;
}

static int find_columns(Work *work)
{
    const int level = work->scope->count - 1;
    int count = 0;
    work->index[level] = 0;
    for (int i = 0; i < work->input_count; i++) {
        const Input *input = &work->inputs[i];
        const int last = input->arity - 1;
        if (input->neighbour[last] != level)
            continue;
        const int64_t stride = input->stride[last], *class_of = input->class_of[last];
        work->columns[count++] =
            (Column){input_row(work, input) - class_of[0] * stride, class_of, stride};
    }
    return count;
}

/* Fills the entries along the last level. Nearly all time is spent here. */
MW_VECTORISED static void fill_last(Work *work, const int64_t *before, int count)
{
    const int level = work->scope->count - 1, strategies = work->strategies;
    int64_t *sum = work->sum[level + 1];
    for (int i = 0; i < work->scope->dims[level]; i++) {
        const int64_t *from = before;
        for (int k = 0; k < count; k++) {
            const int64_t *row =
                work->columns[k].at + work->columns[k].class_of[i] * work->columns[k].stride;
            for (int s = 0; s < strategies; s++)
                sum[s] = mw_cost_add(from[s], row[s]);
            from = sum;
        }
        store_least(work, from);
    }
}

static void fill(Work *work, int level, const int64_t *sum)
{
    if (level == work->scope->count) {
        store_least(work, sum);
        return;
    }
    if (level == work->scope->count - 1) {
        fill_last(work, sum, find_columns(work));
        return;
    }
    for (int i = 0; i < work->scope->dims[level]; i++) {
        work->index[level] = i;
        fill(work, level + 1, sum_level(work, level, sum));
    }
}

/* Returns the class of `coarse` that contains each class of `fine`. */
static const int64_t *class_map(MwArena *scratch, const MwTable *fine, int fine_count,
                                const MwTable *coarse)
{
    int64_t *map = MW_NEW(scratch, int64_t, fine_count);
    for (int s = 0; s < fine->count; s++)
        map[fine->at[s]] = coarse->at[s];
    return map;
}

static Input make_input(MwArena *scratch, MwTables *tables, const MwCostFunction *function,
                        int node, const Scope *scope)
{
    Input input = {0};
    int dim = mw_core_position(function, node), arity = function->cost->arity;
    for (int i = 0, n = 0; i < arity; i++) {
        if (i == dim)
            continue;
        while (scope->nodes[n] != function->scope[i])
            n++;
        input.class_of[input.arity] =
            class_map(scratch, scope->classes[n], scope->dims[n], function->classes[i]);
        input.neighbour[input.arity++] = n;
    }
    const MwTable *cost = mw_table_select(tables, function->cost, dim, function->classes[dim]);
    input.at = mw_table_rows(scratch, cost, dim);
    int64_t stride = cost->dims[dim];
    for (int i = arity - 1, k = input.arity - 1; i >= 0; i--)
        if (i != dim) {
            input.stride[k--] = stride;
            stride *= cost->dims[i];
        }
    return input;
}

static const MwElimination *minimise(MwCore *core, int node, const Scope *scope)
{
    const MwCoreNode *at = &core->nodes[node];
    MwArena *scratch = mw_arena_new(), *arena = mw_tables_arena(core->tables);
    Work work = {
        .scope = scope, .strategies = (int)at->cost->count, .input_count = at->functions.count};
    work.inputs = MW_NEW(scratch, Input, work.input_count);
    work.columns = MW_NEW(scratch, Column, work.input_count);
    for (int i = 0; i < work.input_count; i++)
        work.inputs[i] = make_input(scratch, core->tables, &core->functions.at[at->functions.at[i]],
                                    node, scope);
    int64_t count = 1;
    for (int i = 0; i < scope->count; i++) {
        work.sum[i + 1] = MW_NEW(scratch, int64_t, work.strategies);
        count *= scope->dims[i];
    }
    int64_t *least = mw_tables_scratch(core->tables, count);
    int32_t *choice = MW_NEW(arena, int32_t, count);
    work.least = least;
    work.choice = choice;
    fill(&work, 0, at->cost->at);
    MwElimination *made = MW_NEW(arena, MwElimination, 1);
    made->choice = choice;
    made->classes =
        mw_arena_dup(arena, scope->classes, sizeof *scope->classes * (size_t)scope->count);
    if (scope->count == 0)
        made->constant = least[0];
    else
        made->cost = mw_table_intern(core->tables, scope->count, scope->dims, least);
    mw_arena_free(&scratch);
    return made;
}

/* Returns the joint classes of one neighbour over the cost functions it shares with v. */
static const MwTable *joint_classes(const MwCore *core, int node, int neighbour)
{
    const MwCoreNode *at = &core->nodes[node];
    const MwTable *joint = NULL;
    for (int i = 0; i < at->functions.count; i++) {
        const MwCostFunction *function = &core->functions.at[at->functions.at[i]];
        for (int k = 0; k < function->cost->arity; k++)
            if (function->scope[k] == neighbour)
                joint = joint
                            ? mw_classes_refine(core->tables, joint, function->classes[k])->classes
                            : function->classes[k];
    }
    return joint;
}

int64_t mw_elimination_entries(const MwCore *core, int node, int arity, int64_t limit)
{
    int neighbours[MW_TABLE_ARITY];
    int count = mw_core_neighbours(core, node, arity, neighbours);
    if (count > arity)
        return 0;
    int64_t entries = 1;
    for (int i = 0; i < count; i++) {
        entries *= mw_classes_count(joint_classes(core, node, neighbours[i]));
        if (entries > limit)
            return 0;
    }
    return entries;
}

/* The key has for each cost function its table and, per dimension, the position of the node in the
 * scope (-1: v) and its class list. */
static int fill_key(const MwCore *core, int node, const Scope *scope, int *key)
{
    const MwCoreNode *at = &core->nodes[node];
    int count = 0;
    key[count++] = MW_OPERATION_ELIMINATE;
    key[count++] = at->cost->id;
    for (int i = 0; i < at->functions.count; i++) {
        const MwCostFunction *function = &core->functions.at[at->functions.at[i]];
        key[count++] = function->cost->id;
        for (int k = 0, n = 0; k < function->cost->arity; k++) {
            while (n < scope->count && scope->nodes[n] < function->scope[k])
                n++;
            key[count++] = function->scope[k] == node ? -1 : n;
            key[count++] = function->classes[k]->id;
        }
    }
    return count;
}

int64_t mw_reduce_eliminate(MwCore *core, int node, int neighbour_count, const int *neighbours)
{
    const MwCoreNode *at = &core->nodes[node];
    Scope scope = {.count = neighbour_count, .nodes = neighbours};
    for (int i = 0; i < neighbour_count; i++) {
        scope.classes[i] = joint_classes(core, node, neighbours[i]);
        scope.dims[i] = mw_classes_count(scope.classes[i]);
    }
    int *key = mw_tables_key(core->tables, 2 + at->functions.count * (2 * MW_TABLE_ARITY + 1));
    int count = fill_key(core, node, &scope, key);
    const MwElimination *result = mw_tables_recall(core->tables, key, count);
    int64_t computed = 0;
    if (!result) {
        result = minimise(core, node, &scope);
        computed = result->cost ? result->cost->count : 1;
        mw_tables_remember(core->tables, key, count, (void *)result);
    }
    mw_core_eliminate(core, node, result, neighbour_count, neighbours);
    if (neighbour_count > 0)
        mw_core_add_function(core, neighbours, result->classes, result->cost);
    else if (result->constant < MW_FORBIDDEN)
        core->constant += result->constant;
    else
        core->infeasible = true;
    return computed;
}
