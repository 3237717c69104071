/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solver/improve/improve.h"

#include "base/threads.h"
#include "solver/bound/ascent.h"
#include "solver/improve/attempt.h"
#include "solver/improve/neighbourhood.h"
#include "solver/improve/pool.h"
#include "solver/tuning.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* Attempts of a round for each thread: one that is done early finds another one to do. */
enum { TURNS = 2 };

/* Rows with the least room, of which proposals ask for more. */
#define TIGHT (4 * MW_TUNED_PROPOSALS)

/* The least multiple of the present prices that proposals are made at. */
#define CHEAPEST (2 / MW_TUNED_DEAREST)

/* Limits of a neighbourhood's elimination. */
static MwLocalLimits local_limits(void)
{
    return (MwLocalLimits){.table = MW_TUNED_LOCAL_WORK / 40, .work = MW_TUNED_LOCAL_WORK};
}

typedef struct {
    MwNeighbourhoodKind kind;
    int size; /* index */
} Form;

/* One attempt of a round; written by one thread. */
typedef struct {
    Form form;
    MwDraws draws;
    MwArena *arena;
    MwAttemptRoom room;
    bool *seen;
    int *nodes;
    MwAttempt result;
    MwProposal *proposals; /* [MW_TUNED_PROPOSALS] of gathering, */
    double *proposal_sum;  /* [row + 1] at multiples of these prices */
} Turn;

/* What neighbourhoods of a form have gained for their work, lately. */
typedef struct {
    double gain, work;
} Yield;

struct MwImprover {
    MwArena *arena;
    const MwCore *core;
    MwFlatCore *flat;
    int threads, turn_count;
    uint64_t seed, attempts;
    MwCost reported;       /* the least cost that somebody was told of */
    MwAssignment *best;    /* NULL: no choice yet */
    MwAssignment *current; /* where the search is */
    int stale;             /* attempts in a row that did not better it */
    double *price_sum;     /* as given */
    double *kick_sum;      /* raised */
    Turn *turns;
    MwPool *pool;
    int *tight, tight_count;              /* [TIGHT] rows of the best choice, least room first */
    int unpacked;                         /* attempts since moves were last packed */
    Yield *yield[MW_NEIGHBOURHOOD_KINDS]; /* [MW_TUNED_SIZES] */
    bool kicking;
    const MwImproveLimits *limits;
};

MwImprover *mw_improver_new(MwArena *arena, const MwCore *core, int threads, uint64_t seed)
{
    MwImprover *improver = MW_NEW(arena, MwImprover, 1);
    *improver = (MwImprover){.arena = arena,
                             .core = core,
                             .threads = threads,
                             .seed = seed,
                             .reported = MW_CORE_NONE,
                             .unpacked = INT_MAX / 2};
    improver->flat = mw_flat_core_new(arena, core);
    improver->pool = mw_pool_new(arena, improver->flat);
    improver->price_sum = MW_NEW(arena, double, core->row_count + 1);
    improver->kick_sum = MW_NEW(arena, double, core->row_count + 1);
    improver->tight = MW_NEW(arena, int, TIGHT);
    for (int kind = 0; kind < MW_NEIGHBOURHOOD_KINDS; kind++)
        improver->yield[kind] = MW_NEW(arena, Yield, MW_TUNED_SIZES);
    improver->turn_count = TURNS * threads;
    improver->turns = MW_NEW(arena, Turn, improver->turn_count);
    int nodes = improver->flat->node_count;
    for (int i = 0; i < improver->turn_count; i++)
        improver->turns[i] = (Turn){.room = mw_attempt_room(arena, improver->flat),
                                    .seen = MW_NEW(arena, bool, nodes),
                                    .nodes = MW_NEW(arena, int, nodes),
                                    .proposals = MW_NEW(arena, MwProposal, MW_TUNED_PROPOSALS),
                                    .proposal_sum = MW_NEW(arena, double, core->row_count + 1)};
    return improver;
}

void mw_improver_free(MwImprover *improver)
{
    for (int i = 0; i < improver->turn_count; i++)
        mw_attempt_room_free(&improver->turns[i].room);
    mw_pool_free(improver->pool);
}

const MwCore *mw_improver_core(const MwImprover *improver)
{
    return improver->core;
}

