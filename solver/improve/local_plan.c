/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The plan of a part: see local_problem.h. The order is greedy: next goes the node whose elimination makes
 * the smallest table. */
#include "solver/improve/local_problem.h"

#include "solver/reduce/candidates.h"

#include <math.h>
#include <string.h>

typedef MW_VEC(int) IntList;

typedef struct {
    MwLocalProblem *local;
    MwArena *scratch;
    const int *choice;            /* of the flat core */
    int *index_of;                /* [node of the flat core] of the part, or -1 */
    IntList *live;                /* [node] the tables it is in that are not used up */
    MW_VEC(const int **) classes; /* [table][dimension][strategy] of cost functions */
    MW_VEC(bool) gone;            /* [table] used up */
    bool *done;                   /* [node] eliminated or held */
    double *entries;              /* [node] as last computed */
    MwCandidates heap;            /* one counts if `entries` says the same */
    int *mark;                    /* [node] the round it was last met in */
    int round;
    double *width; /* [node] the most classes it has in the table, if met in this round */
    int *met;      /* the nodes met in this round */
    int met_count;
    MwDraws *draws;
    int *class_at; /* scratch of split_classes */
    int class_room;
} Planner;

/* ---- Cost functions once the others are held ---- */

/* Adds the costs of the link's cost function, its other nodes held. */
static void add_fixed(const Planner *planner, MwLocalNode *node, const MwFlatLink *link)
{
    const MwFlatCore *flat = planner->local->flat;
    const MwFlatFunction *function = &flat->functions[link->function];
    int64_t at = 0;
    for (int i = 0; i < function->arity; i++)
        at = at * function->dims[i] +
             (i == link->dim ? 0 : function->classes[i][planner->choice[function->node[i]]]);
    const int *classes = function->classes[link->dim];
    for (int s = 0; s < flat->nodes[node->origin].strategies; s++)
        node->fixed[s] += (double)function->cost[at + classes[s] * link->stride];
}

static MwLocalTable *add_table(Planner *planner, int arity)
{
    MwLocalProblem *local = planner->local;
    MwLocalTable *table = mw_vec_add(local->arena, &local->tables);
    mw_vec_push(planner->scratch, &planner->gone, false);
    table->arity = arity;
    table->node = MW_NEW(local->arena, int, arity);
    table->class_of = MW_NEW(local->arena, int *, arity);
    table->size = MW_NEW(local->arena, int, arity);
    table->stride = MW_NEW(local->arena, int64_t, arity);
    return table;
}

static void add_function_table(Planner *planner, const MwFlatFunction *function, int free_count)
{
    const int **classes = MW_NEW(planner->scratch, const int *, free_count);
    int index = planner->local->tables.count;
    MwLocalTable *table = add_table(planner, free_count);
    table->cost = function->cost;
    table->step = MW_NEW(planner->local->arena, int64_t, free_count);
    int64_t stride = 1;
    for (int i = function->arity - 1, k = free_count - 1; i >= 0; stride *= function->dims[i--]) {
        int index_of = planner->index_of[function->node[i]];
        if (index_of < 0) {
            table->cost += stride * function->classes[i][planner->choice[function->node[i]]];
            continue;
        }
        classes[k] = function->classes[i];
        table->node[k] = index_of;
        table->size[k] = function->dims[i];
        table->step[k--] = stride;
        mw_vec_push(planner->scratch, &planner->live[index_of], index);
    }
    mw_vec_push(planner->scratch, &planner->classes, classes);
}

/* Each cost function within the part becomes a table, at its first free node. */
static void condition(Planner *planner, int index)
{
    const MwFlatCore *flat = planner->local->flat;
    MwLocalNode *node = &planner->local->nodes[index];
    const MwFlatNode *of = &flat->nodes[node->origin];
    for (int s = 0; s < of->strategies; s++)
        node->fixed[s] = (double)of->cost[s];
    for (int i = 0; i < of->link_count; i++) {
        const MwFlatFunction *function = &flat->functions[of->links[i].function];
        int free_count = 0, first = -1;
        for (int k = 0; k < function->arity; k++) {
            int index_of = planner->index_of[function->node[k]];
            free_count += index_of >= 0;
            first = first < 0 ? index_of : first;
        }
        if (free_count == 1)
            add_fixed(planner, node, &of->links[i]);
        else if (first == index)
            add_function_table(planner, function, free_count);
    }
}

/* ---- Classes ---- */

/* Splits the classes of `count` things, `size` so far, by `other` classes, `other_size` of them.
 * Returns how many there are then; they are numbered in order of first appearance. */
