/* SPDX-License-Identifier: MIT */
/* mw_combine (runtime/plan/collective.h) of floats, on a GPU. */
#ifndef MW_RUNTIME_CUDA_COMBINE_H
#define MW_RUNTIME_CUDA_COMBINE_H

#include "base/spec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* to[i] = the combination over members m of element m * count + i of `from`, f32 or bf16, queued on
 * `stream` (a cudaStream_t). Addresses are of the device; `to` is apart from `from`. A launch that
 * CUDA refuses is found by cudaGetLastError(). */
void mw_cuda_combine(MwType type, MwCombine combine, const void *from, int members, int64_t count,
                     void *to, void *stream);

#ifdef __cplusplus
}
#endif

#endif
