/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MW_SOLVER_BOUND_POLISH_H
#define MW_SOLVER_BOUND_POLISH_H

#include "solver/core/core.h"

/* Improves a choice of the core by local search: changes one node at a time, in exact integers, as
 * long as the cost falls. A change never exceeds a memory row, nor increases an excess that exists
 * at the start. An illegal choice becomes legal if single changes lead there. */
void mw_polish(const MwCore *core, int *choice);

#endif
