/* SPDX-License-Identifier: MIT */
/* Instructions of GPUs from compute capability 8.0 on that hand-written kernels use: conversion to
 * bf16, matrix products of a warp on tensor cores, and asynchronous copies to shared memory. Each
 * function is one instruction of PTX (Parallel Thread Execution ISA, sections "mma", "ldmatrix",
 * "cp.async", "cvt", "ex2"). For a C compiler, tests/kernels/cuda_shim.h has functions with the
 * same names and meaning.
 *
 * A *fragment* is a lane's part of a small matrix. Let g = lane / 4 and t = lane % 4. Two bf16 are
 * in an unsigned, the one with the lower index in its lower half.
 * - a [16, 16] (rows, depth): a[0] is (g, 2t) and (g, 2t + 1); a[1] is the same in row g + 8; a[2]
 *   and a[3] are the same with a depth 8 greater.
 * - b [16, 8] (depth, columns): b[0] is (2t, g) and (2t + 1, g); b[1] is the same with a depth 8
 *   greater.
 * - c [16, 8] in f32: c[0] and c[1] are (g, 2t) and (g, 2t + 1); c[2] and c[3] are the same in row
 *   g + 8.
 * Two adjacent fragments c, rounded to bf16, therefore form one fragment a. */
#ifndef MW_RUNTIME_CUDA_TENSOR_CORE_H
#define MW_RUNTIME_CUDA_TENSOR_CORE_H

#include "runtime/cuda/launch.h"

#ifdef __CUDACC__

#include <stdint.h>

/* Rounds both to the nearest bf16, ties to even; `low` is in the lower half. */
static __device__ __forceinline__ unsigned mw_bf16_pair(float low, float high)
{
    unsigned pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

/* 2^x within 2 units in the last place; 0 if that is less than 2^-126. */
static __device__ __forceinline__ float mw_exp2(float x)
{
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
    return power;
}

/* c += a b. All lanes of the warp call this and the next two functions together. */
static __device__ __forceinline__ void mw_mma(float c[4], const unsigned a[4], const unsigned b[2])
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* Loads four matrices [8, 8] of bf16 from shared memory. Lane l passes the address of row l % 8 of
 * matrix l / 8, aligned to 16 bytes. to[i] is (g, 2t) and (g, 2t + 1) of matrix i. */
static __device__ __forceinline__ void mw_load_matrices(unsigned to[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"((unsigned)__cvta_generic_to_shared(row))
                 : "memory");
}

/* Loads four matrices as mw_load_matrices does, but transposed: to[i] is (2t, g) and (2t + 1,
 * g). */
static __device__ __forceinline__ void mw_load_turned(unsigned to[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"((unsigned)__cvta_generic_to_shared(row))
                 : "memory");
}

/* Returns `value` in a way that the compiler cannot see through: values derived from it are
 * recomputed where they are used, and take no registers in between. */
static __device__ __forceinline__ int mw_anew(int value)
{
    asm volatile("" : "+r"(value));
    return value;
}

/* Begins a copy of 16 bytes, both addresses aligned to 16. If `is_there` is 0 it writes 16 zero
 * bytes, and `global` need not be a valid address. The thread that began a copy sees it after
 * mw_copies_wait, other threads after a barrier that follows. */
static __device__ __forceinline__ void mw_copy_begin(void *shared, const void *global, int is_there)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"((unsigned)__cvta_generic_to_shared(shared)), "l"(global),
                   "r"(is_there ? 16 : 0)
                 : "memory");
}

/* Begins a copy of one float, as mw_copy_begin does; both addresses are aligned to 4. */
static __device__ __forceinline__ void mw_copy_begin_float(float *shared, const float *global,
                                                           int is_there)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                 :
                 : "r"((unsigned)__cvta_generic_to_shared(shared)), "l"(global),
                   "r"(is_there ? 4 : 0)
                 : "memory");
}

/* Makes the copies that the thread began since the last call one group. */
static __device__ __forceinline__ void mw_copies_commit(void)
{
    asm volatile("cp.async.commit_group;" : : : "memory");
}

/* Waits until all groups but the last `left` are complete; `left` is a constant, 0 or 1. */
static __device__ __forceinline__ void mw_copies_wait(int left)
{
    if (left == 0)
        asm volatile("cp.async.wait_group 0;" : : : "memory");
    else
        asm volatile("cp.async.wait_group 1;" : : : "memory");
}

#endif

#endif
