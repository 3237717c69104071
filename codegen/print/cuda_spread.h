/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a nest is spread over threads: the choice, and the plan that follows from it. */
#ifndef MW_CODEGEN_PRINT_CUDA_SPREAD_H
#define MW_CODEGEN_PRINT_CUDA_SPREAD_H

#include "codegen/print/cuda_nest.h"

/* The plan of nest `number` of a kernel, and a printer of it that writes to `out`. */
MwCudaNest mw_cuda_nest(MwText *out, const MwKernelDef *kernel, const MwNest *nest, int number);

#endif
