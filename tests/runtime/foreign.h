/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A device whose memory is not the host's: its addresses fault when the host uses them. It computes
 * as the CPU does. */
#ifndef MW_TESTS_RUNTIME_FOREIGN_H
#define MW_TESTS_RUNTIME_FOREIGN_H

#include "runtime/exec/device.h"

/* As mw_device_cpu_new. */
MwDevice *foreign_device_new(MwArena *arena, const MwPlan *plan, const MwKernelEntry *kernels,
                             int threads, MwFault *fault);

#endif
