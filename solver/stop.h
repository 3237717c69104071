/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When work must end: at a deadline, or because an interrupt asks for it. Time is that of the
 * machine or, where answers must not depend on the machine, the work that has been counted so far:
 * entries of tables that were computed or visited, each for the time that it takes on a usual
 * machine (MW_SECONDS_OF_ENTRY). */
#ifndef MW_SOLVER_STOP_H
#define MW_SOLVER_STOP_H

#include "base/clock.h"
#include "solver/solver.h"

typedef struct {
    double deadline_s;                      /* in terms of `work` or mw_clock_s; 0: no deadline */
    MwSolveWork *work;                      /* NULL: time is that of the machine */
    const volatile sig_atomic_t *interrupt; /* work ends once it is not 0; may be NULL */
} MwStop;

/* Returns when work must end that begins now with these options. */
MwStop mw_stop_of(const MwSolveOptions *options);
/* Sets the time limit of `options` to the time left. */
void mw_stop_pass_on(const MwStop *stop, MwSolveOptions *options);

/* Returns a stop whose deadline comes once the fraction `share` of the time left is over. */
MwStop mw_stop_within(const MwStop *stop, double share);

/* Counts the work of so many entries, where work is counted. Not for threads in parallel. */
void mw_stop_count(const MwStop *stop, int64_t entries);

bool mw_stopped(const MwStop *stop);
/* Returns the seconds to the deadline, at least 0; INFINITY if there is none. */
double mw_stop_left_s(const MwStop *stop);

#endif
