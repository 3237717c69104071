/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The changes that a reduction may make to the core. Cost functions of the same scope are merged
 * when they are added, because their costs add (Scholz and Eckstein, Register allocation for
 * irregular architectures, LCTES 2002, section 3). There is therefore at most one cost function for
 * a set of nodes. */
#include "solver/core/core.h"

#include <string.h>

int mw_core_strategies(const MwCore *core, int node)
{
    return (int)core->nodes[node].cost->count;
}

int mw_core_position(const MwCostFunction *function, int node)
{
    int i = 0;
    while (function->scope[i] != node)
        i++;
    return i;
}

void mw_core_queue(MwCore *core, int node)
{
    if (core->nodes[node].queued)
        return;
    core->nodes[node].queued = true;
    mw_vec_push(core->arena, &core->changed_nodes, node);
}

static void queue_function(MwCore *core, int function)
{
    if (core->functions.at[function].queued)
        return;
    core->functions.at[function].queued = true;
    mw_vec_push(core->arena, &core->changed_functions, function);
}

void mw_core_set_cost(MwCore *core, int node, const MwTable *cost)
{
    core->nodes[node].cost = cost;
    mw_core_queue(core, node);
}

void mw_core_add_cost(MwCore *core, int node, const MwTable *cost)
{
    mw_core_set_cost(core, node, mw_table_add(core->tables, core->nodes[node].cost, cost));
}

/* Returns the cost function over exactly these nodes, or -1. */
static int find_function(const MwCore *core, const int *scope, int arity)
{
    const MwCoreNode *least = &core->nodes[scope[0]];
    for (int i = 1; i < arity; i++)
        if (core->nodes[scope[i]].functions.count < least->functions.count)
            least = &core->nodes[scope[i]];
    for (int i = 0; i < least->functions.count; i++) {
        const MwCostFunction *function = &core->functions.at[least->functions.at[i]];
        if (function->cost->arity == arity &&
            memcmp(function->scope, scope, sizeof *scope * (size_t)arity) == 0)
            return least->functions.at[i];
    }
    return -1;
}

static void add_new_function(MwCore *core, const int *scope, const MwTable *const *classes,
                             const MwTable *cost)
{
    int function = core->functions.count;
    size_t arity = (size_t)cost->arity;
    MwCostFunction *added = mw_vec_add(core->arena, &core->functions);
    added->cost = cost;
    added->scope = mw_arena_dup(core->arena, scope, sizeof *scope * arity);
    added->classes = mw_arena_dup(core->arena, classes, sizeof *classes * arity);
    for (int i = 0; i < cost->arity; i++) {
        mw_vec_push(core->arena, &core->nodes[scope[i]].functions, function);
        mw_core_queue(core, scope[i]);
    }
    queue_function(core, function);
}

/* Adds the table to an existing function: both are expanded to the coarsest classes that refine the
 * classes of both. */
static void add_to_function(MwCore *core, int index, const MwTable *const *classes,
                            const MwTable *cost)
{
    MwCostFunction *function = &core->functions.at[index];
    const MwTable **joint = MW_NEW(core->arena, const MwTable *, cost->arity);
    for (int i = 0; i < cost->arity; i++) {
        const MwRefined *refined =
            mw_classes_refine(core->tables, function->classes[i], classes[i]);
        joint[i] = refined->classes;
        function->cost = mw_table_select(core->tables, function->cost, i, refined->in_a);
        cost = mw_table_select(core->tables, cost, i, refined->in_b);
        mw_core_queue(core, function->scope[i]);
    }
    function->classes = joint;
    function->cost = mw_table_add(core->tables, function->cost, cost);
    queue_function(core, index);
}

