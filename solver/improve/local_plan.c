/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The plan of a local problem (local_problem.h). The elimination order is greedy: the node whose
 * elimination makes the smallest table is next (min-size heuristic). */
#include "solver/improve/local_problem.h"

#include "solver/reduce/candidates.h"

#include <math.h>
#include <string.h>

typedef MW_VEC(int) IntList;

typedef struct {
    MwLocalProblem *local;
    MwArena *scratch;
    const int *choice;            /* choice of the flat core */
    int *index_of;                /* [node of the flat core] index among the free nodes, or -1 */
    IntList *open_tables;         /* [node] tables with the node that no elimination has consumed */
    MW_VEC(const int **) classes; /* [table][dimension][strategy] class, for cost functions */
    MW_VEC(bool) consumed;        /* [table] an elimination has consumed it */
    bool *decided;                /* [node] eliminated or held */
    double *entries;   /* [node] entries of the table its elimination makes, as last computed */
    MwCandidates heap; /* a candidate is valid if `entries` agrees with it */
    int *last_round;   /* [node] round in which the node was last listed as a neighbour */
    int round;
    /* [node] upper bound on its classes in the table, for the neighbours listed in this round */
    double *classes_bound;
    int *neighbours; /* neighbours listed in this round */
    int neighbour_count;
    MwDraws *draws;
    int *class_map; /* scratch of split_classes */
    int class_map_size;
} Planner;

/* ---- Conditioning on the held nodes ---- */

/* Adds the costs of the link's cost function, all of whose other nodes are held. */
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
    mw_vec_push(planner->scratch, &planner->consumed, false);
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
        mw_vec_push(planner->scratch, &planner->open_tables[index_of], index);
    }
    mw_vec_push(planner->scratch, &planner->classes, classes);
}

/* Computes the node's unary cost, and makes a table of each cost function whose first free node it
 * is. */
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

/* Refines a partition of `count` elements into `size` classes by a second one, `other`, of
 * `other_size` classes. Returns the new number of classes, which are numbered in order of first
 * appearance. */
