/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cost, feasibility and size of a core. */
#include "solver/core/core.h"

static int64_t function_cost(const MwCostFunction *function, const int *choice)
{
    int64_t at = 0;
    for (int i = 0; i < function->cost->arity; i++)
        at = at * function->cost->dims[i] + function->classes[i]->at[choice[function->scope[i]]];
    return function->cost->at[at];
}

MwCost mw_core_cost(const MwCore *core, const int *choice)
{
    MwCost cost = core->constant;
    for (int i = 0; i < core->node_count; i++)
        if (core->nodes[i].cost)
            cost += core->nodes[i].cost->at[choice[i]];
    for (int i = 0; i < core->functions.count; i++)
        if (core->functions.at[i].cost)
            cost += function_cost(&core->functions.at[i], choice);
    return cost;
}

bool mw_core_allows(const MwCore *core, const int *choice)
{
    for (int i = 0; i < core->node_count; i++)
        if (core->nodes[i].cost && core->nodes[i].cost->at[choice[i]] >= MW_FORBIDDEN)
            return false;
    for (int i = 0; i < core->functions.count; i++)
        if (core->functions.at[i].cost &&
            function_cost(&core->functions.at[i], choice) >= MW_FORBIDDEN)
            return false;
    return true;
}

/* Returns x * 2^bits. The multiplication is defined for negative x too, a shift is not. */
static MwCost scale_up(MwCost x, int bits)
{
    return x * ((MwCost)1 << bits);
}

/* Returns x / 2^bits, rounded up. */
static MwCost divide_up(MwCost x, int bits)
{
    return -(-x >> bits);
}

MwCost mw_core_unscaled_bound(const MwCore *core, MwCost bound)
{
    return core->scale >= 0 ? divide_up(bound, core->scale) : scale_up(bound, -core->scale);
}

MwCost mw_core_cutoff(const MwCore *core, MwCost cost)
{
    return core->scale >= 0 ? scale_up(cost - 1, core->scale) + 1 : divide_up(cost, -core->scale);
}

MwCost mw_core_improving_cutoff(const MwCore *core, MwCost cost)
{
    return core->scale > 0 ? cost - scale_up(1, core->scale) + 1 : cost;
}

bool mw_core_fits(const MwCore *core, const int *choice)
{
    bool fits = true;
    MwArena *scratch = mw_arena_new();
    __int128 *change = MW_NEW(scratch, __int128, core->row_count + 1), usage = 0;
    for (int i = 0; i < core->node_count; i++)
        for (int k = 0; k < core->nodes[i].terms.count; k++) {
            const MwCoreTerm *term = &core->nodes[i].terms.at[k];
            change[term->first] += term->usage->at[choice[i]];
            change[term->last + 1] -= term->usage->at[choice[i]];
        }
    for (int row = 0; row < core->row_count; row++) {
        usage += change[row];
        fits &= usage <= core->limit[row];
    }
    mw_arena_free(&scratch);
    return fits;
}

int mw_core_nodes_left(const MwCore *core)
{
    int count = 0;
    for (int i = 0; i < core->node_count; i++)
        count += core->nodes[i].cost != NULL;
    return count;
}

int64_t mw_core_strategies_left(const MwCore *core)
{
    int64_t count = 0;
    for (int i = 0; i < core->node_count; i++)
        count += core->nodes[i].cost ? core->nodes[i].cost->count : 0;
    return count;
}

int64_t mw_core_entries_left(const MwCore *core)
{
    int64_t entries = 0;
    for (int i = 0; i < core->functions.count; i++)
        entries += core->functions.at[i].cost ? core->functions.at[i].cost->count : 0;
    return entries;
}

int64_t mw_core_distinct_entries(const MwCore *core)
{
    MwArena *scratch = mw_arena_new();
    int most = 0;
    for (int i = 0; i < core->functions.count; i++)
        if (core->functions.at[i].cost)
            most = (int)mw_max(most, core->functions.at[i].cost->id);
    bool *is_counted = MW_NEW(scratch, bool, most + 1);
    int64_t entries = 0;
    for (int i = 0; i < core->functions.count; i++) {
        const MwTable *cost = core->functions.at[i].cost;
        entries += cost && !is_counted[cost->id] ? cost->count : 0;
        if (cost)
            is_counted[cost->id] = true;
    }
    mw_arena_free(&scratch);
    return entries;
}
