/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory rows that a distant row implies. As in rows.c, row t implies row r if
 *   sum over nodes of max over strategies of (usage in r - usage in t)  <=  limit[r] - limit[t].
 * Nodes that use nothing in r add nothing positive and are ignored. A walk away from r, row by row,
 * therefore only pays for changes of nodes that count in r. The excess of r over t due to nodes
 * that have ended for good never shrinks again; once it exceeds what any limit further on allows,
 * no row further on implies r. The rows of repeated layers imply each other over a distance, and so
 * do the times before and after the peak.
 *
 * The work for each row is limited: some redundant rows may stay, which does not affect
 * exactness. */
#include "solver/reduce/rules.h"

#include <string.h>

/* Changes of usage visited for a row, in each direction: the work of all rows stays linear. */
enum { EFFORT_LIMIT = 1024 };

typedef struct {
    const MwCore *core;
    const MwRowChanges *changes;
    const MwTable **usage; /* [node] usage in the current row; NULL: none */
    const __int128 *least; /* [row] least limit of that row and all rows further on */
    int64_t effort;        /* changes that may still be visited for the row */
} Walk;

/* How much more the current row may use than the row reached: in total, and by nodes that have
 * ended for good. */
typedef struct {
    __int128 excess, permanent;
} Distance;

static void pass_change(Walk *walk, const MwRowChange *change, const MwTable *from,
                        const MwTable *to, Distance *distance)
{
    const MwTable *usage = walk->usage[change->node];
    walk->effort--;
    if (!usage)
        return;
    distance->excess += (__int128)mw_usage_excess(usage, to) - mw_usage_excess(usage, from);
    if (change->outermost && !to)
        distance->permanent += mw_usage_excess(usage, NULL);
}

/* Returns the first row upwards that implies `row`, or MW_ROW_NEEDED. */
static int walk_up(Walk *walk, int row, const int *implied_by)
{
    const __int128 *limit = walk->core->limit;
    Distance distance = {0};
    for (int to = row + 1; to < walk->core->row_count && walk->effort > 0; to++) {
        for (int i = walk->changes->first[to]; i < walk->changes->first[to + 1]; i++) {
            const MwRowChange *change = &walk->changes->at[i];
            pass_change(walk, change, change->before, change->after, &distance);
        }
        if (implied_by[to] == MW_ROW_NEEDED && distance.excess <= limit[row] - limit[to])
            return to;
        if (distance.permanent > limit[row] - walk->least[to])
            break;
    }
    return MW_ROW_NEEDED;
}

static int walk_down(Walk *walk, int row, const int *implied_by)
{
    const __int128 *limit = walk->core->limit;
    Distance distance = {0};
    for (int to = row - 1; to >= 0 && walk->effort > 0; to--) {
        for (int i = walk->changes->first[to + 1]; i < walk->changes->first[to + 2]; i++) {
            const MwRowChange *change = &walk->changes->at[i];
            pass_change(walk, change, change->after, change->before, &distance);
        }
        if (implied_by[to] == MW_ROW_NEEDED && distance.excess <= limit[row] - limit[to])
            return to;
        if (distance.permanent > limit[row] - walk->least[to])
            break;
    }
    return MW_ROW_NEEDED;
}

/* Returns for each row the least limit from it on, upwards or downwards. */
static __int128 *least_limits(MwArena *scratch, const MwCore *core, bool upwards)
{
    int rows = core->row_count;
    __int128 *least = mw_arena_dup(scratch, core->limit, sizeof *least * (size_t)rows);
    for (int i = 1; i < rows; i++) {
        int row = upwards ? rows - 1 - i : i, next = upwards ? row + 1 : row - 1;
        if (least[next] < least[row])
            least[row] = least[next];
    }
    return least;
}

void mw_rows_compare_distant(MwArena *scratch, const MwCore *core, const MwRowChanges *changes,
                             int *implied_by)
{
    const __int128 *above = least_limits(scratch, core, true);
    const __int128 *below = least_limits(scratch, core, false);
    Walk walk = {.core = core, .changes = changes};
    walk.usage = MW_NEW(scratch, const MwTable *, core->node_count);
    for (int row = 0; row < core->row_count; row++) {
        for (int i = changes->first[row]; i < changes->first[row + 1]; i++)
            walk.usage[changes->at[i].node] = changes->at[i].after;
        walk.effort = EFFORT_LIMIT;
        walk.least = above;
        implied_by[row] = walk_up(&walk, row, implied_by);
        if (implied_by[row] != MW_ROW_NEEDED)
            continue;
        walk.effort = EFFORT_LIMIT;
        walk.least = below;
        implied_by[row] = walk_down(&walk, row, implied_by);
    }
}
