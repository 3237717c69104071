/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prices of memory rows.
 *
 * For prices p >= 0 and any choice that keeps the rows, sum p (usage - limit) <= 0; so the least
 * cost with priced usage, less the priced limits, is a lower bound (Geoffrion, Lagrangean
 * relaxation for integer programming, 1974). The excess of what looks best is a subgradient. */
#include "solver/bound/dual.h"

/* cumulative[row]: the sum over the rows before. */
static double *cumulate(MwArena *arena, const double *values, int count)
{
    double *cumulative = MW_NEW(arena, double, count + 1);
    for (int row = 0; row < count; row++)
        cumulative[row + 1] = cumulative[row] + values[row];
    return cumulative;
}

void mw_dual_set_prices(MwDual *dual, const double *price)
{
    const MwCore *core = dual->core;
    if (core->row_count == 0)
        return;
    MwArena *scratch = mw_arena_new();
    double *change = MW_NEW(scratch, double, core->row_count);
    for (int row = 0; row < core->row_count; row++) {
        change[row] = price[row] - dual->price[row];
        dual->price[row] = price[row];
    }
    const double *sum = cumulate(scratch, change, core->row_count);
    for (int i = 0; i < dual->node_count; i++) {
        const MwCoreNode *node = &core->nodes[dual->nodes[i].node];
        for (int k = 0; k < node->terms.count; k++) {
            const MwCoreTerm *term = &node->terms.at[k];
            double rise = sum[term->last + 1] - sum[term->first];
            for (int s = 0; s < term->usage->count && rise != 0; s++)
                dual->nodes[i].cost[s] += rise * (double)term->usage->at[s];
        }
    }
    mw_arena_free(&scratch);
}

void mw_dual_priced_usage(const MwDual *dual, int index, double *priced)
{
    const MwDualNode *node = &dual->nodes[index];
    const MwCoreNode *of = &dual->core->nodes[node->node];
    for (int s = 0; s < node->strategies; s++)
        priced[s] = 0;
    for (int k = 0; k < of->terms.count; k++) {
        const MwCoreTerm *term = &of->terms.at[k];
        double price = 0;
        for (int row = term->first; row <= term->last; row++)
            price += dual->price[row];
        for (int s = 0; s < node->strategies && price > 0; s++)
            priced[s] += price * (double)term->usage->at[s];
    }
}

void mw_dual_excess(const MwDual *dual, double *excess)
{
    const MwCore *core = dual->core;
    MwArena *scratch = mw_arena_new();
    double *change = MW_NEW(scratch, double, core->row_count + 1), usage = 0;
    for (int i = 0; i < dual->node_count; i++) {
        const MwCoreNode *node = &core->nodes[dual->nodes[i].node];
        for (int k = 0; k < node->terms.count; k++) {
            const MwCoreTerm *term = &node->terms.at[k];
            double used = (double)term->usage->at[dual->nodes[i].label];
            change[term->first] += used;
            change[term->last + 1] -= used;
        }
    }
    for (int row = 0; row < core->row_count; row++) {
        usage += change[row];
        excess[row] = usage - (double)core->limit[row];
    }
    mw_arena_free(&scratch);
}
