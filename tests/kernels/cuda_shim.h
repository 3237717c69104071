/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CUDA kernels in C on the host: `cc -x c -include tests/kernels/cuda_shim.h kernels.cu
 * tests/kernels/cuda_shim.c tests/kernels/fibers.c`, with the rules that runtime/cuda/launch.h
 * gives for their text. The shim is compiled into whatever holds the kernels: a program, or a
 * library that dlopen takes.
 *
 * A launch runs its blocks one after another, and the threads of a block one at a time, each until
 * it waits for others. The environment variable MW_SHIM_ORDER says in which order threads get their
 * turn: "forward" (as without it), "backward", or a number, the seed of an order that is drawn anew
 * whenever they wait. A warp that can go on does before others have their turn, but for the last
 * order. Kernels whose results depend on it lack a barrier. Shared memory starts as NaN in the
 * first blocks of a launch (not under the address sanitizer, which guards its ends);
 * MW_SHIM_SHARED_KIB says how much a block may ask for.
 *
 * Copies of runtime/cuda/tensor_core.h are done when they are waited for, no sooner; what they will
 * write over is NaN from when they begin.
 *
 * A barrier that some threads of the block do not reach, a shuffle that some lanes of the warp do
 * not reach, copies that nobody waits for, and a launch that CUDA would refuse end the program with
 * a message on stderr, or go to cuda_shim_catch. A shuffle from a lane that the block does not have
 * gives NaN. */
#ifndef MW_TESTS_KERNELS_CUDA_SHIM_H
#define MW_TESTS_KERNELS_CUDA_SHIM_H

#include <math.h>
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

/* No other thread has its turn in between. */
static inline int atomicCAS(int *at, int if_it_is, int value)
{
    const int there = *at;
    *at = there == if_it_is ? value : there;
    return there;
}

static inline int atomicMin(int *at, int value)
{
    const int there = *at;
    *at = value < there ? value : there;
    return there;
}

/* A kernel is compiled once, wherever it is launched. */
#define __global__ __attribute__((noinline))
#define __noinline__ __attribute__((noinline))
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
#define __ballot_sync(mask, vote)                                                                  \
    __extension__({                                                                                \
        unsigned cuda_shim_votes = (vote) ? 1u << threadIdx.x % 32 : 0;                            \
        for (unsigned cuda_shim_lanes = 16; cuda_shim_lanes; cuda_shim_lanes /= 2)                 \
            cuda_shim_votes |= __shfl_xor_sync(mask, cuda_shim_votes, cuda_shim_lanes);            \
        cuda_shim_votes;                                                                           \
    })
#define __popc(bits) __builtin_popcount(bits)
#define __ffs(bits) __builtin_ffs(bits)
#define __shfl_sync(mask, value, lane) CUDA_SHIM_SHUFFLE(mask, value, (unsigned)(lane) % 32)

/* A lane beyond the warp is the own lane, as in CUDA. */
#define CUDA_SHIM_SHUFFLE(mask, value, from)                                                       \
    __extension__({                                                                                \
        _Static_assert((mask) == 0xffffffff, "all lanes take part in a shuffle");                  \
        __typeof__((value) + 0) cuda_shim_value = (value);                                         \
        cuda_shim_shuffle(__LINE__, &cuda_shim_value, sizeof cuda_shim_value, (from));             \
        cuda_shim_value;                                                                           \
    })

/* ---- As in runtime/cuda/half.h ---- */

#define mw_half_load(half) cuda_shim_half_load(half)
#define mw_half_store(value) cuda_shim_half_store(value)

/* ---- As in runtime/cuda/tensor_core.h ---- */

#define mw_mma(c, a, b) cuda_shim_mma(__LINE__, c, a, b)
#define mw_load_matrices(to, row) cuda_shim_load_matrices(__LINE__, to, row, 0)
#define mw_load_turned(to, row) cuda_shim_load_matrices(__LINE__, to, row, 1)
#define mw_copy_begin(shared, global, is_there) cuda_shim_copy_begin(shared, global, 16, is_there)
#define mw_copy_begin_float(shared, global, is_there)                                              \
    cuda_shim_copy_begin(shared, global, 4, is_there)
#define mw_copies_commit() cuda_shim_copies_commit()
#define mw_copies_wait(left) cuda_shim_copies_wait(left)

#define mw_bf16_pair(low, high) cuda_shim_bf16_pair(low, high)
#define mw_exp2(x) exp2f(x)
#define __fdividef(x, y) ((x) / (y))
#define mw_anew(value) (value)

/* ---- Of launches ---- */

/* CUDA_SHIM_FIELDS(x, y): "__typeof__(1 ? (x) : (x)) a; __typeof__(1 ? (y) : (y)) aa;", where
 * arrays are pointers; CUDA_SHIM_NAMES(x, y): "cuda_shim_state->given.a,
 * cuda_shim_state->given.aa". For up to 80 arguments. */
#define CUDA_SHIM_PARENS ()
#define CUDA_SHIM_SCAN(...)                                                                        \
    CUDA_SHIM_SCAN_2(CUDA_SHIM_SCAN_2(CUDA_SHIM_SCAN_2(CUDA_SHIM_SCAN_2(__VA_ARGS__))))
