/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory rows that another one implies, however far away: as in rows.c, row r goes if
 *     sum over nodes of max over strategies of (usage in r - usage in t)  <=  limit[r] - limit[t]
 * for a row t that is left. Nodes that use nothing in r add nothing positive and are left out, so
 * that going away from r, row by row, only changes of nodes that count in r cost anything. What r
 * uses more than t never falls again for nodes that have ended for good; once these alone exceed
 * what any limit further on leaves, no row there implies r. Repeated layers have rows that imply
 * each other at a distance, and so do times before and after the fullest one.
 *
 * The work is limited for each row: then rows are kept that could go, which is no loss of
 * exactness. */
#include "solver/reduce/rules.h"

#include <string.h>

/* Changes of usage looked at for a row, in either direction: the work of all rows stays linear. */
enum { EFFORT = 1024 };

typedef struct {
    const MwCore *core;
    const MwRowChanges *changes;
    const MwTable **usage; /* [node] in the row at hand; NULL: none */
    const __int128 *least; /* [row] of the limits of that row and those further on */
    int64_t effort;        /* left for the row */
} Walk;

/* How much more the row at hand may use than the row walked to: in all, and for good. */
typedef struct {
    __int128 excess, lasting;
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
        distance->lasting += mw_usage_excess(usage, NULL);
}

/* The first row in this direction that implies `row`, or MW_ROW_NEEDED. */
static int walk_up(Walk *walk, int row, const int *fate)
{
    const __int128 *limit = walk->core->limit;
    Distance distance = {0};
    for (int to = row + 1; to < walk->core->row_count && walk->effort > 0; to++) {
        for (int i = walk->changes->first[to]; i < walk->changes->first[to + 1]; i++) {
            const MwRowChange *change = &walk->changes->at[i];
            pass_change(walk, change, change->before, change->after, &distance);
        }
        if (fate[to] == MW_ROW_NEEDED && distance.excess <= limit[row] - limit[to])
            return to;
        if (distance.lasting > limit[row] - walk->least[to])
            break;
    }
    return MW_ROW_NEEDED;
}

static int walk_down(Walk *walk, int row, const int *fate)
{
    const __int128 *limit = walk->core->limit;
    Distance distance = {0};
    for (int to = row - 1; to >= 0 && walk->effort > 0; to--) {
        for (int i = walk->changes->first[to + 1]; i < walk->changes->first[to + 2]; i++) {
            const MwRowChange *change = &walk->changes->at[i];
            pass_change(walk, change, change->after, change->before, &distance);
        }
        if (fate[to] == MW_ROW_NEEDED && distance.excess <= limit[row] - limit[to])
            return to;
        if (distance.lasting > limit[row] - walk->least[to])
            break;
    }
    return MW_ROW_NEEDED;
}

/* The least limit from each row on, upwards or downwards. */
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

void mw_rows_compare_apart(MwArena *scratch, const MwCore *core, const MwRowChanges *changes,
                           int *fate)
{
    const __int128 *above = least_limits(scratch, core, true);
    const __int128 *below = least_limits(scratch, core, false);
    Walk walk = {.core = core, .changes = changes};
    walk.usage = MW_NEW(scratch, const MwTable *, core->node_count);
    for (int row = 0; row < core->row_count; row++) {
        for (int i = changes->first[row]; i < changes->first[row + 1]; i++)
            walk.usage[changes->at[i].node] = changes->at[i].after;
        walk.effort = EFFORT;
        walk.least = above;
        fate[row] = walk_up(&walk, row, fate);
        if (fate[row] != MW_ROW_NEEDED)
            continue;
        walk.effort = EFFORT;
        walk.least = below;
        fate[row] = walk_down(&walk, row, fate);
    }
}
