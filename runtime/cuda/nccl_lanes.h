/* SPDX-License-Identifier: MIT */
/* Messages between GPUs, as sends and receives of NCCL.
 *
 * From one rank to another goes a lane: a communicator of the two, and at each end a stream of its
 * own. A message is queued there only when nothing can hold it up, which the two ends tell each other
 * by notes between their hosts (runtime/mpi/notes.h):
 *
 *   1. A receive has begun and what was queued before it on the device is done, so that its buffer is
 *      free: the receiver says that it is ready for a message of this tag.
 *   2. A send has begun, its data is there, and the receiver is ready for its tag: the sender says
 *      that a message of this tag goes, and queues it. The receiver queues the receive.
 *
 * Why nothing waits for ever. The sender alone says in what order messages go on a lane, and the
 * receiver queues its receives in the order in which it is told, so that both ends call NCCL in the
 * same order. What is on a lane waits for nothing but its other end, which is queued too, and for
 * what is before it on the same lane: it is done whatever else the GPUs do, so long as they have room
 * for its kernel, which is small; collectives, which may wait for ranks that are behind, are one at a time on a GPU.
 * Hosts go on with notes wherever they wait, also for the device (MwDevice.idle), so that a message is
 * queued as soon as both ends have begun it. Whether ends begin in an order that cannot block is the
 * plan's matter, and proved by its checker, as with any transport.
 *
 * Boxes whose elements do not follow each other are copied together on the device. */
#ifndef MW_RUNTIME_CUDA_NCCL_LANES_H
#define MW_RUNTIME_CUDA_NCCL_LANES_H

#include "runtime/cuda/nccl_watch.h"
#include "runtime/exec/transport.h"
#include "runtime/mpi/notes.h"

typedef struct MwNcclLanes MwNcclLanes;

/* `hosts` connects the hosts. NULL after a fault. */
MwNcclLanes *mw_nccl_lanes_new(MwArena *arena, MwNccl *nccl, MwTransport *hosts, MwFault *fault);
/* As the functions of MwTransportTable. `compute` is the stream of the device's kernels. */
MwParcels *mw_nccl_lanes_pack(MwNcclLanes *lanes, cudaStream_t compute, void *buffer,
                              const MwParcel *parcels, int count, bool sends, int tag,
                              MwFault *fault);
bool mw_nccl_lanes_open(MwNcclLanes *lanes, MwFault *fault);
bool mw_nccl_lanes_begin(MwNcclLanes *lanes, MwParcels *parcels, MwFault *fault);
bool mw_nccl_lanes_test(MwNcclLanes *lanes, MwParcels *parcels, bool *done, MwFault *fault);
bool mw_nccl_lanes_wait(MwNcclLanes *lanes, MwParcels *parcels, MwFault *fault);
/* Whether NCCL was called for messages that are not queued yet. */
bool mw_nccl_lanes_call(const MwNcclLanes *lanes);
/* Goes on with all that has begun; never waits. */
bool mw_nccl_lanes_progress(MwNcclLanes *lanes, MwFault *fault);
/* When the communicators have ended. */
void mw_nccl_lanes_free(MwNcclLanes **lanes);

#endif
