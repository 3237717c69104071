/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solver/core/row_changes.h"

/* Calls `see` for each change of one node, with the row it leads into. */
static void each_change(const MwCore *core, int index,
                        void (*see)(void *context, int row, const MwRowChange *change),
                        void *context)
{
    const MwCoreNode *node = &core->nodes[index];
    for (int i = 0; i < node->terms.count; i++) {
        const MwCoreTerm *term = &node->terms.at[i];
        bool after_another = i > 0 && term[-1].last + 1 == term->first;
        bool last = i + 1 == node->terms.count;
        MwRowChange begin = {index, i == 0, after_another ? term[-1].usage : NULL, term->usage};
        see(context, term->first, &begin);
        if (last || term[1].first > term->last + 1)
            see(context, term->last + 1, &(MwRowChange){index, last, term->usage, NULL});
    }
}

static void count_change(void *context, int row, const MwRowChange *change)
{
    (void)change;
    MwRowChanges *changes = context;
    changes->first[row + 1]++;
}

/* Stores a change. first[row] is the index of the next change into the row. */
static void store_change(void *context, int row, const MwRowChange *change)
{
    MwRowChanges *changes = context;
    changes->at[changes->first[row]++] = *change;
}

MwRowChanges mw_row_changes(MwArena *arena, const MwCore *core)
{
    int rows = core->row_count;
    MwRowChanges changes = {.first = MW_NEW(arena, int, rows + 2)};
    for (int i = 0; i < core->node_count; i++)
        each_change(core, i, count_change, &changes);
    for (int row = 0; row <= rows; row++)
        changes.first[row + 1] += changes.first[row];
    changes.at = MW_NEW(arena, MwRowChange, changes.first[rows + 1]);
    for (int i = 0; i < core->node_count; i++)
        each_change(core, i, store_change, &changes);
    /* Storing has advanced each begin to its end. */
    for (int row = rows + 1; row > 0; row--)
        changes.first[row] = changes.first[row - 1];
    changes.first[0] = 0;
    return changes;
}

int64_t mw_usage_excess(const MwTable *a, const MwTable *b)
{
    if (a == b)
        return 0;
    if (!a || !b)
        return a ? a->greatest : -b->least;
    int64_t greatest = INT64_MIN;
    for (int64_t s = 0; s < a->count; s++)
        greatest = mw_max(greatest, a->at[s] - b->at[s]);
    return greatest;
}
