/* SPDX-License-Identifier: MIT */
/* The kernels of conv.cu. They are queued on `stream` (a cudaStream_t); cudaGetLastError() reports
 * a launch that CUDA refuses. */
#ifndef MW_RUNTIME_CUDA_CONV_KERNELS_H
#define MW_RUNTIME_CUDA_CONV_KERNELS_H

#include "base/tensor.h"
#include "runtime/plan/routine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A routine conv, conv_transpose or conv_filter_grad, with operands and arguments as in
 * runtime/plan/routines.def. */
void mw_cuda_conv(MwRoutine routine, void *const *operands, const MwKernelArg *args, void *stream);

/* to[columns, rows] is the transpose of from[rows, columns], of floats that are converted to the
 * type of `to`. */
void mw_cuda_transpose(const void *from, MwType from_type, void *to, MwType to_type, int64_t rows,
                       int64_t columns, void *stream);

#ifdef __cplusplus
}
#endif

#endif
