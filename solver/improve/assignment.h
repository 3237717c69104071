/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The choice that a search stands at: its cost, and the room it leaves in every memory row; and
 * which of some wished changes to make.
 *
 * Invariant: no room is below 0. What is forbidden costs MW_FORBIDDEN. */
#ifndef MW_SOLVER_IMPROVE_ASSIGNMENT_H
#define MW_SOLVER_IMPROVE_ASSIGNMENT_H

#include "solver/improve/flat_core.h"

typedef struct {
    const MwFlatCore *flat;
    int *choice;   /* [flat->node_count] */
    MwCost cost;   /* in the core's scale, constant included */
    int64_t *room; /* [flat->row_count] limit less usage */
} MwAssignment;

/* The choice of the flat core must keep the rows. */
MwAssignment *mw_assignment_new(MwArena *arena, const MwFlatCore *flat, const int *choice);
void mw_assignment_copy(MwAssignment *to, const MwAssignment *from);

typedef struct {
    int node, strategy;
} MwChange;

typedef struct {
    int count;
    const MwChange *changes;
    MwCost gain; /* by how much the cost falls; below 0: rises */
} MwMove;

/* Changes that hang together by cost functions. */
typedef struct {
    int first, count; /* among the changes */
    MwCost gain;      /* by how much the cost falls if they alone are made; below 0: rises */
} MwChangeGroup;

typedef struct {
    int count;
    MwChangeGroup *groups;
    const MwChange *changes; /* by group, in each by node */
} MwChangeGroups;

/* The groups of the changes ([count], of distinct nodes); they do not touch each other, so that
 * their gains add up. */
MwChangeGroups mw_assignment_groups(MwArena *arena, const MwAssignment *assignment, int count,
                                    const MwChange *changes);

/* Of the changes ([count], of distinct nodes), those that together lower the cost most and keep the
 * rows, as far as a greedy choice finds them; changes that share a cost function go together. With
 * `price_sum` ([row_count + 1], NULL: none), the sums of prices over the rows before, what is to be
 * lowered is the cost and the priced usage together: the cost alone may rise. */
MwMove mw_assignment_select(MwArena *arena, const MwAssignment *assignment, const double *price_sum,
                            int count, const MwChange *changes);
void mw_assignment_apply(MwAssignment *assignment, const MwMove *move);

#endif
