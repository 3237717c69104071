/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The device that a test is linked with, so that one test is run on several. */
#ifndef MW_TESTS_UNIT_TESTED_DEVICE_H
#define MW_TESTS_UNIT_TESTED_DEVICE_H

#include "runtime/exec/device.h"

/* As mw_device_cpu_new. */
MwDevice *tested_device_new(MwArena *arena, const MwPlan *plan, const MwKernelEntry *kernels,
                            MwFault *fault);

#endif
