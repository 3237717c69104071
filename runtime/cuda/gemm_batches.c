/* SPDX-License-Identifier: MIT */
#include "runtime/cuda/gemm_batches.h"

#include <string.h>

void mw_gemm_split_batches(const int64_t *ints, MwGemmBatch *inner, MwGemmBatch *outer)
{
    MwGemmBatch by[2];
    bool is_even = true;
    for (int d = 0; d < 2; d++) {
        by[d].count = ints[MW_GEMM_BATCH0 + d];
        for (int i = 0; i < 3; i++)
            by[d].step[i] = ints[MW_GEMM_A_STRIDE0 + 2 * i + d];
    }
    for (int i = 0; i < 3; i++)
        is_even &= by[0].step[i] == by[1].count * by[1].step[i];
    const int larger = by[0].count > by[1].count ? 0 : 1;
    *inner = by[larger];
    *outer = by[1 - larger];
    if (is_even && outer->count > 1 && by[0].count * by[1].count <= MW_GEMM_MOST_BATCHES) {
        *inner = by[1];
        inner->count *= by[0].count;
        outer->count = 1;
    }
}

void mw_gemm_take_batches(const MwKernelArg *args, int d, int64_t begin, int64_t end,
                          MwKernelArg part[MW_GEMM_ARGS])
{
    memcpy(part, args, sizeof *part * MW_GEMM_ARGS);
    part[MW_GEMM_BATCH0 + d].i = end - begin;
    for (int i = 0; i < 3; i++)
        part[MW_GEMM_A_OFFSET + i].i += begin * args[MW_GEMM_A_STRIDE0 + 2 * i + d].i;
}
