/* SPDX-License-Identifier: MIT */
/* The divisors of a number. */
#ifndef MW_BASE_DIVISORS_H
#define MW_BASE_DIVISORS_H

#include "base/vec.h"

typedef MW_VEC(int64_t) MwDivisors;

/* All divisors of n > 0, in ascending order, in `arena`. Takes the square root of n. */
MwDivisors mw_divisors(MwArena *arena, int64_t n);

#endif
