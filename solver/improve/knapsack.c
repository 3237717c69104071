/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solver/improve/knapsack.h"

#include "base/draws.h"
#include "solver/cost.h"
#include "solver/tuning.h"

#include <math.h>
#include <string.h>

enum {
    WATCHED = 96,      /* rooms, at most: bounds what a move takes of memory */
    LANES = 16,        /* of them together */
    WEIGHT_RANGE = 30, /* times two, up and down from the first one: what floats have room for */
};

/* Steps that a move stays for, up to twice that: about seven, as Glover has it (Tabu search,
 * part I, ORSA Journal on Computing 1, 1989). */
enum { TENURE = 6 };

/* What is said below of a move is said of putting it in, in the place of those it touches, or of
 * taking it out if it is in. */
typedef struct {
    const MwKnapsack *knapsack;
    MwDraws draws;
    int64_t sums;
    bool *in;
    double gain;
    double *excess;   /* [room] usage less room of what is in */
    double *more;     /* [move] gain */
    int *conflicting; /* [move] those in that it touches */
    int *free_at;     /* [move] the step from which on it may be chosen */
    int watched_count;
    int *watch_of; /* [room] or -1 */
    int watched[WATCHED];
    float *change;         /* [move][WATCHED] of the excess */
    float over[WATCHED];   /* excess */
    float weight[WATCHED]; /* cost of it */
    double first_weight;
} Walk;

static double usage_of(const MwKnapsack *knapsack, int move, int room)
{
    return knapsack->usage[(int64_t)move * knapsack->room_count + room];
}

static float *change_of(const Walk *walk, int move)
{
    return walk->change + (int64_t)move * WATCHED;
}

/* What the excess of the watched rooms costs after the change. */
MW_VECTORISED_PRODUCTS static float cost_of_excess(const float *over, const float *change,
                                                   const float *weight, int count)
{
    float lane[LANES] = {0}, sum = 0;
    for (int start = 0; start < count; start += LANES)
        for (int k = 0; k < LANES; k++) {
            float after = over[start + k] + change[start + k];
            after = after > 0 ? after : 0;
            lane[k] += after * weight[start + k];
        }
    for (int k = 0; k < LANES; k++)
        sum += lane[k];
    return sum;
}

/* The sum of those that are in among the moves that one touches. */
static double usage_in_place(const Walk *walk, int move, int room)
{
    const MwKnapsack *knapsack = walk->knapsack;
    double sum = 0;
    for (int i = knapsack->conflict_first[move]; i < knapsack->conflict_first[move + 1]; i++)
        if (walk->in[knapsack->conflicts[i]])
            sum += usage_of(knapsack, knapsack->conflicts[i], room);
    return sum;
}

/* Where to watch one room more: in the place of one that is not exceeded, and of little weight, if
 * there is no other; -1: nowhere. */
static int find_watch(Walk *walk)
{
    int least = -1;
    if (walk->watched_count < WATCHED)
        return walk->watched_count++;
    for (int at = 0; at < WATCHED; at++)
        if (walk->over[at] <= 0 && (least < 0 || walk->weight[at] < walk->weight[least]))
            least = at;
    if (least >= 0)
        walk->watch_of[walk->watched[least]] = -1;
    return least;
}

static void watch(Walk *walk, int room)
{
    int at = walk->watch_of[room] < 0 ? find_watch(walk) : -1;
    if (at < 0)
        return;
    walk->watch_of[room] = at;
    walk->watched[at] = room;
    walk->over[at] = (float)walk->excess[room];
    walk->weight[at] = (float)walk->first_weight;
    for (int move = 0; move < walk->knapsack->count; move++) {
        double usage = usage_of(walk->knapsack, move, room);
        if (walk->in[move])
            usage = -usage;
        else if (walk->conflicting[move] > 0)
            usage -= usage_in_place(walk, move, room);
        change_of(walk, move)[at] = (float)usage;
    }
}

static void set_change(Walk *walk, int move)
{
    float *change = change_of(walk, move), sign = walk->in[move] ? -1 : 1;
    walk->more[move] = sign * walk->knapsack->gain[move];
    for (int at = 0; at < walk->watched_count; at++)
        change[at] = sign * (float)usage_of(walk->knapsack, move, walk->watched[at]);
}

/* Of a move, now that `other`, which it touches, has been put in or taken out. */
static void follow_change(Walk *walk, int move, int other, const float *usage)
{
    bool in = walk->in[other];
    walk->conflicting[move] += in ? 1 : -1;
    if (walk->conflicting[move] == 0) {
        set_change(walk, move); /* what rounding has left is gone */
        return;
    }
    float *change = change_of(walk, move), sign = in ? -1 : 1;
    walk->more[move] += sign * walk->knapsack->gain[other];
    for (int at = 0; at < walk->watched_count; at++)
        change[at] += sign * usage[at];
}

/* Puts the move in, which touches none that is, or takes it out. */
static void toggle(Walk *walk, int move)
{
    const MwKnapsack *knapsack = walk->knapsack;
    bool in = walk->in[move] = !walk->in[move];
    double sign = in ? 1 : -1;
    float usage[WATCHED];
    walk->gain += sign * knapsack->gain[move];
    for (int room = 0; room < knapsack->room_count; room++)
        walk->excess[room] += sign * usage_of(knapsack, move, room);
    for (int at = 0; at < walk->watched_count; at++) {
        walk->over[at] = (float)walk->excess[walk->watched[at]];
        usage[at] = (float)usage_of(knapsack, move, walk->watched[at]);
    }
    set_change(walk, move);
    for (int i = knapsack->conflict_first[move]; i < knapsack->conflict_first[move + 1]; i++)
        follow_change(walk, knapsack->conflicts[i], move, usage);
    walk->sums += knapsack->room_count +
                  (int64_t)(knapsack->conflict_first[move + 1] - knapsack->conflict_first[move]) *
                      walk->watched_count;
}

