/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MW_SOLVER_BOUND_POLISH_H
#define MW_SOLVER_BOUND_POLISH_H

#include "solver/core/core.h"

/* Improves a choice of the core by changing one node at a time, in exact integers, as long as its
 * cost falls. Changes keep the memory rows; a row that is exceeded at the start is not made worse.
 * An illegal choice becomes legal if single changes lead there. */
void mw_polish(const MwCore *core, int *choice);

#endif
