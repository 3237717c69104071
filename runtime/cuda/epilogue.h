/* SPDX-License-Identifier: MIT */
/* The epilogues of matrix products (routines.def) as kernels, for calls whose epilogue cuBLASLt
 * does not support. */
#ifndef MW_RUNTIME_CUDA_EPILOGUE_H
#define MW_RUNTIME_CUDA_EPILOGUE_H

#include "base/tensor.h"
#include "runtime/plan/routine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sums: columns of a block, and its rows at a time. */
enum { MW_CUDA_SUM_COLUMNS = 32, MW_CUDA_SUM_ROWS = 32 };

/* Blocks that fill a GPU with sums of columns: the 132 multiprocessors of an H100 or H200 hold two
 * each, and twice as many leave less idle at the end. More make the sums of slices longer. Derived,
 * not measured. */
enum { MW_CUDA_SUM_BLOCKS = 528 };

/* The slices of rows that have blocks of their own. It depends on the sizes alone, as the sums do,
 * and leaves 8 rows or more for a thread. */
static inline int64_t mw_cuda_sum_slices(int64_t rows, int64_t columns)
{
    const int64_t blocks = mw_ceil_div(columns, MW_CUDA_SUM_COLUMNS);
    const int64_t most = mw_ceil_div(rows, 8 * MW_CUDA_SUM_ROWS);
    return mw_max(1, mw_min(most, mw_ceil_div(MW_CUDA_SUM_BLOCKS, blocks)));
}

/* Completes a call of a product routine whose product has been computed, in c or, if the routine
 * has an aux operand that GELU is taken of, in aux. Queued on `stream` (a cudaStream_t);
 * cudaGetLastError() reports a launch that CUDA refuses. `workspace` is memory on the GPU that
 * earlier work of the stream no longer needs, MW_CUDA_EPILOGUE_WORKSPACE bytes. */
void mw_cuda_epilogue(MwRoutine routine, void *const *operands, const MwKernelArg *args,
                      void *workspace, void *stream);

/* Bytes: partial sums as doubles, of at most so many blocks where there is more than one slice. */
enum { MW_CUDA_EPILOGUE_WORKSPACE = 2 * MW_CUDA_SUM_BLOCKS * MW_CUDA_SUM_COLUMNS * 8 };

#ifdef __cplusplus
}
#endif

#endif
