/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory rows that cannot bind.
 *
 * A row whose limit is at least the sum of the greatest usages in it is kept by every choice. And a
 * row r is kept by every choice that keeps a later (or earlier) row t if
 *     greatest usage of what ends from r on before t  <=  limit[r] - limit[t],
 * because what both share uses at most limit[t] there. Such rows go. The rows left are renumbered;
 * a term that counts in none of them goes with them, and its node may then be eliminated. */
#include "solver/reduce.h"

static int64_t greatest_usage(const MwTable *usage)
{
    int64_t greatest = 0;
    for (int s = 0; s < usage->count; s++)
        greatest = mw_max(greatest, usage->at[s]);
    return greatest;
}

/* Greatest usages, summed over terms. */
typedef struct {
    __int128 *in;           /* [row] of those that count in the row */
    __int128 *ended_before; /* [row] of those whose last row is before it */
    __int128 *begun_upto;   /* [row] of those whose first row is it or before */
} Sums;

static Sums sum_terms(MwArena *scratch, const MwCore *core)
{
    int rows = core->row_count;
    Sums sums = {MW_NEW(scratch, __int128, rows), MW_NEW(scratch, __int128, rows + 1),
                 MW_NEW(scratch, __int128, rows + 1)};
    for (int i = 0; i < core->node_count; i++)
        for (int k = 0; k < core->nodes[i].terms.count; k++) {
            const MwCoreTerm *term = &core->nodes[i].terms.at[k];
            int64_t most = greatest_usage(term->usage);
            sums.begun_upto[term->first] += most;
            sums.ended_before[term->last + 1] += most;
        }
    for (int row = 0; row < rows; row++) {
        if (row > 0)
            sums.begun_upto[row] += sums.begun_upto[row - 1];
        sums.ended_before[row + 1] += sums.ended_before[row];
        sums.in[row] = sums.begun_upto[row] - sums.ended_before[row];
    }
    return sums;
}

/* Whether every choice that keeps row t keeps row r, for r before t. */
static bool follows_from_later(const MwCore *core, const Sums *sums, int r, int t)
{
    __int128 ending = sums->ended_before[t] - sums->ended_before[r];
    return ending <= core->limit[r] - core->limit[t];
}

/* The same for r after t. */
static bool follows_from_earlier(const MwCore *core, const Sums *sums, int r, int t)
{
    __int128 beginning = sums->begun_upto[r] - sums->begun_upto[t];
    return beginning <= core->limit[r] - core->limit[t];
}

/* The rows to keep, ascending; returns their number. */
static int needed_rows(MwCore *core, const Sums *sums, int *keep)
{
    int kept = 0;
    for (int row = 0; row < core->row_count; row++) {
        if (core->limit[row] < 0)
            core->infeasible = true;
        if (sums->in[row] <= core->limit[row])
            continue;
        while (kept > 0 && follows_from_later(core, sums, keep[kept - 1], row))
            kept--;
        if (kept == 0 || !follows_from_earlier(core, sums, row, keep[kept - 1]))
            keep[kept++] = row;
    }
    return kept;
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
    /* Terms may now have equal rows, too. */
    if (at->terms.count > 0)
        mw_core_queue(core, node);
    at->terms.count = kept;
}

void mw_reduce_rows(MwCore *core)
{
    if (core->row_count == 0)
        return;
    MwArena *scratch = mw_arena_new();
    int *keep = MW_NEW(scratch, int, core->row_count);
    int *new_index = MW_NEW(scratch, int, core->row_count + 1);
    Sums sums = sum_terms(scratch, core);
    int kept = needed_rows(core, &sums, keep);
    if (kept < core->row_count) {
        for (int row = 0, next = 0; row < core->row_count; row++) {
            next += next < kept && keep[next] < row;
            new_index[row] = next;
        }
        new_index[core->row_count] = kept;
        for (int i = 0; i < core->node_count; i++)
            renumber_terms(core, i, new_index);
        for (int i = 0; i < kept; i++) {
            core->limit[i] = core->limit[keep[i]];
            core->time[i] = core->time[keep[i]];
            core->price[i] = core->price[keep[i]];
        }
        core->row_count = kept;
    }
    mw_arena_free(&scratch);
}
