/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Connected components of proposed changes. Changed nodes that share a cost function are in one
 * group, so no cost function joins two groups, and gains of groups add. */
#include "solver/improve/assignment.h"

#include <stdlib.h>

typedef struct {
    const MwAssignment *assignment;
    MwArena *arena; /* scratch */
    int change_count;
    MwChange *changes; /* ordered by node */
} Grouping;

static int compare_changes(const void *a, const void *b)
{
    const MwChange *x = a, *y = b;
    return (x->node > y->node) - (x->node < y->node);
}

/* Returns the change of `node`, or -1. */
static int find_change(const Grouping *grouping, int node)
{
    const MwChange key = {node, 0};
    const MwChange *found = bsearch(&key, grouping->changes, (size_t)grouping->change_count,
                                    sizeof key, compare_changes);
    return found ? (int)(found - grouping->changes) : -1;
}

static int find_root(int *parent, int i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

/* Returns the cost of the function; with the changes if `changed`. */
static MwCost function_cost(const Grouping *grouping, const MwFlatFunction *function, bool changed)
{
    int64_t at = 0;
    for (int i = 0; i < function->arity; i++) {
        int change = changed ? find_change(grouping, function->node[i]) : -1;
        int strategy = change >= 0 ? grouping->changes[change].strategy
                                   : grouping->assignment->choice[function->node[i]];
        at = at * function->dims[i] + function->classes[i][strategy];
    }
    return function->cost[at];
}

/* Returns the gain of the node's unary cost and of those cost functions whose first changed node it
 * is. Joins the node with the other changed nodes of its cost functions. */
static MwCost gain_of_change(const Grouping *grouping, int index, int *parent)
{
    const MwAssignment *assignment = grouping->assignment;
    const MwChange *change = &grouping->changes[index];
    const MwFlatNode *node = &assignment->flat->nodes[change->node];
    MwCost gain =
        (MwCost)node->cost[assignment->choice[change->node]] - node->cost[change->strategy];
    for (int i = 0; i < node->link_count; i++) {
        const MwFlatFunction *function = &assignment->flat->functions[node->links[i].function];
        bool first = true;
        for (int k = 0; k < function->arity; k++) {
            int other =
                function->node[k] == change->node ? -1 : find_change(grouping, function->node[k]);
            if (other < 0)
                continue;
            first &= other > index;
            parent[find_root(parent, other)] = find_root(parent, index);
        }
        if (first)
            gain +=
                function_cost(grouping, function, false) - function_cost(grouping, function, true);
    }
    return gain;
}

/* Returns the changes ordered by group. group[change] is the group of each. */
static MwChange *sort_by_group(MwArena *arena, const Grouping *grouping, MwChangeGroups *groups,
                               const int *group)
{
    for (int i = 1; i < groups->count; i++)
        groups->groups[i].first = groups->groups[i - 1].first + groups->groups[i - 1].count;
    MwChange *sorted = MW_NEW(arena, MwChange, grouping->change_count);
    int *filled = MW_NEW(grouping->arena, int, groups->count);
    for (int i = 0; i < grouping->change_count; i++)
        sorted[groups->groups[group[i]].first + filled[group[i]]++] = grouping->changes[i];
    return sorted;
}

MwChangeGroups mw_assignment_groups(MwArena *arena, const MwAssignment *assignment, int count,
                                    const MwChange *changes)
{
    MwArena *scratch = mw_arena_new();
    Grouping grouping = {assignment, scratch, count, NULL};
    grouping.changes = mw_arena_dup(scratch, changes, sizeof *changes * (size_t)count);
    qsort(grouping.changes, (size_t)count, sizeof *changes, compare_changes);
    int *parent = MW_NEW(scratch, int, count), *group = MW_NEW(scratch, int, count);
    MwCost *gain = MW_NEW(scratch, MwCost, count);
    MwChangeGroups groups = {.groups = MW_NEW(arena, MwChangeGroup, count)};
    for (int i = 0; i < count; i++)
        parent[i] = i;
    for (int i = 0; i < count; i++)
        gain[i] = gain_of_change(&grouping, i, parent);
    for (int i = 0; i < count; i++)
        if (find_root(parent, i) == i)
            group[i] = groups.count++;
    for (int i = 0; i < count; i++) {
        group[i] = group[find_root(parent, i)];
        groups.groups[group[i]].gain += gain[i];
        groups.groups[group[i]].count++;
    }
    groups.changes = sort_by_group(arena, &grouping, &groups, group);
    mw_arena_free(&scratch);
    return groups;
}
