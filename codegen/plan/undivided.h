/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What each device has all of, because the devices divide no dimension of it. */
#ifndef MW_CODEGEN_PLAN_UNDIVIDED_H
#define MW_CODEGEN_PLAN_UNDIVIDED_H

#include "passes/compilation.h"
#include "runtime/plan/plan.h"

/* Warns of weights and inputs that are whole on the devices of a mesh and have no dimension that
 * these divide, and says why they have no padding: what does not allow it, or `padded_step_s`, the
 * time of a step with padding; 0: no plan has any. */
void mw_plan_warn_undivided(const MwCompilation *compilation, const MwPlan *plan,
                            double padded_step_s, MwDiags *diags);

#endif
