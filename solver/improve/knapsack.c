/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solver/improve/knapsack.h"

#include "base/draws.h"
#include "solver/cost.h"
#include "solver/tuning.h"

#include <math.h>
#include <string.h>

enum {
    ACTIVE_LIMIT = 96,  /* greatest number of active constraints: bounds the memory per move */
    LANES = 16,         /* active constraints that are processed together */
    PENALTY_RANGE = 30, /* binary orders of magnitude by which a penalty may rise above or fall
                          below the first one: limited by the range of floats */
};

/* Least number of steps for which a move is tabu, and width of the range above it: about seven
 * steps, after Glover (Tabu search, part I, ORSA Journal on Computing 1, 1989). */
enum { TENURE = 6 };

/* The state of the search. The change of a move is that of toggling it: adding it and removing the
 * moves it conflicts with, or removing it if it is selected. */
typedef struct {
    const MwKnapsack *knapsack;
    MwDraws draws;
    int64_t sums;
    bool *selected;
    double gain;
    double *excess;      /* [constraint] usage of the selected moves less capacity */
    double *gain_change; /* [move] change of the gain */
    int *conflict_count; /* [move] number of selected moves it conflicts with */
    int *tabu_until;     /* [move] first step at which the move is no longer tabu */
    int active_count;
    int *active_index; /* [constraint] index among the active ones, or -1 */
    int active[ACTIVE_LIMIT];
    float *change;                     /* [move][ACTIVE_LIMIT] change of the excess */
    float active_excess[ACTIVE_LIMIT]; /* excess of the active constraints */
    float penalty[ACTIVE_LIMIT];       /* penalty per unit of excess */
    double first_penalty;
} TabuSearch;

static double usage_of(const MwKnapsack *knapsack, int move, int constraint)
{
    return knapsack->usage[(int64_t)move * knapsack->constraint_count + constraint];
}

static float *change_of(const TabuSearch *search, int move)
{
    return search->change + (int64_t)move * ACTIVE_LIMIT;
}

/* Returns the penalty of the active constraints after the change. */
MW_VECTORISED_PRODUCTS static float penalty_after(const float *active_excess, const float *change,
                                                  const float *penalty, int count)
{
    float lane[LANES] = {0}, sum = 0;
    for (int start = 0; start < count; start += LANES)
        for (int k = 0; k < LANES; k++) {
            float after = active_excess[start + k] + change[start + k];
            after = after > 0 ? after : 0;
            lane[k] += after * penalty[start + k];
        }
    for (int k = 0; k < LANES; k++)
        sum += lane[k];
    return sum;
}

/* Returns the usage in a constraint of the selected moves that conflict with `move`. */
static double conflicting_usage(const TabuSearch *search, int move, int constraint)
{
    const MwKnapsack *knapsack = search->knapsack;
    double sum = 0;
    for (int i = knapsack->conflict_first[move]; i < knapsack->conflict_first[move + 1]; i++)
        if (search->selected[knapsack->conflicts[i]])
            sum += usage_of(knapsack, knapsack->conflicts[i], constraint);
    return sum;
}

/* Returns an index for one more active constraint, if necessary that of a constraint which is not
 * exceeded and has the least penalty; -1: none is available. */
static int free_active_index(TabuSearch *search)
{
    int least = -1;
    if (search->active_count < ACTIVE_LIMIT)
        return search->active_count++;
    for (int at = 0; at < ACTIVE_LIMIT; at++)
        if (search->active_excess[at] <= 0 &&
            (least < 0 || search->penalty[at] < search->penalty[least]))
            least = at;
    if (least >= 0)
        search->active_index[search->active[least]] = -1;
    return least;
}

static void activate(TabuSearch *search, int constraint)
{
    int at = search->active_index[constraint] < 0 ? free_active_index(search) : -1;
    if (at < 0)
        return;
    search->active_index[constraint] = at;
    search->active[at] = constraint;
    search->active_excess[at] = (float)search->excess[constraint];
    search->penalty[at] = (float)search->first_penalty;
    for (int move = 0; move < search->knapsack->count; move++) {
        double usage = usage_of(search->knapsack, move, constraint);
        if (search->selected[move])
            usage = -usage;
        else if (search->conflict_count[move] > 0)
            usage -= conflicting_usage(search, move, constraint);
        change_of(search, move)[at] = (float)usage;
    }
}

