/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decomposition of a core into connected components, each solved by a search of its own. */
#ifndef MW_SOLVER_DRIVER_DECOMPOSE_H
#define MW_SOLVER_DRIVER_DECOMPOSE_H

#include "solver/driver/search.h"

/* A step of the driver, run on one component. */
typedef struct {
    /* Runs the step on the component's search; `core` is what is left of it. The step ends when the
     * search's time is up. Not called for searches that are done. */
    void (*run)(MwSearch *search, MwCore *core);
    /* The step gives every component something before much work is done on any: it is skipped if
     * only one component is not done. */
    bool skip_if_single;
    /* If time is left over, the step is repeated for components whose time was too short. */
    bool repeat;
} MwDriverStep;

/* Runs each step on all components of `core` before the next step begins. Choices and bounds are
 * combined for `search`. Returns false, and does nothing, if the core is connected. */
bool mw_solve_components(MwSearch *search, const MwCore *core, int step_count,
                         const MwDriverStep *steps);

#endif
