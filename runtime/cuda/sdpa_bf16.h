/* SPDX-License-Identifier: MIT */
/* Attention and its gradient in bf16 on tensor cores. The kernels take calls whose rows are
 * ALIGNED_BF16, whose heads have at most MOST_WIDTH columns, and whose scale is positive. Both
 * functions return 1 if they have queued the call on `stream` (a cudaStream_t), and 0 if they do
 * not take it. */
#ifndef MW_RUNTIME_CUDA_SDPA_BF16_H
#define MW_RUNTIME_CUDA_SDPA_BF16_H

#include "runtime/cuda/sdpa_call.h"

MW_C_BEGIN
int mw_cuda_sdpa_bf16(const Sizes *z, const Inputs *in, void *out, float *lse, void *stream);
int mw_cuda_sdpa_grad_bf16(const Sizes *z, const Inputs *in, const void *out, const Gradient *grad,
                           void *stream);
MW_C_END

#endif
