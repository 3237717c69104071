/* SPDX-License-Identifier: MIT */
/* Gathers a sharded tensor on one rank, in host memory. */
#ifndef MW_RUNTIME_DATA_GATHER_H
#define MW_RUNTIME_DATA_GATHER_H

#include "runtime/exec/transport.h"
#include "runtime/plan/box.h"

/* A tensor on the devices of a mesh, or micro-batch `micro` of `micros` of it, which is a block of
 * dimension 0 of `held`. */
typedef struct {
    const MwPlanMesh *mesh;
    const MwTensor *global;
    const MwTensor *held; /* what the devices hold: `global`, or that with padding */
    MwSpec spec;
    int micro, micros; /* 0 and 1: the whole tensor */
} MwShardedTensor;

/* True if mw_gather sends the shard of this rank: no lower rank holds the same one. */
bool mw_sharded_is_sent(const MwShardedTensor *tensor, int rank);

/* Collective over the ranks of the mesh and the root. `part` is the shard of this rank, with its
 * padding; it is unused on a rank whose shard is not sent. `whole`, and `scratch` with room for one
 * shard, are used on the root only. */
bool mw_gather(const MwShardedTensor *tensor, MwTransport *transport, int root, const void *part,
               void *whole, void *scratch, MwFault *fault);

#endif