static int split_classes(Planner *planner, int *class_of, int count, int size, const int *other,
                         int other_size)
{
    int pairs = size * other_size, next = 0;
    if (pairs > planner->class_map_size) {
        planner->class_map_size = 2 * pairs;
        planner->class_map = MW_NEW(planner->scratch, int, planner->class_map_size);
    }
    for (int i = 0; i < pairs; i++)
        planner->class_map[i] = -1;
    for (int i = 0; i < count; i++) {
        int *at = &planner->class_map[class_of[i] * other_size + other[i]];
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

/* Gives a label to each set of strategies that no cost function between free nodes
 * distinguishes. */
static void find_labels(Planner *planner, int index)
{
    MwLocalProblem *local = planner->local;
    MwLocalNode *node = &local->nodes[index];
    const IntList *open_tables = &planner->open_tables[index];
    int strategies = local->flat->nodes[node->origin].strategies;
    node->label_count = 1;
    for (int i = 0; i < open_tables->count && node->label_count < strategies; i++) {
        const MwLocalTable *table = &local->tables.at[open_tables->at[i]];
        int dim = dimension(table, index);
        node->label_count =
            split_classes(planner, node->label_of, strategies, node->label_count,
                          planner->classes.at[open_tables->at[i]][dim], table->size[dim]);
    }
    node->cost = MW_NEW(local->arena, double, node->label_count);
    node->strategy = MW_NEW(local->arena, int, node->label_count);
    for (int i = 0; i < open_tables->count; i++) {
        const MwLocalTable *table = &local->tables.at[open_tables->at[i]];
        int dim = dimension(table, index);
        int *class_of = table->class_of[dim] = MW_NEW(local->arena, int, node->label_count);
        for (int s = 0; s < strategies; s++)
            class_of[node->label_of[s]] = planner->classes.at[open_tables->at[i]][dim][s];
    }
}

/* ---- Elimination order ---- */

/* Lists the neighbours of a node that are neither eliminated nor held, with upper bounds on their
 * classes in the table that its elimination makes. Removes consumed tables from the node's list. */
static void list_neighbours(Planner *planner, int index)
{
    MwLocalProblem *local = planner->local;
    IntList *open_tables = &planner->open_tables[index];
    int kept = 0;
    planner->round++;
    planner->neighbour_count = 0;
    for (int i = 0; i < open_tables->count; i++) {
        if (planner->consumed.at[open_tables->at[i]])
            continue;
        open_tables->at[kept++] = open_tables->at[i];
        const MwLocalTable *table = &local->tables.at[open_tables->at[i]];
        for (int k = 0; k < table->arity; k++) {
            int other = table->node[k];
            if (other == index || planner->decided[other])
                continue;
            if (planner->last_round[other] != planner->round) {
                planner->last_round[other] = planner->round;
                planner->neighbours[planner->neighbour_count++] = other;
                planner->classes_bound[other] = table->size[k];
            } else {
                planner->classes_bound[other] = fmin(planner->classes_bound[other] * table->size[k],
                                                     local->nodes[other].label_count);
            }
        }
    }
    open_tables->count = kept;
}

static void update_candidate(Planner *planner, int index)
{
    list_neighbours(planner, index);
    double entries = 1;
    for (int i = 0; i < planner->neighbour_count; i++)
        entries *= planner->classes_bound[planner->neighbours[i]];
    if (entries != planner->entries[index]) {
        planner->entries[index] = entries;
        mw_candidates_push(planner->scratch, &planner->heap, (MwCandidate){entries, index});
    }
}

static void update_candidates(Planner *planner, const int *neighbours, int count)
{
    for (int i = 0; i < count; i++)
        update_candidate(planner, neighbours[i]);
}

/* Computes the coarsest classes of `other` that refine those of all tables of the step. */
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
    list_neighbours(planner, index);
    const IntList *open_tables = &planner->open_tables[index];
    MwLocalStep *step = mw_vec_add(local->arena, &local->steps);
    *step = (MwLocalStep){.node = index, .input_count = open_tables->count, .output = -1};
    step->inputs = MW_NEW(local->arena, MwLocalInput, open_tables->count);
    local->nodes[index].position = local->steps.count - 1;
    planner->decided[index] = true;
    for (int i = 0; i < open_tables->count; i++) {
        step->inputs[i].table = open_tables->at[i];
        planner->consumed.at[open_tables->at[i]] = true;
    }
    int count = planner->neighbour_count;
    if (count == 0)
        return;
    int *neighbours =
        mw_arena_dup(planner->scratch, planner->neighbours, sizeof *neighbours * (size_t)count);
    step->output = local->tables.count;
    MwLocalTable *output = add_table(planner, count);
    int64_t entries = 1;
    for (int i = 0; i < count; i++) {
        output->node[i] = neighbours[i];
        output->class_of[i] = MW_NEW(local->arena, int, local->nodes[neighbours[i]].label_count);
        join_classes(planner, step, neighbours[i], output->class_of[i], &output->size[i]);
        entries *= output->size[i];
        mw_vec_push(planner->scratch, &planner->open_tables[neighbours[i]], step->output);
    }
    local->work += entries * local->nodes[index].label_count;
    update_candidates(planner, neighbours, count);
}

/* Holds the node or one of its neighbours; drawn with a preference for nodes with many
 * neighbours. */
static void hold_one_nearby(Planner *planner, int index)
{
    MwLocalProblem *local = planner->local;
    list_neighbours(planner, index);
    int count = planner->neighbour_count, held = index;
    double most = count * mw_draw_uniform(planner->draws);
    int *near = mw_arena_dup(planner->scratch, planner->neighbours, sizeof *near * (size_t)count);
    for (int i = 0; i < count; i++) {
        list_neighbours(planner, near[i]);
        double weight = planner->neighbour_count * mw_draw_uniform(planner->draws);
        if (weight > most) {
            most = weight;
            held = near[i];
        }
    }
    local->nodes[held].held = true;
    local->nodes[held].label = local->nodes[held].label_of[local->nodes[held].current];
    local->held_count++;
    list_neighbours(planner, held);
    planner->decided[held] = true;
    count = planner->neighbour_count;
    near = mw_arena_dup(planner->scratch, planner->neighbours, sizeof *near * (size_t)count);
    update_candidates(planner, near, count);
}

static void order_nodes(Planner *planner, const MwLocalLimits *limits)
{
    for (int i = 0; i < planner->local->node_count; i++) {
        planner->entries[i] = -1;
        update_candidate(planner, i);
    }
    while (planner->heap.count > 0) {
        MwCandidate next = planner->heap.at[0];
        if (planner->decided[next.node] || planner->entries[next.node] != next.entries) {
            mw_candidates_pop(&planner->heap);
            continue;
        }
        double labels = planner->local->nodes[next.node].label_count;
        if (next.entries > (double)limits->table ||
            (double)planner->local->work + next.entries * labels > (double)limits->work)
            hold_one_nearby(planner, next.node);
        else
            eliminate(planner, next.node);
    }
}

/* ---- Layout of the tables ---- */

/* Removes the dimensions of nodes that came to be held: each has one class. */
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

/* Chooses the strides of a table so that the loops of local_solve.c run along consecutive entries:
 * dimensions in elimination order, the second one innermost, then the first, then the others. */
static void assign_strides(MwLocalProblem *local, MwLocalTable *table, int *rank)
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
    table->start = local->entries;
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
    input->node_offset = MW_NEW(local->arena, int, labels);
    for (int i = 0; i < labels; i++)
        input->node_offset[i] = (int)(table->class_of[own][i] * table->stride[own]);
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
        input->contiguous = true;
        for (int i = 0; i < size; i++)
            input->contiguous &= input->offset[level][i] == i;
    }
}

