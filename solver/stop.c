/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solver/stop.h"

#include <math.h>
#include <time.h>

double mw_clock_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

bool mw_stopped(const MwStop *stop)
{
    return (stop->interrupt && *stop->interrupt) ||
           (stop->deadline_s > 0 && mw_clock_s() > stop->deadline_s);
}

double mw_stop_left_s(const MwStop *stop)
{
    if (stop->deadline_s <= 0)
        return INFINITY;
    return fmax(0, stop->deadline_s - mw_clock_s());
}
