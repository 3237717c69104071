/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The C of the CPU, and CUDA C on the host (cuda_shim.h). */
#include "runtime/bf16.h"
#include "runtime/cpu_routines.h"
#include "runtime/kernels_compile.h"
#include "runtime/routine.h"
#include "tests/kernels/backends.h"
#include "tests/kernels/cuda_kernels.h"

#include <stdlib.h>
#include <string.h>

static const MwKernelEntry *load_c(MwArena *arena, const MwPlan *plan, MwTransport *transport,
                                   MwFault *fault)
{
    return mw_kernels_compile(arena, plan, &mw_backend_cpu, transport, fault);
}

static const MwKernelEntry *load_cuda(MwArena *arena, const MwPlan *plan, MwTransport *transport,
                                      MwFault *fault)
{
    (void)arena, (void)transport;
    return cuda_kernels_load(plan->kernel_source, fault);
}

/* The CPU's device, but for what follows. */
typedef struct {
    MwDeviceTable table;
    bool (*cpu_run)(MwDevice *device, const MwCall *call, MwFault *fault);
} ShimTable;

/* Kernels for GPUs find the number of the step in memory. */
static const int64_t the_step = 1;

static bool is_the_step(MwDevice *device, int64_t step, MwFault *fault)
{
    (void)device, (void)fault;
    return step == the_step;
}

/* Products of bf16, which the CPU has not: by its products of f32. What is stored is rounded once. */
static void widened_gemm(const MwCall *call)
{
    enum { OPERANDS = 3 };
    MwKernelArg args[MW_GEMM_ARGS];
    int64_t bytes[MW_ROUTINE_MAX_OPERANDS];
    void *wide[OPERANDS];
    memcpy(args, call->args, sizeof args);
    MW_ASSERT(mw_routine_extents(MW_ROUTINE_GEMM, args, bytes));
    const bool narrows = args[MW_GEMM_C_TYPE].i == MW_BF16;
    args[MW_GEMM_TYPE].i = args[MW_GEMM_C_TYPE].i = MW_F32;
    for (int o = 0; o < OPERANDS; o++) {
        const bool is_wide = o == 2 && !narrows;
        wide[o] = is_wide ? call->operands[o] : malloc((size_t)bytes[o] * 2);
        for (int64_t i = 0; i < bytes[o] / 2 && !is_wide; i++)
            ((float *)wide[o])[i] = mw_bf16_to_f32(((const uint16_t *)call->operands[o])[i]);
    }
    mw_cpu_gemm(wide, args);
    for (int64_t i = 0; i < bytes[2] / 2 && narrows; i++)
        ((uint16_t *)call->operands[2])[i] = mw_bf16_from_f32(((const float *)wide[2])[i]);
    for (int o = 0; o < OPERANDS; o++)
        if (wide[o] != call->operands[o])
            free(wide[o]);
}

static bool shim_run(MwDevice *device, const MwCall *call, MwFault *fault)
{
    const bool is_gemm =
        call->instr->kind == MW_INSTR_ROUTINE && call->instr->target == MW_ROUTINE_GEMM;
    if (!is_gemm || call->args[MW_GEMM_TYPE].i == MW_F32)
        return ((const ShimTable *)device->table)->cpu_run(device, call, fault);
    widened_gemm(call);
    return true;
}

static MwDevice *shim_device_new(MwArena *arena, const MwPlan *plan, const MwKernelEntry *kernels,
                                 int threads, MwFault *fault)
{
    MwDevice *device = mw_device_cpu_new(arena, plan, kernels, threads, fault);
    if (!device)
        return NULL;
    ShimTable *shim = MW_NEW(arena, ShimTable, 1);
    *shim = (ShimTable){*device->table, device->table->run};
    shim->table.set_step = is_the_step;
    shim->table.run = shim_run;
    device->table = &shim->table;
    device->step = &the_step;
    return device;
}

const GraphBackend graph_backends[] = {{"cpu", load_c, mw_device_cpu_new},
                                       {"cuda", load_cuda, shim_device_new}};
const int graph_backend_count = MW_COUNT(graph_backends);
