/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One value on all devices of a simulated mesh, in double precision, and the collectives on it.
 *
 * Written from the definitions of spec and collective alone, element by element, so that it can
 * judge the compiler and share no mistake with it. */
#ifndef MW_TESTS_REFERENCE_SPREAD_H
#define MW_TESTS_REFERENCE_SPREAD_H

#include "base/arena.h"
#include "ir/ir.h"

typedef struct {
    MwMeshShape mesh;
    MwTensor local;
    double **at; /* [devices][elements of local] */
} Spread;

/* Uninitialised (zero) parts. */
Spread spread_new(MwArena *arena, const MwMeshShape *mesh, const MwTensor *local);

/* The parts of `whole` (of type `tensor`) under `spec`. Partial parts are drawn from `*random` so
 * that they combine to the whole. */
Spread spread_scatter(MwArena *arena, const MwMeshShape *mesh, const MwTensor *tensor,
                      const double *whole, MwSpec spec, uint64_t *random);

/* What a collective or SHARD along one mesh axis gives; `from_dim` is of ALL_TO_ALL, `combine` of
 * those that reduce. Aborts if the shapes do not allow it. */
Spread spread_collective(MwArena *arena, const Spread *source, MwOp op, int axis, int dim,
                         int from_dim, MwCombine combine);

/* The greatest error relative to max(1, |value|), over all elements on all devices, of the parts,
 * combined where `spec` is partial, against `whole`. */
double spread_error(const Spread *spread, MwSpec spec, const MwTensor *tensor, const double *whole);

/* The next of a sequence of random numbers (splitmix64), and one in [0, count). */
uint64_t random_next(uint64_t *state);
int random_below(uint64_t *state, int count);

#endif
