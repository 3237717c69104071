/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The selection of moves that are made together: a set packing problem with multidimensional
 * knapsack constraints. Moves that conflict exclude one another, every constraint has a capacity,
 * and the total gain is maximised. A move may have a negative gain and release capacity.
 *
 * The solver is a tabu search that adds or removes one move at a time. Capacities may be exceeded
 * at penalties that rise while a constraint is exceeded and fall while it is not, so that the
 * search oscillates around the boundary of the feasible region (strategic oscillation: Glover and
 * Kochenberger, Critical event tabu search for multidimensional knapsack problems, Meta-Heuristics,
 * 1996). */
#ifndef MW_SOLVER_IMPROVE_KNAPSACK_H
#define MW_SOLVER_IMPROVE_KNAPSACK_H

#include "solver/stop.h"

typedef struct {
    int count, constraint_count;
    const double *gain;        /* [move] */
    const double *usage;       /* [move][constraint] may be negative */
    const double *capacity;    /* [constraint] at least 0 */
    const int *conflict_first; /* [move + 1] index in `conflicts` of each move's first conflict */
    const int *conflicts;      /* moves that it conflicts with; symmetric, without itself */
} MwKnapsack;

typedef struct {
    double gain;  /* 0: no move is taken */
    int64_t sums; /* number of usage sums computed: a measure of the work */
} MwKnapsackAnswer;

/* Sets `taken` ([move]) to a set that keeps all capacities, in at most `steps` steps. The same seed
 * gives the same set unless the search is stopped. */
MwKnapsackAnswer mw_knapsack_solve(const MwKnapsack *knapsack, uint64_t seed, int steps,
                                   const MwStop *stop, bool *taken);

#endif
