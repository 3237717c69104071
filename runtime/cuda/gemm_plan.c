/* SPDX-License-Identifier: MIT */
#include "runtime/cuda/gemm_plan.h"

#include "base/backend.h"
#include "base/tensor.h"
#include "runtime/cuda/error.h"
#include "runtime/plan/routine.h"

#include <cuda_runtime_api.h>

static bool is_product(const MwPlanInstr *instr)
{
    return instr->kind == MW_INSTR_ROUTINE && mw_gemm_extras((MwRoutine)instr->target) != NULL;
}

static bool is_fp8_product(const MwPlanInstr *instr)
{
    return is_product(instr) && mw_type_is_fp8((MwType)instr->args[MW_GEMM_TYPE].i);
}

/* Instructions of which `counts` is true. */
static int count_products(const MwPlan *plan, bool (*counts)(const MwPlanInstr *instr))
{
    int count = 0;
    for (int m = 0; m < plan->mesh_count; m++)
        for (int p = 0; p < plan->meshes[m].program_count; p++)
            for (int i = 0; i < plan->meshes[m].programs[p].instr_count; i++)
                count += counts(&plan->meshes[m].programs[p].instrs[i]);
    return count;
}

int mw_cuda_product_count(const MwPlan *plan)
{
    return count_products(plan, is_product);
}

bool mw_cuda_takes_products(const MwPlan *plan, MwFault *fault)
{
    int gpu, capability;
    if (count_products(plan, is_fp8_product) == 0)
        return true;
    if (!MW_CUDA_CALL(fault, cudaGetDevice, &gpu) || !mw_cuda_capability(gpu, &capability, fault))
        return false;
    return capability >= MW_CUDA_FP8_CAPABILITY ||
           mw_fault_set(fault,
                        "device %d: precision fp8 needs GPUs of compute capability %d.%d or later, "
                        "and this one is of %d.%d",
                        gpu, MW_CUDA_FP8_CAPABILITY / 10, MW_CUDA_FP8_CAPABILITY % 10,
                        capability / 10, capability % 10);
}
