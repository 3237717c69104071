/* SPDX-License-Identifier: MIT */
/* Buffers that hold the same for all micro-batches of a step: what is made of weights alone. Each
 * micro-batch may write them anew, and read what another has written. */
#ifndef MW_RUNTIME_PLAN_INVARIANT_H
#define MW_RUNTIME_PLAN_INVARIANT_H

#include "base/arena.h"
#include "runtime/plan/plan.h"

/* [buffers] of the mesh, in `arena`. Time grows with the instructions, once for each in a chain of
 * them at most. */
bool *mw_plan_find_invariant(MwArena *arena, const MwPlan *plan, const MwPlanMesh *mesh);

#endif
