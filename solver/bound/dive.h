/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MW_SOLVER_BOUND_DIVE_H
#define MW_SOLVER_BOUND_DIVE_H

#include "solver/core/core.h"
#include "solver/stop.h"

/* Looks for a good choice of `core` by diving, starting from the core's prices. Returns false if
 * none is found; otherwise `choice` is one of `core`. */
bool mw_dive(const MwCore *core, const MwStop *stop, int *choice);

#endif
