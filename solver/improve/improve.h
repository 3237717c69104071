/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Large-neighbourhood search: from a choice of a core, parts are freed and solved with the rest
 * held, and what is better is taken (Shaw, Using constraint programming and local search methods to
 * solve vehicle routing problems, CP 1998). Where that comes to an end, a kick makes room in the
 * rows, at prices above what it is worth, and the search goes on from there (strategic oscillation:
 * Glover, Heuristics for integer programming using surrogate constraints, Decision Sciences 8,
 * 1977); what it then finds is taken over into the best choice, as far as that gains. From time to
 * time moves are collected from attempts at prices of all heights, and what gains only together,
 * and may be far apart, is chosen from them (pool.h). Rounds of attempts run on several threads,
 * all from the same choice; what they find is taken in order, as far as it still is better and
 * fits. So the result depends on the seed, on the number of threads and on where it is stopped, and
 * on nothing else. */
#ifndef MW_SOLVER_IMPROVE_IMPROVE_H
#define MW_SOLVER_IMPROVE_IMPROVE_H

#include "solver/core/core.h"
#include "solver/stop.h"

typedef struct MwImprover MwImprover;

/* `core` must live as long, and must not change; no strategy may have been cut from it by bound. */
MwImprover *mw_improver_new(MwArena *arena, const MwCore *core, int threads, uint64_t seed);
void mw_improver_free(MwImprover *improver);

const MwCore *mw_improver_core(const MwImprover *improver);

/* Takes the choice of the core for the one to improve if it is better; it must keep the rows. */
void mw_improver_offer(MwImprover *improver, const int *choice);
/* The search goes on from this choice of the core, be it better or not; it must keep the rows. If
 * it takes what is forbidden, that is as dear as anything can be, and the search leads away from
 * it. */
void mw_improver_start(MwImprover *improver, const int *choice);
/* Prices for the rows of the core. A row of another core at a time of none of these is ignored. */
void mw_improver_set_prices(MwImprover *improver, const MwCore *other, const double *price);

typedef struct {
    int64_t work; /* entries times labels minimised over, about, at most; 0: no limit */
    int kicks;    /* stop after so many in a row that led to nothing better; 0: when the first local
                     optimum is reached */
    MwStop stop;
    /* Called after each round that found something better, with an allowed choice of the core. */
    void (*report)(void *context, const int *choice);
    void *context;
} MwImproveLimits;

/* True if the choice is better than before. Does nothing as long as there is no choice. */
bool mw_improve(MwImprover *improver, const MwImproveLimits *limits);

#endif
