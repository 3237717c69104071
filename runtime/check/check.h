/* SPDX-License-Identifier: MIT */
/* The proof that a plan can run, made without trusting the compiler: docs/plan.md, "What is proved
 * before a run". */
#ifndef MW_RUNTIME_CHECK_CHECK_H
#define MW_RUNTIME_CHECK_CHECK_H

#include "runtime/plan/plan.h"

/* False after errors, each of which names the mesh, the program and the instruction. */
bool mw_plan_check(const MwPlan *plan, MwDiags *diags);

#endif