static int draw_tenure(Walk *walk)
{
    return TENURE + mw_draw_below(&walk->draws, TENURE);
}

static void make(Walk *walk, int move, int step)
{
    const MwKnapsack *knapsack = walk->knapsack;
    for (int i = knapsack->conflict_first[move]; i < knapsack->conflict_first[move + 1]; i++) {
        int other = knapsack->conflicts[i];
        if (!walk->in[other] || walk->in[move])
            continue;
        toggle(walk, other);
        walk->free_at[other] = step + draw_tenure(walk);
    }
    toggle(walk, move);
    walk->free_at[move] = step + draw_tenure(walk);
}

/* The move that leads to the greatest gain less the cost of excess; -1: none may be made. */
static int choose(Walk *walk, int step)
{
    int best = -1;
    double most = 0;
    int lanes = (walk->watched_count + LANES - 1) / LANES * LANES;
    for (int move = 0; move < walk->knapsack->count; move++) {
        if (walk->free_at[move] > step)
            continue;
        double worth = walk->more[move] - (double)cost_of_excess(walk->over, change_of(walk, move),
                                                                 walk->weight, lanes);
        if (best < 0 || worth > most) {
            best = move;
            most = worth;
        }
    }
    walk->sums += (int64_t)walk->knapsack->count * (lanes + 1) + walk->knapsack->room_count;
    return best;
}

/* In each run of rooms that are exceeded the one that is most is watched. True if none is. */
static bool watch_excess(Walk *walk)
{
    int worst = -1;
    bool fits = true;
    for (int room = 0; room < walk->knapsack->room_count; room++) {
        double excess = walk->excess[room];
        if (excess > 0 && (worst < 0 || excess > walk->excess[worst]))
            worst = room;
        fits &= excess <= 0;
        if (worst >= 0 && (excess <= 0 || room == walk->knapsack->room_count - 1)) {
            watch(walk, worst);
            worst = -1;
        }
    }
    return fits;
}

/* Within what floating point has room for. */
static void move_weights(Walk *walk)
{
    const float most = (float)ldexp(walk->first_weight, WEIGHT_RANGE);
    const float least = (float)ldexp(walk->first_weight, -WEIGHT_RANGE);
    for (int at = 0; at < walk->watched_count; at++) {
        float weight =
            walk->weight[at] *
            (float)(walk->over[at] > 0 ? 1 + MW_TUNED_WEIGHT_RISE : 1 - MW_TUNED_WEIGHT_RISE / 6);
        walk->weight[at] = weight > most ? most : weight < least ? least : weight;
    }
}

/* What the moves gain together, for what they use together. */
static double find_first_weight(const MwKnapsack *knapsack)
{
    double gains = 0, usages = 1;
    for (int move = 0; move < knapsack->count; move++) {
        double most = 0;
        for (int room = 0; room < knapsack->room_count; room++)
            most = fmax(most, fabs(usage_of(knapsack, move, room)));
        gains += fabs(knapsack->gain[move]);
        usages += most;
    }
    return MW_TUNED_FIRST_WEIGHT * gains / usages;
}

/* From the best set. */
static void begin_anew(Walk *walk, const bool *best, int step)
{
    for (int move = 0; move < walk->knapsack->count; move++) {
        if (walk->in[move] && !best[move])
            toggle(walk, move);
        walk->free_at[move] = step;
    }
    for (int move = 0; move < walk->knapsack->count; move++)
        if (!walk->in[move] && best[move])
            toggle(walk, move);
}

static Walk *walk_new(MwArena *arena, const MwKnapsack *knapsack, uint64_t seed)
{
    Walk *walk = MW_NEW(arena, Walk, 1);
    *walk = (Walk){.knapsack = knapsack, .draws = {.seed = seed}};
    walk->first_weight = find_first_weight(knapsack);
    walk->in = MW_NEW(arena, bool, knapsack->count);
    walk->excess = MW_NEW(arena, double, knapsack->room_count);
    walk->more = MW_NEW(arena, double, knapsack->count);
    walk->conflicting = MW_NEW(arena, int, knapsack->count);
    walk->free_at = MW_NEW(arena, int, knapsack->count);
    walk->watch_of = MW_NEW(arena, int, knapsack->room_count);
    walk->change = MW_NEW(arena, float, (int64_t)knapsack->count *WATCHED);
    for (int room = 0; room < knapsack->room_count; room++) {
        walk->excess[room] = -knapsack->room[room];
        walk->watch_of[room] = -1;
    }
    for (int move = 0; move < knapsack->count; move++)
        set_change(walk, move);
    return walk;
}

MwKnapsackAnswer mw_knapsack_solve(const MwKnapsack *knapsack, uint64_t seed, int steps,
                                   const MwStop *stop, bool *taken)
{
    MwArena *scratch = mw_arena_new();
    Walk *walk = walk_new(scratch, knapsack, seed);
    double best = 0;
    size_t bytes = sizeof *taken * (size_t)knapsack->count;
    memset(taken, 0, bytes);
    for (int step = 0, last = 0; step < steps && knapsack->count > 0 && !mw_stopped(stop); step++) {
        if (watch_excess(walk) && walk->gain > best) {
            best = walk->gain;
            memcpy(taken, walk->in, bytes);
            last = step;
        }
        move_weights(walk);
        if (step - last > steps * 3 / 10) {
            begin_anew(walk, taken, step);
            last = step;
        }
        int move = choose(walk, step);
        if (move >= 0)
            make(walk, move, step);
    }
    const MwKnapsackAnswer packed = {best, walk->sums};
    mw_arena_free(&scratch);
    return packed;
}
