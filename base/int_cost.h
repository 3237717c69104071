/* SPDX-License-Identifier: MIT */
/* Integer costs: picoseconds in the compiler (cost/units.h), any unit in a problem file. */
#ifndef MW_BASE_INT_COST_H
#define MW_BASE_INT_COST_H

#include <stdint.h>

/* A cost of at least this forbids; every cost that can be paid is smaller. */
#define MW_COST_INFINITE ((int64_t)1000000000000000000)

typedef __int128 MwCost; /* a sum of costs */

#endif
