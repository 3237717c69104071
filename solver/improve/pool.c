/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solver/improve/pool.h"

#include "base/hash.h"
#include "base/threads.h"
#include "solver/improve/knapsack.h"
#include "solver/improve/local_problem.h"
#include "solver/tuning.h"

#include <stdlib.h>
#include <string.h>

/* Greatest number of moves that are packed, and that a pool holds until then. */
#define MOST_MOVES (MW_TUNED_PACKING_STEPS / 4)
#define MOST_PROPOSALS MW_TUNED_PACKING_STEPS
/* Size of the hash table: twice the greatest number of moves. */
#define HASH_SIZE (2 * MOST_PROPOSALS)

/* A change of the usage from a row on. */
typedef struct {
    int row;
    int64_t more;
} UsageStep;

typedef struct {
    int count;
    const MwChange *changes; /* ordered by node */
    uint64_t hash;
    /* The fields below refer to the assignment that the move is packed for. */
    MwCost gain;
    double value; /* gain less priced usage */
    int step_count;
    const UsageStep *steps; /* ordered by row */
} Move;

typedef MW_VEC(Move) Moves;

struct MwPool {
    MwArena *arena; /* holds the moves; replaced at each packing */
    const MwFlatCore *flat;
    Moves moves;
    int *slot; /* [HASH_SIZE] index of the move plus 1; 0: free */
};

MwPool *mw_pool_new(MwArena *arena, const MwFlatCore *flat)
{
    MwPool *pool = MW_NEW(arena, MwPool, 1);
    *pool = (MwPool){.arena = mw_arena_new(), .flat = flat};
    pool->slot = MW_NEW(arena, int, HASH_SIZE);
    return pool;
}

void mw_pool_free(MwPool *pool)
{
    mw_arena_free(&pool->arena);
}

/* ---- Collecting ---- */

static bool is_same(const Move *a, const Move *b)
{
    return a->hash == b->hash && a->count == b->count &&
           memcmp(a->changes, b->changes, sizeof *a->changes * (size_t)a->count) == 0;
}

/* Adds a copy of the move, unless the pool has it or is full. */
static void insert(MwPool *pool, const Move *move)
{
    if (pool->moves.count == MOST_PROPOSALS)
        return;
    int at = (int)(move->hash % HASH_SIZE);
    for (; pool->slot[at]; at = (at + 1) % HASH_SIZE)
        if (is_same(&pool->moves.at[pool->slot[at] - 1], move))
            return;
    Move *copy = mw_vec_add(pool->arena, &pool->moves);
    *copy = *move;
    copy->changes =
        mw_arena_dup(pool->arena, move->changes, sizeof *move->changes * (size_t)move->count);
    copy->steps =
        mw_arena_dup(pool->arena, move->steps, sizeof *move->steps * (size_t)move->step_count);
    pool->slot[at] = pool->moves.count;
}

static Move move_of(const MwChangeGroups *groups, int group)
{
    const MwChangeGroup *of = &groups->groups[group];
    Move move = {.count = of->count, .changes = groups->changes + of->first, .gain = of->gain};
    move.hash = mw_hash_bytes(move.changes, sizeof *move.changes * (size_t)move.count);
    return move;
}

void mw_pool_add(MwPool *pool, const MwAssignment *assignment, int count, const MwChange *changes)
{
    MwArena *scratch = mw_arena_new();
    MwChangeGroups groups = mw_assignment_groups(scratch, assignment, count, changes);
    for (int i = 0; i < groups.count; i++) {
        Move move = move_of(&groups, i);
        insert(pool, &move);
    }
    mw_arena_free(&scratch);
}

/* ---- Gain and usage for an assignment ---- */

static int compare_steps(const void *a, const void *b)
{
    const UsageStep *x = a, *y = b;
    return (x->row > y->row) - (x->row < y->row);
}

/* Merges steps of the same row and drops steps of zero. Returns the number of steps left. */
static int join_steps(int count, UsageStep *steps)
{
    int kept = 0;
    if (count > 1)
        qsort(steps, (size_t)count, sizeof *steps, compare_steps);
    for (int i = 0; i < count; i++) {
        if (kept > 0 && steps[kept - 1].row == steps[i].row)
            steps[kept - 1].more += steps[i].more;
        else
            steps[kept++] = steps[i];
        kept -= steps[kept - 1].more == 0;
    }
    return kept;
}

