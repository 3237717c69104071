/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When work must end: at a moment, or because somebody asks for it. */
#ifndef MW_SOLVER_STOP_H
#define MW_SOLVER_STOP_H

#include "base/clock.h"
#include "solver/solver.h"

typedef struct {
    double deadline_s;                      /* of mw_clock_s; 0: none */
    const volatile sig_atomic_t *interrupt; /* ends the work once it is not 0; may be NULL */
} MwStop;

/* When work that begins now with these options must end. */
MwStop mw_stop_of(const MwSolveOptions *options);
/* Leaves to work that is done with `options` the time that is left. */
void mw_stop_hand_on(const MwStop *stop, MwSolveOptions *options);

/* The same, but no later than when `share` of the time left is over. */
MwStop mw_stop_part(const MwStop *stop, double share);

bool mw_stopped(const MwStop *stop);
/* Seconds to the deadline, at least 0; INFINITY if there is none. */
double mw_stop_left_s(const MwStop *stop);

#endif
