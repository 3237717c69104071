/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory rows that cannot bind.
 *
 * A row whose limit is at least the sum of the greatest usages in it is kept by every choice. And
 * row r is kept by every choice that keeps row t if
 *     sum over nodes of max over strategies of (usage in r - usage in t)  <=  limit[r] - limit[t],
 * because any choice uses at most limit[t] in t, and at most the left side more in r. As that is
 * transitive, a row that goes may stand for others that went because of it.
 *
 * Here each row is compared, both ways, with the next one that is left. The rows left so far are a
 * stack: a new row first removes those at the top that it implies, then goes itself if the top
 * implies it. With each row of the stack are the nodes whose usage differs from the row below, so
 * that a comparison costs what changes, and what is begun and ended between the two costs nothing.
 *
 * The price of a row that goes is paid in the row that implies it, which cannot lower a bound: by
 * the above usage - limit is no less there for any choice. The rows left are renumbered; a term
 * that counts in none of them goes with them, and its node may then be eliminated.
 *
 * Source: redundant constraints by comparing activities (Brearley, Mitra and Williams, Mathematical
 * Programming 8, 1975), with the differences of two rows in the place of one row's sum. */
#include "solver/reduce/rules.h"

typedef MW_VEC(MwRowChange) ChangeList;

typedef struct {
    MwArena *scratch;
    const MwCore *core;
    int *stack; /* rows left so far, ascending */
    int depth;
    int *below;        /* [depth] where in `kept` the changes from the row below begin */
    ChangeList kept;   /* those of all rows on the stack, end to end */
    ChangeList newest; /* from the top of the stack to the row at hand, each node once */
    int *place;        /* [node] in `newest`, or -1 */
    __int128 falls;    /* the most by which usage falls along `newest`, */
    __int128 rises;    /* and rises */
} Comparison;

static void count_change(Comparison *with, const MwRowChange *change, int sign)
{
    with->falls += sign * (__int128)mw_usage_excess(change->before, change->after);
    with->rises += sign * (__int128)mw_usage_excess(change->after, change->before);
}

/* The entry of `change`'s node among the newest; made, without any difference, if there is none. */
static MwRowChange *newest_of(Comparison *with, const MwRowChange *change, const MwTable *usage)
{
    int *place = &with->place[change->node];
    if (*place < 0) {
        *place = with->newest.count;
        mw_vec_push(with->scratch, &with->newest,
                    ((MwRowChange){.node = change->node, .before = usage, .after = usage}));
    }
    return &with->newest.at[*place];
}

/* The row at hand is one further. */
static void append_change(Comparison *with, const MwRowChange *change)
{
    MwRowChange *of = newest_of(with, change, change->before);
    count_change(with, of, -1);
    of->after = change->after;
    count_change(with, of, 1);
}

/* The row compared with is one earlier. */
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
        with->place[change->node] = -1;
        if (change->before != change->after)
            mw_vec_push(with->scratch, &with->kept, *change);
    }
    with->newest.count = 0;
    with->falls = with->rises = 0;
}

static void compare_row(Comparison *with, int row, int *fate)
{
    const __int128 *limit = with->core->limit;
    while (with->depth > 0) {
        int top = with->stack[with->depth - 1];
        if (with->falls > limit[top] - limit[row]) {
            if (with->rises > limit[row] - limit[top])
                break;
            fate[row] = top;
            return;
        }
        fate[top] = row;
        pop_row(with);
    }
    push_row(with, row);
}

static void compare_neighbours(MwArena *scratch, const MwCore *core, const MwRowChanges *changes,
                               int *fate)
{
    Comparison with = {.scratch = scratch, .core = core};
    with.stack = MW_NEW(scratch, int, core->row_count);
    with.below = MW_NEW(scratch, int, core->row_count);
    with.place = MW_NEW(scratch, int, core->node_count);
    for (int i = 0; i < core->node_count; i++)
        with.place[i] = -1;
    for (int row = 0; row < core->row_count; row++) {
        for (int i = changes->first[row]; i < changes->first[row + 1]; i++)
            append_change(&with, &changes->at[i]);
        if (fate[row] == MW_ROW_NEEDED)
            compare_row(&with, row, fate);
    }
}

/* Rows with room for the greatest usage of every node. */
static void find_fitting(const MwCore *core, const MwRowChanges *changes, int *fate)
{
    __int128 most = 0;
    for (int row = 0; row < core->row_count; row++) {
        for (int i = changes->first[row]; i < changes->first[row + 1]; i++) {
            const MwRowChange *change = &changes->at[i];
            most += mw_usage_excess(change->after, NULL) - mw_usage_excess(change->before, NULL);
        }
        if (most <= core->limit[row])
            fate[row] = MW_ROW_FITS;
    }
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

/* Along the chain to the row that is needed. */
static void move_price(MwCore *core, const int *fate, int row)
{
    int to = core->price[row] > 0 ? row : MW_ROW_FITS;
    while (to >= 0 && fate[to] != MW_ROW_NEEDED)
        to = fate[to];
    if (to >= 0)
        core->price[to] += core->price[row];
}

static void drop_rows(MwArena *scratch, MwCore *core, const int *fate)
{
    int *new_index = MW_NEW(scratch, int, core->row_count + 1), kept = 0;
    for (int row = 0; row < core->row_count; row++) {
        new_index[row] = kept;
        kept += fate[row] == MW_ROW_NEEDED;
        if (fate[row] != MW_ROW_NEEDED)
            move_price(core, fate, row);
    }
    new_index[core->row_count] = kept;
    if (kept == core->row_count)
        return;
    for (int i = 0; i < core->node_count; i++)
        renumber_terms(core, i, new_index);
    core->least = INT64_MAX;
    for (int row = 0; row < core->row_count; row++) {
        if (fate[row] != MW_ROW_NEEDED)
            continue;
        if (core->limit[row] < core->least)
            core->least = core->limit[row];
        core->limit[new_index[row]] = core->limit[row];
        core->time[new_index[row]] = core->time[row];
        core->price[new_index[row]] = core->price[row];
    }
    core->row_count = kept;
}

/* The terms in one form, and what is known of the rows: nothing. */
static MwRowChanges look_at_rows(MwArena *scratch, MwCore *core, int *fate)
{
    for (int i = 0; i < core->node_count; i++)
        mw_reduce_terms(core, i);
    for (int row = 0; row < core->row_count; row++)
        fate[row] = MW_ROW_NEEDED;
    return mw_row_changes(scratch, core);
}

static void reduce_rows(MwCore *core, bool near)
{
    for (int row = 0; row < core->row_count; row++)
        if (core->limit[row] < 0)
            core->infeasible = true;
    if (core->infeasible || core->row_count == 0)
        return;
    MwArena *scratch = mw_arena_new();
    int *fate = MW_NEW(scratch, int, core->row_count);
    MwRowChanges changes = look_at_rows(scratch, core, fate);
    find_fitting(core, &changes, fate);
    compare_neighbours(scratch, core, &changes, fate);
    drop_rows(scratch, core, fate);
    if (!near) { /* few are left, and comparing with all others is dearer */
        changes = look_at_rows(scratch, core, fate);
        mw_rows_compare_apart(scratch, core, &changes, fate);
        drop_rows(scratch, core, fate);
    }
    mw_arena_free(&scratch);
}

void mw_reduce_rows(MwCore *core)
{
    reduce_rows(core, false);
}

void mw_reduce_near_rows(MwCore *core)
{
    reduce_rows(core, true);
}
