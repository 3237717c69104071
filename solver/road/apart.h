/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A core in components, each solved apart. */
#ifndef MW_SOLVER_ROAD_APART_H
#define MW_SOLVER_ROAD_APART_H

#include "solver/road/search.h"

/* A stretch of the road on one component. */
typedef struct {
    /* With the component's search; `core` is what is left of it. It ends when the search's time is
     * up. Called as long as the search is not done. */
    void (*go)(MwSearch *search, MwCore *core);
    bool early; /* only that all have something before much is done for any: of no use to the last
                   one that is not done */
    bool again; /* another turn for components whose share was too little, if time is left over */
} MwStretch;

/* Takes each stretch of the road with all components of `core` before the next stretch begins;
 * choices and bounds are put together for `search`. False, with nothing done, if the core is in one
 * piece. */
bool mw_solve_apart(MwSearch *search, const MwCore *core, int stretch_count,
                    const MwStretch *stretches);

#endif
