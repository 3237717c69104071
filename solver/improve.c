/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solver/improve.h"

#include "solver/attempt.h"
#include "solver/neighbourhood.h"
#include "solver/parallel.h"

#include <math.h>
#include <stdlib.h>

enum {
    SIZES = 8, /* of neighbourhoods: LEAST_SIZE, twice that, and so on */
    LEAST_SIZE = 30,
    TURNS = 4, /* attempts of a round for each thread */
    PRICE_ROUNDS = 4,
};

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
} Turn;

/* What neighbourhoods of a form have gained for their work, lately. */
typedef struct {
    double gain, work;
} Yield;

struct MwImprover {
    MwArena *arena;
    const MwCore *core;
    MwLayout *layout;
    int threads, turn_count;
    uint64_t seed, attempts;
    MwStanding *standing; /* NULL: no choice yet */
    double *price_sum;
    Turn *turns;
    Yield yield[MW_NEIGHBOURHOOD_KINDS][SIZES];
    const MwImproveLimits *limits;
};

MwImprover *mw_improver_new(MwArena *arena, const MwCore *core, int threads, uint64_t seed)
{
    MwImprover *improver = MW_NEW(arena, MwImprover, 1);
    *improver = (MwImprover){.arena = arena, .core = core, .threads = threads, .seed = seed};
    improver->layout = mw_layout_new(arena, core);
    improver->price_sum = MW_NEW(arena, double, core->row_count + 1);
    improver->turn_count = TURNS * threads;
    improver->turns = MW_NEW(arena, Turn, improver->turn_count);
    int nodes = improver->layout->node_count;
    for (int i = 0; i < improver->turn_count; i++)
        improver->turns[i] = (Turn){.room = mw_attempt_room(arena, improver->layout),
                                    .seen = MW_NEW(arena, bool, nodes),
                                    .nodes = MW_NEW(arena, int, nodes)};
    return improver;
}

void mw_improver_free(MwImprover *improver)
{
    for (int i = 0; i < improver->turn_count; i++)
        mw_attempt_room_free(&improver->turns[i].room);
}

const MwCore *mw_improver_core(const MwImprover *improver)
{
    return improver->core;
}

void mw_improver_offer(MwImprover *improver, const int *choice)
{
    if (improver->standing && mw_core_cost(improver->core, choice) >= improver->standing->cost)
        return;
    MwArena *scratch = mw_arena_new();
    int *entered = MW_NEW(scratch, int, improver->layout->node_count);
    mw_layout_enter(improver->layout, choice, entered);
    if (!improver->standing)
        improver->standing = mw_standing_new(improver->arena, improver->layout, entered);
    else
        mw_standing_copy(improver->standing, mw_standing_new(scratch, improver->layout, entered));
    mw_arena_free(&scratch);
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
    return (int)mw_min(LEAST_SIZE << index, improver->layout->node_count);
}

/* The sizes that differ. */
static int size_count(const MwImprover *improver)
{
    int count = 1;
    while (count < SIZES && size_of(improver, count) > size_of(improver, count - 1))
        count++;
    return count;
}

/* Half of the time any form, half of the time one that has paid, the more often the better. */
static Form draw_form(const MwImprover *improver, MwDraws *draws)
{
    int sizes = size_count(improver);
    double total = 0;
    for (int kind = 0; kind < MW_NEIGHBOURHOOD_KINDS; kind++)
        for (int size = 0; size < sizes; size++)
            total += improver->yield[kind][size].gain / (improver->yield[kind][size].work + 1);
    double left = total * 2 * mw_draw_uniform(draws);
    for (int kind = 0; kind < MW_NEIGHBOURHOOD_KINDS; kind++)
        for (int size = 0; size < sizes; size++) {
            left -= improver->yield[kind][size].gain / (improver->yield[kind][size].work + 1);
            if (left < 0)
                return (Form){(MwNeighbourhoodKind)kind, size};
        }
    return (Form){(MwNeighbourhoodKind)mw_draw_below(draws, MW_NEIGHBOURHOOD_KINDS),
                  mw_draw_below(draws, sizes)};
}

static void take_turn(void *context, int i)
{
    MwImprover *improver = context;
    Turn *turn = &improver->turns[i];
    if (mw_stopped(&improver->limits->stop))
        return;
    static const MwAttemptLimits limits = {.part = {.table = 100000, .work = 4000000},
                                           .rounds = PRICE_ROUNDS};
    int count =
        mw_neighbourhood_draw(improver->layout, turn->form.kind, size_of(improver, turn->form.size),
                              &turn->draws, turn->seen, turn->nodes);
    turn->result = mw_attempt(turn->arena, &turn->room, improver->standing, improver->price_sum,
                              count, turn->nodes, &limits);
}

static void note_yield(MwImprover *improver, const Turn *turn, double gain)
{
    Yield *yield = &improver->yield[turn->form.kind][turn->form.size];
    yield->gain = 0.9 * yield->gain + gain;
    yield->work = 0.9 * yield->work + (double)turn->result.work;
}

/* Takes what a turn found, as far as it still holds after what others have changed. */
static MwCost take_result(MwImprover *improver, const Turn *turn, bool changed)
{
    MwExchange exchange = turn->result.exchange;
    if (exchange.count == 0)
        return 0;
    MwArena *scratch = mw_arena_new();
    if (changed)
        exchange =
            mw_standing_choose(scratch, improver->standing, exchange.count, exchange.changes);
    if (exchange.gain > 0)
        mw_standing_make(improver->standing, &exchange);
    mw_arena_free(&scratch);
    return exchange.gain > 0 ? exchange.gain : 0;
}

/* Returns the work done; sets `gain`. */
static int64_t run_round(MwImprover *improver, MwCost *gain)
{
    for (int i = 0; i < improver->turn_count; i++) {
        Turn *turn = &improver->turns[i];
        turn->draws = (MwDraws){.seed = improver->seed, .stream = improver->attempts++};
        turn->form = draw_form(improver, &turn->draws);
        turn->arena = mw_arena_new();
        turn->result = (MwAttempt){0};
    }
    mw_parallel(improver->threads, improver->turn_count, take_turn, improver);
    int64_t work = 0;
    *gain = 0;
    for (int i = 0; i < improver->turn_count; i++) {
        Turn *turn = &improver->turns[i];
        MwCost taken = take_result(improver, turn, *gain > 0);
        note_yield(improver, turn, (double)taken);
        *gain += taken;
        work += turn->result.work;
        mw_arena_free(&turn->arena);
    }
    return work;
}

static void report(const MwImprover *improver)
{
    MwArena *scratch = mw_arena_new();
    int *choice = MW_NEW(scratch, int, improver->core->node_count);
    mw_layout_leave(improver->layout, improver->standing->choice, choice);
    improver->limits->report(improver->limits->context, choice);
    mw_arena_free(&scratch);
}

bool mw_improve(MwImprover *improver, const MwImproveLimits *limits)
{
    bool better = false;
    int64_t work = 0;
    if (!improver->standing || improver->layout->node_count == 0)
        return false;
    improver->limits = limits;
    for (int fruitless = 0; fruitless < limits->fruitless && !mw_stopped(&limits->stop) &&
                            (limits->work == 0 || work < limits->work);) {
        MwCost gain;
        work += run_round(improver, &gain);
        fruitless = gain > 0 ? 0 : fruitless + improver->turn_count;
        better |= gain > 0;
        if (gain > 0)
            report(improver);
    }
    return better;
}
