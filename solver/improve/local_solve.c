/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Solves a local problem: fills the tables forwards and reads the best labels off them backwards.
 * The loops over the classes of the innermost neighbour are short; they run over whole lanes, and
 * results beyond the end of a row are discarded. */
#include "solver/improve/local_problem.h"

#include <math.h>
#include <string.h>

typedef struct {
    const MwLocalProblem *local;
    const MwLocalStep *step;
    double *tables;
    const double **at; /* [input] entry of the current classes */
    double **sum;      /* [level][label] costs that are known before the level */
    double *panel;     /* [label][class of the innermost level] in whole lanes */
    double *out;
} Filler;

static void fill_function(const MwLocalTable *table, int dim, const int64_t *cost, double *to)
{
    if (dim == table->arity) {
        *to = (double)*cost;
        return;
    }
    const int64_t step = table->step[dim], stride = table->stride[dim];
    const int size = table->size[dim];
    if (dim == table->arity - 1)
        for (int c = 0; c < size; c++)
            to[c * stride] = (double)cost[c * step];
    else
        for (int c = 0; c < size; c++)
            fill_function(table, dim + 1, cost + c * step, to + c * stride);
}

void mw_local_problem_fill(const MwLocalProblem *local, double *tables)
{
    for (int i = 0; i < local->tables.count; i++) {
        const MwLocalTable *table = &local->tables.at[i];
        if (table->cost)
            fill_function(table, 0, table->cost, tables + table->start);
    }
}

static int whole_lanes(int size)
{
    return (size + MW_LANES - 1) / MW_LANES * MW_LANES;
}

/* Sets out[j * stride] to the least over labels of sum[label] + at[own[label] + j]. */
MW_VECTORISED static void least_of_sums(double *out, int64_t stride, int size, const double *sum,
                                        const double *at, const int *node_offset, int labels)
{
    for (int start = 0; start < size; start += MW_LANES) {
        double lane[MW_LANES];
        for (int k = 0; k < MW_LANES; k++)
            lane[k] = INFINITY;
        for (int i = 0; i < labels; i++) {
            const double *from = at + node_offset[i] + start;
            for (int k = 0; k < MW_LANES; k++) {
                double value = sum[i] + from[k];
                lane[k] = value < lane[k] ? value : lane[k];
            }
        }
        int left = (int)mw_min(size - start, MW_LANES);
        for (int k = 0; k < left; k++)
            out[(start + k) * stride] = lane[k];
    }
}

MW_VECTORISED static void least_of_panel(double *out, int64_t stride, int size, const double *panel,
                                         int labels)
{
    int width = whole_lanes(size);
    for (int start = 0; start < size; start += MW_LANES) {
        double lane[MW_LANES];
        for (int k = 0; k < MW_LANES; k++)
            lane[k] = INFINITY;
        for (int i = 0; i < labels; i++)
            for (int k = 0; k < MW_LANES; k++) {
                double value = panel[i * width + start + k];
                lane[k] = value < lane[k] ? value : lane[k];
            }
        int left = (int)mw_min(size - start, MW_LANES);
        for (int k = 0; k < left; k++)
            out[(start + k) * stride] = lane[k];
    }
}

MW_VECTORISED static void add_to_panel(double *panel, int size, const double *at,
                                       const int *node_offset, int labels)
{
    int width = whole_lanes(size);
    for (int i = 0; i < labels; i++)
        for (int k = 0; k < width; k++)
            panel[i * width + k] += at[node_offset[i] + k];
}

static void gather_to_panel(double *panel, int size, const double *at, const int *node_offset,
                            int labels, const int *offset)
{
    int width = whole_lanes(size);
    for (int i = 0; i < labels; i++)
        for (int k = 0; k < size; k++)
            panel[i * width + k] += at[node_offset[i] + offset[k]];
}