static int split_classes(Planner *planner, int *class_of, int count, int size, const int *other,
                         int other_size)
{
    int pairs = size * other_size, next = 0;
    if (pairs > planner->class_room) {
        planner->class_room = 2 * pairs;
        planner->class_at = MW_NEW(planner->scratch, int, planner->class_room);
    }
    for (int i = 0; i < pairs; i++)
        planner->class_at[i] = -1;
    for (int i = 0; i < count; i++) {
        int *at = &planner->class_at[class_of[i] * other_size + other[i]];
        if (*at < 0)
            *at = next++;
        class_of[i] = *at;
    }
    return next;
}

static int dimension(const MwLocalTable *table, int node)
{
    int dim = 0;
    while (table->node[dim] != node)
        dim++;
    return dim;
}

/* One label for what all cost functions within the part have in one class. */
static void find_labels(Planner *planner, int index)
{
    MwLocalProblem *local = planner->local;
    MwLocalNode *node = &local->nodes[index];
    const IntList *live = &planner->live[index];
    int strategies = local->flat->nodes[node->origin].strategies;
    node->label_count = 1;
    for (int i = 0; i < live->count && node->label_count < strategies; i++) {
        const MwLocalTable *table = &local->tables.at[live->at[i]];
        int dim = dimension(table, index);
        node->label_count = split_classes(planner, node->group, strategies, node->label_count,
                                          planner->classes.at[live->at[i]][dim], table->size[dim]);
    }
    node->cost = MW_NEW(local->arena, double, node->label_count);
    node->strategy = MW_NEW(local->arena, int, node->label_count);
    for (int i = 0; i < live->count; i++) {
        const MwLocalTable *table = &local->tables.at[live->at[i]];
        int dim = dimension(table, index);
        int *class_of = table->class_of[dim] = MW_NEW(local->arena, int, node->label_count);
        for (int s = 0; s < strategies; s++)
            class_of[node->group[s]] = planner->classes.at[live->at[i]][dim][s];
    }
}

/* ---- Order ---- */

/* Lists the neighbours of a node that are neither eliminated nor held, and bounds their classes in
 * the table that its elimination makes. Forgets tables that are used up. */
static void meet_neighbours(Planner *planner, int index)
{
    MwLocalProblem *local = planner->local;
    IntList *live = &planner->live[index];
    int kept = 0;
    planner->round++;
    planner->met_count = 0;
    for (int i = 0; i < live->count; i++) {
        if (planner->gone.at[live->at[i]])
            continue;
        live->at[kept++] = live->at[i];
        const MwLocalTable *table = &local->tables.at[live->at[i]];
        for (int k = 0; k < table->arity; k++) {
            int other = table->node[k];
            if (other == index || planner->done[other])
                continue;
            if (planner->mark[other] != planner->round) {
                planner->mark[other] = planner->round;
                planner->met[planner->met_count++] = other;
                planner->width[other] = table->size[k];
            } else {
                planner->width[other] =
                    fmin(planner->width[other] * table->size[k], local->nodes[other].label_count);
            }
        }
    }
    live->count = kept;
}

static void consider(Planner *planner, int index)
{
    meet_neighbours(planner, index);
    double entries = 1;
    for (int i = 0; i < planner->met_count; i++)
        entries *= planner->width[planner->met[i]];
    if (entries != planner->entries[index]) {
        planner->entries[index] = entries;
        mw_candidates_push(planner->scratch, &planner->heap, (MwCandidate){entries, index});
    }
}

static void consider_met(Planner *planner, const int *met, int count)
{
    for (int i = 0; i < count; i++)
        consider(planner, met[i]);
}

/* The classes of `other` that all tables of the step can do with. */
static void join_classes(Planner *planner, const MwLocalStep *step, int other, int *class_of,
                         int *size)
{
    MwLocalProblem *local = planner->local;
    int labels = local->nodes[other].label_count;
    *size = 1;
    for (int i = 0; i < step->input_count; i++) {
        const MwLocalTable *table = &local->tables.at[step->inputs[i].table];
        for (int k = 0; k < table->arity; k++)
            if (table->node[k] == other && *size < labels)
                *size = split_classes(planner, class_of, labels, *size, table->class_of[k],
                                      table->size[k]);
    }
}

