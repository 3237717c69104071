/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prices of memory by cutting planes.
 *
 * At given prices the rows go away, and what is left is solved, or nearly (priced.c). Each answer
 * bounds the dual from above by a plane, cost + prices * excess; the next prices are where the
 * lowest of these planes is highest (Kelley, The cutting-plane method for solving convex programs,
 * SIAM Journal 8, 1960), which is also the cheapest blend of the answers that keeps the rows on
 * average (Dantzig and Wolfe, Decomposition principle for linear programs, Operations Research 8,
 * 1960). After answers that are no better, the way there from the best prices is gone in part only
 * (Wentges, Weighted Dantzig-Wolfe decomposition for linear mixed-integer programming,
 * International Transactions in Operational Research 4, 1997): planes from far away say little.
 * Only rows that some answer exceeded most are looked at: few ever have a price, and with few
 * prices layers stay equal. As long as nothing is known of a row but answers that exceed it, it is
 * priced so high that memory is all that counts.
 *
 * What the nearest answers take is where to look for a choice that keeps the rows: the blend takes
 * one of them here and another there, and with many equal layers it can nearly be had (Shapley and
 * Folkman; Ekeland and Temam, Convex Analysis and Variational Problems, 1976, appendix I). */
#include "solver/lagrange.h"

#include "solver/blend.h"
#include "solver/polish.h"
#include "solver/priced.h"

#include <math.h>
#include <stdlib.h>

enum {
    MOST_ANSWERS = 20,
    MOST_BLENDED = 12, /* answers that the copy is made of */
    MOST_HALVINGS = 3, /* of the step, one for each answer in a row that was no better */
    SHARE = 2,         /* one in SHARE of the core's entries an answer may compute */
};

/* Prices: 1 is when all the memory costs as much as the best choice without it. The first one, at
 * which they are cut off as long as nothing is known beyond; how fast that grows, and to what. */
static const double FIRST = 0.25, GROWTH = 4, GREATEST = 100;
/* The planes are near enough: share of the bound. */
static const double NEAR = 2e-5;

typedef struct {
    bool is_best;   /* at the prices that were asked for */
    int *choice;    /* [node_count] of the core; NULL: it is not one of the core */
    double cost;    /* in units of cost */
    double *excess; /* [row] in units of usage */
    double value;   /* at the best prices */
} Answer;

typedef struct {
    MwSearch *search;
    MwCore *core;
    MwArena *arena;
    const MwCore *origin;         /* a copy of the core: what answers restore to */
    double cost_unit, usage_unit; /* so that numbers are of the order of 1 */
    double most;                  /* price of a row in these units, ever, */
    double cap;                   /* and that may be asked for next */
    Answer answers[MOST_ANSWERS];
    int count;
    int misses;       /* answers since the best one */
    MwIndexList rows; /* with a price, in order of coming */
    bool sharpens;    /* elimination alone is too much */
    bool *is_priced;  /* [row] */
    double *price;    /* [row] to ask for next, in the core's units */
    double best;      /* the greatest value of the dual met, in units of cost; its prices are those
                          of the core */
} Lagrange;

static void measure(const Lagrange *lagrange, Answer *answer)
{
    const MwCore *core = lagrange->core;
    double *excess = answer->excess = MW_NEW(lagrange->arena, double, core->row_count + 1);
    for (int i = 0; i < core->node_count; i++)
        for (int k = 0; core->nodes[i].cost && k < core->nodes[i].terms.count; k++) {
            const MwCoreTerm *term = &core->nodes[i].terms.at[k];
            double used = (double)term->usage->at[answer->choice[i]] / lagrange->usage_unit;
            excess[term->first] += used;
            excess[term->last + 1] -= used;
        }
    double usage = 0;
    for (int row = 0; row < core->row_count; row++) {
        usage += excess[row];
        excess[row] = usage - (double)core->limit[row] / lagrange->usage_unit;
    }
    answer->cost = (double)mw_core_cost(core, answer->choice) / lagrange->cost_unit;
}

/* Tells the search, with what can be made of it by small changes. */
static void offer(const Lagrange *lagrange, const Answer *answer)
{
    for (int row = 0; row < lagrange->core->row_count; row++)
        if (answer->excess[row] > 0)
            return;
    MwArena *scratch = mw_arena_new();
    int *choice =
        mw_arena_dup(scratch, answer->choice, sizeof *choice * (size_t)lagrange->core->node_count);
    mw_polish(lagrange->core, choice);
    mw_search_offer_of_core(lagrange->search, lagrange->core, choice);
    mw_arena_free(&scratch);
}