static void find_usage(MwArena *arena, Move *move, const MwAssignment *assignment)
{
    MW_VEC(UsageStep) steps = {0};
    for (int i = 0; i < move->count; i++) {
        const MwFlatNode *node = &assignment->flat->nodes[move->changes[i].node];
        const int current = assignment->choice[move->changes[i].node];
        for (int k = 0; k < node->term_count; k++) {
            const MwCoreTerm *term = &node->terms[k];
            int64_t more = term->usage->at[move->changes[i].strategy] - term->usage->at[current];
            mw_vec_push(arena, &steps, ((UsageStep){term->first, more}));
            mw_vec_push(arena, &steps, ((UsageStep){term->last + 1, -more}));
        }
    }
    move->step_count = join_steps(steps.count, steps.at);
    move->steps = steps.at;
}

/* Says whether the move can be part of a selection that gains. */
static bool is_useful(const Move *move)
{
    int64_t more = 0;
    bool gives = move->gain > 0;
    for (int i = 0; i < move->step_count; i++)
        gives |= (more += move->steps[i].more) < 0;
    return gives && move->gain > -(MwCost)MW_FORBIDDEN / 2;
}

/* Recomputes a move for the assignment: drops the changes that are made already, which may split it
 * into several. */
static void refresh(MwArena *arena, const Move *move, const MwAssignment *assignment,
                    const double *price_sum, Moves *refreshed)
{
    int count = 0;
    MwChange *changes = MW_NEW(arena, MwChange, move->count);
    for (int i = 0; i < move->count; i++)
        if (assignment->choice[move->changes[i].node] != move->changes[i].strategy)
            changes[count++] = move->changes[i];
    MwChangeGroups groups = mw_assignment_groups(arena, assignment, count, changes);
    for (int i = 0; i < groups.count; i++) {
        Move fresh = move_of(&groups, i);
        find_usage(arena, &fresh, assignment);
        fresh.value = (double)fresh.gain;
        for (int k = 0; k < fresh.step_count; k++)
            fresh.value += (double)fresh.steps[k].more * price_sum[fresh.steps[k].row];
        if (is_useful(&fresh))
            mw_vec_push(arena, refreshed, fresh);
    }
}

static int compare_moves(const void *a, const void *b)
{
    const Move *x = a, *y = b;
    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return (x->hash > y->hash) - (x->hash < y->hash);
}

/* Recomputes all moves of the pool, and keeps the best. */
static void refresh_all(MwPool *pool, const MwAssignment *assignment, const double *price_sum)
{
    MwArena *scratch = mw_arena_new(), *old = pool->arena;
    Moves refreshed = {0};
    for (int i = 0; i < pool->moves.count; i++)
        refresh(scratch, &pool->moves.at[i], assignment, price_sum, &refreshed);
    if (refreshed.count > 1)
        qsort(refreshed.at, (size_t)refreshed.count, sizeof *refreshed.at, compare_moves);
    pool->arena = mw_arena_new();
    pool->moves = (Moves){0};
    memset(pool->slot, 0, sizeof *pool->slot * HASH_SIZE);
    for (int i = 0; i < refreshed.count && pool->moves.count < MOST_MOVES; i++)
        insert(pool, &refreshed.at[i]);
    mw_arena_free(&scratch);
    mw_arena_free(&old);
}

/* ---- Packing ---- */

/* Makes a constraint of each run of rows between two steps; its capacity is the least slack of the
 * rows. */
static void find_constraints(MwArena *arena, const MwPool *pool, const MwAssignment *assignment,
                             MwKnapsack *knapsack)
{
    int rows = pool->flat->row_count, last = -1;
    int *constraint_of = MW_NEW(arena, int, rows + 1);
    double *capacity = MW_NEW(arena, double, rows + 1);
    for (int i = 0; i < pool->moves.count; i++)
        for (int k = 0; k < pool->moves.at[i].step_count; k++)
            constraint_of[pool->moves.at[i].steps[k].row] = 1;
    for (int row = 0; row < rows; row++) {
        double here = (double)assignment->slack[row];
        if (row == 0 || constraint_of[row])
            capacity[++last] = here;
        capacity[last] = here < capacity[last] ? here : capacity[last];
        constraint_of[row] = last;
    }
    constraint_of[rows] = knapsack->constraint_count = last + 1;
    double *usage = MW_NEW(arena, double, (int64_t)pool->moves.count * knapsack->constraint_count);
    knapsack->capacity = capacity;
    knapsack->usage = usage;
    for (int i = 0; i < pool->moves.count; i++, usage += knapsack->constraint_count) {
        const Move *move = &pool->moves.at[i];
        double more = 0;
        for (int k = 0; k + 1 < move->step_count; k++) {
            more += (double)move->steps[k].more;
            for (int at = constraint_of[move->steps[k].row];
                 at < constraint_of[move->steps[k + 1].row]; at++)
                usage[at] = more;
        }
    }
}

