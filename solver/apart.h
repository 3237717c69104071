/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A core in components, each solved apart. */
#ifndef MW_SOLVER_APART_H
#define MW_SOLVER_APART_H

#include "solver/search.h"

/* A stretch of the road on one component, whose search it is; `core` is what is left of it. Called
 * as long as the search is not done. It ends when the search's time is up. */
typedef void MwStretch(MwSearch *search, MwCore *core);

/* Takes each stretch of the road with all components of `core` before the next stretch begins;
 * choices and bounds are put together for `search`. False, with nothing done, if the core is in one
 * piece. */
bool mw_solve_apart(MwSearch *search, const MwCore *core, int stretch_count,
                    MwStretch *const *stretches);

#endif
