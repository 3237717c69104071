/* SPDX-License-Identifier: MIT */
/* Launches, shared memory and unrolling for CUDA kernels, written by hand (runtime/cuda/) or by the
 * compiler.
 *
 * Kernels are written in the common subset of C11 and CUDA C++, so that the tests can compile the
 * same text with a C compiler: explicit casts from void *, __restrict__, constant sizes,
 * one-dimensional grids and blocks, and of CUDA's names only threadIdx.x, blockIdx.x, blockDim.x,
 * gridDim.x, __syncthreads, __syncwarp, __shfl_xor_sync, __shfl_down_sync, __shfl_sync,
 * __ballot_sync, __popc, __ffs, atomicCAS and atomicMin of int, and float4. For a C compiler,
 * tests/kernels/cuda_shim.h (by -include) defines everything that this header defines for nvcc. */
#ifndef MW_RUNTIME_CUDA_LAUNCH_H
#define MW_RUNTIME_CUDA_LAUNCH_H

/* Most shared memory of a block, in bytes, for compute capability 8.0; 9.0 has 227 KiB. */
enum { MW_MOST_SHARED_BYTES = 163 << 10 };

#ifdef __CUDACC__

/* Launches `grid` blocks of `block` threads of a __global__ function on `stream` (a cudaStream_t as
 * void *): MW_LAUNCH(kernel, grid, block, stream, (arguments)). It is a statement. `grid` and
 * `block` are positive ints, `block` at most 1024. The arguments have no side effects. The next
 * cudaGetLastError() reports a launch that CUDA refuses. */
#define MW_LAUNCH(kernel, grid, block, stream, arguments)                                          \
    kernel<<<(unsigned)(grid), (unsigned)(block), 0, (cudaStream_t)(stream)>>> arguments

/* The same with `bytes` of dynamic shared memory, which the kernel declares by
 * MW_SHARED_BYTES(name) as an array of float4. Together with the static shared memory of the kernel
 * they are at most MW_MOST_SHARED_BYTES; more than 48 KiB need the attribute that is set here. */
#define MW_LAUNCH_SHARED(kernel, grid, block, bytes, stream, arguments)                            \
    do {                                                                                           \
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)(bytes));   \
        kernel<<<(unsigned)(grid), (unsigned)(block), (size_t)(bytes), (cudaStream_t)(stream)>>>   \
            arguments;                                                                             \
    } while (0)
#define MW_SHARED_BYTES(name) extern __shared__ float4 name[]

/* Most shared memory of a block on the current GPU, in bytes; 99 KiB for compute capability 8.6 and
 * 8.9. */
static inline int mw_most_shared_bytes(void)
{
    int gpu = 0, bytes = 0;
    cudaGetDevice(&gpu);
    cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, gpu);
    return bytes;
}

/* Before a loop: unrolls it, completely or by a factor. */
#define MW_UNROLL _Pragma("unroll")
#define MW_UNROLL_BY(turns) MW_PRAGMA(unroll turns)
#define MW_PRAGMA(text) _Pragma(#text)

/* Around symbols that C code calls or looks up: MW_C_BEGIN extern const X table[]; ... MW_C_END */
#define MW_C_BEGIN extern "C" {
#define MW_C_END }

#elif !defined(MW_LAUNCH)
#error "this is compiled by nvcc, or by a C compiler with -include tests/kernels/cuda_shim.h"
#endif

#endif
