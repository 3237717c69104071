/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runtime/cpu/device.h"
#include "tests/unit/tested_device.h"

MwDevice *tested_device_new(MwArena *arena, const MwPlan *plan, const MwKernelEntry *kernels,
                            MwFault *fault)
{
    return mw_device_cpu_new(arena, plan, kernels, 1, fault);
}
