/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prices are rounded down to 44 bits below the greatest one, so that sums of price times usage fit
 * 128 bits. Any non-negative prices give a valid lower bound (dual.c), so rounding does not affect
 * validity. The price of usage is rounded down and the refund for the limits is rounded up, so that
 * bounds err on the safe side. */
#include "solver/core/fixed_price.h"

#include <math.h>

/* Returns x / 2^bits, rounded down. */
static __int128 scale_down(__int128 x, int bits)
{
    return bits >= 0 ? x >> bits : x * ((__int128)1 << -bits);
}

MwFixedPrices mw_fix_prices(MwArena *arena, const MwCore *core, const double *price)
{
    int rows = core->row_count, exponent = 0;
    double greatest = 0;
    __int128 limits = 0;
    for (int row = 0; row < rows; row++)
        greatest = fmax(greatest, price[row]);
    frexp(greatest, &exponent);
    MwFixedPrices fixed = {.unit = MW_NEW(arena, __int128, rows + 1),
                           .bits = (int)mw_min(44 - exponent, 64)};
    for (int row = 0; row < rows; row++) {
        int64_t unit = (int64_t)ldexp(price[row], fixed.bits);
        fixed.unit[row + 1] = fixed.unit[row] + unit;
        limits += unit * core->limit[row];
    }
    fixed.limits = -scale_down(-limits, fixed.bits);
    return fixed;
}

void mw_fixed_prices_add(const MwFixedPrices *prices, const MwCoreNode *node, MwCost *cost)
{
    for (int k = 0; k < node->terms.count; k++) {
        const MwCoreTerm *term = &node->terms.at[k];
        __int128 unit = prices->unit[term->last + 1] - prices->unit[term->first];
        for (int s = 0; s < term->usage->count; s++)
            cost[s] += scale_down(unit * term->usage->at[s], prices->bits);
    }
}

/* Adds the price of the node's usage to its unary cost. Returns the greatest amount added. */
static MwCost relax_node(MwArena *scratch, MwCore *core, int node, const MwFixedPrices *prices)
{
    MwCoreNode *of = &core->nodes[node];
    const int count = (int)of->cost->count;
    MwCost *price_of_usage = MW_NEW(scratch, MwCost, count), most = 0;
    mw_fixed_prices_add(prices, of, price_of_usage);
    for (int s = 0; s < count; s++)
        most = mw_max(most, price_of_usage[s]);
    of->terms.count = 0;
    if (most > MW_FORBIDDEN)
        return most;
    int64_t *cost = mw_tables_scratch(core->tables, count);
    for (int s = 0; s < count; s++)
        cost[s] = (int64_t)price_of_usage[s];
    mw_core_add_cost(core, node, mw_table_intern(core->tables, 1, &count, cost));
    return most;
}

bool mw_core_relax_rows(MwCore *core, const double *price)
{
    MwArena *scratch = mw_arena_new();
    const MwFixedPrices prices = mw_fix_prices(scratch, core, price);
    MwCost total = 0;
    for (int i = 0; i < core->node_count && total <= MW_FORBIDDEN; i++)
        if (core->nodes[i].cost && core->nodes[i].terms.count > 0)
            total += relax_node(scratch, core, i, &prices);
    core->constant -= prices.limits;
    core->row_count = 0;
    mw_arena_free(&scratch);
    /* All other costs together are at most MW_FORBIDDEN / 8 (build.c). */
    return total <= MW_FORBIDDEN / 4;
}
