/* SPDX-License-Identifier: MIT */
/* Collectives among ranks of one machine whose arenas lie in memory that all of them map: each rank
 * reads its peers' buffers where they are, so that nothing is copied on the way.
 *
 * Every member calls the same exchanges in the same order. Buffers are at the same offset in every
 * member's arena. No member passes the end of an exchange before its peers have read what they need
 * of its buffers. */
#ifndef MW_RUNTIME_MPI_SHARED_H
#define MW_RUNTIME_MPI_SHARED_H

#include "runtime/exec/fault.h"
#include "runtime/plan/collective.h"

#include <stdatomic.h>

/* Memory for one rank's arena and what its peers wait on. */
typedef struct {
    char *base;
    int64_t bytes; /* of the mapping */
    char *arena;
} MwSharedMemory;

/* Makes the memory of this rank; `*file` is its descriptor. */
bool mw_shared_create(int64_t arena_bytes, MwSharedMemory *memory, int *file, MwFault *fault);
/* Maps a peer's: descriptor `file` of process `pid`. */
bool mw_shared_map(int64_t arena_bytes, int pid, int file, MwSharedMemory *memory, MwFault *fault);
void mw_shared_unmap(MwSharedMemory *memory);

/* The ranks along one mesh axis, in order of coordinate. */
typedef struct {
    int members, self;
    int axis;
    const MwSharedMemory *const *memory; /* [members] */
    const void **pieces;                 /* [members] for use inside */
    uint64_t round;                      /* barriers passed */
    /* Looks at a peer before giving the core away. 0: others need it, and long waits sleep. */
    int spins;
    /* Called while waiting longer, so that what the peer may wait for goes on; may be NULL. */
    void (*idle)(void);
} MwSharedGroup;

/* Does `count` collectives of one kind together, as MwTransportTable.exchange does. */
void mw_shared_exchange(MwSharedGroup *group, const MwExchange *exchanges, int count);

#endif