void mw_core_add_function(MwCore *core, const int *scope, const MwTable *const *classes,
                          const MwTable *cost)
{
    int kept[MW_TABLE_ARITY] = {0}, arity = 0;
    const MwTable *kept_classes[MW_TABLE_ARITY] = {0};
    for (int i = 0, size = cost->arity; i < size; i++) {
        if (cost->dims[arity] == 1 && cost->arity > 1) {
            cost = mw_table_squeeze(core->tables, cost, arity);
            continue;
        }
        kept[arity] = scope[i];
        kept_classes[arity++] = classes[i];
    }
    if (arity == 1) {
        mw_core_add_cost(core, kept[0], mw_table_select(core->tables, cost, 0, kept_classes[0]));
        return;
    }
    int same = find_function(core, kept, arity);
    if (same < 0)
        add_new_function(core, kept, kept_classes, cost);
    else
        add_to_function(core, same, kept_classes, cost);
}

static void unlink_function(MwCore *core, int node, int function)
{
    MwCoreNode *from = &core->nodes[node];
    /* The list is ascending, as cost functions are numbered in order of creation. */
    int i = 0, end = from->functions.count;
    while (end - i > 1) {
        int middle = (i + end) / 2;
        if (from->functions.at[middle] <= function)
            i = middle;
        else
            end = middle;
    }
    MW_ASSERT(from->functions.at[i] == function);
    from->functions.count--;
    memmove(&from->functions.at[i], &from->functions.at[i + 1],
            sizeof(int) * (size_t)(from->functions.count - i));
    mw_core_queue(core, node);
}

void mw_core_remove_function(MwCore *core, int function)
{
    const MwCostFunction *removed = &core->functions.at[function];
    for (int i = 0; i < removed->cost->arity; i++)
        unlink_function(core, removed->scope[i], function);
    core->functions.at[function].cost = NULL;
}

/* Gives the cost function a new table and new classes. A dimension of the table may have shrunk to
 * size 1. */
static void change_function(MwCore *core, int index, const MwTable *const *classes,
                            const MwTable *cost)
{
    MwCostFunction *function = &core->functions.at[index];
    bool shrinks = false;
    for (int i = 0; i < cost->arity; i++) {
        mw_core_queue(core, function->scope[i]);
        shrinks |= cost->dims[i] == 1;
    }
    if (shrinks) {
        const int *scope = function->scope;
        mw_core_remove_function(core, index);
        mw_core_add_function(core, scope, classes, cost);
    } else {
        function->cost = cost;
        function->classes = classes;
        queue_function(core, index);
    }
}

void mw_core_replace_function(MwCore *core, int index, const MwTable *const *merged,
                              const MwTable *cost)
{
    const MwCostFunction *function = &core->functions.at[index];
    const MwTable **classes = MW_NEW(core->arena, const MwTable *, cost->arity);
    for (int i = 0; i < cost->arity; i++)
        classes[i] = merged[i] ? mw_table_select(core->tables, merged[i], 0, function->classes[i])
                               : function->classes[i];
    change_function(core, index, classes, cost);
}

static void restrict_function(MwCore *core, int index, int node, const MwTable *keep)
{
    const MwCostFunction *function = &core->functions.at[index];
    int dim = mw_core_position(function, node), arity = function->cost->arity;
    const MwTable **classes =
        mw_arena_dup(core->arena, function->classes, sizeof *classes * (size_t)arity);
    const MwRenumbered *left =
        mw_classes_renumber(core->tables, mw_table_select(core->tables, classes[dim], 0, keep));
    classes[dim] = left->classes;
    change_function(core, index, classes,
                    mw_table_select(core->tables, function->cost, dim, left->old));
}

void mw_core_restrict(MwCore *core, int node, const MwTable *keep)
{
    MwCoreNode *restricted = &core->nodes[node];
    mw_vec_push(core->arena, &core->trail, ((MwCoreStep){.node = node, .keep = keep}));
    restricted->cost = mw_table_select(core->tables, restricted->cost, 0, keep);
    for (int i = 0; i < restricted->terms.count; i++) {
        MwCoreTerm *term = &restricted->terms.at[i];
        term->usage = mw_table_select(core->tables, term->usage, 0, keep);
    }
    /* Backwards, because a cost function that becomes unary leaves the list. */
    for (int i = restricted->functions.count - 1; i >= 0; i--)
        restrict_function(core, restricted->functions.at[i], node, keep);
    mw_core_queue(core, node);
}

