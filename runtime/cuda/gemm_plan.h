/* SPDX-License-Identifier: MIT */
/* The matrix products that a plan has. */
#ifndef MW_RUNTIME_CUDA_GEMM_PLAN_H
#define MW_RUNTIME_CUDA_GEMM_PLAN_H

#include "runtime/exec/fault.h"
#include "runtime/plan/plan.h"

int mw_cuda_product_count(const MwPlan *plan);

/* Whether the current GPU multiplies what the plan has it multiply; false with a fault that says
 * what it lacks. */
bool mw_cuda_takes_products(const MwPlan *plan, MwFault *fault);

#endif
