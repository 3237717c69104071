/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cost and memory rows of a choice of a core. */
#include "solver/core.h"

static int64_t factor_cost(const MwCoreFactor *factor, const int *choice)
{
    int64_t at = 0;
    for (int i = 0; i < factor->cost->arity; i++)
        at = at * factor->cost->dims[i] + factor->classes[i]->at[choice[factor->scope[i]]];
    return factor->cost->at[at];
}

MwCost mw_core_cost(const MwCore *core, const int *choice)
{
    MwCost cost = core->constant;
    for (int i = 0; i < core->node_count; i++)
        if (core->nodes[i].cost)
            cost += core->nodes[i].cost->at[choice[i]];
    for (int i = 0; i < core->factors.count; i++)
        if (core->factors.at[i].cost)
            cost += factor_cost(&core->factors.at[i], choice);
    return cost;
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
