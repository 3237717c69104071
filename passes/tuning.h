/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tuned numbers of the passes as constants MW_TUNED_<name>; passes/tuning.def says of each
 * what it trades and what was measured. */
#ifndef MW_PASSES_TUNING_H
#define MW_PASSES_TUNING_H

#define MW_TUNED_TABLE "passes/tuning.def"
#include "base/tuned.h"
#undef MW_TUNED_TABLE

#endif