/* Takes over into the best choice what is better about the present one, and goes back to it. */
static void merge(MwImprover *improver)
{
    MwArena *scratch = mw_arena_new();
    int count = 0;
    MwChange *changes = MW_NEW(scratch, MwChange, improver->flat->node_count);
    for (int i = 0; i < improver->flat->node_count; i++)
        if (improver->current->choice[i] != improver->best->choice[i])
            changes[count++] = (MwChange){i, improver->current->choice[i]};
    MwMove move = mw_assignment_select(scratch, improver->best, NULL, count, changes);
    if (move.gain > 0)
        mw_assignment_apply(improver->best, &move);
    mw_assignment_copy(improver->current, improver->best);
    mw_arena_free(&scratch);
}

void mw_improver_start(MwImprover *improver, const int *choice)
{
    MwArena *scratch = mw_arena_new();
    int *entered = MW_NEW(scratch, int, improver->flat->node_count);
    mw_flat_core_enter(improver->flat, choice, entered);
    if (!improver->best) {
        improver->best = mw_assignment_new(improver->arena, improver->flat, entered);
        improver->current = mw_assignment_new(improver->arena, improver->flat, entered);
    } else {
        merge(improver);
        mw_assignment_copy(improver->current, mw_assignment_new(scratch, improver->flat, entered));
    }
    if (improver->current->cost < improver->best->cost)
        mw_assignment_copy(improver->best, improver->current);
    mw_arena_free(&scratch);
}

void mw_improver_offer(MwImprover *improver, const int *choice)
{
    if (improver->best && mw_core_cost(improver->core, choice) >= improver->best->cost)
        return;
    mw_improver_start(improver, choice);
    improver->reported = improver->best->cost;
}

/* Both cores have their rows in order of time. */
void mw_improver_set_prices(MwImprover *improver, const MwCore *other, const double *price)
{
    const MwCore *core = improver->core;
    for (int row = 0, from = 0; row < core->row_count; row++) {
        while (from < other->row_count && other->time[from] < core->time[row])
            from++;
        bool same = from < other->row_count && other->time[from] == core->time[row];
        improver->price_sum[row + 1] = improver->price_sum[row] + (same ? price[from] : 0);
    }
}

static int size_of(const MwImprover *improver, int index)
{
    return (int)mw_min(MW_TUNED_LEAST_SIZE << index, improver->flat->node_count);
}

/* The sizes that differ. */
static int size_count(const MwImprover *improver)
{
    int count = 1;
    while (count < MW_TUNED_SIZES && size_of(improver, count) > size_of(improver, count - 1))
        count++;
    return count;
}

static Form draw_any_form(const MwImprover *improver, MwDraws *draws)
{
    return (Form){(MwNeighbourhoodKind)mw_draw_below(draws, MW_NEIGHBOURHOOD_KINDS),
                  mw_draw_below(draws, size_count(improver))};
}

/* Half of the time any form, half of the time one that has paid, the more often the better. */
static Form draw_form(const MwImprover *improver, MwDraws *draws)
{
    int sizes = size_count(improver);
    double total = 0;
    for (int kind = 0; kind < MW_NEIGHBOURHOOD_KINDS; kind++)
        for (int size = 0; size < sizes; size++)
            total += improver->yield[kind][size].gain / (improver->yield[kind][size].work + 1);
    double left = total * mw_draw_uniform(draws) / (1 - MW_TUNED_DRAW_SHARE);
    for (int kind = 0; kind < MW_NEIGHBOURHOOD_KINDS; kind++)
        for (int size = 0; size < sizes; size++) {
            left -= improver->yield[kind][size].gain / (improver->yield[kind][size].work + 1);
            if (left < 0)
                return (Form){(MwNeighbourhoodKind)kind, size};
        }
    return draw_any_form(improver, draws);
}

static int draw_nodes(const MwImprover *improver, Turn *turn)
{
    return mw_neighbourhood_draw(improver->flat, turn->form.kind,
                                 size_of(improver, turn->form.size), &turn->draws, turn->seen,
                                 turn->nodes);
}

static void take_turn(void *context, int i)
{
    MwImprover *improver = context;
    Turn *turn = &improver->turns[i];
    if (mw_stopped(&improver->limits->stop))
        return;
    MwAttemptLimits limits = {.local = local_limits(),
                              .rounds = improver->kicking ? 1 : MW_TUNED_FOLLOW_ROUNDS,
                              .priced = improver->kicking};
    if (!improver->kicking && mw_draw_uniform(&turn->draws) < MW_TUNED_DRAW_SHARE) {
        limits.favoured = mw_neighbourhood_group(&turn->draws);
        limits.share = mw_draw_uniform(&turn->draws);
    }
    int count = draw_nodes(improver, turn);
    turn->result = mw_attempt(turn->arena, &turn->room, improver->current,
                              improver->kicking ? improver->kick_sum : improver->price_sum, count,
                              turn->nodes, &turn->draws, &limits);
}

