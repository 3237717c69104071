/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Large-neighbourhood search on a core. Starting from a choice, a neighbourhood of nodes is freed
 * and solved with all other nodes held, and an improvement is taken (Shaw, Using constraint
 * programming and local search methods to solve vehicle routing problems, CP 1998).
 *
 * When attempts no longer improve the choice, a perturbation follows, as in iterated local search:
 * attempts at raised prices free slack in the rows at more than it is worth, and the search goes on
 * from there (strategic oscillation: Glover, Heuristics for integer programming using surrogate
 * constraints, Decision Sciences 8, 1977). What it then finds is merged into the incumbent as far
 * as it gains.
 *
 * From time to time candidate moves are collected from attempts at prices of many heights, and a
 * knapsack solver selects those that gain only together, possibly far apart (pool.h).
 *
 * A round of attempts runs on several threads, all from the same choice. Its results are applied in
 * order, as far as they still gain and fit. The result therefore depends only on the seed, the
 * number of threads, and where the search is stopped. */
#ifndef MW_SOLVER_IMPROVE_IMPROVE_H
#define MW_SOLVER_IMPROVE_IMPROVE_H

#include "solver/core/core.h"
#include "solver/stop.h"

typedef struct MwImprover MwImprover;

/* `core` must live as long and must not change. No strategy may have been fixed in it by a bound,
 * as the choices to improve may take it. */
MwImprover *mw_improver_new(MwArena *arena, const MwCore *core, int threads, uint64_t seed);
void mw_improver_free(MwImprover *improver);

const MwCore *mw_improver_core(const MwImprover *improver);

/* Makes this choice of the core the incumbent if it is better; it must keep the rows. */
void mw_improver_offer(MwImprover *improver, const int *choice);
/* Continues the search from this choice of the core, whether better or not; it must keep the rows.
 * If it takes something forbidden, its cost is so high that the search leads away from it. */
void mw_improver_start(MwImprover *improver, const int *choice);
/* Sets the prices of the rows, given those of another core. Rows correspond by their times; a row
 * of `other` without a counterpart is ignored. */
void mw_improver_set_prices(MwImprover *improver, const MwCore *other, const double *price);

typedef struct {
    int64_t work; /* approximate limit, in entries times labels minimised over; 0: no limit */
    /* Stop after this many perturbations in a row without an improvement; 0: stop at the first
     * local optimum. */
    int perturbations;
    MwStop stop;
    /* Called after each round that found an improvement, with an allowed choice of the core. */
    void (*report)(void *context, const int *choice);
    void *context;
} MwImproveLimits;

/* Improves the incumbent. Returns true if it is better than before. Does nothing without an
 * incumbent. */
bool mw_improve(MwImprover *improver, const MwImproveLimits *limits);

#endif
