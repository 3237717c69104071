/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tuned numbers of the solver as constants MW_TUNED_<name>; solver/tuning.def says of each
 * what it trades and what was measured. */
#ifndef MW_SOLVER_TUNING_H
#define MW_SOLVER_TUNING_H

#define MW_TUNED_TABLE "solver/tuning.def"
#include "base/tuned.h"
#undef MW_TUNED_TABLE

#endif
