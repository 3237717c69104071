/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The least peak as a strategy-selection problem.
 *
 * The nodes of the problem cost nothing. One more node is live at all times; its strategies are
 * levels low = l[0] < l[1] < ... < l[n] = high. Level k uses high - l[k], so that the other nodes
 * may use l[k] of the limit, which is `high`. It costs l[k - 1] + 1; level 0 costs `low`. A choice
 * of peak p, low <= p <= high, can take the least level that is at least p, and then costs at most
 * p. A lower bound of this problem is therefore a lower bound of the least peak, provided that is
 * not below `low`. An optimal choice has a peak of at most its level, so one step of the levels
 * remains between bound and peak. Usage is expressed as cost here, so that prices, cutoffs and
 * searches work on peaks as they do on costs. */
#include "solver/answer/peak_levels.h"

#include "solver/tuning.h"

#define LEVELS (2 * MW_TUNED_PEAK_STEPS)

static MwProblemNode level_node(MwArena *arena, int64_t low, int64_t high)
{
    int64_t *cost = MW_NEW(arena, int64_t, LEVELS + 1), *usage = MW_NEW(arena, int64_t, LEVELS + 1);
    MwProblemNode node = {.cost = cost, .usage = usage, .begin = INT64_MAX, .end = INT64_MIN};
    int64_t last = low - 1;
    for (int k = 0; k <= LEVELS; k++) {
        int64_t level = low + (int64_t)((__int128)(high - low) * k / LEVELS);
        if (level == last)
            continue;
        cost[node.strategy_count] = last + 1;
        usage[node.strategy_count++] = high - level;
        last = level;
    }
    return node;
}

MwProblem *mw_peak_levels(MwArena *arena, const MwProblem *hard, int64_t low, int64_t high)
{
    if (high >= MW_COST_INFINITE)
        return NULL;
    MwProblem *levels = mw_arena_dup(arena, hard, sizeof *hard);
    levels->usage_limit = high;
    levels->nodes = MW_NEW(arena, MwProblemNode, hard->node_count + 1);
    MwProblemNode *level = &levels->nodes[levels->node_count++];
    *level = level_node(arena, low, high);
    for (int i = 0; i < hard->node_count; i++) {
        const MwProblemNode *node = &hard->nodes[i];
        levels->nodes[i] = *node;
        if (!node->usage || node->begin >= node->end)
            continue;
        level->begin = mw_min(level->begin, node->begin);
        level->end = mw_max(level->end, node->end);
    }
    return levels;
}
