/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is known of a problem while it is being solved: the best choice, the bound, and who wants to
 * hear of them. Belongs to one thread. */
#ifndef MW_SOLVER_ROAD_SEARCH_H
#define MW_SOLVER_ROAD_SEARCH_H

#include "solver/core/core.h"
#include "solver/improve/improve.h"
#include "solver/stop.h"
#include "solver/tuning.h"

/* Any choice whose peak is at most `limit`, whatever it costs, or a proof that there is none
 * (mw_least_peak_for). Without `by_search` only what is quick is tried. */
typedef MwLeastPeak (*MwLookAhead)(MwArena *arena, const MwProblem *problem, int64_t limit,
                                   bool by_search, const MwSolveOptions *options);

/* An answer is good, if not the best, at so large a gap: share of its cost. */
#define MW_NEAR_OPTIMAL (100 * MW_TUNED_BUNDLE_GAP)

typedef struct MwSearch MwSearch;
struct MwSearch {
    const MwProblem *problem;
    /* What choices are of, in the place of the problem: costs are in units of 2^scale, by which it
     * can be divided, and the limits are those of its rows. NULL: the problem. */
    const MwCore *root;
    const MwSearch *whole; /* what this is a part of: once that is done, this is; or NULL */
    MwArena *arena;        /* the solution's */
    MwArena *scratch;
    MwTables *tables;
    const MwSolveOptions *options;
    double start_s;
    MwStop stop;
    MwSolution *solution;
    MwLookAhead look_ahead; /* asked before anything else; NULL: nothing is */
    bool impossible;        /* proven: there is no choice */
    double pace;            /* of prices; see ascent.h */
    MwImprover *improver;   /* is offered the best choices of cores; NULL: nobody is */
};

/* Nothing more is wanted: the gap is closed, or small enough; or there is no choice, or none that
 * costs little enough. */
bool mw_search_done(const MwSearch *search);

/* Whether a choice of the problem keeps its limit. */
bool mw_search_keeps_limit(const MwSearch *search, const int *choice);

/* Takes the choice (of the problem) for the solution if it is legal and the best so far: true. The
 * improver, if there is one, then goes on from it, unless its core has lost a strategy of it. */
bool mw_search_offer(MwSearch *search, const int *choice);
/* Likewise one of `core`, which is kept. */
bool mw_search_offer_of_core(MwSearch *search, const MwCore *core, const int *choice);

/* The improver, if there is one, goes on from this choice of `core`; it must keep the rows. */
void mw_search_start_from(MwSearch *search, const MwCore *core, const int *choice);

/* Nothing that is left of the core costs less than `bound`, in the core's scale; and nothing that
 * was cut from it costs less than the best known. */
void mw_search_raise_bound(MwSearch *search, const MwCore *core, MwCost bound);
/* Nothing is left: then the best known is best, or there is none. */
void mw_search_exhaust(MwSearch *search);

/* Logs what is left of the core after `step`. */
void mw_search_log(const MwSearch *search, const MwCore *core, const char *step);

#endif
