/* SPDX-License-Identifier: MIT */
/* Runs a plan without data: two steps of every rank on the check device, one rank after another. */
#ifndef MW_RUNTIME_VERIFY_H
#define MW_RUNTIME_VERIFY_H

#include "runtime/plan.h"

/* Says on `out` what was verified, or what is wrong. */
bool mw_plan_verify(MwArena *arena, const MwPlan *plan, FILE *out);

#endif
