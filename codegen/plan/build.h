/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From what each device runs to the plan. */
#ifndef MW_CODEGEN_PLAN_BUILD_H
#define MW_CODEGEN_PLAN_BUILD_H

#include "passes/compilation.h"
#include "runtime/plan/plan.h"

/* The plan of a compilation that has gone through all passes; in its arena. `source` is the path of
 * the model as the user gave it. NULL after an error: the arena of a mesh does not fit into the
 * memory of a device, and compilation->excess says by how much. */
MwPlan *mw_plan_build(MwCompilation *compilation, const char *source, MwDiags *diags);

#endif
