/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A GPU of the fake, for tests that know nothing of CUDA. Their kernels are functions of the host
 * which run at once: before each, what is queued is done. They get the number of the step as on the CPU. */
#include "runtime/device_cuda.h"
#include "tests/fake_cuda/fake.h"
#include "tests/unit/tested_device.h"

enum { MOST_ARGS = 16 };

static bool (*run_call)(MwDevice *device, const MwCall *call, MwFault *fault);

static bool run_in_order(MwDevice *device, const MwCall *call, MwFault *fault)
{
    if (call->instr->kind != MW_INSTR_KERNEL)
        return run_call(device, call, fault);
    MwKernelArg args[MOST_ARGS];
    fake_drain(mw_device_cuda_stream(device, MW_QUEUE_COMPUTE));
    MW_ASSERT(call->instr->arg_count <= MOST_ARGS);
    for (int i = 0; i < call->instr->arg_count; i++)
        if (call->instr->args[i].kind == MW_ARG_STEP)
            args[i].i = *call->args[i].at;
        else
            args[i] = call->args[i];
    MwCall plain = *call;
    plain.args = args;
    return run_call(device, &plain, fault);
}

MwDevice *tested_device_new(MwArena *arena, const MwPlan *plan, const MwKernelEntry *kernels,
                            MwFault *fault)
{
    MwDevice *device = mw_device_cuda_new(arena, plan, kernels, 1, fault);
    if (!device)
        return NULL;
    MwDeviceTable *table = mw_arena_dup(arena, device->table, sizeof *device->table);
    run_call = table->run;
    table->run = run_in_order;
    device->table = table;
    return device;
}
