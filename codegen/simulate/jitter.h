/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tasks that do not always take the same time.
 *
 * The time of a task on a device is log-normal, with the predicted time as its mean. Devices that a
 * collective of the task couples wait for the slowest of them: the greatest of n draws is one draw
 * from the distribution of the greatest, whose quantile at u is that of one draw at u^(1/n).
 *
 * Groups of devices that no collective couples do the same tasks each at its own pace, until a task
 * couples them. One of them is simulated. What the slowest of g groups is late by then, is added to
 * that task: a draw of the greatest of g normal numbers whose variance is the sum of those of the
 * tasks since they were last coupled (central limit theorem). */
#ifndef MW_CODEGEN_SIMULATE_JITTER_H
#define MW_CODEGEN_SIMULATE_JITTER_H

#include "base/base.h"

/* The standard normal number that a normal draw exceeds as seldom as the greatest of `count` draws
 * exceeds the result, for u in (0, 1). */
double mw_greatest_normal(double u, double count);

typedef struct {
    double deviation; /* relative, of a task on a device */
    uint64_t seed, stream;
    uint64_t drawn;     /* numbers of the stream */
    double variance_s2; /* of the tasks since the groups were last coupled, of one group */
    int apart;          /* the most groups since then */
} MwJitter;

/* How much longer a task takes than predicted: `factor` times its time, after `late_s` of waiting
 * for other groups. `groups` is the number of those that the task does not couple. */
typedef struct {
    double factor, late_s;
} MwJitterDraw;

MwJitterDraw mw_jitter_draw(MwJitter *jitter, double time_s, int coupled, int groups);

#endif
