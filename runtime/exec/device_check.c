/* SPDX-License-Identifier: MIT */
/* Addresses lie in reserved, inaccessible address space, so that plans larger than this machine's
 * memory can be verified. */
#include "runtime/exec/device_check.h"

#include "runtime/plan/routine.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* A memory. */
typedef struct {
    char *memory;
    int64_t bytes;
    uint64_t *written; /* bit u: unit u of the memory was written */
} Region;

typedef struct {
    MwDevice base;
    Region arena, kept; /* on the device, and on the host */
} Checker;

/* Address space. Pages that are accessible read as zeros until they are written. */
static void *reserve(int64_t bytes, int protection)
{
    void *memory = mmap(NULL, (size_t)mw_max(bytes, 1), protection,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void unreserve(void *memory, int64_t bytes)
{
    if (memory)
        munmap(memory, (size_t)mw_max(bytes, 1));
}

static int64_t bitmap_bytes(int64_t bytes)
{
    return (bytes / MW_BUFFER_ALIGNMENT / 64 + 1) * (int64_t)sizeof(uint64_t);
}

static void *make_region(Region *region, int64_t bytes, MwFault *fault)
{
    MW_ASSERT(!region->memory);
    region->bytes = bytes;
    region->memory = reserve(bytes, PROT_NONE);
    region->written = reserve(bitmap_bytes(bytes), PROT_READ | PROT_WRITE);
    if (region->memory && region->written)
        return region->memory;
    mw_fault_set(fault, "cannot reserve %lld bytes: %s", (long long)bytes, strerror(errno));
    return NULL;
}

static void free_region(Region *region)
{
    unreserve(region->memory, region->bytes);
    unreserve(region->written, bitmap_bytes(region->bytes));
    *region = (Region){0};
}

static void *check_alloc(MwDevice *device, int64_t bytes, MwFault *fault)
{
    return make_region(&((Checker *)device)->arena, bytes, fault);
}

static void check_release(MwDevice *device, void *memory, int64_t bytes)
{
    (void)memory, (void)bytes;
    free_region(&((Checker *)device)->arena);
}

static void *check_alloc_kept(MwDevice *device, int64_t bytes, MwFault *fault)
{
    return make_region(&((Checker *)device)->kept, bytes, fault);
}

/* A unit is MW_BUFFER_ALIGNMENT bytes. Returns the memory that the bytes lie in, and sets the units
 * that they are in; NULL after a fault. */
static const Region *find_units(const Checker *checker, const void *at, int64_t bytes,
                                int64_t *begin, int64_t *end, MwFault *fault)
{
    const Region *kept = &checker->kept;
    const bool is_kept = kept->memory && (const char *)at >= kept->memory &&
                         (const char *)at < kept->memory + kept->bytes;
    const Region *region = is_kept ? kept : &checker->arena;
    int64_t offset = (const char *)at - region->memory;
    *begin = offset / MW_BUFFER_ALIGNMENT;
    *end = mw_ceil_div(offset + bytes, MW_BUFFER_ALIGNMENT);
    if (offset >= 0 && bytes >= 0 && bytes <= region->bytes - offset)
        return region;
    mw_fault_set(fault, "%lld bytes at offset %lld are outside the %s of %lld", (long long)bytes,
                 (long long)offset, is_kept ? "memory of the host" : "arena",
                 (long long)region->bytes);
    return NULL;
}

/* The bits of units [begin, end) in the word that has the bit of `begin`. */
static uint64_t word_mask(int64_t begin, int64_t end)
{
    uint64_t mask = ~(uint64_t)0 << begin % 64;
    int64_t count = end - begin / 64 * 64;
    return count < 64 ? mask & (((uint64_t)1 << count) - 1) : mask;
}

static bool mark_written(const Checker *checker, const void *at, int64_t bytes, MwFault *fault)
{
    int64_t begin, end;
    const Region *region = find_units(checker, at, bytes, &begin, &end, fault);
    if (!region)
        return false;
    for (int64_t unit = begin; unit < end; unit = (unit / 64 + 1) * 64)
        region->written[unit / 64] |= word_mask(unit, end);
    return true;
}

static bool check_read(const Checker *checker, const void *at, int64_t bytes, MwFault *fault)
{
    int64_t begin, end;
    const Region *region = find_units(checker, at, bytes, &begin, &end, fault);
    if (!region)
        return false;
    for (int64_t unit = begin; unit < end; unit = (unit / 64 + 1) * 64)
        if (~region->written[unit / 64] & word_mask(unit, end))
            return mw_fault_set(fault, "bytes near offset %lld are read before they are written",
                                (long long)(unit * MW_BUFFER_ALIGNMENT));
    return true;
}

static bool check_copy_in(MwDevice *device, void *to, const void *host, int64_t bytes,
                          MwFault *fault)
{
    (void)host;
    return mark_written((Checker *)device, to, bytes, fault);
}

static bool check_copy_out(MwDevice *device, void *host, const void *from, int64_t bytes,
                           MwFault *fault)
{
    memset(host, 0, (size_t)bytes);
    return check_read((Checker *)device, from, bytes, fault);
}

static bool check_copy(MwDevice *device, void *to, const void *from, int64_t bytes, MwFault *fault)
{
    return check_read((Checker *)device, from, bytes, fault) &&
           mark_written((Checker *)device, to, bytes, fault);
}

static bool check_zero(MwDevice *device, void *to, int64_t bytes, MwFault *fault)
{
    return mark_written((Checker *)device, to, bytes, fault);
}

/* True if the routine stays within its operands. */
static bool check_routine(const MwDeviceCall *call, MwFault *fault)
{
    int64_t bytes[MW_ROUTINE_MAX_OPERANDS];
    if (!mw_routine_extents((MwRoutine)call->instr->target, call->args, bytes))
        return mw_fault_set(fault, "its arguments are not valid");
    for (int i = 0; i < call->instr->operand_count; i++)
        if (bytes[i] > call->operand_bytes[i])
            return mw_fault_set(fault, "it reaches %lld bytes of operand %d, which has %lld",
                                (long long)bytes[i], i, (long long)call->operand_bytes[i]);
    return true;
}

static bool check_run(MwDevice *device, const MwDeviceCall *call, MwFault *fault)
{
    const Checker *checker = (Checker *)device;
    const MwPlanInstr *instr = call->instr;
    if (instr->kind == MW_INSTR_ROUTINE && !check_routine(call, fault))
        return false;
    for (int i = 0; i < instr->operand_count; i++)
        if (instr->operands[i].access != MW_ACCESS_WRITE &&
            !check_read(checker, call->operands[i], call->operand_bytes[i], fault))
            return mw_fault_prefix(fault, "operand %d", i);
    for (int i = 0; i < instr->operand_count; i++)
        if (instr->operands[i].access != MW_ACCESS_READ &&
            !mark_written(checker, call->operands[i], call->operand_bytes[i], fault))
            return mw_fault_prefix(fault, "operand %d", i);
    return true;
}

static bool check_synchronize(MwDevice *device, MwFault *fault)
{
    (void)device, (void)fault;
    return true;
}

static void check_destroy(MwDevice *device)
{
    free_region(&((Checker *)device)->kept);
}

static const MwDeviceTable check_table = {
    .name = "check",
    .alloc = check_alloc,
    .release = check_release,
    .alloc_kept = check_alloc_kept,
    .copy_in = check_copy_in,
    .copy_out = check_copy_out,
    .copy = check_copy,
    .zero = check_zero,
    .run = check_run,
    .synchronize = check_synchronize,
    .destroy = check_destroy,
};

MwDevice *mw_device_check_new(MwArena *arena)
{
    Checker *checker = MW_NEW(arena, Checker, 1);
    checker->base = (MwDevice){.table = &check_table, .is_dry_run = true};
    return &checker->base;
}
