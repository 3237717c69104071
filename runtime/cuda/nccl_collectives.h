/* SPDX-License-Identifier: MIT */
/* Collectives of a rank along the axes of its mesh, on one stream.
 *
 * NCCL computes sums of f32 and of integers, in an order of its own, and of two numbers of any
 * type. What NCCL does not offer, would round at every rank (sums of more than two in bf16, unless
 * a run asks for that), or computes without passing on NaN (maxima of floats) is combined here, in
 * order of member: pieces of the members' blocks are sent to the member that combines them.
 *
 * Functions that can fail set the fault and return false. */
#ifndef MW_RUNTIME_CUDA_NCCL_COLLECTIVES_H
#define MW_RUNTIME_CUDA_NCCL_COLLECTIVES_H

#include "runtime/cuda/nccl_comm.h"
#include "runtime/exec/device.h"
#include "runtime/plan/collective.h"

/* Size of the staging buffer on the device, in which the pieces of all members of a block are
 * combined. A larger one takes fewer rounds of sends and receives for a collective that is combined
 * here. Chosen, not measured. */
enum { MW_NCCL_STAGING_BYTES = 16 << 20 };

/* The ranks along an axis, in order of coordinate. */
typedef struct {
    MwNcclComm comm; /* unused in a group of one */
    int members, self;
} MwNcclGroup;

typedef struct {
    MwNccl *nccl;
    const MwDevice *device;
    cudaStream_t stream;
    MwNcclGroup groups[MW_MAX_AXES];
    int axis_count;
    void *staging;      /* [MW_NCCL_STAGING_BYTES] on the device; NULL: all groups are of one */
    bool rounds_sums;   /* MwTransportOptions */
    bool is_replayed;   /* graphs were launched that may not be done */
    bool is_connecting; /* a call waits until those before it are done */
} MwNcclCollectives;

/* Queues `count` collectives of one kind, type and axis, in a group of several members. */
bool mw_nccl_exchange(MwNcclCollectives *c, const MwExchange *exchanges, int count, MwFault *fault);
/* Waits until nothing is left on the stream, so that NCCL connects while the GPU is idle. */
bool mw_nccl_drain(MwNcclCollectives *c, const MwNcclGroup *group, MwFault *fault);
/* A graph was launched on `stream`: watches one call for each group, which stands for all
 * collectives of the group in the graph. */
bool mw_nccl_replayed(MwNcclCollectives *c, cudaStream_t stream, MwFault *fault);

#endif
