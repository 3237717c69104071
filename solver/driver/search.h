/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of solving a problem: the incumbent, the bound, and the callbacks that learn of them.
 * One thread owns it. */
#ifndef MW_SOLVER_DRIVER_SEARCH_H
#define MW_SOLVER_DRIVER_SEARCH_H

#include "solver/core/core.h"
#include "solver/improve/improve.h"
#include "solver/stop.h"
#include "solver/tuning.h"

/* Finds a choice whose peak is at most `limit`, whatever its cost, or proves that there is none
 * (mw_least_peak_for). Unless `by_search`, only quick methods are used. */
typedef MwLeastPeak (*MwFindFeasible)(MwArena *arena, const MwProblem *problem, int64_t limit,
                                      bool by_search, const MwSolveOptions *options);

/* The gap, as a fraction of the cost, below which a choice counts as near-optimal. */
#define MW_NEAR_OPTIMAL (100 * MW_TUNED_BUNDLE_GAP)

typedef struct MwSearch MwSearch;
struct MwSearch {
    const MwProblem *problem;
    /* Choices are choices of this core instead of the problem. Its costs are multiples of 2^scale
     * and are reported in that unit; its rows are the limits. NULL: choices are of the problem. */
    const MwCore *root;
    const MwSearch *parent; /* the search that this one is a component of; both end together. Or
                               NULL */
    MwArena *arena;         /* holds the solution */
    MwArena *scratch;
    MwTables *tables;
    const MwSolveOptions *options;
    double start_s;
    MwStop stop;
    MwSolution *solution;
    MwFindFeasible find_feasible; /* called before anything else; NULL: never called */
    bool impossible;              /* proven: there is no choice */
    double step_scale;            /* length of the steps of prices; see ascent.h */
    MwImprover *improver;         /* receives new incumbents; NULL: none */
};

/* Says whether the search can end: the gap is closed or small enough, no choice exists, or none
 * below the cutoff. */
bool mw_search_done(const MwSearch *search);

/* Says whether a choice of the problem keeps its limit. */
bool mw_search_keeps_limit(const MwSearch *search, const int *choice);

/* Makes the choice (of the problem) the incumbent if it is legal and better; returns whether it is.
 * The improver, if there is one, then continues from it, unless its core has lost a strategy that
 * the choice takes. */
bool mw_search_offer(MwSearch *search, const int *choice);
/* The same for a choice of `core`, which stays as it is. */
bool mw_search_offer_core_choice(MwSearch *search, const MwCore *core, const int *choice);

/* Lets the improver, if there is one, continue from this choice of `core`, which must keep the
 * rows. */
void mw_search_start_from(MwSearch *search, const MwCore *core, const int *choice);

/* Raises the lower bound: no choice left in the core costs less than `bound`, in the core's scale,
 * and none that was removed from it costs less than the incumbent. */
void mw_search_raise_bound(MwSearch *search, const MwCore *core, MwCost bound);
/* Records that nothing is left: the incumbent is optimal, or there is no choice. */
void mw_search_exhaust(MwSearch *search);

/* Logs the size of the core after `step`. */
void mw_search_log(const MwSearch *search, const MwCore *core, const char *step);

#endif
