/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The unit of the solver's integer costs is the picosecond: the cheapest step (some nanoseconds)
 * keeps three digits, and a step of a week (6e17) stays below MW_COST_INFINITE. Memory is in whole
 * bytes. */
#ifndef MW_COST_UNITS_H
#define MW_COST_UNITS_H

#include "base/int_cost.h"

#include <math.h>

/* Rounded to the nearest picosecond; MW_COST_INFINITE at most. */
static inline int64_t mw_picoseconds(double seconds)
{
    double ps = seconds * 1e12;
    return ps < (double)MW_COST_INFINITE ? llround(ps) : MW_COST_INFINITE;
}

static inline double mw_seconds(MwCost picoseconds)
{
    return (double)picoseconds * 1e-12;
}

/* Whole bytes, rounded up; as many as a solver's sums of them have room for at most. */
static inline int64_t mw_whole_bytes(double bytes)
{
    return (int64_t)ceil(fmin(bytes, 9e18));
}

#endif
