/* SPDX-License-Identifier: MIT */
#include "runtime/mpi/shared.h"

#include "base/clock.h"
#include "runtime/mpi/host.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* What stands before the arena: for each axis how many barriers this rank has come to, each in its
 * own cache line. */
enum { LINE_BYTES = 64, HEADER_BYTES = 4096 };

/* ---- Memory ---- */

static bool map(int file, int64_t arena_bytes, MwSharedMemory *memory, MwFault *fault)
{
    memory->bytes = arena_bytes + HEADER_BYTES;
    memory->base = mmap(NULL, (size_t)memory->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory->base == MAP_FAILED)
        return mw_fault_set(fault, "cannot map %lld bytes: %s", (long long)memory->bytes,
                            strerror(errno));
    memory->arena = memory->base + HEADER_BYTES;
    madvise(memory->base, (size_t)memory->bytes, MADV_HUGEPAGE);
    return true;
}

bool mw_shared_create(int64_t arena_bytes, MwSharedMemory *memory, int *file, MwFault *fault)
{
    *file = memfd_create("meshwright", MFD_CLOEXEC);
    if (*file < 0 || ftruncate(*file, arena_bytes + HEADER_BYTES) != 0)
        return mw_fault_set(fault, "cannot make %lld bytes of shared memory: %s",
                            (long long)arena_bytes, strerror(errno));
    return map(*file, arena_bytes, memory, fault);
}

bool mw_shared_map(int64_t arena_bytes, int pid, int file, MwSharedMemory *memory, MwFault *fault)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, file);
    int own = open(path, O_RDWR | O_CLOEXEC);
    if (own < 0)
        return mw_fault_set(fault, "cannot open %s: %s", path, strerror(errno));
    bool good = map(own, arena_bytes, memory, fault);
    close(own);
    return good;
}

void mw_shared_unmap(MwSharedMemory *memory)
{
    if (memory->base)
        munmap(memory->base, (size_t)memory->bytes);
    *memory = (MwSharedMemory){0};
}

/* ---- Exchanges ---- */

static _Atomic uint64_t *arrivals(const MwSharedGroup *group, int member)
{
    return (_Atomic uint64_t *)(group->memory[member]->base + group->axis * LINE_BYTES);
}

static void barrier(MwSharedGroup *group)
{
    const uint64_t round = ++group->round;
    atomic_store_explicit(arrivals(group, group->self), round, memory_order_release);
    for (int m = 0; m < group->members; m++) {
        const double begin_s = group->spins ? 0 : mw_clock_s();
        int looks = 0;
        while (atomic_load_explicit(arrivals(group, m), memory_order_acquire) < round) {
            if (++looks <= group->spins)
                continue;
            if (group->idle)
                group->idle();
            sched_yield();
            if (!group->spins)
                mw_mpi_host_rest(begin_s);
        }
    }
}

/* The place in a member's arena of an address in this rank's. */
static char *at_member(const MwSharedGroup *group, int member, const void *address)
{
    return group->memory[member]->arena +
           ((const char *)address - group->memory[group->self]->arena);
}

/* Combines elements [begin, begin + count) of every member's source. */
static void combine(MwSharedGroup *group, const MwExchange *exchange, int64_t begin, int64_t count,
                    void *to)
{
    const int64_t bytes = mw_type_bytes(exchange->type);
    for (int m = 0; m < group->members; m++)
        group->pieces[m] = at_member(group, m, exchange->source) + begin * bytes;
    mw_combine(exchange->type, exchange->combine, group->pieces, group->members, count, to);
}

/* The elements that a member combines in an all-reduce. */
typedef struct {
    int64_t begin, count;
} Share;

static Share share_of(const MwSharedGroup *group, const MwExchange *exchange, int member)
{
    const int64_t most =
        mw_round_up(mw_ceil_div(exchange->count, group->members), (int64_t)LINE_BYTES);
    const int64_t begin = mw_min(exchange->count, member * most);
    return (Share){begin, mw_min(most, exchange->count - begin)};
}

static void combine_share(MwSharedGroup *group, const MwExchange *exchange)
{
    const Share own = share_of(group, exchange, group->self);
    combine(group, exchange, own.begin, own.count,
            (char *)exchange->destination + own.begin * mw_type_bytes(exchange->type));
}

/* Copies from each peer what it has combined. */
static void copy_shares(MwSharedGroup *group, const MwExchange *exchange)
{
    const int64_t bytes = mw_type_bytes(exchange->type);
    char *to = exchange->destination;
    for (int i = 1; i < group->members; i++) {
        const int m = (group->self + i) % group->members; /* so that not all read from one */
        const Share share = share_of(group, exchange, m);
        memcpy(to + share.begin * bytes, at_member(group, m, to) + share.begin * bytes,
               (size_t)(share.count * bytes));
    }
}

static void copy_all(MwSharedGroup *group, const MwExchange *exchange)
{
    const int64_t bytes = exchange->count * mw_type_bytes(exchange->type);
    for (int i = 0; i < group->members; i++) {
        int m = (group->self + i) % group->members;
        memcpy((char *)exchange->destination + m * bytes, at_member(group, m, exchange->source),
               (size_t)bytes);
    }
}

static void combine_block(MwSharedGroup *group, const MwExchange *exchange)
{
    const int64_t count = exchange->count / group->members;
    combine(group, exchange, group->self * count, count, exchange->destination);
}

static void copy_blocks(MwSharedGroup *group, const MwExchange *exchange)
{
    const int64_t bytes = exchange->count / group->members * mw_type_bytes(exchange->type);
    for (int i = 0; i < group->members; i++) {
        int m = (group->self + i) % group->members;
        memcpy((char *)exchange->destination + m * bytes,
               at_member(group, m, exchange->source) + group->self * bytes, (size_t)bytes);
    }
}

static void copy_peer(MwSharedGroup *group, const MwExchange *exchange)
{
    const int member = mw_collective_giver(exchange->kind, group->members, group->self);
    memcpy(exchange->destination, at_member(group, member, exchange->source),
           (size_t)(exchange->count * mw_type_bytes(exchange->type)));
}

/* What a member does once all sources are there. It writes only what no peer reads meanwhile: in an
 * all-reduce its own share, of which it alone reads the sources, so that source and destination may
 * be one buffer. */
static void take(MwSharedGroup *group, const MwExchange *exchange)
{
    switch (exchange->kind) {
    case MW_ALL_REDUCE:
        combine_share(group, exchange);
        return;
    case MW_ALL_GATHER:
        copy_all(group, exchange);
        return;
    case MW_REDUCE_SCATTER:
        combine_block(group, exchange);
        return;
    case MW_ALL_TO_ALL:
        copy_blocks(group, exchange);
        return;
    case MW_RING_SHIFT:
    case MW_RING_SHIFT_BACK:
    case MW_MIRROR:
        copy_peer(group, exchange);
        return;
    case MW_COLLECTIVE_COUNT:
        break;
    }
    MW_UNREACHABLE();
}

void mw_shared_exchange(MwSharedGroup *group, const MwExchange *exchanges, int count)
{
    barrier(group);
    for (int i = 0; i < count; i++)
        take(group, &exchanges[i]);
    barrier(group);
    if (exchanges->kind != MW_ALL_REDUCE)
        return;
    for (int i = 0; i < count; i++)
        copy_shares(group, &exchanges[i]);
    barrier(group);
}
