/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The Lagrangian dual of the memory rows, maximised by cutting planes. */
#ifndef MW_SOLVER_DRIVER_LAGRANGE_H
#define MW_SOLVER_DRIVER_LAGRANGE_H

#include "solver/driver/search.h"

/* Raises the search's bound by prices of the rows of `core`, and offers the choices met on the way.
 * `unlimited` is a good choice of the problem that exceeds some row. The best prices are left in
 * core->price. Meanwhile `background`, if it is not NULL, is called from another thread for some
 * work on the search, which nobody else touches. Returns a copy of the core, in the search's
 * scratch arena, restricted to the strategies that the choices met take: a good choice is likely to
 * be made of these. Returns NULL if no choices were found, or nothing is left to do. */
MwCore *mw_lagrange(MwSearch *search, MwCore *core, const int *unlimited,
                    void (*background)(MwSearch *search, int64_t work));

#endif
