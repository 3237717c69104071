/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A lower bound of the least peak: shares of times, at which together every choice uses much. */
#ifndef MW_SOLVER_ANSWER_PEAK_BOUND_H
#define MW_SOLVER_ANSWER_PEAK_BOUND_H

#include "solver/solver.h"
#include "solver/stop.h"

/* Every allowed choice uses `needed` at least at the times, counted by share. */
typedef struct {
    int count;
    const MwInfeasibleTime *times; /* the greatest share first */
    MwCost needed;
    int64_t bound; /* needed over the sum of shares, rounded up */
} MwPeakProof;

typedef struct MwPeakBound MwPeakBound;

/* `bare` has been propagated. It must live as long. The time limit is that of all that is asked. If
 * it is for `choices`, too, many times are asked for at first, which brings choices of low peak. */
MwPeakBound *mw_peak_bound_new(MwArena *arena, const MwProblem *bare, bool choices,
                               const MwSolveOptions *options);

/* Asks what is used at the shares that look best. False once that leads nowhere. */
bool mw_peak_bound_step(MwPeakBound *bound);

/* The best proof so far. */
MwPeakProof mw_peak_bound_best(const MwPeakBound *bound);
/* Whether there is no allowed choice at all. */
bool mw_peak_bound_impossible(const MwPeakBound *bound);
/* The choice of the least peak among those met; NULL if there is none. */
int *mw_peak_bound_choice(const MwPeakBound *bound, int64_t *peak);

/* The same proven of `count` of the times with shares of their own. */
MwPeakProof mw_peak_bound_prove(const MwPeakBound *bound, int count, const MwInfeasibleTime *times);

#endif