static void note_yield(MwImprover *improver, const Turn *turn, double gain)
{
    Yield *yield = &improver->yield[turn->form.kind][turn->form.size];
    yield->gain = MW_TUNED_YIELD_KEPT * yield->gain + gain;
    yield->work = MW_TUNED_YIELD_KEPT * yield->work + (double)turn->result.work;
}

/* Takes what a turn found, as far as it still holds after what others have changed. */
static MwCost take_result(MwImprover *improver, const Turn *turn, bool changed)
{
    MwMove move = turn->result.move;
    if (move.count == 0)
        return 0;
    MwArena *scratch = mw_arena_new();
    if (changed)
        move = mw_assignment_select(scratch, improver->current,
                                    improver->kicking ? improver->kick_sum : NULL, move.count,
                                    move.changes);
    if (move.gain > 0 || improver->kicking)
        mw_assignment_apply(improver->current, &move);
    mw_arena_free(&scratch);
    return move.gain;
}

static void begin_turn(MwImprover *improver, Turn *turn)
{
    turn->draws = (MwDraws){.seed = improver->seed, .stream = improver->attempts++};
    turn->arena = mw_arena_new();
    turn->result = (MwAttempt){0};
}

/* Returns the work done. */
static int64_t run_round(MwImprover *improver)
{
    bool changed = false;
    int64_t work = 0;
    for (int i = 0; i < improver->turn_count; i++) {
        Turn *turn = &improver->turns[i];
        begin_turn(improver, turn);
        turn->form = draw_form(improver, &turn->draws);
    }
    mw_parallel(improver->threads, improver->turn_count, take_turn, improver);
    for (int i = 0; i < improver->turn_count; i++) {
        Turn *turn = &improver->turns[i];
        MwCost gain = take_result(improver, turn, changed);
        changed |= turn->result.move.count > 0;
        improver->stale = gain > 0 ? 0 : improver->stale + 1;
        if (!improver->kicking)
            note_yield(improver, turn, fmax(0, (double)gain));
        work += turn->result.work;
        mw_arena_free(&turn->arena);
    }
    improver->unpacked += improver->turn_count;
    return work;
}

/* ---- Moves that fit only together ---- */

/* The rows that have least room, the least first. */
static void find_tight(MwImprover *improver)
{
    const int64_t *room = improver->best->room;
    const int rows = improver->core->row_count;
    improver->tight_count = 0;
    for (int row = 0; row < rows; row++) {
        int at = improver->tight_count;
        for (; at > 0 && room[improver->tight[at - 1]] > room[row]; at--)
            if (at < TIGHT)
                improver->tight[at] = improver->tight[at - 1];
        if (at < TIGHT)
            improver->tight[at] = row;
        improver->tight_count = (int)mw_min(improver->tight_count + 1, TIGHT);
    }
}

/* Half of the time the prices, and nodes anywhere; else these and as much again for one of the
 * fullest rows, and nodes that weigh on it: it need not be one that has a price, and room in it may
 * be what all else waits for. Returns the number of nodes. */
static int draw_proposal(const MwImprover *improver, Turn *turn)
{
    const int rows = improver->core->row_count;
    int spike = rows;
    if (improver->tight_count > 0 && mw_draw_uniform(&turn->draws) < MW_TUNED_DRAW_SHARE)
        spike = improver->tight[mw_draw_below(&turn->draws, improver->tight_count)];
    for (int row = 0; row <= rows; row++)
        turn->proposal_sum[row] =
            improver->price_sum[row] + (row > spike ? improver->price_sum[rows] : 0);
    turn->form = draw_any_form(improver, &turn->draws);
    const int size = size_of(improver, turn->form.size);
    const int count =
        spike == rows ? 0 : mw_neighbourhood_of_row(improver->flat, spike, size, turn->nodes);
    return count > 0 ? count : draw_nodes(improver, turn);
}

static void take_gathering_turn(void *context, int i)
{
    MwImprover *improver = context;
    Turn *turn = &improver->turns[i];
    const MwLocalLimits limits = local_limits();
    const double low = log2(CHEAPEST), high = log2(MW_TUNED_DEAREST);
    double *multiple = MW_NEW(turn->arena, double, MW_TUNED_PROPOSALS);
    memset(turn->proposals, 0, sizeof *turn->proposals * MW_TUNED_PROPOSALS);
    if (mw_stopped(&improver->limits->stop))
        return;
    int count = draw_proposal(improver, turn);
    for (int k = 0; k < MW_TUNED_PROPOSALS; k++)
        multiple[k] =
            exp2(low + (high - low) * (k + mw_draw_uniform(&turn->draws)) / MW_TUNED_PROPOSALS);
    turn->result.work = mw_attempt_propose(turn->arena, &turn->room, improver->best,
                                           turn->proposal_sum, count, turn->nodes, &turn->draws,
                                           &limits, MW_TUNED_PROPOSALS, multiple, turn->proposals);
}