void mw_core_drop_rows(MwCore *core)
{
    core->row_count = 0;
    for (int i = 0; i < core->node_count; i++)
        if (core->nodes[i].terms.count > 0) {
            core->nodes[i].terms.count = 0;
            mw_core_queue(core, i);
        }
}

void mw_core_eliminate(MwCore *core, int node, const MwElimination *elimination,
                       int neighbour_count, const int *neighbours)
{
    MwCoreNode *eliminated = &core->nodes[node];
    MW_ASSERT(eliminated->terms.count == 0);
    while (eliminated->functions.count > 0)
        mw_core_remove_function(core, mw_vec_last(&eliminated->functions));
    eliminated->cost = NULL;
    const int *kept =
        mw_arena_dup(core->arena, neighbours, sizeof *neighbours * (size_t)neighbour_count);
    mw_vec_push(core->arena, &core->trail,
                ((MwCoreStep){.node = node,
                              .elimination = elimination,
                              .neighbour_count = neighbour_count,
                              .neighbours = kept}));
}

/* Inserts `node` into the ascending list unless it is there. Returns false if the list is full. */
static bool insert(int *list, int *count, int limit, int node)
{
    int at = *count;
    while (at > 0 && list[at - 1] > node)
        at--;
    if (at > 0 && list[at - 1] == node)
        return true;
    if (*count == limit)
        return false;
    memmove(list + at + 1, list + at, sizeof *list * (size_t)(*count - at));
    list[at] = node;
    ++*count;
    return true;
}

int mw_core_neighbours(const MwCore *core, int node, int limit, int *neighbours)
{
    int count = 0;
    const MwCoreNode *of = &core->nodes[node];
    for (int i = 0; i < of->functions.count; i++) {
        const MwCostFunction *function = &core->functions.at[of->functions.at[i]];
        for (int k = 0; k < function->cost->arity; k++)
            if (function->scope[k] != node &&
                !insert(neighbours, &count, limit, function->scope[k]))
                return limit + 1;
    }
    return count;
}

static void undo_step(const MwCoreStep *step, int *choice)
{
    if (step->keep) {
        choice[step->node] = (int)step->keep->at[choice[step->node]];
        return;
    }
    int64_t at = 0;
    for (int k = 0; k < step->neighbour_count; k++)
        at = at * step->elimination->cost->dims[k] +
             step->elimination->classes[k]->at[choice[step->neighbours[k]]];
    choice[step->node] = step->elimination->choice[at];
}

void mw_core_restore(const MwCore *core, int *choice)
{
    int steps = core->trail.count;
    for (; core; steps = core->origin_trail_count, core = core->origin)
        for (int i = steps - 1; i >= 0; i--)
            undo_step(&core->trail.at[i], choice);
}

/* Applies a step to a choice. Returns false if the step removes the chosen strategy. */
static bool redo_step(const MwCoreStep *step, int *choice)
{
    if (!step->keep)
        return true;
    for (int64_t s = 0; s < step->keep->count; s++)
        if (step->keep->at[s] == choice[step->node]) {
            choice[step->node] = (int)s;
            return true;
        }
    return false;
}

static bool reduce_choice(const MwCore *core, int steps, int *choice)
{
    if (core->origin && !reduce_choice(core->origin, core->origin_trail_count, choice))
        return false;
    for (int i = 0; i < steps; i++)
        if (!redo_step(&core->trail.at[i], choice))
            return false;
    return true;
}

bool mw_core_reduce_choice(const MwCore *core, int *choice)
{
    return reduce_choice(core, core->trail.count, choice);
}

bool mw_core_restore_to(const MwCore *core, const MwCore *copy, int *choice)
{
    int steps = core->trail.count;
    for (; core && core != copy; steps = core->origin_trail_count, core = core->origin) {
        bool met = core == copy->origin && steps >= copy->origin_trail_count;
        for (int i = steps - 1; i >= (met ? copy->origin_trail_count : 0); i--)
            undo_step(&core->trail.at[i], choice);
        if (met)
            return true;
    }
    return core == copy;
}
