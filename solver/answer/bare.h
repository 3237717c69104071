/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a problem allows and uses, its costs left out: for questions that costs do not enter. */
#ifndef MW_SOLVER_ANSWER_BARE_H
#define MW_SOLVER_ANSWER_BARE_H

#include "solver/solver.h"

/* The problem without a limit, every allowed cost 0, and without edges that allow all. It has the
 * nodes of `problem`, with their usages. In `arena`; equal edges are shared. */
MwProblem *mw_bare_problem(MwArena *arena, const MwProblem *problem);

/* The part of a bare problem that is among `nodes` ([count], ascending): its node i is nodes[i]. */
MwProblem *mw_bare_induced(MwArena *arena, const MwProblem *bare, int count, const int *nodes);

/* Forbids in a bare problem the strategies that go with none of a neighbour's, until none does;
 * that changes no choice. Returns a node that has none left, or -1. `cause` (NULL: not wanted) gets
 * for each node, in `arena`, which edge took each strategy away; -1: none did. */
int mw_bare_propagate(MwArena *arena, MwProblem *bare, int ***cause);

/* In how many of the shares a node is live, by usage: the sum of those within its interval. */
int64_t mw_bare_share(const MwProblemNode *node, int count, const MwInfeasibleTime *times);

/* The bare problem whose costs are its usages at the times, times the shares: its least cost is the
 * least that allowed choices use. (Less where it does not fit; then still a lower bound.) */
MwProblem *mw_bare_usage(MwArena *arena, const MwProblem *bare, int count,
                         const MwInfeasibleTime *times);

/* The least usage over the allowed strategies; 0 if there is none. */
int64_t mw_bare_least(const MwProblemNode *node);

#endif
