/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solver/stop.h"

#include <math.h>

static double now_s(const MwStop *stop)
{
    return stop->work ? MW_SECONDS_OF_ENTRY * (double)stop->work->entries : mw_clock_s();
}

void mw_stop_count(const MwStop *stop, int64_t entries)
{
    if (stop->work)
        stop->work->entries += entries;
}

MwStop mw_stop_of(const MwSolveOptions *options)
{
    MwStop stop = {.interrupt = options->interrupt, .work = options->work};
    if (options->time_limit_s > 0)
        stop.deadline_s = now_s(&stop) + options->time_limit_s;
    return stop;
}

void mw_stop_pass_on(const MwStop *stop, MwSolveOptions *options)
{
    if (stop->deadline_s > 0)
        options->time_limit_s = fmax(1e-3, mw_stop_left_s(stop)); /* 0 would mean no limit */
}

MwStop mw_stop_within(const MwStop *stop, double share)
{
    MwStop earlier = *stop;
    if (stop->deadline_s > 0)
        earlier.deadline_s -= (1 - share) * mw_stop_left_s(stop);
    return earlier;
}

bool mw_stopped(const MwStop *stop)
{
    return (stop->interrupt && *stop->interrupt) ||
           (stop->deadline_s > 0 && now_s(stop) > stop->deadline_s);
}

double mw_stop_left_s(const MwStop *stop)
{
    if (stop->deadline_s <= 0)
        return INFINITY;
    return fmax(0, stop->deadline_s - now_s(stop));
}