static void eliminate(Planner *planner, int index)
{
    MwLocalProblem *local = planner->local;
    meet_neighbours(planner, index);
    const IntList *live = &planner->live[index];
    MwLocalStep *step = mw_vec_add(local->arena, &local->steps);
    *step = (MwLocalStep){.node = index, .input_count = live->count, .output = -1};
    step->inputs = MW_NEW(local->arena, MwLocalInput, live->count);
    local->nodes[index].position = local->steps.count - 1;
    planner->done[index] = true;
    for (int i = 0; i < live->count; i++) {
        step->inputs[i].table = live->at[i];
        planner->gone.at[live->at[i]] = true;
    }
    int count = planner->met_count;
    if (count == 0)
        return;
    int *met = mw_arena_dup(planner->scratch, planner->met, sizeof *met * (size_t)count);
    step->output = local->tables.count;
    MwLocalTable *output = add_table(planner, count);
    int64_t entries = 1;
    for (int i = 0; i < count; i++) {
        output->node[i] = met[i];
        output->class_of[i] = MW_NEW(local->arena, int, local->nodes[met[i]].label_count);
        join_classes(planner, step, met[i], output->class_of[i], &output->size[i]);
        entries *= output->size[i];
        mw_vec_push(planner->scratch, &planner->live[met[i]], step->output);
    }
    local->work += entries * local->nodes[index].label_count;
    consider_met(planner, met, count);
}

/* Of the node and its neighbours, holds one with many neighbours. */
static void hold_near(Planner *planner, int index)
{
    MwLocalProblem *local = planner->local;
    meet_neighbours(planner, index);
    int count = planner->met_count, held = index;
    double most = count * mw_draw_uniform(planner->draws);
    int *near = mw_arena_dup(planner->scratch, planner->met, sizeof *near * (size_t)count);
    for (int i = 0; i < count; i++) {
        meet_neighbours(planner, near[i]);
        double weight = planner->met_count * mw_draw_uniform(planner->draws);
        if (weight > most) {
            most = weight;
            held = near[i];
        }
    }
    local->nodes[held].held = true;
    local->nodes[held].label = local->nodes[held].group[local->nodes[held].present];
    local->held_count++;
    meet_neighbours(planner, held);
    planner->done[held] = true;
    count = planner->met_count;
    near = mw_arena_dup(planner->scratch, planner->met, sizeof *near * (size_t)count);
    consider_met(planner, near, count);
}

static void order(Planner *planner, const MwLocalLimits *limits)
{
    for (int i = 0; i < planner->local->node_count; i++) {
        planner->entries[i] = -1;
        consider(planner, i);
    }
    while (planner->heap.count > 0) {
        MwCandidate next = planner->heap.at[0];
        if (planner->done[next.node] || planner->entries[next.node] != next.entries) {
            mw_candidates_pop(&planner->heap);
            continue;
        }
        double labels = planner->local->nodes[next.node].label_count;
        if (next.entries > (double)limits->table ||
            (double)planner->local->work + next.entries * labels > (double)limits->work)
            hold_near(planner, next.node);
        else
            eliminate(planner, next.node);
    }
}

/* ---- Where entries lie ---- */

/* A node that came to be held has one class in every table. */
static void drop_held(MwLocalProblem *local, MwLocalTable *table)
{
    int kept = 0;
    for (int i = 0; i < table->arity; i++) {
        const MwLocalNode *node = &local->nodes[table->node[i]];
        if (node->held) {
            if (table->cost)
                table->cost += table->class_of[i][node->label] * table->step[i];
            continue;
        }
        table->node[kept] = table->node[i];
        table->class_of[kept] = table->class_of[i];
        table->size[kept] = table->size[i];
        if (table->cost)
            table->step[kept] = table->step[i];
        kept++;
    }
    table->arity = kept;
}

/* So that the loops of part_solve.c run along neighbouring entries: dimensions in the order of
 * elimination, the second one innermost, then the first, then the others. */
static void lay_table(MwLocalProblem *local, MwLocalTable *table, int *rank)
{
    for (int i = 0; i < table->arity; i++) {
        int at = i;
        int position = local->nodes[table->node[i]].position;
        for (; at > 0 && local->nodes[table->node[rank[at - 1]]].position > position; at--)
            rank[at] = rank[at - 1];
        rank[at] = i;
    }
    if (table->arity > 1) {
        int first = rank[0];
        rank[0] = rank[1];
        rank[1] = first;
    }
    int64_t stride = 1;
    for (int i = 0; i < table->arity; stride *= table->size[rank[i++]])
        table->stride[rank[i]] = stride;
    table->place = local->entries;
    local->entries += stride;
}

