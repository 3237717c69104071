/* SPDX-License-Identifier: MIT */
/* A device that runs nothing and holds nothing. It proves that every address lies in the memory
 * that was allocated, that routines stay within their operands, and that nothing is read before it
 * is written. */
#ifndef MW_RUNTIME_EXEC_DEVICE_CHECK_H
#define MW_RUNTIME_EXEC_DEVICE_CHECK_H

#include "runtime/exec/device.h"

MwDevice *mw_device_check_new(MwArena *arena);

#endif
