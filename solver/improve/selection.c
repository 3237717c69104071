/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Selection among proposed changes.
 *
 * Changed nodes that share a cost function are selected together (change_groups.c). No cost
 * function joins two groups, so their gains add, and they interact only through the memory rows.
 * The best selection is a multidimensional knapsack problem. The greedy heuristic takes all groups;
 * drops those of least gain per usage of the row of greatest excess until all rows are kept; drops
 * groups of negative value that only free slack nobody needs; and adds those that fit after all. */
#include "solver/improve/assignment.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    MwChangeGroup changes;
    double value; /* gain, less priced usage if there are prices */
    bool taken;
} Group;

/* The state of a selection. Rows are grouped into segments within which no change begins or ends; a
 * segment is represented by its least slack. */
typedef struct {
    const MwAssignment *assignment;
    const double *price_sum; /* [row + 1] prefix sums of prices; or NULL */
    MwArena *arena;
    int change_count, group_count, segment_count;
    const MwChange *changes; /* ordered by group */
    Group *groups;
    int *segment_of; /* [row] segment; during the search for segments: 1 at their starts */
    int64_t *slack;  /* [segment] before the changes */
    __int128 *used;  /* [segment] usage added by the groups taken */
    __int128 *step;  /* [segment + 1] scratch, zero */
} Chooser;

static void find_segments(Chooser *chooser)
{
    const MwFlatCore *flat = chooser->assignment->flat;
    int rows = flat->row_count;
    int *segment_of = chooser->segment_of = MW_NEW(chooser->arena, int, rows + 1);
    for (int i = 0; i < chooser->change_count; i++) {
        const MwFlatNode *node = &flat->nodes[chooser->changes[i].node];
        for (int k = 0; k < node->term_count; k++)
            segment_of[node->terms[k].first] = segment_of[node->terms[k].last + 1] = 1;
    }
    chooser->slack = MW_NEW(chooser->arena, int64_t, rows + 1);
    int segment = -1;
    for (int row = 0; row < rows; row++) {
        int64_t slack = chooser->assignment->slack[row];
        if (row == 0 || segment_of[row])
            chooser->slack[++segment] = slack;
        else if (slack < chooser->slack[segment])
            chooser->slack[segment] = slack;
        segment_of[row] = segment;
    }
    chooser->segment_count = segment + 1;
    segment_of[rows] = chooser->segment_count;
    chooser->used = MW_NEW(chooser->arena, __int128, chooser->segment_count);
    chooser->step = MW_NEW(chooser->arena, __int128, chooser->segment_count + 1);
}

/* Returns the usage that the change adds in term `k`. */
static int64_t more_usage(const Chooser *chooser, const MwChange *change, int k)
{
    const MwTable *usage = chooser->assignment->flat->nodes[change->node].terms[k].usage;
    return usage->at[change->strategy] - usage->at[chooser->assignment->choice[change->node]];
}

static void add_usage(Chooser *chooser, const Group *group, int sign)
{
    for (int i = 0; i < group->changes.count; i++) {
        const MwChange *change = &chooser->changes[group->changes.first + i];
        const MwFlatNode *node = &chooser->assignment->flat->nodes[change->node];
        for (int k = 0; k < node->term_count; k++) {
            int64_t more = sign * more_usage(chooser, change, k);
            chooser->step[chooser->segment_of[node->terms[k].first]] += more;
            chooser->step[chooser->segment_of[node->terms[k].last + 1]] -= more;
        }
    }
    __int128 sum = 0;
    for (int segment = 0; segment < chooser->segment_count; segment++) {
        sum += chooser->step[segment];
        chooser->used[segment] += sum;
        chooser->step[segment] = 0;
    }
    chooser->step[chooser->segment_count] = 0;
}

static __int128 usage_in(const Chooser *chooser, const Group *group, int segment)
{
    __int128 sum = 0;
    for (int i = 0; i < group->changes.count; i++) {
        const MwChange *change = &chooser->changes[group->changes.first + i];
        const MwFlatNode *node = &chooser->assignment->flat->nodes[change->node];
        for (int k = 0; k < node->term_count; k++)
            if (chooser->segment_of[node->terms[k].first] <= segment &&
                segment < chooser->segment_of[node->terms[k].last + 1])
                sum += more_usage(chooser, change, k);
    }
    return sum;
}

