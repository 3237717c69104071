/* SPDX-License-Identifier: MIT */
/* Ranks with a GPU each, connected by NCCL: collectives go along the axes of a mesh on the device's
 * stream, and messages between devices on lanes (nccl_lanes.h). Hosts stay connected as they were. */
#ifndef MW_RUNTIME_CUDA_NCCL_TRANSPORT_H
#define MW_RUNTIME_CUDA_NCCL_TRANSPORT_H

#include "runtime/exec/transport.h"

/* Whether no two ranks share a GPU, of which NCCL would refuse to make use. Collective over all
 * ranks. */
bool mw_nccl_is_possible(MwArena *arena, MwTransport *hosts, bool *possible, MwFault *fault);
/* On the current CUDA device. `hosts` is the new transport's from then on. A rank whose GPU waits longer
 * than `timeout_s` for others gives up. NULL after a fault. */
MwTransport *mw_transport_nccl_new(MwArena *arena, MwTransport *hosts, double timeout_s,
                                   MwFault *fault);

#endif
