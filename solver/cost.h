/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Costs inside the solver's tables: 64-bit integers of which the top values mean forbidden.
 *
 * Invariant: every finite cost is below MW_FORBIDDEN, because solver/core/build.c scales the
 * problem so that the sum of all finite costs is. The sum of two forbidden costs does not
 * overflow. */
#ifndef MW_SOLVER_COST_H
#define MW_SOLVER_COST_H

#include "solver/solver.h"

#define MW_FORBIDDEN (INT64_MAX / 4)

/* The marked function is also compiled for wide vectors; the version is chosen when the program
 * starts. Marked loops apply the same operations to each element at any width, so results do not
 * depend on it. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define MW_VECTORISED __attribute__((target_clones("avx512f", "avx2", "default")))
/* For loops that add products: none of these targets has fused multiply-add, which rounds only
 * once. */
#define MW_VECTORISED_PRODUCTS __attribute__((target_clones("avx2", "default")))
#else
#define MW_VECTORISED
#define MW_VECTORISED_PRODUCTS
#endif

/* Adds non-negative costs; the sum saturates at MW_FORBIDDEN. */
static inline int64_t mw_cost_add(int64_t a, int64_t b)
{
    int64_t sum = a + b;
    return sum < MW_FORBIDDEN ? sum : MW_FORBIDDEN;
}

/* Returns a - b for finite b; a forbidden cost stays forbidden. */
static inline int64_t mw_cost_subtract(int64_t a, int64_t b)
{
    return a < MW_FORBIDDEN ? a - b : MW_FORBIDDEN;
}

#endif
