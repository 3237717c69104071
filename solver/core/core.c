/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The changes a reduction may make to the core. Parallel factors are merged here, on adding: costs
 * of the same nodes add (Scholz and Eckstein, Register allocation for irregular architectures,
 * LCTES 2002, section 3), so there is at most one factor for a set of nodes. */
#include "solver/core/core.h"

#include <string.h>

int mw_core_strategies(const MwCore *core, int node)
{
    return (int)core->nodes[node].cost->count;
}

int mw_core_position(const MwCoreFactor *factor, int node)
{
    int i = 0;
    while (factor->scope[i] != node)
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

static void queue_factor(MwCore *core, int factor)
{
    if (core->factors.at[factor].queued)
        return;
    core->factors.at[factor].queued = true;
    mw_vec_push(core->arena, &core->changed_factors, factor);
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

/* The factor over exactly these nodes, or -1. */
static int find_factor(const MwCore *core, const int *scope, int arity)
{
    const MwCoreNode *least = &core->nodes[scope[0]];
    for (int i = 1; i < arity; i++)
        if (core->nodes[scope[i]].factors.count < least->factors.count)
            least = &core->nodes[scope[i]];
    for (int i = 0; i < least->factors.count; i++) {
        const MwCoreFactor *factor = &core->factors.at[least->factors.at[i]];
        if (factor->cost->arity == arity &&
            memcmp(factor->scope, scope, sizeof *scope * (size_t)arity) == 0)
            return least->factors.at[i];
    }
    return -1;
}

static void add_new_factor(MwCore *core, const int *scope, const MwTable *const *classes,
                           const MwTable *cost)
{
    int factor = core->factors.count;
    size_t arity = (size_t)cost->arity;
    MwCoreFactor *added = mw_vec_add(core->arena, &core->factors);
    added->cost = cost;
    added->scope = mw_arena_dup(core->arena, scope, sizeof *scope * arity);
    added->classes = mw_arena_dup(core->arena, classes, sizeof *classes * arity);
    for (int i = 0; i < cost->arity; i++) {
        mw_vec_push(core->arena, &core->nodes[scope[i]].factors, factor);
        mw_core_queue(core, scope[i]);
    }
    queue_factor(core, factor);
}

/* Both tables are brought over the classes that refine those of both, and added. */
static void add_to_factor(MwCore *core, int index, const MwTable *const *classes,
                          const MwTable *cost)
{
    MwCoreFactor *factor = &core->factors.at[index];
    const MwTable **joint = MW_NEW(core->arena, const MwTable *, cost->arity);
    for (int i = 0; i < cost->arity; i++) {
        const MwRefined *refined = mw_classes_refine(core->tables, factor->classes[i], classes[i]);
        joint[i] = refined->classes;
        factor->cost = mw_table_select(core->tables, factor->cost, i, refined->in_a);
        cost = mw_table_select(core->tables, cost, i, refined->in_b);
        mw_core_queue(core, factor->scope[i]);
    }
    factor->classes = joint;
    factor->cost = mw_table_add(core->tables, factor->cost, cost);
    queue_factor(core, index);
}

void mw_core_add_factor(MwCore *core, const int *scope, const MwTable *const *classes,
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
    int same = find_factor(core, kept, arity);
    if (same < 0)
        add_new_factor(core, kept, kept_classes, cost);
    else
        add_to_factor(core, same, kept_classes, cost);
}

static void unlink_factor(MwCore *core, int node, int factor)
{
    MwCoreNode *from = &core->nodes[node];
    /* Ascending, as factors are in order of creation. */
    int i = 0, end = from->factors.count;
    while (end - i > 1) {
        int middle = (i + end) / 2;
        if (from->factors.at[middle] <= factor)
            i = middle;
        else
            end = middle;
    }
    MW_ASSERT(from->factors.at[i] == factor);
    from->factors.count--;
    memmove(&from->factors.at[i], &from->factors.at[i + 1],
            sizeof(int) * (size_t)(from->factors.count - i));
    mw_core_queue(core, node);
}

void mw_core_remove_factor(MwCore *core, int factor)
{
    const MwCoreFactor *removed = &core->factors.at[factor];
    for (int i = 0; i < removed->cost->arity; i++)
        unlink_factor(core, removed->scope[i], factor);
    core->factors.at[factor].cost = NULL;
}

/* Takes the factor's new table and classes, which may have lost a dimension. */
static void change_factor(MwCore *core, int index, const MwTable *const *classes,
                          const MwTable *cost)
{
    MwCoreFactor *factor = &core->factors.at[index];
    bool shrinks = false;
    for (int i = 0; i < cost->arity; i++) {
        mw_core_queue(core, factor->scope[i]);
        shrinks |= cost->dims[i] == 1;
    }
    if (shrinks) {
        const int *scope = factor->scope;
        mw_core_remove_factor(core, index);
        mw_core_add_factor(core, scope, classes, cost);
    } else {
        factor->cost = cost;
        factor->classes = classes;
        queue_factor(core, index);
    }
}

void mw_core_replace_factor(MwCore *core, int index, const MwTable *const *merged,
                            const MwTable *cost)
{
    const MwCoreFactor *factor = &core->factors.at[index];
    const MwTable **classes = MW_NEW(core->arena, const MwTable *, cost->arity);
    for (int i = 0; i < cost->arity; i++)
        classes[i] = merged[i] ? mw_table_select(core->tables, merged[i], 0, factor->classes[i])
                               : factor->classes[i];
    change_factor(core, index, classes, cost);
}

static void restrict_factor(MwCore *core, int index, int node, const MwTable *keep)
{
    const MwCoreFactor *factor = &core->factors.at[index];
    int dim = mw_core_position(factor, node), arity = factor->cost->arity;
    const MwTable **classes =
        mw_arena_dup(core->arena, factor->classes, sizeof *classes * (size_t)arity);
    const MwRenumbered *left =
        mw_classes_renumber(core->tables, mw_table_select(core->tables, classes[dim], 0, keep));
    classes[dim] = left->classes;
    change_factor(core, index, classes,
                  mw_table_select(core->tables, factor->cost, dim, left->old));
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
    /* From the back: a factor that becomes a plain cost leaves the list. */
    for (int i = restricted->factors.count - 1; i >= 0; i--)
        restrict_factor(core, restricted->factors.at[i], node, keep);
    mw_core_queue(core, node);
}

void mw_core_lift_limit(MwCore *core)
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
    while (eliminated->factors.count > 0)
        mw_core_remove_factor(core, mw_vec_last(&eliminated->factors));
    eliminated->cost = NULL;
    const int *kept =
        mw_arena_dup(core->arena, neighbours, sizeof *neighbours * (size_t)neighbour_count);
    mw_vec_push(core->arena, &core->trail,
                ((MwCoreStep){.node = node,
                              .elimination = elimination,
                              .neighbour_count = neighbour_count,
                              .neighbours = kept}));
}

/* Inserts `node` into the ascending list unless it is there; false if the list is full. */
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
    for (int i = 0; i < of->factors.count; i++) {
        const MwCoreFactor *factor = &core->factors.at[of->factors.at[i]];
        for (int k = 0; k < factor->cost->arity; k++)
            if (factor->scope[k] != node && !insert(neighbours, &count, limit, factor->scope[k]))
                return limit + 1;
    }
    return count;
}

static void step_back(const MwCoreStep *step, int *choice)
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
    for (; core; steps = core->origin_steps, core = core->origin)
        for (int i = steps - 1; i >= 0; i--)
            step_back(&core->trail.at[i], choice);
}

/* False if the step takes away what is chosen. */
static bool step_on(const MwCoreStep *step, int *choice)
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

static bool enter(const MwCore *core, int steps, int *choice)
{
    if (core->origin && !enter(core->origin, core->origin_steps, choice))
        return false;
    for (int i = 0; i < steps; i++)
        if (!step_on(&core->trail.at[i], choice))
            return false;
    return true;
}

bool mw_core_enter(const MwCore *core, int *choice)
{
    return enter(core, core->trail.count, choice);
}

bool mw_core_restore_to(const MwCore *core, const MwCore *copy, int *choice)
{
    int steps = core->trail.count;
    for (; core && core != copy; steps = core->origin_steps, core = core->origin) {
        bool met = core == copy->origin && steps >= copy->origin_steps;
        for (int i = steps - 1; i >= (met ? copy->origin_steps : 0); i--)
            step_back(&core->trail.at[i], choice);
        if (met)
            return true;
    }
    return core == copy;
}
