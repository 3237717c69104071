/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The runtime's CUDA, on the host. */
#include "tests/kernels/cuda_shim.h"

#include "runtime/cuda/linear_scan.cu"
