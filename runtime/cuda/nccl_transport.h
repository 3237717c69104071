/* SPDX-License-Identifier: MIT */
/* Ranks with one GPU each, connected by NCCL: collectives along the axes of a mesh on the device's
 * communication queue, and messages between devices (nccl_p2p.h). The hosts stay connected by the
 * transport that they had. */
#ifndef MW_RUNTIME_CUDA_NCCL_TRANSPORT_H
#define MW_RUNTIME_CUDA_NCCL_TRANSPORT_H

#include "runtime/exec/transport.h"

/* Sets `*possible` if no two ranks share a GPU, which NCCL would refuse. Collective over all
 * ranks. */
bool mw_nccl_is_possible(MwArena *arena, MwTransport *hosts, bool *possible, MwFault *fault);
/* Makes a transport for the current CUDA device. The new transport owns `hosts`. NULL after a
 * fault. */
MwTransport *mw_transport_nccl_new(MwArena *arena, MwTransport *hosts,
                                   const MwTransportOptions *options, MwFault *fault);

#endif