static void sort_levels(MwLocalProblem *local, MwLocalStep *step)
{
    if (step->output < 0)
        return;
    const MwLocalTable *output = &local->tables.at[step->output];
    step->level_count = output->arity;
    step->level = MW_NEW(local->arena, int, output->arity);
    for (int i = 0; i < output->arity; i++) {
        int at = i;
        int position = local->nodes[output->node[i]].position;
        for (; at > 0 && local->nodes[output->node[step->level[at - 1]]].position < position; at--)
            step->level[at] = step->level[at - 1];
        step->level[at] = i;
    }
}

static void find_offsets(MwLocalProblem *local, const MwLocalStep *step, MwLocalInput *input)
{
    const MwLocalTable *table = &local->tables.at[input->table];
    int own = dimension(table, step->node), labels = local->nodes[step->node].label_count;
    input->own = MW_NEW(local->arena, int, labels);
    for (int i = 0; i < labels; i++)
        input->own[i] = (int)(table->class_of[own][i] * table->stride[own]);
    input->offset = MW_NEW(local->arena, int *, step->level_count);
    input->depth = -1;
    for (int level = 0; level < step->level_count; level++) {
        const MwLocalTable *output = &local->tables.at[step->output];
        int other = output->node[step->level[level]], dim = 0;
        while (dim < table->arity && table->node[dim] != other)
            dim++;
        if (dim == table->arity)
            continue;
        int size = output->size[step->level[level]];
        const int *class_of = output->class_of[step->level[level]];
        input->offset[level] = MW_NEW(local->arena, int, size);
        for (int i = 0; i < local->nodes[other].label_count; i++)
            input->offset[level][class_of[i]] = (int)(table->class_of[dim][i] * table->stride[dim]);
        input->depth = level;
        input->adjoining = true;
        for (int i = 0; i < size; i++)
            input->adjoining &= input->offset[level][i] == i;
    }
}

static void lay_out(MwLocalProblem *local)
{
    MwArena *scratch = mw_arena_new();
    int *rank = MW_NEW(scratch, int, local->node_count);
    for (int i = 0; i < local->tables.count; i++) {
        drop_held(local, &local->tables.at[i]);
        lay_table(local, &local->tables.at[i], rank);
    }
    local->work = 0;
    for (int i = 0; i < local->steps.count; i++) {
        MwLocalStep *step = &local->steps.at[i];
        sort_levels(local, step);
        for (int k = 0; k < step->input_count; k++)
            find_offsets(local, step, &step->inputs[k]);
        int64_t entries = 1;
        for (int k = 0; k < step->level_count; k++)
            entries *= local->tables.at[step->output].size[k];
        local->work += entries * local->nodes[step->node].label_count;
    }
    mw_arena_free(&scratch);
}

MwLocalProblem *mw_local_problem_new(MwArena *arena, const MwFlatCore *flat, const int *choice,
                                     int count, const int *nodes, int *index_of, MwDraws *draws,
                                     const MwLocalLimits *limits)
{
    MwArena *scratch = mw_arena_new();
    MwLocalProblem *local = MW_NEW(arena, MwLocalProblem, 1);
    Planner planner = {
        .local = local, .scratch = scratch, .choice = choice, .index_of = index_of, .draws = draws};
    local->arena = arena;
    local->flat = flat;
    local->node_count = count;
    local->nodes = MW_NEW(arena, MwLocalNode, count);
    planner.live = MW_NEW(scratch, IntList, count);
    planner.done = MW_NEW(scratch, bool, count);
    planner.entries = MW_NEW(scratch, double, count);
    planner.mark = MW_NEW(scratch, int, count);
    planner.width = MW_NEW(scratch, double, count);
    planner.met = MW_NEW(scratch, int, count);
    for (int i = 0; i < count; i++) {
        int strategies = flat->nodes[nodes[i]].strategies;
        index_of[nodes[i]] = i;
        local->nodes[i] = (MwLocalNode){.origin = nodes[i],
                                        .group = MW_NEW(arena, int, strategies),
                                        .present = choice[nodes[i]],
                                        .position = INT32_MAX,
                                        .fixed = MW_NEW(arena, double, strategies),
                                        .added = MW_NEW(arena, double, strategies)};
    }
    for (int i = 0; i < count; i++)
        condition(&planner, i);
    for (int i = 0; i < count; i++)
        find_labels(&planner, i);
    order(&planner, limits);
    lay_out(local);
    for (int i = 0; i < count; i++)
        index_of[nodes[i]] = -1;
    mw_arena_free(&scratch);
    return local;
}