static void fill_innermost(Filler *filler, int level, double *out)
{
    const MwLocalStep *step = filler->step;
    const MwLocalTable *output = &filler->local->tables.at[step->output];
    int dim = step->level[level], size = output->size[dim];
    int labels = filler->local->nodes[step->node].label_count, deep = 0, only = 0;
    for (int i = 0; i < step->input_count; i++)
        if (step->inputs[i].depth == level) {
            only = i;
            deep++;
        }
    const double *sum = filler->sum[level];
    if (deep == 1 && step->inputs[only].contiguous) {
        least_of_sums(out, output->stride[dim], size, sum, filler->at[only],
                      step->inputs[only].node_offset, labels);
        return;
    }
    int width = whole_lanes(size);
    for (int i = 0; i < labels; i++)
        for (int k = 0; k < width; k++)
            filler->panel[i * width + k] = sum[i];
    for (int i = 0; i < step->input_count; i++) {
        const MwLocalInput *input = &step->inputs[i];
        if (input->depth != level)
            continue;
        if (input->contiguous)
            add_to_panel(filler->panel, size, filler->at[i], input->node_offset, labels);
        else
            gather_to_panel(filler->panel, size, filler->at[i], input->node_offset, labels,
                            input->offset[level]);
    }
    least_of_panel(out, output->stride[dim], size, filler->panel, labels);
}

static void fill(Filler *filler, int level, double *out)
{
    const MwLocalStep *step = filler->step;
    if (level == step->level_count - 1) {
        fill_innermost(filler, level, out);
        return;
    }
    const MwLocalTable *output = &filler->local->tables.at[step->output];
    int dim = step->level[level];
    int labels = filler->local->nodes[step->node].label_count;
    for (int c = 0; c < output->size[dim]; c++) {
        double *sum = filler->sum[level + 1];
        memcpy(sum, filler->sum[level], sizeof *sum * (size_t)labels);
        for (int i = 0; i < step->input_count; i++) {
            const MwLocalInput *input = &step->inputs[i];
            if (!input->offset[level])
                continue;
            filler->at[i] += input->offset[level][c] - (c > 0 ? input->offset[level][c - 1] : 0);
            if (input->depth == level)
                for (int k = 0; k < labels; k++)
                    sum[k] += filler->at[i][input->node_offset[k]];
        }
        fill(filler, level + 1, out + c * output->stride[dim]);
    }
    for (int i = 0; i < step->input_count; i++)
        if (step->inputs[i].offset[level])
            filler->at[i] -= step->inputs[i].offset[level][output->size[dim] - 1];
}

static double least(const double *values, int count)
{
    double least = INFINITY;
    for (int i = 0; i < count; i++)
        least = values[i] < least ? values[i] : least;
    return least;
}

/* Runs an elimination. Returns its cost if the node has no neighbours, else 0. */
static double run_step(Filler *filler, const MwLocalStep *step)
{
    const MwLocalProblem *local = filler->local;
    const MwLocalNode *node = &local->nodes[step->node];
    filler->step = step;
    memcpy(filler->sum[0], node->cost, sizeof(double) * (size_t)node->label_count);
    for (int i = 0; i < step->input_count; i++) {
        const MwLocalInput *input = &step->inputs[i];
        filler->at[i] = filler->tables + local->tables.at[input->table].start;
        if (input->depth < 0)
            for (int k = 0; k < node->label_count; k++)
                filler->sum[0][k] += filler->at[i][input->node_offset[k]];
    }
    if (step->level_count == 0)
        return least(filler->sum[0], node->label_count);
    fill(filler, 0, filler->tables + local->tables.at[step->output].start);
    return 0;
}

