/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory rows that cannot bind.
 *
 * A row whose limit is at least the sum of the greatest usages of its nodes is kept by every
 * choice, so it can go. The rows left are renumbered; a term that counts in none of them goes with
 * them, and its node may then be eliminated. */
#include "solver/reduce.h"

#include <string.h>

static int64_t greatest_usage(const MwTable *usage)
{
    int64_t greatest = 0;
    for (int s = 0; s < usage->count; s++)
        greatest = mw_max(greatest, usage->at[s]);
    return greatest;
}

/* Greatest possible usage of each row, by differences. */
static __int128 *greatest_sums(const MwCore *core)
{
    __int128 *sum = MW_NEW(core->arena, __int128, core->row_count + 1);
    for (int i = 0; i < core->node_count; i++)
        for (int k = 0; k < core->nodes[i].terms.count; k++) {
            const MwCoreTerm *term = &core->nodes[i].terms.at[k];
            int64_t most = greatest_usage(term->usage);
            sum[term->first] += most;
            sum[term->last + 1] -= most;
        }
    for (int row = 1; row < core->row_count; row++)
        sum[row] += sum[row - 1];
    return sum;
}

/* new_index[row]: how many rows before `row` are kept. */
static void renumber_terms(MwCore *core, int node, const int *new_index)
{
    MwCoreNode *at = &core->nodes[node];
    int kept = 0;
    for (int i = 0; i < at->terms.count; i++) {
        MwCoreTerm term = at->terms.at[i];
        term.first = new_index[term.first];
        term.last = new_index[term.last + 1] - 1;
        if (term.first <= term.last)
            at->terms.at[kept++] = term;
    }
    if (kept < at->terms.count)
        mw_core_queue(core, node);
    at->terms.count = kept;
}

void mw_reduce_rows(MwCore *core)
{
    if (core->row_count == 0)
        return;
    const __int128 *sum = greatest_sums(core);
    int *new_index = MW_NEW(core->arena, int, core->row_count + 1), kept = 0;
    for (int row = 0; row < core->row_count; row++) {
        new_index[row] = kept;
        if (core->limit[row] < 0)
            core->infeasible = true;
        if (sum[row] <= core->limit[row])
            continue;
        core->limit[kept] = core->limit[row];
        core->price[kept] = core->price[row];
        core->time[kept++] = core->time[row];
    }
    new_index[core->row_count] = kept;
    if (kept == core->row_count)
        return;
    for (int i = 0; i < core->node_count; i++)
        renumber_terms(core, i, new_index);
    core->row_count = kept;
}
