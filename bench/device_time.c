/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/device_time.h"

#include "base/clock.h"

#include <stdlib.h>

enum { ROUNDS = 9, MOST_TURNS = 100000 };

/* The seconds of so many turns. */
static bool time_round(MwDevice *device, DeviceWork *work, void *context, int64_t turns,
                       double *seconds, MwFault *fault)
{
    const double begun = mw_clock_s();
    for (int64_t turn = 0; turn < turns; turn++)
        if (!work(device, context, turn, fault))
            return false;
    if (!device->table->synchronize(device, fault))
        return false;
    *seconds = mw_clock_s() - begun;
    return true;
}

/* So many turns that a round is long enough; the first of them warms up. */
static bool choose_turns(MwDevice *device, DeviceWork *work, void *context, int round_ms,
                         int64_t *turns, MwFault *fault)
{
    double seconds = 0;
    bool good = time_round(device, work, context, 1, &seconds, fault);
    for (*turns = 1; good && *turns < MOST_TURNS; *turns *= 2) {
        good = time_round(device, work, context, *turns, &seconds, fault);
        if (seconds * 1e3 >= round_ms)
            break;
    }
    return good;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

bool device_time(MwDevice *device, DeviceWork *work, void *context, int round_ms, double *seconds,
                 MwFault *fault)
{
    int64_t turns;
    double rounds[ROUNDS];
    const int count = round_ms > 0 ? ROUNDS : 1;
    if (!device->table->synchronize(device, fault) ||
        !choose_turns(device, work, context, round_ms, &turns, fault))
        return false;
    for (int r = 0; r < count; r++) {
        if (!time_round(device, work, context, turns, &rounds[r], fault))
            return false;
        rounds[r] /= (double)turns;
    }
    qsort(rounds, (size_t)count, sizeof *rounds, compare);
    *seconds = rounds[count / 2];
    return true;
}
