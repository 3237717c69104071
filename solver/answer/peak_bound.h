/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A lower bound of the least peak: weights of times at which every choice together uses much. */
#ifndef MW_SOLVER_ANSWER_PEAK_BOUND_H
#define MW_SOLVER_ANSWER_PEAK_BOUND_H

#include "solver/solver.h"
#include "solver/stop.h"

/* A proof: every allowed choice uses at least `needed` at the times, weighted. */
typedef struct {
    int count;
    const MwInfeasibleTime *times; /* in order of falling weight */
    MwCost needed;
    int64_t bound; /* needed divided by the sum of weights, rounded up */
} MwPeakProof;

typedef struct MwPeakBound MwPeakBound;

/* Starts the search for a bound. `hard` is arc consistent and must live as long. The time limit in
 * `options` is that of all steps together. With `choices`, the first steps weight many times, which
 * yields choices of low peak. */
MwPeakBound *mw_peak_bound_new(MwArena *arena, const MwProblem *hard, bool choices,
                               const MwSolveOptions *options);

/* Asks what choices use at the most promising weights. Returns false once no progress is
 * possible. */
bool mw_peak_bound_step(MwPeakBound *bound);

/* Returns the best proof so far. */
MwPeakProof mw_peak_bound_best(const MwPeakBound *bound);
/* Says whether no choice is allowed at all. */
bool mw_peak_bound_impossible(const MwPeakBound *bound);
/* Returns the choice of least peak among those met; NULL if there is none. */
int *mw_peak_bound_choice(const MwPeakBound *bound, int64_t *peak);

/* Proves a bound from `count` of the times with the weights given. */
MwPeakProof mw_peak_bound_prove(const MwPeakBound *bound, int count, const MwInfeasibleTime *times);

#endif
