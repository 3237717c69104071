/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cost/curve.h"

#include <math.h>

/* Index of the last point at or below `at` that has a next point. The curve has at least two. */
static int segment(const MwCurve *curve, double at)
{
    int i = 0;
    while (i + 2 < curve->count && curve->points[i + 1].at <= at)
        i++;
    return i;
}

double mw_curve_value(const MwCurve *curve, double at)
{
    const MwCurvePoint *last = &curve->points[curve->count - 1];
    if (at <= curve->points[0].at)
        return curve->points[0].value;
    if (at >= last->at)
        return last->value;
    const MwCurvePoint *p = &curve->points[segment(curve, at)];
    double t = log(at / p[0].at) / log(p[1].at / p[0].at);
    return p[0].value * pow(p[1].value / p[0].value, t);
}

double mw_curve_most(const MwCurve *curve)
{
    double most = 0;
    for (int i = 0; i < curve->count; i++)
        most = fmax(most, curve->points[i].value);
    return most;
}

double mw_curve_time_s(const MwCurve *curve, double bytes)
{
    double last = curve->points[curve->count - 1].at;
    return mw_curve_value(curve, bytes) * fmax(1, bytes / last);
}
