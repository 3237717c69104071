/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CUDA kernels in C on the host: `cc -x c -include tests/kernels/cuda_shim.h kernels.cu
 * tests/kernels/cuda_shim.c`, with the rules that runtime/cuda_launch.h gives for their text. The
 * shim is compiled into whatever holds the kernels: a program, or a library that dlopen takes.
 *
 * A launch runs its blocks one after another, and the threads of a block one at a time, each until
 * it waits for others. The environment variable MW_SHIM_ORDER says in which order threads get their
 * turn: "forward" (as without it), "backward", or a number, the seed of an order that is drawn anew
 * after every barrier. Kernels whose results depend on it lack a barrier. Shared memory starts as
 * NaN in the first blocks of a launch (not under the address sanitizer, which guards its ends).
 *
 * A barrier that some threads of the block do not reach, a shuffle that some lanes of the warp do
 * not reach, and a launch that CUDA would refuse end the program with a message on stderr, or go to
 * cuda_shim_catch. A shuffle from a lane that the block does not have gives NaN. */
#ifndef MW_TESTS_KERNELS_CUDA_SHIM_H
#define MW_TESTS_KERNELS_CUDA_SHIM_H

#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

/* ---- Of the tests ---- */

/* From now on a failure is written to `text` (`size` bytes, emptied now) and ends its launch alone;
 * with NULL it ends the program again. */
void cuda_shim_catch(char *text, size_t size);

/* ---- Of kernels ---- */

typedef struct {
    unsigned x, y, z;
} CudaShimIndex;
extern CudaShimIndex threadIdx, blockIdx, blockDim, gridDim;

typedef struct __attribute__((aligned(16))) {
    float x, y, z, w;
} float4;

static inline float4 make_float4(float x, float y, float z, float w)
{
    return (float4){x, y, z, w};
}

static inline unsigned __float_as_uint(float value)
{
    unsigned bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float __uint_as_float(unsigned bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Kernels stay functions of their own: the stack between them and the launch is theirs. */
#define __global__ __attribute__((noinline))
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#ifdef __SANITIZE_ADDRESS__
#define __shared__ static
#define CUDA_SHIM_SHARED NULL, NULL
#else
#define __shared__ static __attribute__((section("cuda_shim_shared")))
#define CUDA_SHIM_SHARED __start_cuda_shim_shared, __stop_cuda_shim_shared
extern char __start_cuda_shim_shared[] __attribute__((weak, visibility("hidden")));
extern char __stop_cuda_shim_shared[] __attribute__((weak, visibility("hidden")));
#endif

#define __syncthreads() cuda_shim_barrier(__LINE__)
#define __syncwarp() cuda_shim_warp_barrier(__LINE__)
#define __shfl_xor_sync(mask, value, lanes)                                                        \
    CUDA_SHIM_SHUFFLE(mask, value, (threadIdx.x % 32) ^ (unsigned)(lanes))
#define __shfl_down_sync(mask, value, lanes)                                                       \
    CUDA_SHIM_SHUFFLE(mask, value, (threadIdx.x % 32) + (unsigned)(lanes))
#define __shfl_sync(mask, value, lane) CUDA_SHIM_SHUFFLE(mask, value, (unsigned)(lane) % 32)

/* A lane beyond the warp is the own lane, as in CUDA. */
#define CUDA_SHIM_SHUFFLE(mask, value, from)                                                       \
    __extension__({                                                                                \
        _Static_assert((mask) == 0xffffffff, "all lanes take part in a shuffle");                  \
        __typeof__((value) + 0) cuda_shim_value = (value);                                         \
        cuda_shim_shuffle(__LINE__, &cuda_shim_value, sizeof cuda_shim_value, (from));             \
        cuda_shim_value;                                                                           \
    })

/* ---- Of launches ---- */

/* A nested function of gcc, called by its name: a frame with nothing in it but the arguments of the
 * kernel. setjmp marks where a thread that waits leaves to; see cuda_shim.c. */
#define MW_LAUNCH(kernel, grid, block, stream, arguments)                                          \
    do {                                                                                           \
        void cuda_shim_launching(void)                                                             \
        {                                                                                          \
            cuda_shim_launch(#kernel, (grid), (block), __builtin_frame_address(0),                 \
                             CUDA_SHIM_SHARED);                                                    \
            (void)_setjmp(*cuda_shim_loop());                                                      \
            while (cuda_shim_next())                                                               \
                kernel arguments;                                                                  \
        }                                                                                          \
        if (cuda_shim_before_launch)                                                               \
            cuda_shim_before_launch(stream);                                                       \
        cuda_shim_launching();                                                                     \
    } while (0)
#define MW_UNROLL
#define MW_UNROLL_BY(turns)
#define MW_C_BEGIN
#define MW_C_END

/* For programs whose streams are queues: does what is queued, since launches run at once. */
void cuda_shim_before_launch(void *stream) __attribute__((weak));

void cuda_shim_launch(const char *kernel, int grid, int block, void *frame, char *shared,
                      char *shared_end);
jmp_buf *cuda_shim_loop(void);
_Bool cuda_shim_next(void);
void cuda_shim_barrier(int line);
void cuda_shim_warp_barrier(int line);
void cuda_shim_shuffle(int line, void *value, size_t bytes, unsigned from);

/* Nothing that a launch uses changes between setjmp and longjmp. */
#pragma GCC diagnostic ignored "-Wclobbered"

#endif
