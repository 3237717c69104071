/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A choice of strategies at random, of all that are legal. */
#ifndef MW_TESTS_REFERENCE_RANDOM_CHOICE_H
#define MW_TESTS_REFERENCE_RANDOM_CHOICE_H

#include "solver/solver.h"

/* One strategy per node of `problem`, no node or edge cost infinite; memory does not matter.
 * `*random` is the state of random_next. In `arena`. */
int *random_choice(MwArena *arena, const MwProblem *problem, uint64_t *random);

#endif
