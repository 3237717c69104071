/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ways in which ranks with devices are connected, by name. ways.c: `shared` and `messages`, of
 * CPUs, and `foreign-shared` and `foreign-messages`, of devices whose memory is not the host's.
 * ways_gpu.c: `nccl` and `mpi`, of GPUs or, linked with ../fake_cuda, of those of the fake. */
#ifndef MW_TESTS_RUNTIME_WAYS_H
#define MW_TESTS_RUNTIME_WAYS_H

#include "runtime/exec/transport.h"

/* False after a fault. The plan has no kernels. */
bool way_open(MwArena *arena, const char *way, const MwPlan *plan, MwTransport **transport,
              MwDevice **device, MwFault *fault);

#endif
