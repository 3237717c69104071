/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A GPU of the fake, for tests that know nothing of CUDA. Their kernels are functions of the host,
 * which are queued as those of GPUs are, and get the number of the step as on the CPU. */
#include "runtime/cuda/device.h"
#include "tests/fake_cuda/fake.h"
#include "tests/unit/tested_device.h"

#include <string.h>

enum { MOST_ARGS = 16, MOST_OPERANDS = 16 };

typedef struct {
    MwKernel *kernel;
    void *operands[MOST_OPERANDS];
    MwKernelArg args[MOST_ARGS];
    bool is_at[MOST_ARGS]; /* the argument is where its value is */
    int arg_count;
} Launch;

static bool (*run_call)(MwDevice *device, const MwDeviceCall *call, MwFault *fault);
static MwKernel **kernels_of_plan;

static bool launch(void *state)
{
    Launch *l = state;
    for (int i = 0; i < l->arg_count; i++)
        if (l->is_at[i])
            l->args[i].i = *l->args[i].at;
    l->kernel(l->operands, l->args, 1, NULL);
    return true;
}

static bool run_queued(MwDevice *device, const MwDeviceCall *call, MwFault *fault)
{
    const MwPlanInstr *instr = call->instr;
    if (instr->kind != MW_INSTR_KERNEL)
        return run_call(device, call, fault);
    Launch l = {.kernel = kernels_of_plan[instr->target], .arg_count = instr->arg_count};
    MW_ASSERT(instr->arg_count <= MOST_ARGS && instr->operand_count <= MOST_OPERANDS);
    memcpy(l.operands, call->operands, sizeof *l.operands * (size_t)instr->operand_count);
    memcpy(l.args, call->args, sizeof *l.args * (size_t)instr->arg_count);
    for (int i = 0; i < instr->arg_count; i++)
        l.is_at[i] = instr->args[i].kind == MW_ARG_STEP;
    fake_queue(mw_device_cuda_stream(device, MW_QUEUE_COMPUTE), launch, &l, sizeof l);
    return true;
}

MwDevice *tested_device_new(MwArena *arena, const MwPlan *plan, const MwKernelEntry *kernels,
                            MwFault *fault)
{
    MwDevice *device = mw_device_cuda_new(arena, plan, kernels, 1, fault);
    if (!device)
        return NULL;
    MwDeviceTable *table = mw_arena_dup(arena, device->table, sizeof *device->table);
    run_call = table->run;
    table->run = run_queued;
    device->table = table;
    kernels_of_plan = mw_device_kernels(arena, plan, kernels, fault);
    return device;
}
