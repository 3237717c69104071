/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kernels printed as CUDA C, compiled for the host with cuda_shim.h. */
#ifndef MW_TESTS_KERNELS_CUDA_KERNELS_H
#define MW_TESTS_KERNELS_CUDA_KERNELS_H

#include "runtime/exec/fault.h"
#include "runtime/plan/kernel.h"

/* The table of the kernels in `source`; NULL after a fault. It stays loaded. */
const MwKernelEntry *cuda_kernels_load(const char *source, MwFault *fault);

#endif
