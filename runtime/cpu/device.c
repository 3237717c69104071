/* SPDX-License-Identifier: MIT */
/* The device's memory is the process's, as is that of the host, and every call is complete when it
 * returns. */
#include "runtime/cpu/device.h"

#include "runtime/cpu/host_file.h"
#include "runtime/cpu/routines.h"
#include "runtime/plan/routine.h"

#include <cblas.h>
#include <errno.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    MwDevice base;
    const MwPlan *plan;
    MwKernel **kernels; /* [MwPlan.kernels] */
    void *kept;         /* NULL: nothing is kept on the host */
    int64_t kept_bytes;
} Cpu;

static void *cpu_alloc(MwDevice *device, int64_t bytes, MwFault *fault)
{
    (void)device;
    size_t whole = (size_t)mw_round_up(mw_max(bytes, 1), MW_BUFFER_ALIGNMENT);
    void *memory = aligned_alloc(MW_BUFFER_ALIGNMENT, whole);
    if (!memory)
        mw_fault_set(fault, "cannot allocate %lld bytes: %s", (long long)bytes, strerror(errno));
    return memory;
}

static void cpu_release(MwDevice *device, void *memory, int64_t bytes)
{
    (void)device, (void)bytes;
    free(memory);
}

static void *cpu_alloc_kept(MwDevice *device, int64_t bytes, MwFault *fault)
{
    Cpu *cpu = (Cpu *)device;
    MW_ASSERT(!cpu->kept);
    cpu->kept_bytes = bytes;
    cpu->kept = mw_host_file_map(device->kept_folder, bytes, fault);
    return cpu->kept;
}

static bool cpu_copy(MwDevice *device, void *to, const void *from, int64_t bytes, MwFault *fault)
{
    (void)device, (void)fault;
    memcpy(to, from, (size_t)bytes);
    return true;
}

static bool cpu_zero(MwDevice *device, void *to, int64_t bytes, MwFault *fault)
{
    (void)device, (void)fault;
    memset(to, 0, (size_t)bytes);
    return true;
}

static MwCpuRoutine *const routines[MW_ROUTINE_COUNT] = {
#define ROUTINE(id, name, accesses, ints, floats, type, extents, cpu, cuda)                        \
    [MW_ROUTINE_##id] = mw_cpu_##cpu,
#include "runtime/plan/routines.def"
};

/* No call of it gets past mw_routine_off. */
bool mw_cpu_none(void *const *operands, const MwKernelArg *args, MwFault *fault)
{
    (void)operands, (void)args, (void)fault;
    MW_UNREACHABLE();
}

static bool cpu_run(MwDevice *device, const MwDeviceCall *call, MwFault *fault)
{
    const Cpu *cpu = (Cpu *)device;
    const int target = call->instr->target;
    if (call->instr->kind == MW_INSTR_KERNEL)
        cpu->kernels[target](call->operands, call->args, mw_plan_instr_sets(cpu->plan, call->instr),
                             NULL);
    else if (!mw_routine_off((MwRoutine)target, call->args, MW_BACKEND_cpu))
        return routines[target](call->operands, call->args, fault);
    else
        return mw_fault_set(fault, "%s %s", mw_routine_info((MwRoutine)target)->name,
                            mw_routine_off((MwRoutine)target, call->args, MW_BACKEND_cpu));
    return true;
}

static bool cpu_synchronize(MwDevice *device, MwFault *fault)
{
    (void)device, (void)fault;
    return true;
}

static void cpu_destroy(MwDevice *device)
{
    Cpu *cpu = (Cpu *)device;
    mw_host_file_unmap(cpu->kept, cpu->kept_bytes);
    cpu->kept = NULL;
}

static const MwDeviceTable cpu_table = {
    .name = "cpu",
    .alloc = cpu_alloc,
    .release = cpu_release,
    .alloc_kept = cpu_alloc_kept,
    .copy_in = cpu_copy,
    .copy_out = cpu_copy,
    .copy = cpu_copy,
    .zero = cpu_zero,
    .run = cpu_run,
    .synchronize = cpu_synchronize,
    .destroy = cpu_destroy,
};

MwDevice *mw_device_cpu_new(MwArena *arena, const MwPlan *plan, const MwKernelEntry *kernels,
                            int threads, MwFault *fault)
{
    Cpu *cpu = MW_NEW(arena, Cpu, 1);
    cpu->base = (MwDevice){.table = &cpu_table, .is_host = true};
    cpu->plan = plan;
    cpu->kernels = mw_device_kernels(arena, plan, kernels, fault);
    if (!cpu->kernels)
        return NULL;
    openblas_set_num_threads(threads);
    omp_set_num_threads(threads); /* of oneDNN */
    return &cpu->base;
}
