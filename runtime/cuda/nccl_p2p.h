/* SPDX-License-Identifier: MIT */
/* Point-to-point messages between GPUs, as sends and receives of NCCL.
 *
 * For each ordered pair of ranks between which messages go there is a *link*: a communicator of the
 * two, and a stream at each end. A message is queued on its link only when nothing can hold it up,
 * which the two ends agree on by control messages between their hosts (runtime/mpi/control.h):
 *
 *   1. When a receive has been started and the work queued before it on the device is done, so that
 *      its buffer is free, the receiver tells the sender that it is ready for a message of this
 *      tag.
 *   2. When a send has been started, its data is there, and the receiver is ready for its tag, the
 *      sender tells the receiver that it sends a message of this tag, and queues the send. The
 *      receiver then queues the receive.
 *
 * Why nothing waits for ever. The sender alone decides the order of the messages on a link, and the
 * receiver queues its receives in the order in which it is told, so that both ends call NCCL in the
 * same order. What is on a link waits only for its other end, which is queued too, and for what is
 * before it on the same link: it completes whatever else the GPUs do, as long as they have room for
 * its kernel, which is small. (Collectives, which may wait for ranks that are behind, run one at a
 * time on a GPU.) Hosts handle control messages wherever they wait, also for the device
 * (MwDevice.idle), so that a message is queued as soon as both ends have started it. Whether the
 * ends start their messages in an order that cannot deadlock is a property of the plan, proved by
 * its checker for every transport.
 *
 * A box that is not contiguous is packed, or unpacked, on the device. */
#ifndef MW_RUNTIME_CUDA_NCCL_P2P_H
#define MW_RUNTIME_CUDA_NCCL_P2P_H

#include "runtime/cuda/nccl_comm.h"
#include "runtime/exec/transport.h"
#include "runtime/mpi/control.h"

typedef struct MwNcclP2p MwNcclP2p;

/* `hosts` connects the hosts. NULL after a fault. */
MwNcclP2p *mw_nccl_p2p_new(MwArena *arena, MwNccl *nccl, MwTransport *hosts, MwFault *fault);
/* These do what init_request, connect, start, test and wait of MwTransportTable do. `compute` is
 * the stream of the device's kernels. */
MwRequest *mw_nccl_p2p_request_new(MwNcclP2p *p2p, cudaStream_t compute, const MwMessageSet *set,
                                   MwFault *fault);
bool mw_nccl_p2p_connect(MwNcclP2p *p2p, MwFault *fault);
/* Sends a first message on every link, into buffers whose contents are lost, while nothing else is
 * on the GPU. Called after mw_nccl_p2p_connect. */
bool mw_nccl_p2p_send_first(MwNcclP2p *p2p, MwFault *fault);
bool mw_nccl_p2p_start(MwNcclP2p *p2p, MwRequest *request, MwFault *fault);
bool mw_nccl_p2p_test(MwNcclP2p *p2p, MwRequest *request, bool *done, MwFault *fault);
bool mw_nccl_p2p_wait(MwNcclP2p *p2p, MwRequest *request, MwFault *fault);
/* Advances every message that was started; never waits. */
bool mw_nccl_p2p_progress(MwNcclP2p *p2p, MwFault *fault);
/* Called after mw_nccl_end. */
void mw_nccl_p2p_free(MwNcclP2p **p2p);

#endif
