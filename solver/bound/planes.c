/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The next prices are where the lowest of the planes is highest (Kelley, The cutting-plane
 * method for solving convex programs, SIAM Journal 8, 1960), which is also the cheapest blend
 * of the choices that keeps the rows on average (Dantzig and Wolfe, Decomposition principle for
 * linear programs, Operations Research 8, 1960). Planes from far away say little: the next
 * prices are in a box around the best ones, which is narrowed where these turn out no better,
 * and widened where they do (Marsten, Hogan and Blankenship, The boxstep method for large-scale
 * optimization, Operations Research 23, 1975). Only rows that some choice exceeded most are
 * looked at: few ever have a price, and with few prices layers stay equal. */
#include "solver/bound/planes.h"

#include "solver/bound/blend.h"

#include <math.h>

/* What the width of the box is multiplied by where its prices are no better, and where they gain a
 * good share, the last, of what the planes promise. */
static const double NARROWER = 0.5, WIDER = 2, ENOUGH = 0.25;
/* Prices: where they are cut off first, as long as nothing is known beyond; and the greatest. */
static const double FIRST = 0.25, GREATEST = 100;

MwPlanes mw_planes_of(MwArena *arena, const MwCore *core, MwCost cost, int64_t usage_limit)
{
    MwPlanes planes = {.arena = arena, .core = core};
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
    planes.cost_unit = fmax(1, (double)cost);
    planes.usage_unit = fmax(1, (double)usage_limit);
    const double affordable = (double)(MW_FORBIDDEN / 16) / greatest;
    planes.most = fmin(GREATEST, affordable * planes.usage_unit / planes.cost_unit);
    planes.cap = fmin(FIRST, planes.most);
    planes.is_priced = MW_NEW(arena, bool, core->row_count);
    return planes;
}

/* From the changes of usage from row to row, which are where the excess is to stand. */
static bool add(MwPlanes *planes, double cost, double *excess, const __int128 *limit, int64_t same)
{
    double usage = 0;
    int worst = -1;
    for (int row = 0; row < planes->core->row_count; row++) {
        usage += excess[row];
        excess[row] = (usage - (double)(limit ? limit[row] : same)) / planes->usage_unit;
        if (excess[row] > 0 && (worst < 0 || excess[row] > excess[worst]))
            worst = row;
    }
    const MwPlane plane = {cost / planes->cost_unit, excess};
    mw_vec_push(planes->arena, &planes->at, plane);
    if (worst < 0 || planes->is_priced[worst])
        return false;
    planes->is_priced[worst] = true;
    mw_vec_push(planes->arena, &planes->rows, worst);
    return true;
}

bool mw_planes_add(MwPlanes *planes, const int *choice)
{
    const MwCore *core = planes->core;
    double *excess = MW_NEW(planes->arena, double, core->row_count + 1);
    for (int i = 0; i < core->node_count; i++)
        for (int k = 0; core->nodes[i].cost && k < core->nodes[i].terms.count; k++) {
            const MwCoreTerm *term = &core->nodes[i].terms.at[k];
            excess[term->first] += (double)term->usage->at[choice[i]];
            excess[term->last + 1] -= (double)term->usage->at[choice[i]];
        }
    return add(planes, (double)mw_core_cost(core, choice), excess, core->limit, 0);
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

bool mw_planes_add_of_problem(MwPlanes *planes, const MwProblem *problem, const int *choice)
{
    const MwCore *core = planes->core;
    double *excess = MW_NEW(planes->arena, double, core->row_count + 1);
    for (int i = 0; i < problem->node_count; i++) {
        const MwProblemNode *node = &problem->nodes[i];
        if (!node->usage || node->begin >= node->end)
            continue;
        excess[first_row(core, node->begin)] += (double)node->usage[choice[i]];
        excess[first_row(core, node->end)] -= (double)node->usage[choice[i]];
    }
    const double cost = ldexp((double)mw_problem_cost(problem, choice), core->scale);
    return add(planes, cost, excess, NULL, problem->usage_limit);
}

bool mw_planes_last_fits(const MwPlanes *planes)
{
    const MwPlane *plane = &planes->at.at[planes->at.count - 1];
    for (int row = 0; row < planes->core->row_count; row++)
        if (plane->excess[row] > 0)
            return false;
    return true;
}

double mw_planes_at(const MwPlanes *planes, const double *price)
{
    double lowest = INFINITY;
    for (int k = 0; k < planes->at.count; k++) {
        const MwPlane *plane = &planes->at.at[k];
        double value = plane->cost;
        for (int i = 0; i < planes->rows.count; i++)
            value += price[planes->rows.at[i]] * plane->excess[planes->rows.at[i]];
        lowest = fmin(lowest, value);
    }
    return lowest;
}

/* How far prices may be from those of the box. */
static double reach_of(const MwPlanes *planes, const MwPlanesBox *box)
{
    double total = 0;
    for (int i = 0; i < planes->rows.count; i++)
        total += box->price[planes->rows.at[i]];
    return total > 0 ? box->radius * total : INFINITY;
}

/* No more than may be, all together. */
static void hold_sum(const MwPlanes *planes, double *price)
{
    double sum = 0;
    for (int i = 0; i < planes->rows.count; i++)
        sum += price[planes->rows.at[i]];
    for (int i = 0; i < planes->rows.count && sum > planes->most; i++)
        price[planes->rows.at[i]] *= planes->most / sum;
}

double mw_planes_propose(const MwPlanes *planes, const MwPlanesBox *box, double *price)
{
    MwArena *scratch = mw_arena_new();
    const int rows = planes->rows.count, count = planes->at.count;
    double *cost = MW_NEW(scratch, double, count), *least = MW_NEW(scratch, double, rows),
           *most = MW_NEW(scratch, double, rows), *proposed = MW_NEW(scratch, double, rows),
           *excess = MW_NEW(scratch, double, (int64_t)count *rows);
    for (int k = 0; k < count; k++) {
        cost[k] = planes->at.at[k].cost;
        for (int i = 0; i < rows; i++)
            excess[k * rows + i] = planes->at.at[k].excess[planes->rows.at[i]];
    }
    for (int i = 0; i < rows; i++)
        most[i] = planes->cap;
    for (const MwPlanesBox *of = box; of; of = of->within) {
        const double reach = reach_of(planes, of);
        for (int i = 0; i < rows; i++) {
            const double price_of = of->price[planes->rows.at[i]];
            least[i] = fmax(least[i], price_of - reach);
            most[i] = fmin(most[i], price_of + reach);
        }
    }
    const MwBlend blend = {
        .count = count, .rows = rows, .cost = cost, .excess = excess, .least = least, .most = most};
    const double highest = mw_blend(&blend, proposed);
    for (int row = 0; row < planes->core->row_count; row++)
        price[row] = 0;
    for (int i = 0; i < rows; i++)
        price[planes->rows.at[i]] = proposed[i];
    hold_sum(planes, price);
    mw_arena_free(&scratch);
    return highest;
}

void mw_planes_judge(MwPlanesBox *box, int row_count, const double *price, double value)
{
    const double gain = value - box->value, promised = box->promised - box->value;
    box->radius *= gain <= 0 ? NARROWER : gain > ENOUGH * promised ? WIDER : 1;
    box->radius = fmin(1, box->radius);
    if (gain <= 0)
        return;
    box->value = value;
    for (int row = 0; row < row_count; row++)
        box->price[row] = price[row];
}