typedef MW_VEC(int) List;

/* Finds the conflicts: moves that change the same node, or nodes that share a cost function. */
static void find_conflicts(MwArena *arena, const MwPool *pool, MwKnapsack *knapsack)
{
    const MwFlatCore *flat = pool->flat;
    int count = pool->moves.count;
    List *at = MW_NEW(arena, List, flat->function_count + flat->node_count);
    bool *touches = MW_NEW(arena, bool, (int64_t)count *count);
    for (int i = 0; i < count; i++)
        for (int k = 0; k < pool->moves.at[i].count; k++) {
            int changed = pool->moves.at[i].changes[k].node;
            const MwFlatNode *node = &flat->nodes[changed];
            for (int l = 0; l <= node->link_count; l++) {
                List *list = l < node->link_count ? &at[node->links[l].function]
                                                  : &at[flat->function_count + changed];
                for (int m = 0; m < list->count; m++)
                    touches[i * count + list->at[m]] = touches[list->at[m] * count + i] = true;
                if (list->count == 0 || mw_vec_last(list) != i)
                    mw_vec_push(arena, list, i);
            }
        }
    List conflicts = {0};
    int *first = MW_NEW(arena, int, count + 1);
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < count; k++)
            if (k != i && touches[i * count + k])
                mw_vec_push(arena, &conflicts, k);
        first[i + 1] = conflicts.count;
    }
    knapsack->conflict_first = first;
    knapsack->conflicts = conflicts.at;
}

static MwKnapsack knapsack_of(MwArena *arena, const MwPool *pool, const MwAssignment *assignment)
{
    MwKnapsack knapsack = {.count = pool->moves.count};
    double *gain = MW_NEW(arena, double, knapsack.count);
    for (int i = 0; i < knapsack.count; i++)
        gain[i] = (double)pool->moves.at[i].gain;
    knapsack.gain = gain;
    find_constraints(arena, pool, assignment, &knapsack);
    find_conflicts(arena, pool, &knapsack);
    return knapsack;
}

/* Several tabu searches on one knapsack problem. */
typedef struct {
    const MwKnapsack *knapsack;
    const MwPoolLimits *limits;
    MwKnapsackAnswer *packed; /* [thread] */
    bool **taken;             /* [thread] */
} Search;

static void search_once(void *context, int i)
{
    Search *search = context;
    search->packed[i] =
        mw_knapsack_solve(search->knapsack, search->limits->seed + (uint64_t)i,
                          MW_TUNED_PACKING_STEPS, &search->limits->stop, search->taken[i]);
}

/* Rechecks the selection in exact integers, and drops changes that gain nothing. */
static MwMove selected_move(MwArena *arena, const MwPool *pool, const MwAssignment *assignment,
                            const bool *taken)
{
    MwArena *scratch = mw_arena_new();
    MW_VEC(MwChange) changes = {0};
    for (int i = 0; i < pool->moves.count; i++)
        for (int k = 0; k < pool->moves.at[i].count && taken[i]; k++)
            mw_vec_push(scratch, &changes, pool->moves.at[i].changes[k]);
    MwMove move = mw_assignment_select(arena, assignment, NULL, changes.count, changes.at);
    mw_arena_free(&scratch);
    return move.gain > 0 ? move : (MwMove){0};
}

MwPoolPacked mw_pool_pack(MwArena *arena, MwPool *pool, const MwAssignment *assignment,
                          const double *price_sum, const MwPoolLimits *limits)
{
    MwArena *scratch = mw_arena_new();
    refresh_all(pool, assignment, price_sum);
    const MwKnapsack knapsack = knapsack_of(scratch, pool, assignment);
    Search search = {&knapsack, limits, MW_NEW(scratch, MwKnapsackAnswer, limits->threads),
                     MW_NEW(scratch, bool *, limits->threads)};
    for (int i = 0; i < limits->threads; i++)
        search.taken[i] = MW_NEW(scratch, bool, knapsack.count);
    mw_parallel(limits->threads, limits->threads, search_once, &search);
    int best = 0;
    MwPoolPacked packed = {0};
    for (int i = 0; i < limits->threads; i++) {
        packed.work += search.packed[i].sums / MW_LANES;
        best = search.packed[i].gain > search.packed[best].gain ? i : best;
    }
    if (search.packed[best].gain > 0)
        packed.move = selected_move(arena, pool, assignment, search.taken[best]);
    mw_arena_free(&scratch);
    return packed;
}
