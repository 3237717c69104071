/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What two elements of the parts of a partial value combine to, in double precision. */
#ifndef MW_TESTS_REFERENCE_COMBINE_H
#define MW_TESTS_REFERENCE_COMBINE_H

#include "base/spec.h"

#include <math.h>

static inline double combine_two(MwCombine combine, double a, double b)
{
    switch (combine) {
    case MW_COMBINE_SUM:
        return a + b;
    case MW_COMBINE_MAX:
        return isnan(a) ? a : isnan(b) ? b : fmax(a, b);
    case MW_COMBINE_LOGSUMEXP:
        return a == b ? a + log(2) : fmax(a, b) + log1p(exp(-fabs(a - b)));
    case MW_COMBINE_COUNT:
        break;
    }
    MW_UNREACHABLE();
}

#endif