static void set_change(TabuSearch *search, int move)
{
    float *change = change_of(search, move), sign = search->selected[move] ? -1 : 1;
    search->gain_change[move] = sign * search->knapsack->gain[move];
    for (int at = 0; at < search->active_count; at++)
        change[at] = sign * (float)usage_of(search->knapsack, move, search->active[at]);
}

/* Updates the change of `move` after `other`, with which it conflicts, was added or removed. */
static void update_conflicting(TabuSearch *search, int move, int other, const float *usage)
{
    bool selected = search->selected[other];
    search->conflict_count[move] += selected ? 1 : -1;
    if (search->conflict_count[move] == 0) {
        set_change(search, move); /* exact again: no rounding errors are left */
        return;
    }
    float *change = change_of(search, move), sign = selected ? -1 : 1;
    search->gain_change[move] += sign * search->knapsack->gain[other];
    for (int at = 0; at < search->active_count; at++)
        change[at] += sign * usage[at];
}

/* Adds the move, which conflicts with no selected one, or removes it. */
static void toggle(TabuSearch *search, int move)
{
    const MwKnapsack *knapsack = search->knapsack;
    bool selected = search->selected[move] = !search->selected[move];
    double sign = selected ? 1 : -1;
    float usage[ACTIVE_LIMIT];
    search->gain += sign * knapsack->gain[move];
    for (int constraint = 0; constraint < knapsack->constraint_count; constraint++)
        search->excess[constraint] += sign * usage_of(knapsack, move, constraint);
    for (int at = 0; at < search->active_count; at++) {
        search->active_excess[at] = (float)search->excess[search->active[at]];
        usage[at] = (float)usage_of(knapsack, move, search->active[at]);
    }
    set_change(search, move);
    for (int i = knapsack->conflict_first[move]; i < knapsack->conflict_first[move + 1]; i++)
        update_conflicting(search, knapsack->conflicts[i], move, usage);
    search->sums += knapsack->constraint_count +
                    (int64_t)(knapsack->conflict_first[move + 1] - knapsack->conflict_first[move]) *
                        search->active_count;
}

static int draw_tenure(TabuSearch *search)
{
    return TENURE + mw_draw_below(&search->draws, TENURE);
}

static void apply(TabuSearch *search, int move, int step)
{
    const MwKnapsack *knapsack = search->knapsack;
    for (int i = knapsack->conflict_first[move]; i < knapsack->conflict_first[move + 1]; i++) {
        int other = knapsack->conflicts[i];
        if (!search->selected[other] || search->selected[move])
            continue;
        toggle(search, other);
        search->tabu_until[other] = step + draw_tenure(search);
    }
    toggle(search, move);
    search->tabu_until[move] = step + draw_tenure(search);
}

/* Returns the move with the best gain less penalty that is not tabu; -1: all are tabu. */
static int choose_move(TabuSearch *search, int step)
{
    int best = -1;
    double most = 0;
    int lanes = (search->active_count + LANES - 1) / LANES * LANES;
    for (int move = 0; move < search->knapsack->count; move++) {
        if (search->tabu_until[move] > step)
            continue;
        double value = search->gain_change[move] - (double)penalty_after(search->active_excess,
                                                                         change_of(search, move),
                                                                         search->penalty, lanes);
        if (best < 0 || value > most) {
            best = move;
            most = value;
        }
    }
    search->sums +=
        (int64_t)search->knapsack->count * (lanes + 1) + search->knapsack->constraint_count;
    return best;
}

/* Activates, in each run of exceeded constraints, the one of greatest excess. Returns true if none
 * is exceeded. */
static bool activate_exceeded(TabuSearch *search)
{
    int worst = -1;
    bool fits = true;
    for (int constraint = 0; constraint < search->knapsack->constraint_count; constraint++) {
        double excess = search->excess[constraint];
        if (excess > 0 && (worst < 0 || excess > search->excess[worst]))
            worst = constraint;
        fits &= excess <= 0;
        if (worst >= 0 && (excess <= 0 || constraint == search->knapsack->constraint_count - 1)) {
            activate(search, worst);
            worst = -1;
        }
    }
    return fits;
}

