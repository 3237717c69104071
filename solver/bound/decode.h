/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MW_SOLVER_BOUND_DECODE_H
#define MW_SOLVER_BOUND_DECODE_H

#include "solver/bound/dual.h"

/* Decodes a choice (core->node_count entries) from the potentials. The choice keeps the rows if
 * possible; the caller checks. */
void mw_dual_decode(const MwDual *dual, int *choice);

#endif
