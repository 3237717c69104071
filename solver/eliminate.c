/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Elimination of a node whose choice uses no memory.
 *
 * The factors of a node v are replaced by one over its neighbours N: for each choice of N, the
 * least over the strategies of v of v's cost plus its factors. Any choice of the others is then
 * completed by the v that attains the minimum (the lowest index of equals), which the trail keeps;
 * so the least cost is unchanged. With no neighbour this is a constant, with one a cost, with two a
 * matrix (Scholz and Eckstein, LCTES 2002, reductions R0, RI, RII), with more a larger table
 * (bucket elimination: Dechter, Artificial Intelligence 113, 1999, section 3).
 *
 * The result depends on the tables alone and on which neighbour each dimension belongs to, so it is
 * remembered under these. */
#include "solver/reduce.h"

#include <stdlib.h>
#include <string.h>

/* A factor of v, laid out [neighbours of its scope][v]. */
typedef struct {
    int arity;                      /* without v */
    int neighbour[MW_TABLE_ARITY];  /* which neighbour each dimension is */
    int64_t stride[MW_TABLE_ARITY]; /* in entries */
    const int64_t *at;
} Input;

typedef struct {
    int strategies, neighbour_count, input_count;
    int dims[MW_TABLE_ARITY], index[MW_TABLE_ARITY]; /* of the neighbours */
    Input *inputs;
    int64_t
        *sum[MW_TABLE_ARITY + 1]; /* [level][strategy] costs known once `level` neighbours are */
    int64_t *least;               /* where the next result goes */
    int32_t *choice;
} Work;

static const int64_t *input_row(const Work *work, const Input *input)
{
    const int64_t *row = input->at;
    for (int i = 0; i < input->arity; i++)
        row += work->index[input->neighbour[i]] * input->stride[i];
    return row;
}

/* The costs of v's strategies once neighbours 0 to `level` are fixed: those of the level before
 * plus the inputs whose last neighbour is `level`. */
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

static void store_least(Work *work, const int64_t *sum)
{
    int64_t least = MW_FORBIDDEN;
    for (int s = 0; s < work->strategies; s++)
        least = mw_min(least, sum[s]);
    int choice = 0;
    while (choice < work->strategies - 1 && sum[choice] != least)
        choice++;
    *work->least++ = least;
    *work->choice++ = choice;
}

static void fill(Work *work, int level, const int64_t *sum)
{
    if (level == work->neighbour_count) {
        store_least(work, sum);
        return;
    }
    for (int i = 0; i < work->dims[level]; i++) {
        work->index[level] = i;
        fill(work, level + 1, sum_level(work, level, sum));
    }
}

static Input make_input(MwArena *scratch, const MwCoreFactor *factor, int node,
                        const int *neighbours)
{
    Input input = {0};
    int dim = 0;
    for (int i = 0, n = 0; i < factor->cost->arity; i++) {
        if (factor->scope[i] == node) {
            dim = i;
            continue;
        }
        while (neighbours[n] != factor->scope[i])
            n++;
        input.neighbour[input.arity++] = n;
    }
    input.at = mw_table_rows(scratch, factor->cost, dim);
    int64_t stride = factor->cost->dims[dim];
    for (int i = factor->cost->arity - 1, k = input.arity - 1; i >= 0; i--)
        if (i != dim) {
            input.stride[k--] = stride;
            stride *= factor->cost->dims[i];
        }
    return input;
}

static const MwElimination *minimise(MwCore *core, int node, int neighbour_count,
                                     const int *neighbours)
{
    const MwCoreNode *at = &core->nodes[node];
    MwArena *scratch = mw_arena_new(), *arena = mw_tables_arena(core->tables);
    Work work = {.strategies = (int)at->cost->count,
                 .neighbour_count = neighbour_count,
                 .input_count = at->factors.count};
    work.inputs = MW_NEW(scratch, Input, work.input_count);
    for (int i = 0; i < work.input_count; i++)
        work.inputs[i] =
            make_input(scratch, &core->factors.at[at->factors.at[i]], node, neighbours);
    int64_t count = 1;
    for (int i = 0; i < neighbour_count; i++) {
        work.dims[i] = mw_core_strategies(core, neighbours[i]);
        work.sum[i + 1] = MW_NEW(scratch, int64_t, work.strategies);
        count *= work.dims[i];
    }
    int64_t *least = mw_tables_scratch(core->tables, count);
    int32_t *choice = MW_NEW(arena, int32_t, count);
    work.least = least;
    work.choice = choice;
    fill(&work, 0, at->cost->at);
    MwElimination *made = MW_NEW(arena, MwElimination, 1);
    made->choice = choice;
    if (neighbour_count == 0)
        made->constant = least[0];
    else
        made->cost = mw_table_intern(core->tables, neighbour_count, work.dims, least);
    mw_arena_free(&scratch);
    return made;
}

/* For each factor: its table, and per dimension which neighbour (-1: v itself). */
static int fill_key(const MwCore *core, int node, int neighbour_count, const int *neighbours,
                    int *key)
{
    const MwCoreNode *at = &core->nodes[node];
    int count = 0;
    key[count++] = MW_OP_ELIMINATE;
    key[count++] = at->cost->id;
    key[count++] = neighbour_count;
    for (int i = 0; i < at->factors.count; i++) {
        const MwCoreFactor *factor = &core->factors.at[at->factors.at[i]];
        key[count++] = factor->cost->id;
        for (int k = 0, n = 0; k < factor->cost->arity; k++) {
            while (n < neighbour_count && neighbours[n] < factor->scope[k])
                n++;
            key[count++] = factor->scope[k] == node ? -1 : n;
        }
    }
    return count;
}

void mw_reduce_eliminate(MwCore *core, int node, int neighbour_count, const int *neighbours)
{
    const MwCoreNode *at = &core->nodes[node];
    int *key = mw_tables_key(core->tables, 3 + at->factors.count * (MW_TABLE_ARITY + 1));
    int count = fill_key(core, node, neighbour_count, neighbours, key);
    const MwElimination *result = mw_tables_recall(core->tables, key, count);
    if (!result) {
        result = minimise(core, node, neighbour_count, neighbours);
        mw_tables_remember(core->tables, key, count, (void *)result);
    }
    mw_core_eliminate(core, node, result, neighbour_count, neighbours);
    if (neighbour_count > 0)
        mw_core_add_factor(core, neighbours, result->cost);
    else
        core->constant += result->constant;
}
