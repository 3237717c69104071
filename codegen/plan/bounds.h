/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What integers a model takes: those that look up rows of a table are row numbers of it. */
#ifndef MW_CODEGEN_PLAN_BOUNDS_H
#define MW_CODEGEN_PLAN_BOUNDS_H

#include "passes/compilation.h"
#include "runtime/plan/plan.h"

/* Gives `input` its bounds by the lookups of all stages, because what it is fed must be the same on
 * all of them. An integer is followed from a lookup back to the input through slices, transposes,
 * broadcasts and reshapes; what is computed from inputs has no bound, and neither has a part of an
 * input that is not whole along all axes but one. There are at most as many bounds as lookups. */
void mw_plan_input_bounds(MwArena *arena, const MwCompilation *compilation, MwPlanInput *input);

#endif
