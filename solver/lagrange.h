/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The Lagrangian dual of the memory rows, by cutting planes. */
#ifndef MW_SOLVER_LAGRANGE_H
#define MW_SOLVER_LAGRANGE_H

#include "solver/search.h"

/* Raises the search's bound by prices of the rows of `core` and offers the choices met on the way;
 * `unpriced` is a good choice that exceeds some row, of the problem, or of the search's root, which
 * `core` then is a copy of, no further reduced; the best prices are left in core->price. Returns a
 * copy of the core, in the search's scratch arena, restricted to what the choices nearest to that
 * bound take: a good choice is likely to be made of these. NULL if no choices were found, or nothing
 * is left to do. */
MwCore *mw_lagrange(MwSearch *search, MwCore *core, const int *unpriced);

#endif