/* Chooses the label of a node, given the labels of the nodes eliminated later. */
static void choose_label(Filler *filler, const MwLocalStep *step)
{
    const MwLocalProblem *local = filler->local;
    MwLocalNode *node = &local->nodes[step->node];
    double *sum = filler->sum[0];
    memcpy(sum, node->cost, sizeof(double) * (size_t)node->label_count);
    for (int i = 0; i < step->input_count; i++) {
        const MwLocalInput *input = &step->inputs[i];
        const double *at = filler->tables + local->tables.at[input->table].start;
        for (int level = 0; level <= input->depth; level++)
            if (input->offset[level]) {
                const MwLocalTable *output = &local->tables.at[step->output];
                int dim = step->level[level];
                int label = local->nodes[output->node[dim]].label;
                at += input->offset[level][output->class_of[dim][label]];
            }
        for (int k = 0; k < node->label_count; k++)
            sum[k] += at[input->node_offset[k]];
    }
    node->label = node->label_of[node->current];
    for (int k = 0; k < node->label_count; k++)
        if (sum[k] < sum[node->label])
            node->label = k;
}

/* Finds the best strategy of each label. */
static void choose_strategies(const MwLocalProblem *local, MwLocalNode *node)
{
    int strategies = local->flat->nodes[node->origin].strategies;
    for (int k = 0; k < node->label_count; k++)
        node->strategy[k] = -1;
    for (int s = 0; s < strategies; s++) {
        int label = node->label_of[s];
        double cost = node->fixed[s] + node->added[s];
        if (node->strategy[label] < 0 || cost < node->cost[label] ||
            (cost == node->cost[label] && s == node->current)) {
            node->cost[label] = cost;
            node->strategy[label] = s;
        }
    }
}

static Filler new_filler(MwArena *scratch, const MwLocalProblem *local, double *tables)
{
    Filler filler = {.local = local, .tables = tables};
    int inputs = 1, levels = 1, labels = local->flat->most_strategies;
    for (int i = 0; i < local->steps.count; i++) {
        inputs = (int)mw_max(inputs, local->steps.at[i].input_count);
        levels = (int)mw_max(levels, local->steps.at[i].level_count);
    }
    filler.at = MW_NEW(scratch, const double *, inputs);
    filler.sum = MW_NEW(scratch, double *, levels);
    for (int i = 0; i < levels; i++)
        filler.sum[i] = MW_NEW(scratch, double, labels);
    filler.panel = MW_NEW(scratch, double, labels *whole_lanes(labels));
    return filler;
}

double mw_local_problem_solve(MwLocalProblem *local, double *tables)
{
    MwArena *scratch = mw_arena_new();
    Filler filler = new_filler(scratch, local, tables);
    double cost = 0;
    for (int i = 0; i < local->node_count; i++) {
        MwLocalNode *node = &local->nodes[i];
        choose_strategies(local, node);
        if (node->held)
            cost += node->cost[node->label];
    }
    for (int i = 0; i < local->steps.count; i++)
        cost += run_step(&filler, &local->steps.at[i]);
    for (int i = 0; i < local->tables.count; i++)
        if (local->tables.at[i].arity == 0 && local->tables.at[i].cost)
            cost += tables[local->tables.at[i].start];
    for (int i = local->steps.count - 1; i >= 0; i--)
        choose_label(&filler, &local->steps.at[i]);
    mw_arena_free(&scratch);
    return cost;
}

double mw_local_problem_current_cost(const MwLocalProblem *local, const double *tables)
{
    double cost = 0;
    for (int i = 0; i < local->node_count; i++)
        cost += local->nodes[i].fixed[local->nodes[i].current] +
                local->nodes[i].added[local->nodes[i].current];
    for (int i = 0; i < local->tables.count; i++) {
        const MwLocalTable *table = &local->tables.at[i];
        if (!table->cost)
            continue;
        const double *at = tables + table->start;
        for (int k = 0; k < table->arity; k++) {
            const MwLocalNode *node = &local->nodes[table->node[k]];
            at += table->class_of[k][node->label_of[node->current]] * table->stride[k];
        }
        cost += *at;
    }
    return cost;
}
