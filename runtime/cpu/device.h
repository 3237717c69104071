/* SPDX-License-Identifier: MIT */
/* The CPU of this process as a device. */
#ifndef MW_RUNTIME_CPU_DEVICE_H
#define MW_RUNTIME_CPU_DEVICE_H

#include "runtime/exec/device.h"

/* `kernels` ends with an entry whose name is NULL, and has every kernel of `plan`. `threads` is the
 * number of threads that the BLAS uses. NULL after a fault. */
MwDevice *mw_device_cpu_new(MwArena *arena, const MwPlan *plan, const MwKernelEntry *kernels,
                            int threads, MwFault *fault);

#endif
