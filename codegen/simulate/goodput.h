/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How much of its time a run does steps that stay done, where devices fail.
 *
 * Devices fail independently, with exponential times between failures, and the failure of one ends
 * the run of all. A run writes a checkpoint after every so many steps, which stops it for a while;
 * after a failure it starts again, which takes another while, from the last checkpoint that was
 * complete. It may fail during both. All times in seconds.
 *
 * Sources: interval and expected time are those of Daly, A higher order estimate of the optimum
 * checkpoint interval for restart dumps, Future Generation Computer Systems 22(3), 2006, whose
 * interval refines Young, A first order approximation to the optimum checkpoint interval, CACM
 * 17(9), 1974. The expected time is exact for this model.
 *
 * Time grows with the failures, of which there are MW_MOST_FAILURES at most. */
#ifndef MW_CODEGEN_SIMULATE_GOODPUT_H
#define MW_CODEGEN_SIMULATE_GOODPUT_H

#include "base/base.h"

#define MW_MOST_FAILURES 1e8 /* that are expected of a run */

typedef struct {
    double step_s;       /* more than 0 */
    double mtbf_s;       /* mean time between failures of the whole run, more than 0 */
    double checkpoint_s; /* that one stops the steps for */
    double restart_s;    /* from a failure to the next step */
    double every_s;      /* of steps between checkpoints; 0: mw_daly_interval_s */
    double horizon_s;    /* at most MW_MOST_FAILURES * mtbf_s */
    uint64_t seed;
} MwGoodputOptions;

typedef struct {
    double every_s; /* of steps between checkpoints, a whole number of them */
    int64_t steps;  /* that stay done */
    int64_t failures;
    /* what the horizon went into: steps that stay done; checkpoints; steps and checkpoints that
     * failures undid; starting again */
    double kept_s, checkpoint_s, lost_s, restart_s;
    double goodput;  /* kept_s / horizon_s */
    double expected; /* goodput of a run without end */
} MwGoodput;

/* The seconds of steps between checkpoints with which a run takes least time. */
double mw_daly_interval_s(double checkpoint_s, double mtbf_s);

MwGoodput mw_goodput(const MwGoodputOptions *options);

#endif
