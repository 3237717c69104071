/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hard constraints of a problem: its costs are dropped, and what it forbids and uses stays.
 * Such a problem, called `hard` here, answers questions of feasibility. */
#ifndef MW_SOLVER_ANSWER_HARD_CONSTRAINTS_H
#define MW_SOLVER_ANSWER_HARD_CONSTRAINTS_H

#include "solver/solver.h"

/* Returns the problem without a usage limit, with all allowed costs zero, and without edges that
 * allow every pair. It has the nodes of `problem` with their usages. In `arena`; equal edges share
 * their costs. */
MwProblem *mw_hard_constraints(MwArena *arena, const MwProblem *problem);

/* Returns the subproblem induced by `nodes` ([count], ascending): its node i is nodes[i]. */
MwProblem *mw_hard_induced(MwArena *arena, const MwProblem *hard, int count, const int *nodes);

/* Makes the problem arc consistent: forbids strategies without support at some neighbour until none
 * is left, which changes no allowed choice. Returns a node without a strategy left, or -1. `cause`
 * (NULL: not wanted) gets, for each node and strategy, the edge that removed the strategy, or -1;
 * in `arena`. */
int mw_hard_propagate(MwArena *arena, MwProblem *hard, int ***cause);

/* Returns the sum of the weights of the times at which the node is live and may use something. */
int64_t mw_hard_weight(const MwProblemNode *node, int count, const MwInfeasibleTime *times);

/* Returns the problem whose costs are its weighted usages at the times: its least cost is the least
 * weighted usage of an allowed choice. Costs that would not fit are reduced, so the cost remains a
 * lower bound. */
MwProblem *mw_hard_usage(MwArena *arena, const MwProblem *hard, int count,
                         const MwInfeasibleTime *times);

/* Returns the least usage over the allowed strategies; 0 if no strategy is allowed. */
int64_t mw_hard_least_usage(const MwProblemNode *node);

#endif
