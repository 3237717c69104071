/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MW_SOLVER_LEAST_PEAK_H
#define MW_SOLVER_LEAST_PEAK_H

#include "solver/solver.h"

/* The time at which the least usages of all nodes together are greatest; the sum goes to `usage`.
 */
int64_t mw_fullest_time(const MwProblem *problem, __int128 *usage);

/* The problem, without a limit, whose costs are the usages of `problem` at `time`: its least cost
 * is the least that any allowed choice uses then. In `arena`. */
MwProblem *mw_usage_problem(MwArena *arena, const MwProblem *problem, int64_t time);

#endif