#define CUDA_SHIM_SCAN_2(...)                                                                      \
    CUDA_SHIM_SCAN_1(CUDA_SHIM_SCAN_1(CUDA_SHIM_SCAN_1(CUDA_SHIM_SCAN_1(__VA_ARGS__))))
#define CUDA_SHIM_SCAN_1(...)                                                                      \
    CUDA_SHIM_SCAN_0(CUDA_SHIM_SCAN_0(CUDA_SHIM_SCAN_0(CUDA_SHIM_SCAN_0(__VA_ARGS__))))
#define CUDA_SHIM_SCAN_0(...) __VA_ARGS__
#define CUDA_SHIM_FIELDS(...) __VA_OPT__(CUDA_SHIM_SCAN(CUDA_SHIM_FIELD(a, __VA_ARGS__)))
#define CUDA_SHIM_FIELD(name, x, ...)                                                              \
    __typeof__(1 ? (x) : (x)) name;                                                                \
    __VA_OPT__(CUDA_SHIM_FIELD_NEXT CUDA_SHIM_PARENS(name##a, __VA_ARGS__))
#define CUDA_SHIM_FIELD_NEXT() CUDA_SHIM_FIELD
#define CUDA_SHIM_NAMES(...) __VA_OPT__(CUDA_SHIM_SCAN(CUDA_SHIM_NAME(a, __VA_ARGS__)))
#define CUDA_SHIM_NAME(name, x, ...)                                                               \
    cuda_shim_state->given.name __VA_OPT__(                                                        \
        , CUDA_SHIM_NAME_NEXT CUDA_SHIM_PARENS(name##a, __VA_ARGS__))
#define CUDA_SHIM_NAME_NEXT() CUDA_SHIM_NAME
#define CUDA_SHIM_VALUES(...) __VA_ARGS__

/* What every launch has; the arguments of its kernel follow. */
typedef struct {
    const char *kernel;
    int grid, block;
    int64_t shared_bytes;
    char *shared, *shared_end;    /* shared memory that kernels declare */
    void (*thread)(const void *); /* calls the kernel, for the thread threadIdx, with this launch */
} CudaShimLaunch;

/* A nested function of gcc that refers to nothing around it, so that (with -O1 or more) it can be
 * called when that is gone. */
#define MW_LAUNCH(kernel, grid, block, stream, arguments)                                          \
    MW_LAUNCH_SHARED(kernel, grid, block, 0, stream, arguments)
#define MW_LAUNCH_SHARED(kernel, grid, block, bytes, stream, arguments)                            \
    do {                                                                                           \
        struct cuda_shim_launch {                                                                  \
            CudaShimLaunch launch;                                                                 \
            struct {                                                                               \
                CUDA_SHIM_FIELDS arguments                                                         \
            } given;                                                                               \
        };                                                                                         \
        void cuda_shim_thread(const void *cuda_shim_of)                                            \
        {                                                                                          \
            const struct cuda_shim_launch *cuda_shim_state = cuda_shim_of;                         \
            (void)cuda_shim_state; /* of kernels without arguments */                              \
            kernel(CUDA_SHIM_NAMES arguments);                                                     \
        }                                                                                          \
        struct cuda_shim_launch cuda_shim_now = {                                                  \
            {#kernel, (grid), (block), (bytes), CUDA_SHIM_SHARED, cuda_shim_thread},               \
            {CUDA_SHIM_VALUES arguments}};                                                         \
        if (cuda_shim_queue)                                                                       \
            cuda_shim_queue(#kernel, stream, cuda_shim_launch, &cuda_shim_now,                     \
                            sizeof cuda_shim_now);                                                 \
        else                                                                                       \
            cuda_shim_launch(&cuda_shim_now);                                                      \
    } while (0)
#define MW_SHARED_BYTES(name) float4 *const name = (float4 *)cuda_shim_shared_bytes()
#define mw_most_shared_bytes() cuda_shim_most_shared()
#define MW_UNROLL
#define MW_UNROLL_BY(turns)
#define MW_C_BEGIN
#define MW_C_END

/* For programs whose streams are queues: puts the launch there, `run` with a copy of its state.
 * Without it launches run at once. */
void cuda_shim_queue(const char *kernel, void *stream, void (*run)(void *state), const void *state,
                     size_t bytes) __attribute__((weak));

/* For programs whose streams are queues: does something of other streams, which may launch kernels;
 * called between two rounds of a block, if the other says that something is to be done. */
void cuda_shim_pause(void) __attribute__((weak));
_Bool cuda_shim_pauses(void) __attribute__((weak));

/* Runs a CudaShimLaunch to its end. */
void cuda_shim_launch(void *launch);
void *cuda_shim_shared_bytes(void);
int cuda_shim_most_shared(void);
void cuda_shim_barrier(int line);
void cuda_shim_warp_barrier(int line);
void cuda_shim_shuffle(int line, void *value, size_t bytes, unsigned from);
float cuda_shim_half_load(uint16_t half);
uint16_t cuda_shim_half_store(float value);
unsigned cuda_shim_bf16_pair(float low, float high);
void cuda_shim_mma(int line, float c[4], const unsigned a[4], const unsigned b[2]);
void cuda_shim_load_matrices(int line, unsigned to[4], const void *row, _Bool turned);
void cuda_shim_copy_begin(void *shared, const void *global, size_t bytes, _Bool is_there);
void cuda_shim_copies_commit(void);
void cuda_shim_copies_wait(int left);

#endif
