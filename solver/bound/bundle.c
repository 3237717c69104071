/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The next prices are where the lowest of the planes is highest (Kelley, The cutting-plane
 * method for solving convex programs, SIAM Journal 8, 1960), which is also the cheapest blend
 * of the choices that keeps the rows on average (Dantzig and Wolfe, Decomposition principle for
 * linear programs, Operations Research 8, 1960). Planes from far away say little: the next
 * prices are in a box around the best ones, which is narrowed where these turn out no better,
 * and widened where they do (Marsten, Hogan and Blankenship, The boxstep method for large-scale
 * optimization, Operations Research 23, 1975). Only rows that some choice exceeded most are
 * looked at: few ever have a price, and with few prices layers stay equal. */
#include "solver/bound/bundle.h"

#include "solver/bound/master.h"
#include "solver/tuning.h"

#include <math.h>

/* The greatest price: a number that the tableau of the restricted master problem (master.c)
 * keeps apart from rounding errors, far above any useful price. */
static const double GREATEST = 100;

MwBundle mw_bundle_new(MwArena *arena, const MwCore *core, MwCost cost, int64_t usage_limit)
{
    MwBundle bundle = {.arena = arena, .core = core};
    MwArena *scratch = mw_arena_new();
    double *change = MW_NEW(scratch, double, core->row_count + 1), usage = 0, greatest = 1;
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
    mw_arena_free(&scratch);
    bundle.cost_unit = fmax(1, (double)cost);
    bundle.usage_unit = fmax(1, (double)usage_limit);
    const double affordable = (double)(MW_FORBIDDEN / 16) / greatest;
    bundle.most = fmin(GREATEST, affordable * bundle.usage_unit / bundle.cost_unit);
    bundle.cap = fmin(MW_TUNED_PRICE_CAP, bundle.most);
    bundle.is_priced = MW_NEW(arena, bool, core->row_count);
    return bundle;
}

/* From the changes of usage from row to row, which are where the excess is to stand. */
static bool add(MwBundle *bundle, double cost, double *excess, const __int128 *limit, int64_t same)
{
    double usage = 0;
    int worst = -1;
    for (int row = 0; row < bundle->core->row_count; row++) {
        usage += excess[row];
        excess[row] = (usage - (double)(limit ? limit[row] : same)) / bundle->usage_unit;
        if (excess[row] > 0 && (worst < 0 || excess[row] > excess[worst]))
            worst = row;
    }
    const MwCut cut = {cost / bundle->cost_unit, excess};
    mw_vec_push(bundle->arena, &bundle->at, cut);
    if (worst < 0 || bundle->is_priced[worst])
        return false;
    bundle->is_priced[worst] = true;
    mw_vec_push(bundle->arena, &bundle->rows, worst);
    return true;
}