/* The first row of a time that is not before `time`. */
static int first_row(const MwCore *core, int64_t time)
{
    int first = 0, end = core->row_count;
    while (first < end) {
        int middle = (first + end) / 2;
        if (core->time[middle] < time)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

/* Of a choice of the problem. */
static void measure_of_problem(const Lagrange *lagrange, const int *choice, Answer *answer)
{
    const MwProblem *problem = lagrange->search->problem;
    const MwCore *core = lagrange->core;
    double *excess = answer->excess = MW_NEW(lagrange->arena, double, core->row_count + 1);
    for (int i = 0; i < problem->node_count; i++) {
        const MwProblemNode *node = &problem->nodes[i];
        if (!node->usage || node->begin >= node->end)
            continue;
        excess[first_row(core, node->begin)] += (double)node->usage[choice[i]];
        excess[first_row(core, node->end)] -= (double)node->usage[choice[i]];
    }
    double usage = 0;
    for (int row = 0; row < core->row_count; row++) {
        usage += excess[row];
        excess[row] = (usage - (double)problem->usage_limit) / lagrange->usage_unit;
    }
    answer->cost =
        ldexp((double)mw_problem_cost(problem, choice), core->scale) / lagrange->cost_unit;
}

/* What is good without prices, of which only the plane counts. */
static void add_unpriced(Lagrange *lagrange, const int *choice)
{
    Answer *answer = &lagrange->answers[lagrange->count++];
    if (!lagrange->search->root) {
        measure_of_problem(lagrange, choice, answer);
        return;
    }
    const size_t bytes = sizeof *choice * (size_t)lagrange->core->node_count;
    answer->choice = mw_arena_dup(lagrange->arena, choice, bytes);
    measure(lagrange, answer);
    answer->choice = NULL;
}

/* Takes in what was found at the prices asked for. */
static void add_answer(Lagrange *lagrange, const MwPriced *priced)
{
    MwCore *core = lagrange->core;
    Answer *answer = &lagrange->answers[lagrange->count++];
    answer->choice = priced->choice;
    answer->is_best = priced->cost == priced->bound;
    measure(lagrange, answer);
    offer(lagrange, answer);
    mw_search_raise_bound(lagrange->search, core, priced->bound);
    double value = (double)priced->bound / lagrange->cost_unit;
    lagrange->misses++;
    if (value <= lagrange->best)
        return;
    lagrange->misses = 0;
    lagrange->best = value;
    for (int row = 0; row < core->row_count; row++)
        core->price[row] = lagrange->price[row];
}

/* Looks for a good choice at the prices to ask for; false if there is none to be had. */
static bool ask(Lagrange *lagrange)
{
    const MwCore *core = lagrange->core;
    const int64_t total = mw_core_entries_left(core) / SHARE;
    const MwPriced priced = mw_solve_priced(lagrange->arena, lagrange->origin, lagrange->price,
                                            total, &lagrange->sharpens, &lagrange->search->stop);
    if (priced.infeasible)
        mw_search_exhaust(lagrange->search);
    if (priced.choice)
        add_answer(lagrange, &priced);
    mw_search_log(lagrange->search, core, "price");
    return priced.choice != NULL;
}

/* The row that the last answer exceeds most gets a price, too. False if it has one already. */
static bool add_row(Lagrange *lagrange)
{
    const Answer *answer = &lagrange->answers[lagrange->count - 1];
    int worst = -1;
    for (int row = 0; row < lagrange->core->row_count; row++)
        if (answer->excess[row] > 0 && (worst < 0 || answer->excess[row] > answer->excess[worst]))
            worst = row;
    if (worst < 0 || lagrange->is_priced[worst])
        return false;
    lagrange->is_priced[worst] = true;
    mw_vec_push(lagrange->arena, &lagrange->rows, worst);
    return true;
}

/* Whether the best bound is as high as the planes, or nearly. */
static bool is_reached(const Lagrange *lagrange, double highest)
{
    return highest - lagrange->best <= NEAR * fabs(lagrange->best);
}

/* The prices where the planes of all answers together are highest, or towards them; returns how
 * high: INFINITY where prices were cut off. */
static double choose_prices(Lagrange *lagrange)
{
    MwArena *scratch = mw_arena_new();
    const int rows = lagrange->rows.count, count = lagrange->count;
    double *cost = MW_NEW(scratch, double, count), *price = MW_NEW(scratch, double, rows),
           *excess = MW_NEW(scratch, double, (int64_t)count *rows);
    for (int k = 0; k < count; k++) {
        cost[k] = lagrange->answers[k].cost;
        for (int i = 0; i < rows; i++)
            excess[k * rows + i] = lagrange->answers[k].excess[lagrange->rows.at[i]];
    }
    const MwBlend blend = {
        .count = count, .rows = rows, .cost = cost, .excess = excess, .most = lagrange->cap};
    double highest = mw_blend(&blend, price), dearest = 0;
    const double step = ldexp(1, -mw_min(lagrange->misses, MOST_HALVINGS));
    for (int i = 0; i < rows; i++) {
        const int row = lagrange->rows.at[i];
        const double best = lagrange->core->price[row];
        dearest = fmax(dearest, price[i]);
        price[i] *= lagrange->cost_unit / lagrange->usage_unit;
        lagrange->price[row] = best + step * (price[i] - best);
    }
    mw_arena_free(&scratch);
    if (dearest < lagrange->cap || lagrange->cap == lagrange->most)
        return highest;
    if (lagrange->misses == 0 || is_reached(lagrange, highest))
        lagrange->cap = fmin(lagrange->most, GROWTH * lagrange->cap);
    return INFINITY;
}

/* Whether the last answer says no more than how hard it is to find a good one. */
static bool is_vague(const Lagrange *lagrange)
{
    return lagrange->misses > 0 && !lagrange->answers[lagrange->count - 1].is_best;
}

/* Asks until the planes say that little more is to be had, or answers are vague, or half the time left is over.
 * False if there are no answers. */
static bool climb(Lagrange *lagrange)
{
    add_row(lagrange);
    choose_prices(lagrange);
    const double half_s = mw_stop_left_s(&lagrange->search->stop) / 2;
    while (lagrange->count < MOST_ANSWERS && mw_stop_left_s(&lagrange->search->stop) >= half_s &&
           !mw_stopped(&lagrange->search->stop)) {
        if (!ask(lagrange) || mw_search_done(lagrange->search))
            break;
        bool is_new = add_row(lagrange);
        double highest = choose_prices(lagrange);
        if ((!is_new && is_reached(lagrange, highest)) || is_vague(lagrange))
            break;
    }
    return lagrange->count > 1;
}

static int compare_answers(const void *a, const void *b)
{
    const Answer *x = a, *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

/* The nearest to the best bound first. */
static void sort_answers(Lagrange *lagrange)
{
    const MwCore *core = lagrange->core;
    const double per_unit = lagrange->usage_unit / lagrange->cost_unit;
    for (int k = 0; k < lagrange->count; k++) {
        Answer *answer = &lagrange->answers[k];
        answer->value = answer->choice ? answer->cost : INFINITY;
        for (int i = 0; i < lagrange->rows.count; i++)
            answer->value +=
                core->price[lagrange->rows.at[i]] * per_unit * answer->excess[lagrange->rows.at[i]];
    }
    qsort(lagrange->answers, (size_t)lagrange->count, sizeof *lagrange->answers, compare_answers);
}

static void restrict_node(const Lagrange *lagrange, MwCore *core, int node)
{
    const int count = mw_core_strategies(core, node);
    int64_t *keep = mw_tables_scratch(core->tables, count);
    int kept = 0;
    for (int s = 0; s < count; s++) {
        bool taken = false;
        for (int k = 0; k < mw_min(lagrange->count - 1, MOST_BLENDED); k++)
            taken |= lagrange->answers[k].choice[node] == s;
        if (taken)
            keep[kept++] = s;
    }
    if (kept < count)
        mw_core_restrict(core, node, mw_table_intern(core->tables, 1, &kept, keep));
}

static MwCore *restrict_all(Lagrange *lagrange)
{
    sort_answers(lagrange);
    MwCore *copy = mw_core_copy(lagrange->search->scratch, lagrange->core);
    for (int i = 0; i < copy->node_count; i++)
        if (copy->nodes[i].cost)
            restrict_node(lagrange, copy, i);
    return copy;
}

/* Units, and the greatest price at which costs stay far below MW_FORBIDDEN. */
static void set_units(Lagrange *lagrange)
{
    const MwCore *core = lagrange->core;
    const MwSearch *search = lagrange->search;
    double *change = MW_NEW(lagrange->arena, double, core->row_count + 1), usage = 0, greatest = 1;
    for (int i = 0; i < core->node_count; i++)
        for (int k = 0; core->nodes[i].cost && k < core->nodes[i].terms.count; k++) {
            const MwCoreTerm *term = &core->nodes[i].terms.at[k];
            int64_t most = 0;
            for (int s = 0; s < term->usage->count; s++)
                most = mw_max(most, term->usage->at[s]);
            change[term->first] += (double)most;
            change[term->last + 1] -= (double)most;
        }
    for (int row = 0; row < core->row_count; row++) {
        usage += change[row];
        greatest = fmax(greatest, usage);
    }
    lagrange->cost_unit = fmax(1, ldexp((double)search->solution->lower_bound, core->scale));
    lagrange->usage_unit = fmax(1, (double)search->problem->usage_limit);
    double affordable = (double)(MW_FORBIDDEN / 16) / greatest;
    lagrange->most = fmin(GREATEST, affordable * lagrange->usage_unit / lagrange->cost_unit);
    lagrange->cap = fmin(FIRST, lagrange->most);
}

MwCore *mw_lagrange(MwSearch *search, MwCore *core, const int *unpriced)
{
    MwArena *arena = mw_arena_new();
    Lagrange lagrange = {.search = search, .core = core, .arena = arena, .best = -INFINITY};
    lagrange.is_priced = MW_NEW(arena, bool, core->row_count);
    lagrange.price = MW_NEW(arena, double, core->row_count);
    lagrange.origin = mw_core_copy(arena, core);
    set_units(&lagrange);
    add_unpriced(&lagrange, unpriced);
    MwCore *copy = NULL;
    if (climb(&lagrange) && !mw_search_done(search))
        copy = restrict_all(&lagrange);
    mw_arena_free(&arena);
    return copy;
}