/* Raises the penalties of exceeded constraints and lowers the others, within the range of
 * floats. */
static void update_penalties(TabuSearch *search)
{
    const float most = (float)ldexp(search->first_penalty, PENALTY_RANGE);
    const float least = (float)ldexp(search->first_penalty, -PENALTY_RANGE);
    for (int at = 0; at < search->active_count; at++) {
        float penalty = search->penalty[at] * (float)(search->active_excess[at] > 0
                                                          ? 1 + MW_TUNED_PENALTY_RISE
                                                          : 1 - MW_TUNED_PENALTY_RISE / 6);
        search->penalty[at] = penalty > most ? most : penalty < least ? least : penalty;
    }
}

/* Returns a first penalty proportional to the total gain of all moves per total usage. */
static double find_first_penalty(const MwKnapsack *knapsack)
{
    double gains = 0, usages = 1;
    for (int move = 0; move < knapsack->count; move++) {
        double most = 0;
        for (int constraint = 0; constraint < knapsack->constraint_count; constraint++)
            most = fmax(most, fabs(usage_of(knapsack, move, constraint)));
        gains += fabs(knapsack->gain[move]);
        usages += most;
    }
    return MW_TUNED_FIRST_PENALTY * gains / usages;
}

/* Restarts from the best set. */
static void restart_from(TabuSearch *search, const bool *best, int step)
{
    for (int move = 0; move < search->knapsack->count; move++) {
        if (search->selected[move] && !best[move])
            toggle(search, move);
        search->tabu_until[move] = step;
    }
    for (int move = 0; move < search->knapsack->count; move++)
        if (!search->selected[move] && best[move])
            toggle(search, move);
}

static TabuSearch *new_search(MwArena *arena, const MwKnapsack *knapsack, uint64_t seed)
{
    TabuSearch *search = MW_NEW(arena, TabuSearch, 1);
    *search = (TabuSearch){.knapsack = knapsack, .draws = {.seed = seed}};
    search->first_penalty = find_first_penalty(knapsack);
    search->selected = MW_NEW(arena, bool, knapsack->count);
    search->excess = MW_NEW(arena, double, knapsack->constraint_count);
    search->gain_change = MW_NEW(arena, double, knapsack->count);
    search->conflict_count = MW_NEW(arena, int, knapsack->count);
    search->tabu_until = MW_NEW(arena, int, knapsack->count);
    search->active_index = MW_NEW(arena, int, knapsack->constraint_count);
    search->change = MW_NEW(arena, float, (int64_t)knapsack->count *ACTIVE_LIMIT);
    for (int constraint = 0; constraint < knapsack->constraint_count; constraint++) {
        search->excess[constraint] = -knapsack->capacity[constraint];
        search->active_index[constraint] = -1;
    }
    for (int move = 0; move < knapsack->count; move++)
        set_change(search, move);
    return search;
}

MwKnapsackAnswer mw_knapsack_solve(const MwKnapsack *knapsack, uint64_t seed, int steps,
                                   const MwStop *stop, bool *taken)
{
    MwArena *scratch = mw_arena_new();
    TabuSearch *search = new_search(scratch, knapsack, seed);
    double best = 0;
    size_t bytes = sizeof *taken * (size_t)knapsack->count;
    memset(taken, 0, bytes);
    for (int step = 0, last = 0; step < steps && knapsack->count > 0 && !mw_stopped(stop); step++) {
        if (activate_exceeded(search) && search->gain > best) {
            best = search->gain;
            memcpy(taken, search->selected, bytes);
            last = step;
        }
        update_penalties(search);
        if (step - last > steps * 3 / 10) {
            restart_from(search, taken, step);
            last = step;
        }
        int move = choose_move(search, step);
        if (move >= 0)
            apply(search, move, step);
    }
    const MwKnapsackAnswer packed = {best, search->sums};
    mw_arena_free(&scratch);
    return packed;
}
