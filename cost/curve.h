/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measured curves of a cluster file: between points they are interpolated linearly in logarithms,
 * so that a power law is exact. */
#ifndef MW_COST_CURVE_H
#define MW_COST_CURVE_H

#include "ir/cluster.h"

/* The value of a curve of at least two points; constant outside of them. */
double mw_curve_value(const MwCurve *curve, double at);

/* The greatest value of a curve; 0 if it is not known. */
double mw_curve_most(const MwCurve *curve);

/* The value of a curve of times by bytes. Beyond the last point the rate is constant. */
double mw_curve_time_s(const MwCurve *curve, double bytes);

#endif
