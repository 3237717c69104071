/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solver/improve/assignment.h"

#include <string.h>

/* Subtracts the strategy's usage, times `sign`, from the slack, in difference form. */
static void count_usage(const MwFlatNode *node, int strategy, int sign, int64_t *change)
{
    for (int k = 0; k < node->term_count; k++) {
        int64_t usage = sign * node->terms[k].usage->at[strategy];
        change[node->terms[k].first] -= usage;
        change[node->terms[k].last + 1] += usage;
    }
}

static void add_to_slack(MwAssignment *assignment, const int64_t *change)
{
    int64_t sum = 0;
    for (int row = 0; row < assignment->flat->row_count; row++) {
        sum += change[row];
        assignment->slack[row] += sum;
    }
}

MwAssignment *mw_assignment_new(MwArena *arena, const MwFlatCore *flat, const int *choice)
{
    MwAssignment *assignment = MW_NEW(arena, MwAssignment, 1);
    MwArena *scratch = mw_arena_new();
    const MwCore *core = flat->core;
    int *core_choice = MW_NEW(scratch, int, core->node_count);
    mw_flat_choice_to_core(flat, choice, core_choice);
    assignment->flat = flat;
    assignment->choice = mw_arena_dup(arena, choice, sizeof *choice * (size_t)flat->node_count);
    assignment->cost = mw_core_cost(core, core_choice);
    assignment->slack = MW_NEW(arena, int64_t, flat->row_count);
    for (int row = 0; row < flat->row_count; row++)
        assignment->slack[row] = (int64_t)core->limit[row];
    int64_t *change = MW_NEW(scratch, int64_t, flat->row_count + 1);
    for (int i = 0; i < flat->node_count; i++)
        count_usage(&flat->nodes[i], choice[i], 1, change);
    add_to_slack(assignment, change);
    mw_arena_free(&scratch);
    return assignment;
}

void mw_assignment_copy(MwAssignment *to, const MwAssignment *from)
{
    memcpy(to->choice, from->choice, sizeof *to->choice * (size_t)to->flat->node_count);
    memcpy(to->slack, from->slack, sizeof *to->slack * (size_t)to->flat->row_count);
    to->cost = from->cost;
}

void mw_assignment_apply(MwAssignment *assignment, const MwMove *move)
{
    MwArena *scratch = mw_arena_new();
    int64_t *change = MW_NEW(scratch, int64_t, assignment->flat->row_count + 1);
    for (int i = 0; i < move->count; i++) {
        const MwChange *made = &move->changes[i];
        const MwFlatNode *node = &assignment->flat->nodes[made->node];
        count_usage(node, assignment->choice[made->node], -1, change);
        count_usage(node, made->strategy, 1, change);
        assignment->choice[made->node] = made->strategy;
    }
    add_to_slack(assignment, change);
    assignment->cost -= move->gain;
    mw_arena_free(&scratch);
}