/* Returns the segment of greatest excess, or -1. */
static int worst_segment(const Chooser *chooser)
{
    int worst = -1;
    __int128 most = 0;
    for (int segment = 0; segment < chooser->segment_count; segment++)
        if (chooser->used[segment] - chooser->slack[segment] > most) {
            most = chooser->used[segment] - chooser->slack[segment];
            worst = segment;
        }
    return worst;
}

static void set_taken(Chooser *chooser, Group *group, bool taken)
{
    group->taken = taken;
    add_usage(chooser, group, taken ? 1 : -1);
}

/* Returns the taken group of least value per usage, among those that add usage in the segment. */
static Group *least_valuable(const Chooser *chooser, int segment)
{
    Group *least = NULL;
    double least_value = 0;
    for (int i = 0; i < chooser->group_count; i++) {
        Group *group = &chooser->groups[i];
        __int128 usage = group->taken ? usage_in(chooser, group, segment) : 0;
        if (usage <= 0)
            continue;
        double value = group->value / (double)usage;
        if (!least || value < least_value) {
            least = group;
            least_value = value;
        }
    }
    return least;
}

static int compare_groups(const void *a, const void *b)
{
    const Group *x = a, *y = b;
    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return x->changes.first - y->changes.first;
}

static void find_value(Chooser *chooser, Group *group)
{
    group->value = (double)group->changes.gain;
    for (int i = 0; i < group->changes.count && chooser->price_sum; i++) {
        const MwChange *change = &chooser->changes[group->changes.first + i];
        const MwFlatNode *node = &chooser->assignment->flat->nodes[change->node];
        for (int k = 0; k < node->term_count; k++)
            group->value -= (double)more_usage(chooser, change, k) *
                            (chooser->price_sum[node->terms[k].last + 1] -
                             chooser->price_sum[node->terms[k].first]);
    }
}

static void choose_groups(Chooser *chooser)
{
    for (int i = 0; i < chooser->group_count; i++)
        find_value(chooser, &chooser->groups[i]);
    qsort(chooser->groups, (size_t)chooser->group_count, sizeof(Group), compare_groups);
    for (int i = 0; i < chooser->group_count; i++)
        set_taken(chooser, &chooser->groups[i], true);
    bool dropped = false;
    for (int worst; (worst = worst_segment(chooser)) >= 0; dropped = true)
        set_taken(chooser, least_valuable(chooser, worst), false);
    for (int i = chooser->group_count - 1; i >= 0 && chooser->groups[i].value < 0; i--) {
        if (!chooser->groups[i].taken)
            continue;
        set_taken(chooser, &chooser->groups[i], false);
        if (worst_segment(chooser) >= 0)
            set_taken(chooser, &chooser->groups[i], true);
    }
    for (int i = 0; i < chooser->group_count && dropped && chooser->groups[i].value > 0; i++) {
        if (chooser->groups[i].taken)
            continue;
        set_taken(chooser, &chooser->groups[i], true);
        if (worst_segment(chooser) >= 0)
            set_taken(chooser, &chooser->groups[i], false);
    }
}

MwMove mw_assignment_select(MwArena *arena, const MwAssignment *assignment, const double *price_sum,
                            int count, const MwChange *changes)
{
    MwArena *scratch = mw_arena_new();
    const MwChangeGroups groups = mw_assignment_groups(scratch, assignment, count, changes);
    Chooser chooser = {.assignment = assignment,
                       .price_sum = price_sum,
                       .arena = scratch,
                       .change_count = count,
                       .group_count = groups.count,
                       .changes = groups.changes};
    chooser.groups = MW_NEW(scratch, Group, groups.count);
    for (int i = 0; i < groups.count; i++)
        chooser.groups[i].changes = groups.groups[i];
    find_segments(&chooser);
    choose_groups(&chooser);
    MwMove move = {0};
    MwChange *taken = MW_NEW(arena, MwChange, count);
    for (int i = 0; i < chooser.group_count; i++) {
        const MwChangeGroup *group = &chooser.groups[i].changes;
        if (!chooser.groups[i].taken)
            continue;
        memcpy(taken + move.count, chooser.changes + group->first,
               sizeof *taken * (size_t)group->count);
        move.count += group->count;
        move.gain += group->gain;
    }
    move.changes = taken;
    mw_arena_free(&scratch);
    return move;
}
