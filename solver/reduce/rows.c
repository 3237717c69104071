/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Redundant memory rows.
 *
 * No choice exceeds a row whose limit is at least the sum of the greatest usages in it. And row t
 * implies row r, that is, every choice that keeps t keeps r, if
 *   sum over nodes of max over strategies of (usage in r - usage in t)  <=  limit[r] - limit[t],
 * because any choice that keeps t uses at most limit[t] in t, and in r at most the left side more.
 * Implication is transitive, so a row that is dropped may itself have implied other dropped rows.
 *
 * compare_adjacent compares each row, both ways, with the next one that is left. The rows left so
 * far form a stack: a new row first pops the rows at the top that it implies, and is then dropped
 * itself if the top implies it. Each row of the stack keeps the nodes whose usage differs from the
 * row below, so that a comparison costs as much as there are changes, and an interval that begins
 * and ends between the two rows costs nothing.
 *
 * The price of a dropped row is added to the row that implies it. This does not lower a bound,
 * because by the above usage - limit is no less there for any choice. The rows left are renumbered.
 * A term that counts in none of them is removed, and its node can then be eliminated.
 *
 * Source: redundant constraints found by comparing activities (Brearley, Mitra and Williams,
 * Mathematical Programming 8, 1975), applied to the difference of two rows instead of a single
 * row. */
#include "solver/reduce/rules.h"

typedef MW_VEC(MwRowChange) ChangeList;

typedef struct {
    MwArena *scratch;
    const MwCore *core;
    int *stack; /* rows left so far, ascending */
    int depth;
    int *below;        /* [depth] index in `kept` of the first change from the row below */
    ChangeList kept;   /* changes of all rows on the stack, concatenated */
    ChangeList newest; /* changes from the top of the stack to the current row; each node once */
    int *position;     /* [node] index in `newest`, or -1 */
    __int128 falls;    /* the most by which usage can fall along `newest` */
    __int128 rises;    /* the most by which usage can rise along `newest` */
} Comparison;

static void count_change(Comparison *with, const MwRowChange *change, int sign)
{
    with->falls += sign * (__int128)mw_usage_excess(change->before, change->after);
    with->rises += sign * (__int128)mw_usage_excess(change->after, change->before);
}

/* Returns the entry of `change`'s node in `newest`; adds one without a difference if there is
 * none. */
static MwRowChange *newest_of(Comparison *with, const MwRowChange *change, const MwTable *usage)
{
    int *position = &with->position[change->node];
    if (*position < 0) {
        *position = with->newest.count;
        mw_vec_push(with->scratch, &with->newest,
                    ((MwRowChange){.node = change->node, .before = usage, .after = usage}));
    }
    return &with->newest.at[*position];
}

/* Extends `newest` at its end: the current row is the next one. */
static void append_change(Comparison *with, const MwRowChange *change)
{
    MwRowChange *of = newest_of(with, change, change->before);
    count_change(with, of, -1);
    of->after = change->after;
    count_change(with, of, 1);
}

/* Extends `newest` at its beginning: the row compared with is one further back. */
static void prepend_change(Comparison *with, const MwRowChange *change)
{
    MwRowChange *of = newest_of(with, change, change->after);
    count_change(with, of, -1);
    of->before = change->before;
    count_change(with, of, 1);
}

static void pop_row(Comparison *with)
{
    int begin = with->below[--with->depth];
    for (int i = begin; i < with->kept.count; i++)
        prepend_change(with, &with->kept.at[i]);
    with->kept.count = begin;
}

static void push_row(Comparison *with, int row)
{
    with->below[with->depth] = with->kept.count;
    with->stack[with->depth++] = row;
    for (int i = 0; i < with->newest.count; i++) {
        const MwRowChange *change = &with->newest.at[i];
        with->position[change->node] = -1;
        if (change->before != change->after)
            mw_vec_push(with->scratch, &with->kept, *change);
    }
    with->newest.count = 0;
    with->falls = with->rises = 0;
}

static void compare_row(Comparison *with, int row, int *implied_by)
{
    const __int128 *limit = with->core->limit;
    while (with->depth > 0) {
        int top = with->stack[with->depth - 1];
        if (with->falls > limit[top] - limit[row]) {
            if (with->rises > limit[row] - limit[top])
                break;
            implied_by[row] = top;
            return;
        }
        implied_by[top] = row;
        pop_row(with);
    }
    push_row(with, row);
}

