/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/runtime/foreign.h"

#include "runtime/cpu/device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MOST_REGIONS = 8, MOST_OPERANDS = 64 };

/* Addresses that nothing is at, and what is there for the device. */
typedef struct {
    char *address, *memory;
    int64_t bytes;
} Region;

typedef struct {
    MwDevice base;
    MwDevice *cpu;
    Region regions[MOST_REGIONS];
    int region_count;
} Foreign;

static void *foreign_alloc(MwDevice *device, int64_t bytes, MwFault *fault)
{
    Foreign *foreign = (Foreign *)device;
    MW_ASSERT(foreign->region_count < MOST_REGIONS);
    Region *region = &foreign->regions[foreign->region_count];
    region->bytes = mw_max(bytes, 1);
    region->address = mmap(NULL, (size_t)region->bytes, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    region->memory = foreign->cpu->table->alloc(foreign->cpu, region->bytes, fault);
    if (!region->memory)
        return NULL;
    if (region->address == MAP_FAILED) {
        mw_fault_set(fault, "mmap: %s", strerror(errno));
        return NULL;
    }
    foreign->region_count++;
    return region->address;
}

static void foreign_release(MwDevice *device, void *memory, int64_t bytes)
{
    Foreign *foreign = (Foreign *)device;
    for (int i = 0; i < foreign->region_count; i++) {
        Region *region = &foreign->regions[i];
        if (region->address != memory)
            continue;
        munmap(region->address, (size_t)region->bytes);
        foreign->cpu->table->release(foreign->cpu, region->memory, bytes);
        *region = foreign->regions[--foreign->region_count];
        return;
    }
    MW_UNREACHABLE();
}

/* What is at an address of the device. */
static char *memory_at(const MwDevice *device, const void *address)
{
    const Foreign *foreign = (const Foreign *)device;
    for (int i = 0; i < foreign->region_count; i++) {
        const Region *region = &foreign->regions[i];
        const int64_t at = (const char *)address - region->address;
        if (at >= 0 && at < region->bytes)
            return region->memory + at;
    }
    MW_UNREACHABLE();
}

static bool foreign_copy_in(MwDevice *device, void *to, const void *host, int64_t bytes,
                            MwFault *fault)
{
    (void)fault;
    memcpy(memory_at(device, to), host, (size_t)bytes);
    return true;
}

static bool foreign_copy_out(MwDevice *device, void *host, const void *from, int64_t bytes,
                             MwFault *fault)
{
    (void)fault;
    memcpy(host, memory_at(device, from), (size_t)bytes);
    return true;
}

static bool foreign_copy(MwDevice *device, void *to, const void *from, int64_t bytes,
                         MwFault *fault)
{
    (void)fault;
    memcpy(memory_at(device, to), memory_at(device, from), (size_t)bytes);
    return true;
}

static bool foreign_zero(MwDevice *device, void *to, int64_t bytes, MwFault *fault)
{
    (void)fault;
    memset(memory_at(device, to), 0, (size_t)bytes);
    return true;
}

static bool foreign_run(MwDevice *device, const MwDeviceCall *call, MwFault *fault)
{
    const MwDevice *cpu = ((Foreign *)device)->cpu;
    void *operands[MOST_OPERANDS];
    MwDeviceCall own = *call;
    MW_ASSERT(call->instr->operand_count <= MOST_OPERANDS);
    for (int i = 0; i < call->instr->operand_count; i++)
        operands[i] = memory_at(device, call->operands[i]);
    own.operands = operands;
    return cpu->table->run(((Foreign *)device)->cpu, &own, fault);
}

static bool foreign_synchronize(MwDevice *device, MwFault *fault)
{
    (void)device, (void)fault;
    return true;
}

static void foreign_destroy(MwDevice *device)
{
    mw_device_free(&((Foreign *)device)->cpu);
}

static const MwDeviceTable foreign_table = {
    .name = "foreign",
    .alloc = foreign_alloc,
    .release = foreign_release,
    .copy_in = foreign_copy_in,
    .copy_out = foreign_copy_out,
    .copy = foreign_copy,
    .zero = foreign_zero,
    .run = foreign_run,
    .synchronize = foreign_synchronize,
    .destroy = foreign_destroy,
};

MwDevice *foreign_device_new(MwArena *arena, const MwPlan *plan, const MwKernelEntry *kernels,
                             int threads, MwFault *fault)
{
    Foreign *foreign = MW_NEW(arena, Foreign, 1);
    foreign->base = (MwDevice){.table = &foreign_table};
    foreign->cpu = mw_device_cpu_new(arena, plan, kernels, threads, fault);
    return foreign->cpu ? &foreign->base : NULL;
}