static void lay_out(MwLocalProblem *local)
{
    MwArena *scratch = mw_arena_new();
    int *rank = MW_NEW(scratch, int, local->node_count);
    for (int i = 0; i < local->tables.count; i++) {
        drop_held(local, &local->tables.at[i]);
        assign_strides(local, &local->tables.at[i], rank);
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

static MwLocalProblem *new_problem(MwArena *arena, const MwLocalRequest *request)
{
    MwLocalProblem *local = MW_NEW(arena, MwLocalProblem, 1);
    local->arena = arena;
    local->flat = request->flat;
    local->node_count = request->count;
    local->nodes = MW_NEW(arena, MwLocalNode, request->count);
    for (int i = 0; i < request->count; i++) {
        int origin = request->nodes[i], strategies = request->flat->nodes[origin].strategies;
        local->nodes[i] = (MwLocalNode){.origin = origin,
                                        .label_of = MW_NEW(arena, int, strategies),
                                        .current = request->choice[origin],
                                        .position = INT32_MAX,
                                        .fixed = MW_NEW(arena, double, strategies),
                                        .added = MW_NEW(arena, double, strategies)};
    }
    return local;
}

MwLocalProblem *mw_local_problem_new(MwArena *arena, const MwLocalRequest *request)
{
    MwArena *scratch = mw_arena_new();
    MwLocalProblem *local = new_problem(arena, request);
    const int count = request->count;
    Planner planner = {.local = local,
                       .scratch = scratch,
                       .choice = request->choice,
                       .index_of = request->index_of,
                       .draws = request->draws};
    planner.open_tables = MW_NEW(scratch, IntList, count);
    planner.decided = MW_NEW(scratch, bool, count);
    planner.entries = MW_NEW(scratch, double, count);
    planner.last_round = MW_NEW(scratch, int, count);
    planner.classes_bound = MW_NEW(scratch, double, count);
    planner.neighbours = MW_NEW(scratch, int, count);
    for (int i = 0; i < count; i++)
        request->index_of[request->nodes[i]] = i;
    for (int i = 0; i < count; i++)
        condition(&planner, i);
    for (int i = 0; i < count; i++)
        find_labels(&planner, i);
    order_nodes(&planner, &request->limits);
    lay_out(local);
    for (int i = 0; i < count; i++)
        request->index_of[request->nodes[i]] = -1;
    mw_arena_free(&scratch);
    return local;
}