static void compare_adjacent(MwArena *scratch, const MwCore *core, const MwRowChanges *changes,
                             int *implied_by)
{
    Comparison with = {.scratch = scratch, .core = core};
    with.stack = MW_NEW(scratch, int, core->row_count);
    with.below = MW_NEW(scratch, int, core->row_count);
    with.position = MW_NEW(scratch, int, core->node_count);
    for (int i = 0; i < core->node_count; i++)
        with.position[i] = -1;
    for (int row = 0; row < core->row_count; row++) {
        for (int i = changes->first[row]; i < changes->first[row + 1]; i++)
            append_change(&with, &changes->at[i]);
        if (implied_by[row] == MW_ROW_NEEDED)
            compare_row(&with, row, implied_by);
    }
}

/* Finds rows with room for the greatest usage of every node. */
static void find_never_binding(const MwCore *core, const MwRowChanges *changes, int *implied_by)
{
    __int128 most = 0;
    for (int row = 0; row < core->row_count; row++) {
        for (int i = changes->first[row]; i < changes->first[row + 1]; i++) {
            const MwRowChange *change = &changes->at[i];
            most += mw_usage_excess(change->after, NULL) - mw_usage_excess(change->before, NULL);
        }
        if (most <= core->limit[row])
            implied_by[row] = MW_ROW_NEVER_BINDS;
    }
}

/* Renumbers the rows of the node's terms; new_index[row] is the number of needed rows before
 * `row`. */
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
    /* Terms that had different rows may now have the same. */
    if (at->terms.count > 0)
        mw_core_queue(core, node);
    at->terms.count = kept;
}

/* Adds the price of the row to the needed row at the end of its chain of implications. */
static void move_price(MwCore *core, const int *implied_by, int row)
{
    int to = core->price[row] > 0 ? row : MW_ROW_NEVER_BINDS;
    while (to >= 0 && implied_by[to] != MW_ROW_NEEDED)
        to = implied_by[to];
    if (to >= 0)
        core->price[to] += core->price[row];
}

static void drop_rows(MwArena *scratch, MwCore *core, const int *implied_by)
{
    int *new_index = MW_NEW(scratch, int, core->row_count + 1), kept = 0;
    for (int row = 0; row < core->row_count; row++) {
        new_index[row] = kept;
        kept += implied_by[row] == MW_ROW_NEEDED;
        if (implied_by[row] != MW_ROW_NEEDED)
            move_price(core, implied_by, row);
    }
    new_index[core->row_count] = kept;
    if (kept == core->row_count)
        return;
    for (int i = 0; i < core->node_count; i++)
        renumber_terms(core, i, new_index);
    core->least_limit = INT64_MAX;
    for (int row = 0; row < core->row_count; row++) {
        if (implied_by[row] != MW_ROW_NEEDED)
            continue;
        if (core->limit[row] < core->least_limit)
            core->least_limit = core->limit[row];
        core->limit[new_index[row]] = core->limit[row];
        core->time[new_index[row]] = core->time[row];
        core->price[new_index[row]] = core->price[row];
    }
    core->row_count = kept;
}

/* Brings all terms into normal form, and marks every row as needed. */
static MwRowChanges prepare_rows(MwArena *scratch, MwCore *core, int *implied_by)
{
    for (int i = 0; i < core->node_count; i++)
        mw_reduce_terms(core, i);
    for (int row = 0; row < core->row_count; row++)
        implied_by[row] = MW_ROW_NEEDED;
    return mw_row_changes(scratch, core);
}

static void reduce_rows(MwCore *core, bool adjacent_only)
{
    for (int row = 0; row < core->row_count; row++)
        if (core->limit[row] < 0)
            core->infeasible = true;
    if (core->infeasible || core->row_count == 0)
        return;
    MwArena *scratch = mw_arena_new();
    int *implied_by = MW_NEW(scratch, int, core->row_count);
    MwRowChanges changes = prepare_rows(scratch, core, implied_by);
    find_never_binding(core, &changes, implied_by);
    compare_adjacent(scratch, core, &changes, implied_by);
    drop_rows(scratch, core, implied_by);
    /* Comparing distant rows is expensive, so it follows once few rows are left. */
    if (!adjacent_only) {
        changes = prepare_rows(scratch, core, implied_by);
        mw_rows_compare_distant(scratch, core, &changes, implied_by);
        drop_rows(scratch, core, implied_by);
    }
    mw_arena_free(&scratch);
}

void mw_reduce_rows(MwCore *core)
{
    reduce_rows(core, false);
}

void mw_reduce_adjacent_rows(MwCore *core)
{
    reduce_rows(core, true);
}
