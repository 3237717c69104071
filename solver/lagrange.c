/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prices of memory by cutting planes.
 *
 * At given prices the rows go away, and what is left is solved, or nearly (priced.c). Each answer
 * bounds the dual from above by a plane, cost + prices * excess; the next prices are where the
 * lowest of these planes is highest (Kelley, The cutting-plane method for solving convex programs,
 * SIAM Journal 8, 1960), which is also the cheapest blend of the answers that keeps the rows on
 * average (Dantzig and Wolfe, Decomposition principle for linear programs, Operations Research 8,
 * 1960). Planes from far away say little: the next prices are in a box around the best ones, which
 * is narrowed after answers that are no better, and widened after good ones (Marsten, Hogan and
 * Blankenship, The boxstep method for large-scale optimization, Operations Research 23, 1975). Only
 * rows that some answer exceeded most are looked at: few ever have a price, and with few prices
 * layers stay equal. As long as nothing is known of a row but answers that exceed it, it is priced
 * so high that memory is all that counts.
 *
 * What the answers take is where to look for a choice that keeps the rows: the blend takes one of
 * them here and another there, and with many equal layers it can nearly be had (Shapley and
 * Folkman; Ekeland and Temam, Convex Analysis and Variational Problems, 1976, appendix I). */
#include "solver/lagrange.h"

#include "solver/blend.h"
#include "solver/parallel.h"
#include "solver/polish.h"
#include "solver/priced.h"

#include <math.h>
#include <stdlib.h>

enum {
    MOST_ANSWERS = 64,
    MOST_QUICK = 20, /* answers, where they need not lead to the best prices */
    BESIDE = 40,     /* work of what is done beside for each entry: that takes about as long */
    SHARE = 2,       /* one in SHARE of the core's entries an answer may compute */
};

/* Prices: 1 is when all the memory costs as much as the best choice without it. The first one, at
 * which they are cut off as long as nothing is known beyond; how fast that grows, and to what. */
static const double FIRST = 0.25, GROWTH = 4, GREATEST = 100;
/* The planes are near enough: share of the bound. */
static const double NEAR = 2e-5;
/* Half the width of the box to begin with, as a share of the sum of the best prices; what it is
 * multiplied by after an answer that is no better, and after one that gains a good share, the last,
 * of what the planes promise. */
static const double RADIUS = 0.1, NARROWER = 0.5, WIDER = 2, ENOUGH = 0.25;
/* An answer is vague if there may be one so much better at the same prices: share of its cost. */
static const double VAGUE = 1e-2;
/* Share of the time left that is for what comes after. */
static const double REST = 0.4;

typedef struct {
    bool is_vague;
    int *choice;    /* [node_count] of the core; NULL: it is not one of the core */
    double cost;    /* in units of cost */
    double *excess; /* [row] in units of usage */
} Answer;

typedef struct {
    MwSearch *search;
    MwCore *core;
    MwArena *arena;
    void (*beside)(MwSearch *search, int64_t work);
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
    double promised;  /* how high the planes are there */
    double radius;    /* half the width of the box */
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
    answer->is_vague = (double)(priced->cost - priced->bound) > VAGUE * fabs((double)priced->cost);
    measure(lagrange, answer);
    offer(lagrange, answer);
    mw_search_raise_bound(lagrange->search, core, priced->bound);
    double value = (double)priced->bound / lagrange->cost_unit, gain = value - lagrange->best,
           promised = lagrange->promised - lagrange->best;
    lagrange->radius *= gain <= 0 ? NARROWER : gain > ENOUGH * promised ? WIDER : 1;
    lagrange->radius = fmin(1, lagrange->radius);
    lagrange->misses++;
    if (value <= lagrange->best)
        return;
    lagrange->misses = 0;
    lagrange->best = value;
    for (int row = 0; row < core->row_count; row++)
        core->price[row] = lagrange->price[row];
}

/* What is asked, and what is done beside it. */
typedef struct {
    Lagrange *lagrange;
    MwPriced priced;
} Question;

static void take_side(void *context, int side)
{
    Question *question = context;
    Lagrange *lagrange = question->lagrange;
    const int64_t entries = mw_core_entries_left(lagrange->core);
    if (side == 0)
        question->priced =
            mw_solve_priced(lagrange->arena, lagrange->origin, lagrange->price, entries / SHARE,
                            &lagrange->sharpens, &lagrange->search->stop);
    else if (lagrange->beside)
        lagrange->beside(lagrange->search, BESIDE * entries + 1);
}

