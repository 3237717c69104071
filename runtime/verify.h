/* SPDX-License-Identifier: MIT */
/* Runs a plan without data: two steps on the check device, of every rank that can differ from the
 * others. */
#ifndef MW_RUNTIME_VERIFY_H
#define MW_RUNTIME_VERIFY_H

#include "runtime/plan/plan.h"

/* Says on `out` what was verified, or what is wrong. */
bool mw_plan_verify(MwArena *arena, const MwPlan *plan, FILE *out);

#endif
