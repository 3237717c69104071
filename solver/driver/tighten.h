/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Work on one core of a search: reducing it, raising its bound, fixing strategies that no better
 * choice takes, and improving the incumbent. The search receives the results. */
#ifndef MW_SOLVER_DRIVER_TIGHTEN_H
#define MW_SOLVER_DRIVER_TIGHTEN_H

#include "solver/bound/ascent.h"
#include "solver/driver/search.h"
#include "solver/reduce/reduce.h"
#include "solver/tuning.h"

/* Iterations of the ascent: for a quick estimate, a better one, and a thorough attempt. */
#define MW_ASCENT_QUICK MW_TUNED_ITERATIONS
#define MW_ASCENT_MEDIUM (2 * MW_TUNED_ITERATIONS)
#define MW_ASCENT_LONG (20 * MW_TUNED_ITERATIONS)

/* These reduce the core until the search's time is up; mw_search_shrink as long as that does not
 * make the core larger. */
void mw_search_reduce(MwSearch *search, MwCore *core, const MwReduceLimits *limits);
void mw_search_shrink(MwSearch *search, MwCore *core);

/* Records the result of a core that has no choice, or one choice, as all nodes are eliminated. */
void mw_search_finish(MwSearch *search, const MwCore *core);
/* Says whether this core needs no more work: the search is done, or nothing is left. In the second
 * case the result is recorded. */
bool mw_search_settle(MwSearch *search, const MwCore *core);

/* Returns the incumbent of the search in the core's scale, without its choice. */
MwIncumbent mw_search_incumbent(const MwSearch *search, const MwCore *core);

/* Improves the incumbent by large-neighbourhood search until `perturbations` in a row bring no
 * improvement, or until the work reaches `work` (0: no limit). Does nothing without an improver. */
void mw_search_improve(MwSearch *search, int64_t work, int perturbations);

/* Raises the bound of the core by at most `iterations` iterations, looks for choices, fixes
 * strategies and reduces the core. */
void mw_tighten(MwSearch *search, MwCore *core, int iterations);
/* Repeats mw_tighten as long as it removes strategies or, unless the search is quick, finds better
 * choices. Returns true if the core needs no more work. */
bool mw_tighten_all(MwSearch *search, MwCore *core, int iterations);

#endif
