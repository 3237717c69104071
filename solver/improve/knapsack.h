/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which of some moves to make together: those that touch each other exclude each other, all keep
 * to some rooms, and the gain is to be greatest. A move may lose and give room. This is set
 * packing with knapsack rows, numbers alone.
 *
 * A search from one set to the next, with one move put in or taken out at a time and no way
 * straight back (tabu search); rooms may be exceeded, at weights that rise where one is and fall
 * where it is not, so that it goes to and fro at the border of what is allowed (strategic
 * oscillation: Glover and Kochenberger, Critical event tabu search for multidimensional knapsack
 * problems, Meta-Heuristics, 1996). */
#ifndef MW_SOLVER_IMPROVE_KNAPSACK_H
#define MW_SOLVER_IMPROVE_KNAPSACK_H

#include "solver/stop.h"

typedef struct {
    int count, room_count;
    const double *gain;        /* [move] */
    const double *usage;       /* [move][room]; may be negative */
    const double *room;        /* [room] at least 0 */
    const int *conflict_first; /* [move + 1] where those that it touches begin in: */
    const int *conflicts;      /* not itself; symmetric */
} MwKnapsack;

typedef struct {
    double gain;  /* 0: none taken */
    int64_t sums; /* of usage that were computed */
} MwKnapsackAnswer;

/* Sets `taken` ([move]), with all rooms kept; in at most so many steps. The same seed gives the
 * same set, as long as it is not stopped. */
MwKnapsackAnswer mw_knapsack_solve(const MwKnapsack *knapsack, uint64_t seed, int steps,
                                   const MwStop *stop, bool *taken);

#endif