/* Looks for a good choice at the prices to ask for; false if there is none to be had. */
static bool ask(Lagrange *lagrange)
{
    MwSearch *search = lagrange->search;
    const MwCore *core = lagrange->core;
    Question question = {.lagrange = lagrange};
    mw_parallel(search->options->threads, 2, take_side, &question);
    if (question.priced.infeasible)
        mw_search_exhaust(search);
    if (question.priced.choice)
        add_answer(lagrange, &question.priced);
    if (search->improver)
        mw_improver_set_prices(search->improver, core, core->price);
    mw_search_log(search, core, "price");
    return question.priced.choice != NULL;
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

/* The prices where the planes together are highest, in a box of that radius around the best prices;
 * returns how high. */
static double climb_planes(const Lagrange *lagrange, double radius, double *price)
{
    MwArena *scratch = mw_arena_new();
    const int rows = lagrange->rows.count, count = lagrange->count;
    double *cost = MW_NEW(scratch, double, count), *least = MW_NEW(scratch, double, rows),
           *most = MW_NEW(scratch, double, rows), *best = MW_NEW(scratch, double, rows),
           *excess = MW_NEW(scratch, double, (int64_t)count *rows), total = 0;
    for (int k = 0; k < count; k++) {
        cost[k] = lagrange->answers[k].cost;
        for (int i = 0; i < rows; i++)
            excess[k * rows + i] = lagrange->answers[k].excess[lagrange->rows.at[i]];
    }
    for (int i = 0; i < rows; i++) {
        best[i] = lagrange->core->price[lagrange->rows.at[i]] * lagrange->usage_unit /
                  lagrange->cost_unit;
        total += best[i];
    }
    const double reach = total > 0 ? radius * total : INFINITY;
    for (int i = 0; i < rows; i++) {
        least[i] = fmax(0, best[i] - reach);
        most[i] = fmin(lagrange->cap, best[i] + reach);
    }
    const MwBlend blend = {
        .count = count, .rows = rows, .cost = cost, .excess = excess, .least = least, .most = most};
    const double highest = mw_blend(&blend, price);
    mw_arena_free(&scratch);
    return highest;
}

/* Sets the prices to ask for next; returns how high the planes are anywhere: INFINITY where prices
 * were cut off, which are then those to ask for. */
static double choose_prices(Lagrange *lagrange)
{
    MwArena *scratch = mw_arena_new();
    double *price = MW_NEW(scratch, double, lagrange->rows.count), dearest = 0;
    const double highest = climb_planes(lagrange, INFINITY, price);
    for (int i = 0; i < lagrange->rows.count; i++)
        dearest = fmax(dearest, price[i]);
    const bool cut_off = dearest >= lagrange->cap && lagrange->cap < lagrange->most;
    lagrange->promised = cut_off ? highest : climb_planes(lagrange, lagrange->radius, price);
    for (int i = 0; i < lagrange->rows.count; i++)
        lagrange->price[lagrange->rows.at[i]] =
            price[i] * lagrange->cost_unit / lagrange->usage_unit;
    mw_arena_free(&scratch);
    if (!cut_off)
        return highest;
    if (lagrange->misses == 0 || is_reached(lagrange, highest))
        lagrange->cap = fmin(lagrange->most, GROWTH * lagrange->cap);
    return INFINITY;
}

/* Whether the last answer says no more than how hard it is to find a good one. */
static bool is_vague(const Lagrange *lagrange)
{
    return lagrange->misses > 0 && lagrange->answers[lagrange->count - 1].is_vague;
}

/* Asks until the planes say that little more is to be had, or answers are vague, or there is not much
 * time left. False if there are no answers. */
static bool climb(Lagrange *lagrange)
{
    add_row(lagrange);
    choose_prices(lagrange);
    const MwStop *stop = &lagrange->search->stop;
    const double rest_s = REST * mw_stop_left_s(stop);
    const int most = lagrange->search->options->quick ? MOST_QUICK : MOST_ANSWERS;
    while (lagrange->count < most && mw_stop_left_s(stop) >= rest_s && !mw_stopped(stop)) {
        if (!ask(lagrange) || mw_search_done(lagrange->search))
            break;
        bool is_new = add_row(lagrange);
        double highest = choose_prices(lagrange);
        if ((!is_new && is_reached(lagrange, highest)) || is_vague(lagrange))
            break;
    }
    return lagrange->count > 1;
}

static void restrict_node(const Lagrange *lagrange, MwCore *core, int node)
{
    const int count = mw_core_strategies(core, node);
    int64_t *keep = mw_tables_scratch(core->tables, count);
    int kept = 0;
    for (int s = 0; s < count; s++) {
        bool taken = false;
        for (int k = 0; k < lagrange->count; k++)
            taken |= lagrange->answers[k].choice && lagrange->answers[k].choice[node] == s;
        if (taken)
            keep[kept++] = s;
    }
    if (kept < count)
        mw_core_restrict(core, node, mw_table_intern(core->tables, 1, &kept, keep));
}

static MwCore *restrict_all(const Lagrange *lagrange)
{
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

MwCore *mw_lagrange(MwSearch *search, MwCore *core, const int *unpriced,
                    void (*beside)(MwSearch *search, int64_t work))
{
    MwArena *arena = mw_arena_new();
    Lagrange lagrange = {.search = search,
                         .core = core,
                         .arena = arena,
                         .beside = beside,
                         .best = -INFINITY,
                         .radius = RADIUS};
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
