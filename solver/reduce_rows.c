/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory rows that cannot bind.
 *
 * A row whose limit is at least the sum of the greatest usages in it is kept by every choice. And
 * row r is kept by every choice that keeps the neighbouring row t if
 *     sum over nodes of max over strategies of (usage in r - usage in t)  <=  limit[r] - limit[t],
 * because any choice uses at most limit[t] in t, and at most the left side more in r. Such rows go;
 * a row that goes because of its neighbour stands for the rows that went because of it. The rows
 * left are renumbered; a term that counts in none of them goes with them, and its node may then be
 * eliminated. */
#include "solver/reduce.h"

/* Sums over nodes of greatest values over strategies. */
typedef struct {
    __int128 *in;    /* [row] of the usage in the row */
    __int128 *falls; /* [row] of the usage in it less that in the next row */
    __int128 *rises; /* [row] of the usage in it less that in the row before */
} Sums;

/* max over strategies of a - b; NULL is zero. Usages are at least 0, so no difference overflows. */
static int64_t greatest_difference(const MwTable *a, const MwTable *b)
{
    int64_t count = a ? a->count : b->count, greatest = INT64_MIN;
    for (int64_t s = 0; s < count; s++)
        greatest = mw_max(greatest, (a ? a->at[s] : 0) - (b ? b->at[s] : 0));
    return greatest;
}

/* The usage changes from `before` to `after` at the end of `row`. */
static void note_change(const MwCore *core, Sums *sums, int row, const MwTable *before,
                        const MwTable *after)
{
    if (row < 0 || row + 1 >= core->row_count)
        return;
    sums->falls[row] += greatest_difference(before, after);
    sums->rises[row + 1] += greatest_difference(after, before);
}

/* Terms in the form of reduce_terms.c: ascending, without overlap. */
static Sums sum_changes(MwArena *scratch, const MwCore *core)
{
    int rows = core->row_count;
    Sums sums = {MW_NEW(scratch, __int128, rows + 1), MW_NEW(scratch, __int128, rows),
                 MW_NEW(scratch, __int128, rows)};
    for (int i = 0; i < core->node_count; i++) {
        const MwCoreNode *node = &core->nodes[i];
        for (int k = 0; k < node->terms.count; k++) {
            const MwCoreTerm *term = &node->terms.at[k], *next = term + 1;
            bool joined = k + 1 < node->terms.count && next->first == term->last + 1;
            int64_t most = greatest_difference(term->usage, NULL);
            sums.in[term->first] += most;
            sums.in[term->last + 1] -= most;
            if (k == 0 || node->terms.at[k - 1].last + 1 < term->first)
                note_change(core, &sums, term->first - 1, NULL, term->usage);
            note_change(core, &sums, term->last, term->usage, joined ? next->usage : NULL);
        }
    }
    for (int row = 1; row < rows; row++)
        sums.in[row] += sums.in[row - 1];
    return sums;
}

/* The rows to keep, ascending; returns their number. */
static int needed_rows(MwCore *core, const Sums *sums, int *keep)
{
    int rows = core->row_count, kept = 0;
    bool before = false; /* whether the row before is kept */
    for (int row = 0; row < rows; row++) {
        const __int128 *limit = core->limit;
        if (limit[row] < 0)
            core->infeasible = true;
        bool needed = sums->in[row] > limit[row];
        if (row + 1 < rows && sums->falls[row] <= limit[row] - limit[row + 1])
            needed = false;
        if (before && needed && sums->rises[row] <= limit[row] - limit[row - 1])
            needed = false;
        if (needed)
            keep[kept++] = row;
        before = needed;
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

static void keep_rows(MwArena *scratch, MwCore *core, const int *keep, int kept)
{
    int *new_index = MW_NEW(scratch, int, core->row_count + 1);
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

void mw_reduce_rows(MwCore *core)
{
    MwArena *scratch = mw_arena_new();
    int *keep = MW_NEW(scratch, int, core->row_count);
    for (int before = -1; core->row_count != before && !core->infeasible;) {
        before = core->row_count;
        for (int i = 0; i < core->node_count; i++)
            mw_reduce_terms(core, i);
        Sums sums = sum_changes(scratch, core);
        int kept = needed_rows(core, &sums, keep);
        if (kept < core->row_count)
            keep_rows(scratch, core, keep, kept);
    }
    mw_arena_free(&scratch);
}
