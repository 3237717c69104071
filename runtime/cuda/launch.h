/* SPDX-License-Identifier: MIT */
/* What CUDA kernels are written with, by hand (runtime/cuda_*.cu) or by the compiler.
 *
 * Kernels are written in the language that C11 and CUDA C++ share, so that a C compiler makes the
 * same text for the tests: casts from void *, __restrict__, constant sizes, one-dimensional grids
 * and blocks; of the built-in names threadIdx.x, blockIdx.x, blockDim.x, gridDim.x, __syncthreads,
 * __syncwarp, __shfl_xor_sync, __shfl_down_sync, __shfl_sync, __ballot_sync, __popc, __ffs and
 * float4. For nvcc this header says how they are launched and how symbols get C names; for C,
 * tests/kernels/cuda_shim.h (-include) says all of that before. */
#ifndef MW_RUNTIME_CUDA_LAUNCH_H
#define MW_RUNTIME_CUDA_LAUNCH_H

enum { MW_MOST_SHARED_BYTES = 163 << 10 };

#ifdef __CUDACC__

/* Puts `grid` blocks of `block` threads of a __global__ function on `stream` (a cudaStream_t as
 * void *): MW_LAUNCH(kernel, grid, block, stream, (its, arguments)); a statement. `grid` and `block`
 * are positive ints, `block` at most 1024. Arguments have no side effects. A launch that CUDA
 * refuses is found by whoever asks cudaGetLastError() next. */
#define MW_LAUNCH(kernel, grid, block, stream, arguments)                                          \
    kernel<<<(unsigned)(grid), (unsigned)(block), 0, (cudaStream_t)(stream)>>> arguments

/* The same with `bytes` of shared memory besides what the kernel declares, which it names by
 * MW_SHARED_BYTES(name), an array of float4. Of both together a block has 48 KiB without asking;
 * asking is done here, for at most MW_MOST_SHARED_BYTES (compute capability 8.0; 9.0 has 227 KiB). */
#define MW_LAUNCH_SHARED(kernel, grid, block, bytes, stream, arguments)                            \
    do {                                                                                           \
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)(bytes));   \
        kernel<<<(unsigned)(grid), (unsigned)(block), (size_t)(bytes), (cudaStream_t)(stream)>>>   \
            arguments;                                                                             \
    } while (0)
#define MW_SHARED_BYTES(name) extern __shared__ float4 name[]

/* What a block of the current GPU may ask for: 99 KiB where the compute capability is 8.6 or 8.9. */
static inline int mw_most_shared_bytes(void)
{
    int gpu = 0, bytes = 0;
    cudaGetDevice(&gpu);
    cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, gpu);
    return bytes;
}

/* Before a loop: all its turns are written out, or so many at a time. */
#define MW_UNROLL _Pragma("unroll")
#define MW_UNROLL_BY(turns) MW_PRAGMA(unroll turns)
#define MW_PRAGMA(text) _Pragma(#text)

/* Around what C code calls or looks up: MW_C_BEGIN extern const X table[]; ... MW_C_END */
#define MW_C_BEGIN extern "C" {
#define MW_C_END }

#elif !defined(MW_LAUNCH)
#error "this is compiled by nvcc, or by a C compiler with -include tests/kernels/cuda_shim.h"
#endif

#endif
