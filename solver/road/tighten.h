/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Work on one core of a search: reducing it, raising its bound, cutting what is in no better choice
 * than the best known, improving that. What comes of it is told to the search. */
#ifndef MW_SOLVER_ROAD_TIGHTEN_H
#define MW_SOLVER_ROAD_TIGHTEN_H

#include "solver/bound/ascent.h"
#include "solver/reduce/reduce.h"
#include "solver/road/search.h"
#include "solver/tuning.h"

/* Iterations of the ascent: of a first look, of a second one, and of a serious try. */
#define MW_QUICK MW_TUNED_ITERATIONS
#define MW_SOME (2 * MW_TUNED_ITERATIONS)
#define MW_LONG (20 * MW_TUNED_ITERATIONS)

/* Until the search's time is up; and as long as that makes the core no larger. */
void mw_search_reduce(MwSearch *search, MwCore *core, const MwReduceLimits *limits);
void mw_search_shrink(MwSearch *search, MwCore *core);

/* The core has no choice, or just one, as all nodes are eliminated. */
void mw_search_finish(MwSearch *search, const MwCore *core);
/* Nothing more to do on this core: there is an answer, or nothing left. */
bool mw_search_settled(MwSearch *search, const MwCore *core);

/* The best choice known so far, of which only the cost is given. */
MwIncumbent mw_search_best(const MwSearch *search, const MwCore *core);

/* Neighbourhoods of the best choice so far, until `kicks` in a row lead to nothing better, or for
 * so much work (0: no limit). Does nothing without an improver. */
void mw_search_improve(MwSearch *search, int64_t work, int kicks);

/* Raises the bound of the core by at most so many iterations, looks for choices, cuts the core and
 * reduces it. */
void mw_tighten(MwSearch *search, MwCore *core, int iterations);
/* As long as that takes away strategies, or finds better choices to do so with, if it need not be
 * quick. True if that settled it. */
bool mw_tighten_all(MwSearch *search, MwCore *core, int iterations);

#endif
