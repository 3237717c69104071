/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How long work on a device takes, of any backend. */
#ifndef MW_BENCH_DEVICE_TIME_H
#define MW_BENCH_DEVICE_TIME_H

#include "runtime/exec/device.h"

/* Queues the work once more; `turn` counts from 0. */
typedef bool DeviceWork(MwDevice *device, void *context, int64_t turn, MwFault *fault);

enum { ROUND_MS = 20 };

/* The seconds of one time: the work is queued again and again for `round_ms`, so long that waiting
 * for the device at the end does not show (ROUND_MS is a thousand times that), and the clock is
 * read when all is done. The median of several such rounds, after what it takes to find how often
 * that is; with `round_ms` 0 of one. False after a fault. */
bool device_time(MwDevice *device, DeviceWork *work, void *context, int round_ms, double *seconds,
                 MwFault *fault);

#endif