bool mw_bundle_add(MwBundle *bundle, const int *choice)
{
    const MwCore *core = bundle->core;
    double *excess = MW_NEW(bundle->arena, double, core->row_count + 1);
    for (int i = 0; i < core->node_count; i++)
        for (int k = 0; core->nodes[i].cost && k < core->nodes[i].terms.count; k++) {
            const MwCoreTerm *term = &core->nodes[i].terms.at[k];
            excess[term->first] += (double)term->usage->at[choice[i]];
            excess[term->last + 1] -= (double)term->usage->at[choice[i]];
        }
    return add(bundle, (double)mw_core_cost(core, choice), excess, core->limit, 0);
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

bool mw_bundle_add_of_problem(MwBundle *bundle, const MwProblem *problem, const int *choice)
{
    const MwCore *core = bundle->core;
    double *excess = MW_NEW(bundle->arena, double, core->row_count + 1);
    for (int i = 0; i < problem->node_count; i++) {
        const MwProblemNode *node = &problem->nodes[i];
        if (!node->usage || node->begin >= node->end)
            continue;
        excess[first_row(core, node->begin)] += (double)node->usage[choice[i]];
        excess[first_row(core, node->end)] -= (double)node->usage[choice[i]];
    }
    const double cost = ldexp((double)mw_problem_cost(problem, choice), core->scale);
    return add(bundle, cost, excess, NULL, problem->usage_limit);
}

bool mw_bundle_last_fits(const MwBundle *bundle)
{
    const MwCut *cut = &bundle->at.at[bundle->at.count - 1];
    for (int row = 0; row < bundle->core->row_count; row++)
        if (cut->excess[row] > 0)
            return false;
    return true;
}

double mw_bundle_value(const MwBundle *bundle, const double *price)
{
    double lowest = INFINITY;
    for (int k = 0; k < bundle->at.count; k++) {
        const MwCut *cut = &bundle->at.at[k];
        double value = cut->cost;
        for (int i = 0; i < bundle->rows.count; i++)
            value += price[bundle->rows.at[i]] * cut->excess[bundle->rows.at[i]];
        lowest = fmin(lowest, value);
    }
    return lowest;
}

/* How far prices may be from those of the box. */
static double reach_of(const MwBundle *bundle, const MwTrustRegion *region)
{
    double total = 0;
    for (int i = 0; i < bundle->rows.count; i++)
        total += region->price[bundle->rows.at[i]];
    return total > 0 ? region->radius * total : INFINITY;
}

/* No more than may be, all together. */
static void hold_sum(const MwBundle *bundle, double *price)
{
    double sum = 0;
    for (int i = 0; i < bundle->rows.count; i++)
        sum += price[bundle->rows.at[i]];
    for (int i = 0; i < bundle->rows.count && sum > bundle->most; i++)
        price[bundle->rows.at[i]] *= bundle->most / sum;
}

double mw_bundle_maximise(const MwBundle *bundle, const MwTrustRegion *region, double *price)
{
    MwArena *scratch = mw_arena_new();
    const int rows = bundle->rows.count, count = bundle->at.count;
    double *cost = MW_NEW(scratch, double, count), *least = MW_NEW(scratch, double, rows),
           *most = MW_NEW(scratch, double, rows), *proposed = MW_NEW(scratch, double, rows),
           *excess = MW_NEW(scratch, double, (int64_t)count *rows);
    for (int k = 0; k < count; k++) {
        cost[k] = bundle->at.at[k].cost;
        for (int i = 0; i < rows; i++)
            excess[k * rows + i] = bundle->at.at[k].excess[bundle->rows.at[i]];
    }
    for (int i = 0; i < rows; i++)
        most[i] = bundle->cap;
    for (const MwTrustRegion *of = region; of; of = of->within) {
        const double reach = reach_of(bundle, of);
        for (int i = 0; i < rows; i++) {
            const double price_of = of->price[bundle->rows.at[i]];
            least[i] = fmax(least[i], price_of - reach);
            most[i] = fmin(most[i], price_of + reach);
        }
    }
    const MwMaster master = {
        .count = count, .rows = rows, .cost = cost, .excess = excess, .least = least, .most = most};
    const double highest = mw_master_solve(&master, proposed);
    for (int row = 0; row < bundle->core->row_count; row++)
        price[row] = 0;
    for (int i = 0; i < rows; i++)
        price[bundle->rows.at[i]] = proposed[i];
    hold_sum(bundle, price);
    mw_arena_free(&scratch);
    return highest;
}

void mw_trust_region_update(MwTrustRegion *region, int row_count, const double *price, double value)
{
    const double gain = value - region->value, promised = region->promised - region->value;
    /* Wider after a good share of what was promised, narrower after no gain. */
    if (gain <= 0)
        region->radius /= MW_TUNED_TRUST_FACTOR;
    else if (MW_TUNED_TRUST_FACTOR * MW_TUNED_TRUST_FACTOR * gain > promised)
        region->radius = fmin(1, MW_TUNED_TRUST_FACTOR * region->radius);
    if (gain <= 0)
        return;
    region->value = value;
    for (int row = 0; row < row_count; row++)
        region->price[row] = price[row];
}
