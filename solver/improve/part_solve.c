/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fills the tables of a part and reads the best labels off them, backwards. The loops over the
 * classes of the innermost neighbour are short; they run over whole lanes, and what is computed
 * beyond the end of a row is thrown away. */
#include "solver/improve/part.h"

#include <math.h>
#include <string.h>

typedef struct {
    const MwPart *part;
    const MwPartStep *step;
    double *tables;
    const double **at; /* [input] where the present classes are */
    double **sum;      /* [level][label] costs known once the levels before are */
    double *panel;     /* [label][class of the innermost level], whole lanes */
    double *out;
} Filler;

static void fill_function(const MwPartTable *table, int dim, const int64_t *cost, double *to)
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

void mw_part_fill(const MwPart *part, double *tables)
{
    for (int i = 0; i < part->tables.count; i++) {
        const MwPartTable *table = &part->tables.at[i];
        if (table->cost)
            fill_function(table, 0, table->cost, tables + table->place);
    }
}

static int whole_lanes(int size)
{
    return (size + MW_LANES - 1) / MW_LANES * MW_LANES;
}

/* out[j * stride]: the least over labels of sum[label] + at[own[label] + j]. */
MW_VECTORISED static void least_of_sums(double *out, int64_t stride, int size, const double *sum,
                                        const double *at, const int *own, int labels)
{
    for (int start = 0; start < size; start += MW_LANES) {
        double lane[MW_LANES];
        for (int k = 0; k < MW_LANES; k++)
            lane[k] = INFINITY;
        for (int i = 0; i < labels; i++) {
            const double *from = at + own[i] + start;
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

MW_VECTORISED static void add_to_panel(double *panel, int size, const double *at, const int *own,
                                       int labels)
{
    int width = whole_lanes(size);
    for (int i = 0; i < labels; i++)
        for (int k = 0; k < width; k++)
            panel[i * width + k] += at[own[i] + k];
}

static void gather_to_panel(double *panel, int size, const double *at, const int *own, int labels,
                            const int *offset)
{
    int width = whole_lanes(size);
    for (int i = 0; i < labels; i++)
        for (int k = 0; k < size; k++)
            panel[i * width + k] += at[own[i] + offset[k]];
}

static void fill_innermost(Filler *filler, int level, double *out)
{
    const MwPartStep *step = filler->step;
    const MwPartTable *output = &filler->part->tables.at[step->output];
    int dim = step->level[level], size = output->size[dim];
    int labels = filler->part->nodes[step->node].label_count, deep = 0, only = 0;
    for (int i = 0; i < step->input_count; i++)
        if (step->inputs[i].depth == level) {
            only = i;
            deep++;
        }
    const double *sum = filler->sum[level];
    if (deep == 1 && step->inputs[only].adjoining) {
        least_of_sums(out, output->stride[dim], size, sum, filler->at[only], step->inputs[only].own,
                      labels);
        return;
    }
    int width = whole_lanes(size);
    for (int i = 0; i < labels; i++)
        for (int k = 0; k < width; k++)
            filler->panel[i * width + k] = sum[i];
    for (int i = 0; i < step->input_count; i++) {
        const MwPartInput *input = &step->inputs[i];
        if (input->depth != level)
            continue;
        if (input->adjoining)
            add_to_panel(filler->panel, size, filler->at[i], input->own, labels);
        else
            gather_to_panel(filler->panel, size, filler->at[i], input->own, labels,
                            input->offset[level]);
    }
    least_of_panel(out, output->stride[dim], size, filler->panel, labels);
}

static void fill(Filler *filler, int level, double *out)
{
    const MwPartStep *step = filler->step;
    if (level == step->level_count - 1) {
        fill_innermost(filler, level, out);
        return;
    }
    const MwPartTable *output = &filler->part->tables.at[step->output];
    int dim = step->level[level];
    int labels = filler->part->nodes[step->node].label_count;
    for (int c = 0; c < output->size[dim]; c++) {
        double *sum = filler->sum[level + 1];
        memcpy(sum, filler->sum[level], sizeof *sum * (size_t)labels);
        for (int i = 0; i < step->input_count; i++) {
            const MwPartInput *input = &step->inputs[i];
            if (!input->offset[level])
                continue;
            filler->at[i] += input->offset[level][c] - (c > 0 ? input->offset[level][c - 1] : 0);
            if (input->depth == level)
                for (int k = 0; k < labels; k++)
                    sum[k] += filler->at[i][input->own[k]];
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

/* Returns what elimination of a node without neighbours costs, else 0. */
static double run_step(Filler *filler, const MwPartStep *step)
{
    const MwPart *part = filler->part;
    const MwPartNode *node = &part->nodes[step->node];
    filler->step = step;
    memcpy(filler->sum[0], node->cost, sizeof(double) * (size_t)node->label_count);
    for (int i = 0; i < step->input_count; i++) {
        const MwPartInput *input = &step->inputs[i];
        filler->at[i] = filler->tables + part->tables.at[input->table].place;
        if (input->depth < 0)
            for (int k = 0; k < node->label_count; k++)
                filler->sum[0][k] += filler->at[i][input->own[k]];
    }
    if (step->level_count == 0)
        return least(filler->sum[0], node->label_count);
    fill(filler, 0, filler->tables + part->tables.at[step->output].place);
    return 0;
}

/* Given the labels of those that go later. */
static void choose_label(Filler *filler, const MwPartStep *step)
{
    const MwPart *part = filler->part;
    MwPartNode *node = &part->nodes[step->node];
    double *sum = filler->sum[0];
    memcpy(sum, node->cost, sizeof(double) * (size_t)node->label_count);
    for (int i = 0; i < step->input_count; i++) {
        const MwPartInput *input = &step->inputs[i];
        const double *at = filler->tables + part->tables.at[input->table].place;
        for (int level = 0; level <= input->depth; level++)
            if (input->offset[level]) {
                const MwPartTable *output = &part->tables.at[step->output];
                int dim = step->level[level];
                int label = part->nodes[output->node[dim]].label;
                at += input->offset[level][output->class_of[dim][label]];
            }
        for (int k = 0; k < node->label_count; k++)
            sum[k] += at[input->own[k]];
    }
    node->label = node->group[node->present];
    for (int k = 0; k < node->label_count; k++)
        if (sum[k] < sum[node->label])
            node->label = k;
}

/* The best strategy of each label. */
static void choose_strategies(const MwPart *part, MwPartNode *node)
{
    int strategies = part->layout->nodes[node->origin].strategies;
    for (int k = 0; k < node->label_count; k++)
        node->strategy[k] = -1;
    for (int s = 0; s < strategies; s++) {
        int label = node->group[s];
        double cost = node->fixed[s] + node->added[s];
        if (node->strategy[label] < 0 || cost < node->cost[label] ||
            (cost == node->cost[label] && s == node->present)) {
            node->cost[label] = cost;
            node->strategy[label] = s;
        }
    }
}

static Filler new_filler(MwArena *scratch, const MwPart *part, double *tables)
{
    Filler filler = {.part = part, .tables = tables};
    int inputs = 1, levels = 1, labels = part->layout->most_strategies;
    for (int i = 0; i < part->steps.count; i++) {
        inputs = (int)mw_max(inputs, part->steps.at[i].input_count);
        levels = (int)mw_max(levels, part->steps.at[i].level_count);
    }
    filler.at = MW_NEW(scratch, const double *, inputs);
    filler.sum = MW_NEW(scratch, double *, levels);
    for (int i = 0; i < levels; i++)
        filler.sum[i] = MW_NEW(scratch, double, labels);
    filler.panel = MW_NEW(scratch, double, labels *whole_lanes(labels));
    return filler;
}

double mw_part_solve(MwPart *part, double *tables)
{
    MwArena *scratch = mw_arena_new();
    Filler filler = new_filler(scratch, part, tables);
    double cost = 0;
    for (int i = 0; i < part->node_count; i++) {
        MwPartNode *node = &part->nodes[i];
        choose_strategies(part, node);
        if (node->held)
            cost += node->cost[node->label];
    }
    for (int i = 0; i < part->steps.count; i++)
        cost += run_step(&filler, &part->steps.at[i]);
    for (int i = 0; i < part->tables.count; i++)
        if (part->tables.at[i].arity == 0 && part->tables.at[i].cost)
            cost += tables[part->tables.at[i].place];
    for (int i = part->steps.count - 1; i >= 0; i--)
        choose_label(&filler, &part->steps.at[i]);
    mw_arena_free(&scratch);
    return cost;
}

double mw_part_present_cost(const MwPart *part, const double *tables)
{
    double cost = 0;
    for (int i = 0; i < part->node_count; i++)
        cost += part->nodes[i].fixed[part->nodes[i].present] +
                part->nodes[i].added[part->nodes[i].present];
    for (int i = 0; i < part->tables.count; i++) {
        const MwPartTable *table = &part->tables.at[i];
        if (!table->cost)
            continue;
        const double *at = tables + table->place;
        for (int k = 0; k < table->arity; k++) {
            const MwPartNode *node = &part->nodes[table->node[k]];
            at += table->class_of[k][node->group[node->present]] * table->stride[k];
        }
        cost += *at;
    }
    return cost;
}
