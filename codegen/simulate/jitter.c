/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/simulate/jitter.h"

#include "base/philox.h"

/* By bisection on the upper tail, which stays exact for many draws. */
double mw_greatest_normal(double u, double count)
{
    const double tail = -expm1(log(u) / count);
    double low = -40, high = 40;
    while (high - low > 1e-12 * fmax(fabs(low), 1)) {
        const double middle = (low + high) / 2;
        if (middle <= low || middle >= high)
            break;
        *(erfc(middle * M_SQRT1_2) / 2 > tail ? &low : &high) = middle;
    }
    return (low + high) / 2;
}

static double draw(MwJitter *jitter, double count)
{
    return mw_greatest_normal(mw_uniform_at(jitter->seed, jitter->stream, jitter->drawn++), count);
}

MwJitterDraw mw_jitter_draw(MwJitter *jitter, double time_s, int coupled, int groups)
{
    MwJitterDraw result = {1, 0};
    if (jitter->deviation == 0)
        return result;
    if (groups < jitter->apart) {
        const double late = draw(jitter, (double)jitter->apart / groups);
        result.late_s = fmax(late * sqrt(jitter->variance_s2), 0);
        jitter->variance_s2 = 0;
        jitter->apart = groups;
    }
    jitter->apart = (int)mw_max(jitter->apart, groups);
    const double square = log1p(jitter->deviation * jitter->deviation);
    result.factor = exp(sqrt(square) * draw(jitter, coupled) - square / 2);
    jitter->variance_s2 += pow(jitter->deviation * time_s, 2);
    return result;
}
