/* SPDX-License-Identifier: MIT */
/* A plan that computes the metrics of a step without training: of the instructions of another plan
 * those that its metrics depend on, in the same order, on the same buffers. What only updates
 * weights and states, or only leads to outputs, is left out; so are the transfers, inputs and tasks
 * that nothing needs any more. */
#ifndef MW_RUNTIME_PLAN_EVALUATION_H
#define MW_RUNTIME_PLAN_EVALUATION_H

#include "runtime/plan/plan.h"

/* It shares with `plan` what it has in common. It has no outputs, and inputs of its own numbers. It
 * passes mw_plan_check if `plan` does. */
const MwPlan *mw_plan_evaluation(MwArena *arena, const MwPlan *plan);
/* Whether a step of such a plan's mesh changes the weight or state for the steps after it: a metric
 * depends on an instruction that writes it, and it is not reset each step. */
bool mw_plan_changes(const MwPlanMesh *mesh, int weight);

#endif