/* Returns the work done. */
static int64_t gather(MwImprover *improver)
{
    int64_t work = 0;
    for (int i = 0; i < improver->turn_count; i++)
        begin_turn(improver, &improver->turns[i]);
    mw_parallel(improver->threads, improver->turn_count, take_gathering_turn, improver);
    for (int i = 0; i < improver->turn_count; i++) {
        Turn *turn = &improver->turns[i];
        for (int k = 0; k < MW_TUNED_PROPOSALS; k++)
            mw_pool_add(improver->pool, improver->best, turn->proposals[k].count,
                        turn->proposals[k].changes);
        work += turn->result.work;
        mw_arena_free(&turn->arena);
    }
    return work;
}

/* Betters the best choice by what fits together of what attempts wish for at other prices; then
 * the search goes on from there. Returns the work done. */
static int64_t pack(MwImprover *improver)
{
    int64_t work = 0;
    find_tight(improver);
    for (int i = 0; i < MW_TUNED_PACKING_TURN; i += improver->turn_count)
        work += gather(improver);
    MwArena *scratch = mw_arena_new();
    const MwPoolLimits limits = {.threads = improver->threads,
                                 .seed = improver->seed + improver->attempts++,
                                 .stop = improver->limits->stop};
    MwPoolPacked packed =
        mw_pool_pack(scratch, improver->pool, improver->best, improver->price_sum, &limits);
    if (packed.move.count > 0) {
        mw_assignment_apply(improver->best, &packed.move);
        mw_assignment_copy(improver->current, improver->best);
        improver->stale = 0;
    }
    improver->unpacked = 0;
    mw_arena_free(&scratch);
    return work + packed.work;
}

/* A round that lowers cost and priced usage together, at prices that are too high. */
static int64_t kick(MwImprover *improver)
{
    MwDraws draws = {.seed = improver->seed, .stream = improver->attempts++};
    /* Mostly little, at times much. */
    double strength = mw_draw_uniform(&draws), multiple = exp(strength * strength);
    for (int row = 0; row < improver->core->row_count; row++)
        improver->kick_sum[row + 1] = multiple * improver->price_sum[row + 1];
    improver->kicking = true;
    const int64_t work = run_round(improver);
    improver->kicking = false;
    improver->stale = 0;
    return work;
}

/* Tells of the best choice if it is better than what was told of. True if it is. */
static bool report(MwImprover *improver)
{
    if (improver->best->cost >= improver->reported)
        return false;
    improver->reported = improver->best->cost;
    MwArena *scratch = mw_arena_new();
    int *choice = MW_NEW(scratch, int, improver->core->node_count);
    mw_flat_core_leave(improver->flat, improver->best->choice, choice);
    if (mw_core_allows(improver->core, choice))
        improver->limits->report(improver->limits->context, choice);
    mw_arena_free(&scratch);
    return true;
}

bool mw_improve(MwImprover *improver, const MwImproveLimits *limits)
{
    int64_t work = 0;
    int kicks = 0,
        patience = MW_TUNED_KICK_PATIENCE + improver->flat->node_count / MW_TUNED_KICK_PATIENCE;
    const int packing_turn =
        MW_TUNED_PACKING_TURN + improver->flat->node_count / (4 * MW_TUNED_PACKING_TURN);
    if (!improver->best || improver->flat->node_count == 0)
        return false;
    MwCost first = improver->reported;
    improver->limits = limits;
    improver->stale = 0;
    report(improver);
    while (!mw_stopped(&limits->stop) && (limits->work == 0 || work < limits->work)) {
        work += run_round(improver);
        if (improver->stale >= patience)
            merge(improver);
        else if (improver->current->cost < improver->best->cost)
            mw_assignment_copy(improver->best, improver->current);
        if (improver->unpacked >= packing_turn && improver->core->row_count > 0)
            work += pack(improver);
        if (report(improver))
            kicks = 0;
        if (improver->stale < patience)
            continue;
        if (kicks++ >= limits->kicks)
            break;
        work += kick(improver);
    }
    return improver->reported < first;
}
