/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The choice at which a local search stands, with its cost and the slack of every memory row, and
 * the selection among proposed changes.
 *
 * Invariant: no slack is negative. A forbidden strategy or entry costs MW_FORBIDDEN. */
#ifndef MW_SOLVER_IMPROVE_ASSIGNMENT_H
#define MW_SOLVER_IMPROVE_ASSIGNMENT_H

#include "solver/improve/flat_core.h"

typedef struct {
    const MwFlatCore *flat;
    int *choice;    /* [flat->node_count] */
    MwCost cost;    /* in the core's scale, constant included */
    int64_t *slack; /* [flat->row_count] limit less usage */
} MwAssignment;

/* Makes an assignment of a choice of the flat core, which must keep the rows. */
MwAssignment *mw_assignment_new(MwArena *arena, const MwFlatCore *flat, const int *choice);
void mw_assignment_copy(MwAssignment *to, const MwAssignment *from);

typedef struct {
    int node, strategy;
} MwChange;

typedef struct {
    int count;
    const MwChange *changes;
    MwCost gain; /* how much the cost falls; negative: it rises */
} MwMove;

/* Changes that are connected by cost functions. */
typedef struct {
    int first, count; /* range in MwChangeGroups.changes */
    MwCost gain; /* how much the cost falls if only these changes are made; negative: it rises */
} MwChangeGroup;

typedef struct {
    int count;
    MwChangeGroup *groups;
    const MwChange *changes; /* ordered by group, in a group by node */
} MwChangeGroups;

/* Groups the changes ([count], of distinct nodes) into connected components. No cost function joins
 * two groups, so their gains add. */
MwChangeGroups mw_assignment_groups(MwArena *arena, const MwAssignment *assignment, int count,
                                    const MwChange *changes);

/* Selects among the changes ([count], of distinct nodes) those that together lower the cost most
 * and keep the rows, by a greedy heuristic. Changes that share a cost function stay together. With
 * `price_sum` ([row_count + 1], the prefix sums of prices; NULL: none) the objective is cost plus
 * priced usage, and the cost alone may rise. */
MwMove mw_assignment_select(MwArena *arena, const MwAssignment *assignment, const double *price_sum,
                            int count, const MwChange *changes);
void mw_assignment_apply(MwAssignment *assignment, const MwMove *move);

#endif
