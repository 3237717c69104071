/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which of some wished changes to make.
 *
 * Changed nodes that share a factor go together; such groups do not touch each other, so their
 * gains add up, and all they share are the memory rows. The greatest set that keeps the rows is a
 * knapsack with many constraints; here greedily: all groups, less those that gain least for what
 * they take of the fullest row until all rows are kept; less those that only give room nobody
 * needs; plus those that fit after all. */
#include "solver/standing.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    int first, count; /* among the changes, in order of groups */
    MwCost gain;
    double worth; /* what is to be gained */
    bool taken;
} Group;

/* Rows between two cuts are alike for the changes; what counts is the least room of them. */
typedef struct {
    const MwStanding *standing;
    const double *price_sum; /* [row + 1], or NULL */
    MwArena *arena;
    int change_count, group_count, piece_count;
    MwChange *changes; /* by group */
    Group *groups;
    int *piece_of;  /* [row], where a term begins or after it ends */
    int64_t *room;  /* [piece] before the changes */
    __int128 *used; /* [piece] by the changes of the groups taken */
    __int128 *step; /* [piece + 1] scratch, zero */
} Chooser;

static int compare_changes(const void *a, const void *b)
{
    const MwChange *x = a, *y = b;
    return (x->node > y->node) - (x->node < y->node);
}

/* The change of `node`, or -1. */
static int find_change(const Chooser *chooser, int node)
{
    const MwChange key = {node, 0};
    const MwChange *found =
        bsearch(&key, chooser->changes, (size_t)chooser->change_count, sizeof key, compare_changes);
    return found ? (int)(found - chooser->changes) : -1;
}

static int find_root(int *parent, int i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

/* The cost of a factor, with the changes if `changed`. */
static MwCost factor_cost(const Chooser *chooser, const MwLayoutFactor *factor, bool changed)
{
    int64_t at = 0;
    for (int i = 0; i < factor->arity; i++) {
        int change = changed ? find_change(chooser, factor->node[i]) : -1;
        int strategy = change >= 0 ? chooser->changes[change].strategy
                                   : chooser->standing->choice[factor->node[i]];
        at = at * factor->dims[i] + factor->classes[i][strategy];
    }
    return factor->cost[at];
}

/* What the changes of the node and of the factors that it is the first changed node of gain; joins
 * it with the other changed nodes of its factors. */
static MwCost gain_of_change(const Chooser *chooser, int index, int *parent)
{
    const MwStanding *standing = chooser->standing;
    const MwChange *change = &chooser->changes[index];
    const MwLayoutNode *node = &standing->layout->nodes[change->node];
    MwCost gain = (MwCost)node->cost[standing->choice[change->node]] - node->cost[change->strategy];
    for (int i = 0; i < node->link_count; i++) {
        const MwLayoutFactor *factor = &standing->layout->factors[node->links[i].factor];
        bool first = true;
        for (int k = 0; k < factor->arity; k++) {
            int other =
                factor->node[k] == change->node ? -1 : find_change(chooser, factor->node[k]);
            if (other < 0)
                continue;
            first &= other > index;
            parent[find_root(parent, other)] = find_root(parent, index);
        }
        if (first)
            gain += factor_cost(chooser, factor, false) - factor_cost(chooser, factor, true);
    }
    return gain;
}

static void find_groups(Chooser *chooser)
{
    int count = chooser->change_count;
    int *parent = MW_NEW(chooser->arena, int, count), *group = MW_NEW(chooser->arena, int, count);
    MwCost *gain = MW_NEW(chooser->arena, MwCost, count);
    for (int i = 0; i < count; i++)
        parent[i] = i;
    for (int i = 0; i < count; i++)
        gain[i] = gain_of_change(chooser, i, parent);
    chooser->groups = MW_NEW(chooser->arena, Group, count);
    for (int i = 0; i < count; i++)
        if (find_root(parent, i) == i)
            group[i] = chooser->group_count++;
    for (int i = 0; i < count; i++) {
        Group *of = &chooser->groups[group[find_root(parent, i)]];
        of->gain += gain[i];
        of->count++;
    }
    for (int i = 1; i < chooser->group_count; i++)
        chooser->groups[i].first = chooser->groups[i - 1].first + chooser->groups[i - 1].count;
    MwChange *sorted = MW_NEW(chooser->arena, MwChange, count);
    int *filled = MW_NEW(chooser->arena, int, count);
    for (int i = 0; i < count; i++) {
        int of = group[find_root(parent, i)];
        sorted[chooser->groups[of].first + filled[of]++] = chooser->changes[i];
    }
    chooser->changes = sorted;
}

static void find_pieces(Chooser *chooser)
{
    const MwLayout *layout = chooser->standing->layout;
    int rows = layout->row_count;
    int *piece_of = chooser->piece_of = MW_NEW(chooser->arena, int, rows + 1);
    for (int i = 0; i < chooser->change_count; i++) {
        const MwLayoutNode *node = &layout->nodes[chooser->changes[i].node];
        for (int k = 0; k < node->term_count; k++)
            piece_of[node->terms[k].first] = piece_of[node->terms[k].last + 1] = 1;
    }
    chooser->room = MW_NEW(chooser->arena, int64_t, rows + 1);
    int piece = -1;
    for (int row = 0; row < rows; row++) {
        int64_t room = chooser->standing->room[row];
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
    const MwTable *usage = chooser->standing->layout->nodes[change->node].terms[k].usage;
    return usage->at[change->strategy] - usage->at[chooser->standing->choice[change->node]];
}

static void add_usage(Chooser *chooser, const Group *group, int sign)
{
    for (int i = group->first; i < group->first + group->count; i++) {
        const MwChange *change = &chooser->changes[i];
        const MwLayoutNode *node = &chooser->standing->layout->nodes[change->node];
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
    for (int i = group->first; i < group->first + group->count; i++) {
        const MwChange *change = &chooser->changes[i];
        const MwLayoutNode *node = &chooser->standing->layout->nodes[change->node];
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
    return x->first - y->first;
}

static void find_worth(Chooser *chooser, Group *group)
{
    group->worth = (double)group->gain;
    for (int i = group->first; i < group->first + group->count && chooser->price_sum; i++) {
        const MwChange *change = &chooser->changes[i];
        const MwLayoutNode *node = &chooser->standing->layout->nodes[change->node];
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

MwExchange mw_standing_choose(MwArena *arena, const MwStanding *standing, const double *price_sum,
                              int count, const MwChange *changes)
{
    MwArena *scratch = mw_arena_new();
    Chooser chooser = {
        .standing = standing, .price_sum = price_sum, .arena = scratch, .change_count = count};
    chooser.changes = mw_arena_dup(scratch, changes, sizeof *changes * (size_t)count);
    qsort(chooser.changes, (size_t)count, sizeof *changes, compare_changes);
    find_groups(&chooser);
    find_pieces(&chooser);
    choose_groups(&chooser);
    MwExchange exchange = {0};
    MwChange *taken = MW_NEW(arena, MwChange, count);
    for (int i = 0; i < chooser.group_count; i++) {
        const Group *group = &chooser.groups[i];
        if (!group->taken)
            continue;
        memcpy(taken + exchange.count, chooser.changes + group->first,
               sizeof *taken * (size_t)group->count);
        exchange.count += group->count;
        exchange.gain += group->gain;
    }
    exchange.changes = taken;
    mw_arena_free(&scratch);
    return exchange;
}
