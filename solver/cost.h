/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Costs inside the solver's tables: 64-bit integers whose top value forbids.
 *
 * Invariant: every finite value stays below MW_FORBIDDEN, because solver/core/build.c scales the
 * problem so that the sum of everything finite does. Two forbidden costs can be added without
 * overflow. */
#ifndef MW_SOLVER_COST_H
#define MW_SOLVER_COST_H

#include "solver/solver.h"

#define MW_FORBIDDEN (INT64_MAX / 4)

/* Compiled for the processor's wide vectors too, and chosen when the program starts. The loops so
 * marked do the same operations on each element in any width, so results do not depend on it. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define MW_VECTORISED __attribute__((target_clones("avx512f", "avx2", "default")))
/* Where products are added: of these none has instructions that do both and round once. */
#define MW_VECTORISED_PRODUCTS __attribute__((target_clones("avx2", "default")))
#else
#define MW_VECTORISED
#define MW_VECTORISED_PRODUCTS
#endif

/* Of costs that are not negative. */
static inline int64_t mw_cost_add(int64_t a, int64_t b)
{
    int64_t sum = a + b;
    return sum < MW_FORBIDDEN ? sum : MW_FORBIDDEN;
}

/* a - b for b finite; forbidden stays forbidden. */
static inline int64_t mw_cost_subtract(int64_t a, int64_t b)
{
    return a < MW_FORBIDDEN ? a - b : MW_FORBIDDEN;
}

#endif
