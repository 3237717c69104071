/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tuned numbers of code generation as constants MW_TUNED_<name>; codegen/tuning.def says of
 * each what it trades and what was measured. */
#ifndef MW_CODEGEN_TUNING_H
#define MW_CODEGEN_TUNING_H

#define MW_TUNED_TABLE "codegen/tuning.def"
#include "base/tuned.h"
#undef MW_TUNED_TABLE

#endif
