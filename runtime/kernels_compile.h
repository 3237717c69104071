/* SPDX-License-Identifier: MIT */
/* Kernels of a plan file: its source is compiled when the run starts, by one rank of each machine,
 * and loaded by all. */
#ifndef MW_RUNTIME_KERNELS_COMPILE_H
#define MW_RUNTIME_KERNELS_COMPILE_H

#include "runtime/backend.h"

/* Collective over all ranks. The table lives as long as the process. NULL after a fault, on every
 * rank of the machine that has it. */
const MwKernelEntry *mw_kernels_compile(MwArena *arena, const MwPlan *plan,
                                        const MwBackend *backend, MwTransport *transport,
                                        MwFault *fault);

#endif
