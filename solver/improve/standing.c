/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solver/improve/standing.h"

#include <string.h>

/* change[row] and on: less room for the strategy's usage, times sign. */
static void count_usage(const MwLayoutNode *node, int strategy, int sign, int64_t *change)
{
    for (int k = 0; k < node->term_count; k++) {
        int64_t usage = sign * node->terms[k].usage->at[strategy];
        change[node->terms[k].first] -= usage;
        change[node->terms[k].last + 1] += usage;
    }
}

static void move_room(MwStanding *standing, const int64_t *change)
{
    int64_t sum = 0;
    for (int row = 0; row < standing->layout->row_count; row++) {
        sum += change[row];
        standing->room[row] += sum;
    }
}

MwStanding *mw_standing_new(MwArena *arena, const MwLayout *layout, const int *choice)
{
    MwStanding *standing = MW_NEW(arena, MwStanding, 1);
    MwArena *scratch = mw_arena_new();
    const MwCore *core = layout->core;
    int *core_choice = MW_NEW(scratch, int, core->node_count);
    mw_layout_leave(layout, choice, core_choice);
    standing->layout = layout;
    standing->choice = mw_arena_dup(arena, choice, sizeof *choice * (size_t)layout->node_count);
    standing->cost = mw_core_cost(core, core_choice);
    standing->room = MW_NEW(arena, int64_t, layout->row_count);
    for (int row = 0; row < layout->row_count; row++)
        standing->room[row] = (int64_t)core->limit[row];
    int64_t *change = MW_NEW(scratch, int64_t, layout->row_count + 1);
    for (int i = 0; i < layout->node_count; i++)
        count_usage(&layout->nodes[i], choice[i], 1, change);
    move_room(standing, change);
    mw_arena_free(&scratch);
    return standing;
}

void mw_standing_copy(MwStanding *to, const MwStanding *from)
{
    memcpy(to->choice, from->choice, sizeof *to->choice * (size_t)to->layout->node_count);
    memcpy(to->room, from->room, sizeof *to->room * (size_t)to->layout->row_count);
    to->cost = from->cost;
}

void mw_standing_make(MwStanding *standing, const MwExchange *exchange)
{
    MwArena *scratch = mw_arena_new();
    int64_t *change = MW_NEW(scratch, int64_t, standing->layout->row_count + 1);
    for (int i = 0; i < exchange->count; i++) {
        const MwChange *made = &exchange->changes[i];
        const MwLayoutNode *node = &standing->layout->nodes[made->node];
        count_usage(node, standing->choice[made->node], -1, change);
        count_usage(node, made->strategy, 1, change);
        standing->choice[made->node] = made->strategy;
    }
    move_room(standing, change);
    standing->cost -= exchange->gain;
    mw_arena_free(&scratch);
}
