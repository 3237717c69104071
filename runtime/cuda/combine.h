/* SPDX-License-Identifier: MIT */
/* Combining floats on a GPU, as mw_combine of runtime/plan/collective.h does on the host. */
#ifndef MW_RUNTIME_CUDA_COMBINE_H
#define MW_RUNTIME_CUDA_COMBINE_H

#include "base/spec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* to[i] = the combination over all members m of element m * count + i of `from`, for floats,
 * queued on `stream` (a cudaStream_t). Addresses are of the device; `to` and `from` do not overlap.
 * cudaGetLastError() reports a launch that CUDA refuses. */
void mw_cuda_combine(MwType type, MwCombine combine, const void *from, int members, int64_t count,
                     void *to, void *stream);

#ifdef __cplusplus
}
#endif

#endif
