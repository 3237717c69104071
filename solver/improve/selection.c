/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which of some wished changes to make.
 *
 * Changed nodes that share a cost function go together (change_groups.c); such groups do not touch
 * each other, so their gains add up, and all they share are the memory rows. The greatest set that
 * keeps the rows is a knapsack with many constraints; here greedily: all groups, less those that
 * gain least for what they take of the fullest row until all rows are kept; less those that only
 * give room nobody needs; plus those that fit after all. */
#include "solver/improve/assignment.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    MwChangeGroup changes;
    double worth; /* what is to be gained */
    bool taken;
} Group;

/* Rows between two cuts are alike for the changes; what counts is the least room of them. */
typedef struct {
    const MwAssignment *assignment;
    const double *price_sum; /* [row + 1], or NULL */
    MwArena *arena;
    int change_count, group_count, piece_count;
    const MwChange *changes; /* by group */
    Group *groups;
    int *piece_of;  /* [row], where a term begins or after it ends */
    int64_t *room;  /* [piece] before the changes */
    __int128 *used; /* [piece] by the changes of the groups taken */
    __int128 *step; /* [piece + 1] scratch, zero */
} Chooser;

static void find_pieces(Chooser *chooser)
{
    const MwFlatCore *flat = chooser->assignment->flat;
    int rows = flat->row_count;
    int *piece_of = chooser->piece_of = MW_NEW(chooser->arena, int, rows + 1);
    for (int i = 0; i < chooser->change_count; i++) {
        const MwFlatNode *node = &flat->nodes[chooser->changes[i].node];
        for (int k = 0; k < node->term_count; k++)
            piece_of[node->terms[k].first] = piece_of[node->terms[k].last + 1] = 1;
    }
    chooser->room = MW_NEW(chooser->arena, int64_t, rows + 1);
    int piece = -1;
    for (int row = 0; row < rows; row++) {
        int64_t room = chooser->assignment->room[row];
        if (row == 0 || piece_of[row])
            chooser->room[++piece] = room;
        else if (room < chooser->room[piece])
            chooser->room[piece] = room;
        piece_of[row] = piece;
    }
    chooser->piece_count = piece + 1;
    piece_of[rows] = chooser->piece_count;
    chooser->used = MW_NEW(chooser->arena, __int128, chooser->piece_count);
    chooser->step = MW_NEW(chooser->arena, __int128, chooser->piece_count + 1);
}

/* More usage of term `k` if the change is made. */
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
            chooser->step[chooser->piece_of[node->terms[k].first]] += more;
            chooser->step[chooser->piece_of[node->terms[k].last + 1]] -= more;
        }
    }
    __int128 sum = 0;
    for (int piece = 0; piece < chooser->piece_count; piece++) {
        sum += chooser->step[piece];
        chooser->used[piece] += sum;
        chooser->step[piece] = 0;
    }
    chooser->step[chooser->piece_count] = 0;
}

static __int128 usage_in(const Chooser *chooser, const Group *group, int piece)
{
    __int128 sum = 0;
    for (int i = 0; i < group->changes.count; i++) {
        const MwChange *change = &chooser->changes[group->changes.first + i];
        const MwFlatNode *node = &chooser->assignment->flat->nodes[change->node];
        for (int k = 0; k < node->term_count; k++)
            if (chooser->piece_of[node->terms[k].first] <= piece &&
                piece < chooser->piece_of[node->terms[k].last + 1])
                sum += more_usage(chooser, change, k);
    }
    return sum;
}

/* The piece that is exceeded most, or -1. */
static int worst_piece(const Chooser *chooser)
{
    int worst = -1;
    __int128 most = 0;
    for (int piece = 0; piece < chooser->piece_count; piece++)
        if (chooser->used[piece] - chooser->room[piece] > most) {
            most = chooser->used[piece] - chooser->room[piece];
            worst = piece;
        }
    return worst;
}

static void set_taken(Chooser *chooser, Group *group, bool taken)
{
    group->taken = taken;
    add_usage(chooser, group, taken ? 1 : -1);
}

/* Of the groups taken that use more in the piece, the one that gains least for it. */
static Group *least_worthy(const Chooser *chooser, int piece)
{
    Group *least = NULL;
    double least_worth = 0;
    for (int i = 0; i < chooser->group_count; i++) {
        Group *group = &chooser->groups[i];
        __int128 usage = group->taken ? usage_in(chooser, group, piece) : 0;
        if (usage <= 0)
            continue;
        double worth = group->worth / (double)usage;
        if (!least || worth < least_worth) {
            least = group;
            least_worth = worth;
        }
    }
    return least;
}

static int compare_groups(const void *a, const void *b)
{
    const Group *x = a, *y = b;
    if (x->worth != y->worth)
        return x->worth > y->worth ? -1 : 1;
    return x->changes.first - y->changes.first;
}

static void find_worth(Chooser *chooser, Group *group)
{
    group->worth = (double)group->changes.gain;
    for (int i = 0; i < group->changes.count && chooser->price_sum; i++) {
        const MwChange *change = &chooser->changes[group->changes.first + i];
        const MwFlatNode *node = &chooser->assignment->flat->nodes[change->node];
        for (int k = 0; k < node->term_count; k++)
            group->worth -= (double)more_usage(chooser, change, k) *
                            (chooser->price_sum[node->terms[k].last + 1] -
                             chooser->price_sum[node->terms[k].first]);
    }
}

static void choose_groups(Chooser *chooser)
{
    for (int i = 0; i < chooser->group_count; i++)
        find_worth(chooser, &chooser->groups[i]);
    qsort(chooser->groups, (size_t)chooser->group_count, sizeof(Group), compare_groups);
    for (int i = 0; i < chooser->group_count; i++)
        set_taken(chooser, &chooser->groups[i], true);
    bool dropped = false;
    for (int worst; (worst = worst_piece(chooser)) >= 0; dropped = true)
        set_taken(chooser, least_worthy(chooser, worst), false);
    for (int i = chooser->group_count - 1; i >= 0 && chooser->groups[i].worth < 0; i--) {
        if (!chooser->groups[i].taken)
            continue;
        set_taken(chooser, &chooser->groups[i], false);
        if (worst_piece(chooser) >= 0)
            set_taken(chooser, &chooser->groups[i], true);
    }
    for (int i = 0; i < chooser->group_count && dropped && chooser->groups[i].worth > 0; i++) {
        if (chooser->groups[i].taken)
            continue;
        set_taken(chooser, &chooser->groups[i], true);
        if (worst_piece(chooser) >= 0)
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
    find_pieces(&chooser);
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
