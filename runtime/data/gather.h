/* SPDX-License-Identifier: MIT */
/* Whole tensors on one rank, from and to the parts that ranks hold, in host memory. */
#ifndef MW_RUNTIME_DATA_GATHER_H
#define MW_RUNTIME_DATA_GATHER_H

#include "runtime/exec/transport.h"
#include "runtime/plan/box.h"

/* A tensor on the devices of a mesh: of micro-batch `micro` of `micros` where it is cut so, which
 * is a block of dimension 0 of `global`. */
typedef struct {
    const MwPlanMesh *mesh;
    const MwTensor *global;
    MwSpec spec;
    int micro, micros; /* 0 and 1: not cut */
} MwShardedTensor;

/* True if mw_gather wants this rank's part. */
bool mw_sharded_is_sent(const MwShardedTensor *spread, int rank);

/* Both are collective over the ranks of the mesh and the root. `part` is this rank's (unused where
 * it is not of the mesh, or, for gathering, not sent); `whole` and `room`, which holds any one
 * part, are used on the root. That of mw_scatter is rank 0. */
bool mw_gather(const MwShardedTensor *spread, MwTransport *transport, int root, const void *part,
               void *whole, void *room, MwFault *fault);
bool mw_scatter(const MwShardedTensor *spread, MwTransport *transport, void *part,
                const void *whole, void *room, MwFault *fault);

#endif
