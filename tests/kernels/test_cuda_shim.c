/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The shim runs kernels as CUDA does, and shows what is wrong with those that are wrong. */
#include "tests/kernels/cuda_shim.h"

#include "base/half.h"
#include "runtime/cuda/tensor_core.h"
#include "tests/unit/support.h"

#include <signal.h>
#include <stdlib.h>

static const char *const orders[] = {"forward", "backward", "1", "2", "3"};
enum { ORDERS = sizeof orders / sizeof *orders, FORWARD = 0, MOST = 4096 };

static void set_order(int order)
{
    setenv("MW_SHIM_ORDER", orders[order], 1);
}

/* ---- Kernels that are right ---- */

__global__ static void each_index(int *to, int count, float a, double b, long c, int d, int e,
                                  const int *f)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < count)
        to[i] += i + (int)a + (int)b + (int)c + d + e + *f;
}

/* The sum of `block` numbers, with a tree in shared memory. */
__global__ static void sum_tree(const float *from, float *to)
{
    __shared__ float parts[256];
    parts[threadIdx.x] = from[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        to[blockIdx.x] = parts[0];
}

__device__ static float sum_of_warp(float value)
{
    for (int lanes = 16; lanes > 0; lanes /= 2)
        value += __shfl_xor_sync(0xffffffff, value, lanes);
    return value;
}

/* The same of any block, with shuffles. */
__global__ static void sum_warps(const float *from, float *to)
{
    __shared__ float parts[32];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const unsigned whole = blockDim.x / 32 * 32;
    float value = from[blockIdx.x * blockDim.x + threadIdx.x];
    float sum;
    if (threadIdx.x < whole)
        sum = sum_of_warp(value);
    else
        for (unsigned other = sum = 0; other < blockDim.x % 32; other++)
            sum += __shfl_sync(0xffffffff, value, other);
    if (lane == 0)
        parts[warp] = sum;
    __syncthreads();
    sum = 0;
    for (unsigned i = 0; i < (blockDim.x + 31) / 32; i++)
        sum += parts[i];
    if (threadIdx.x == 0)
        to[blockIdx.x] = sum;
}

/* What each kind of shuffle brings, and from the lanes that a block does not have. */
__global__ static void shuffle(const double *from, double *xors, double *downs, int *alls)
{
    const double value = from[threadIdx.x];
    xors[threadIdx.x] = __shfl_xor_sync(0xffffffff, value, 1);
    downs[threadIdx.x] = __shfl_down_sync(0xffffffff, value, 2);
    alls[threadIdx.x] = __shfl_sync(0xffffffff, (int)threadIdx.x, 3);
    __syncwarp();
}

/* A thread's own array lives through barriers, and so do pointers into it. */
__global__ static void private_arrays(float *to)
{
    __shared__ float passed[64];
    float own[24];
    float *last = &own[23];
    for (int i = 0; i < 24; i++)
        own[i] = (float)threadIdx.x;
    for (int i = 0; i < 24; i++) {
        passed[threadIdx.x] = own[i] + (float)i;
        __syncthreads();
        own[i] = passed[(threadIdx.x + 1) % blockDim.x];
        __syncthreads();
    }
    to[threadIdx.x] = own[0] + *last;
}

START_TEST(threads_without_barriers_are_calls)
{
    static int to[MOST + 1];
    const int six = 6;
    memset(to, 0, sizeof to);
    set_order(_i);
    MW_LAUNCH(each_index, 20, 100, NULL, (to, 1990, 1, 2, 3, 4, 5, &six));
    for (int i = 0; i < 1990; i++)
        ck_assert_int_eq(to[i], i + 21);
    ck_assert_int_eq(to[1990], 0);
}
END_TEST

START_TEST(barriers_hold_all_threads)
{
    float from[3 * 256], to[3];
    for (int i = 0; i < 3 * 256; i++)
        from[i] = (float)(i % 17);
    set_order(_i);
    for (int block = 1; block <= 256; block *= 2) {
        MW_LAUNCH(sum_tree, 3, block, NULL, (from, to));
        for (int b = 0; b < 3; b++) {
            float sum = 0;
            for (int i = 0; i < block; i++)
                sum += from[b * block + i];
            ck_assert_float_eq(to[b], sum);
        }
    }
}
END_TEST

START_TEST(warps_shuffle_among_themselves)
{
    float from[2 * 200], to[2];
    for (int i = 0; i < 2 * 200; i++)
        from[i] = (float)(i % 19);
    set_order(_i);
    for (int block = 1; block <= 200; block++) {
        MW_LAUNCH(sum_warps, 2, block, NULL, (from, to));
        for (int b = 0; b < 2; b++) {
            float sum = 0;
            for (int i = 0; i < block; i++)
                sum += from[b * block + i];
            ck_assert_float_eq(to[b], sum);
        }
    }
}
END_TEST

START_TEST(shuffles_bring_what_the_lane_gave)
{
    double from[37], xors[37], downs[37];
    int alls[37];
    for (int i = 0; i < 37; i++)
        from[i] = 100 + i;
    set_order(_i);
    MW_LAUNCH(shuffle, 1, 37, NULL, (from, xors, downs, alls));
    for (int i = 0; i < 37; i++) {
        const int lane = i % 32, down = lane + 2 < 32 ? i + 2 : i;
        ck_assert_int_eq(alls[i], i - lane + 3);
        ck_assert((i ^ 1) < 37 ? xors[i] == 100 + (i ^ 1) : isnan(xors[i]));
        ck_assert(down < 37 ? downs[i] == 100 + down : isnan(downs[i]));
    }
}
END_TEST

START_TEST(threads_keep_their_arrays)
{
    float to[64];
    set_order(_i);
    MW_LAUNCH(private_arrays, 1, 64, NULL, (to));
    for (int i = 0; i < 64; i++)
        ck_assert_float_eq(to[i], (float)(2 * ((i + 1) % 64) + 23));
}
END_TEST

/* ---- What runtime/cuda/tensor_core.h has ---- */

enum { SIDE = 16, COLUMNS = 8 };

/* c = a b for a [16, 16] and b [16, 8] in bf16: b as it is, or by its columns. */
__global__ static void product(const uint16_t *a, const uint16_t *b, const uint16_t *columns,
                               float *c, float *turned)
{
    __shared__ float4 shared[5 * SIDE];
    char *const a_tile = (char *)shared, *const b_tile = a_tile + SIDE * SIDE * 2;
    char *const columns_tile = b_tile + SIDE * COLUMNS * 2;
    const unsigned lane = threadIdx.x;
    unsigned rows[4], two[4], one[4];
    float sums[2][4] = {{0}};
    mw_copy_begin(a_tile + lane * 16, a + lane * 8, 1);
    mw_copies_commit();
    mw_copy_begin(lane < 16 ? b_tile + lane * 16 : columns_tile + (lane - 16) * 16,
                  lane < 16 ? b + lane * 8 : columns + (lane - 16) * 8, 1);
    mw_copies_commit();
    mw_copies_wait(1);
    __syncthreads();
    mw_load_matrices(rows, a_tile + lane % 16 * 32 + lane / 16 * 16);
    mw_copies_wait(0);
    __syncthreads();
    mw_load_turned(one, b_tile + lane % 16 * 16);
    mw_load_matrices(two, columns_tile + lane % 8 * 32 + lane / 8 % 2 * 16);
    mw_mma(sums[0], rows, one);
    mw_mma(sums[1], rows, two);
    for (unsigned i = 0; i < 4; i++) {
        const unsigned at = (lane / 4 + i / 2 * 8) * COLUMNS + lane % 4 * 2 + i % 2;
        c[at] = sums[0][i];
        turned[at] = sums[1][i];
    }
}

START_TEST(warps_multiply_matrices)
{
    _Alignas(16) uint16_t a[SIDE * SIDE], b[SIDE * COLUMNS], columns[SIDE * COLUMNS];
    float c[SIDE * COLUMNS], turned[SIDE * COLUMNS];
    for (int i = 0; i < SIDE * SIDE; i++)
        a[i] = mw_bf16_from_f32((float)(i * 7 % 13 - 6));
    for (int k = 0; k < SIDE; k++)
        for (int n = 0; n < COLUMNS; n++)
            b[k * COLUMNS + n] = columns[n * SIDE + k] =
                mw_bf16_from_f32((float)((k * 5 + n * 3) % 11 - 5));
    set_order(_i);
    MW_LAUNCH(product, 1, 32, NULL, (a, b, columns, c, turned));
    for (int m = 0; m < SIDE; m++) {
        for (int n = 0; n < COLUMNS; n++) {
            float sum = 0;
            for (int k = 0; k < SIDE; k++)
                sum += mw_bf16_to_f32(a[m * SIDE + k]) * mw_bf16_to_f32(b[k * COLUMNS + n]);
            ck_assert_float_eq(c[m * COLUMNS + n], sum);
            ck_assert_float_eq(turned[m * COLUMNS + n], sum);
        }
    }
}
END_TEST

/* Asks for shared memory when launched; reads a copy before it is waited for, and after. */
__global__ static void copy_late(const float *from, float *before, float *after, float *zero)
{
    MW_SHARED_BYTES(shared);
    float *const own = (float *)(shared + threadIdx.x);
    mw_copy_begin(own, from + 4 * threadIdx.x, 1);
    before[threadIdx.x] = own[0];
    mw_copies_commit();
    mw_copies_wait(0);
    after[threadIdx.x] = own[3];
    mw_copy_begin_float(own, NULL, 0);
    mw_copies_commit();
    mw_copies_wait(0);
    zero[threadIdx.x] = own[0];
}

START_TEST(copies_are_late)
{
    _Alignas(16) float from[4 * 64];
    float before[64], after[64], zero[64];
    for (int i = 0; i < 4 * 64; i++)
        from[i] = (float)(i + 1);
    set_order(_i);
    MW_LAUNCH_SHARED(copy_late, 1, 64, 64 * 16, NULL, (from, before, after, zero));
    for (int i = 0; i < 64; i++)
        ck_assert(isnan(before[i]) && after[i] == (float)(4 * i + 4) && zero[i] == 0);
}
END_TEST

/* ---- Kernels that are wrong ---- */

/* Lacks a barrier between writing and reading. */
__global__ static void race_after_write(const float *from, float *to)
{
    __shared__ float turned[64];
    turned[threadIdx.x] = from[threadIdx.x];
    to[threadIdx.x] = turned[(threadIdx.x + 1) % blockDim.x];
}

/* Lacks one between reading and writing again. */
__global__ static void race_after_read(const float *from, float *to)
{
    __shared__ float passed[64];
    float value = from[threadIdx.x];
    for (int i = 0; i < 2; i++) {
        passed[threadIdx.x] = value;
        __syncthreads();
        value = passed[blockDim.x - 1 - threadIdx.x];
    }
    to[threadIdx.x] = value;
}

/* Right only if threads run forwards. */
__global__ static void race_of_neighbours(const float *from, float *to)
{
    __shared__ float sums[64];
    sums[threadIdx.x] = from[threadIdx.x];
    if (threadIdx.x > 0)
        sums[threadIdx.x] += sums[threadIdx.x - 1];
    to[threadIdx.x] = sums[threadIdx.x];
}

START_TEST(orders_show_races)
{
    float from[64], next[64], sums[64], to[64], zeros[64] = {0};
    int found[2] = {0};
    for (int i = 0; i < 64; i++) {
        from[i] = (float)(i * i + 1);
        next[i] = (float)((i + 1) % 64 * ((i + 1) % 64) + 1);
        sums[i] = from[i] + (i ? sums[i - 1] : 0);
    }
    for (int order = 0; order < ORDERS; order++) {
        set_order(order);
        MW_LAUNCH(race_after_write, 1, 64, NULL, (zeros, to));
        MW_LAUNCH(race_after_write, 1, 64, NULL, (from, to));
        found[0] += memcmp(to, next, sizeof to) != 0;
        MW_LAUNCH(race_after_read, 1, 64, NULL, (from, to));
        found[1] += memcmp(to, from, sizeof to) != 0;
        MW_LAUNCH(race_of_neighbours, 1, 64, NULL, (zeros, to));
        MW_LAUNCH(race_of_neighbours, 1, 64, NULL, (from, to));
        ck_assert((memcmp(to, sums, sizeof to) != 0) == (order != FORWARD));
    }
    ck_assert_int_eq(found[0], ORDERS);
    ck_assert_int_eq(found[1], ORDERS);
}
END_TEST

#ifndef __SANITIZE_ADDRESS__
/* Reads what no thread has written. */
__global__ static void unwritten(const float *from, float *to)
{
    __shared__ float half[64];
    if (threadIdx.x < 32)
        half[threadIdx.x] = from[threadIdx.x];
    __syncthreads();
    to[threadIdx.x] = half[threadIdx.x];
}

START_TEST(shared_memory_starts_as_nan)
{
    float from[64] = {0}, to[64];
    set_order(FORWARD);
    MW_LAUNCH(unwritten, 1, 64, NULL, (from, to));
    ck_assert(to[0] == 0 && isnan(to[32]));
}
END_TEST
#endif

__global__ static void barrier_of_some(void)
{
    if (threadIdx.x < 40)
        __syncthreads();
}

__global__ static void barriers_of_two_places(void)
{
    if (threadIdx.x % 2)
        __syncthreads();
    else
        __syncthreads();
}

__global__ static void shuffle_of_some(int *to)
{
    if (threadIdx.x != 35)
        *to = __shfl_xor_sync(0xffffffff, *to, 1);
}

__global__ static void shuffle_or_barrier(int *to)
{
    if (threadIdx.x < 32)
        *to = __shfl_xor_sync(0xffffffff, *to, 1);
    else
        __syncthreads();
}

static void expect(const char *text, const char *wanted)
{
    ck_assert_msg(strstr(text, wanted) != NULL, "'%s' does not say '%s'", text, wanted);
}

/* Lacks a barrier between two warps that wait by themselves. */
__global__ static void race_of_warps(float *to)
{
    __shared__ float passed[64];
    passed[threadIdx.x] = 0;
    __syncthreads();
    __syncwarp();
    passed[threadIdx.x] = 1;
    __syncwarp();
    to[threadIdx.x] = passed[63 - threadIdx.x];
}

START_TEST(warps_run_far_apart)
{
    float to[64], sum = 0;
    set_order(_i);
    MW_LAUNCH(race_of_warps, 1, 64, NULL, (to));
    for (int i = 0; i < 64; i++)
        sum += to[i];
    ck_assert_float_eq(sum, 32); /* the second of them sees what the first wrote */
}
END_TEST

__global__ static void forgets_a_copy(const float *from)
{
    MW_SHARED_BYTES(shared);
    mw_copy_begin(shared + threadIdx.x, from, 1);
}

__global__ static void copies_askew(const float *from)
{
    MW_SHARED_BYTES(shared);
    mw_copy_begin(shared + threadIdx.x, from + 1, 1);
    mw_copies_commit();
    mw_copies_wait(0);
}

START_TEST(copies_that_go_wrong_are_a_failure)
{
    _Alignas(16) const float from[8] = {0};
    char text[400];
    set_order(FORWARD);
    cuda_shim_catch(text, sizeof text);
    MW_LAUNCH_SHARED(forgets_a_copy, 1, 32, 512, NULL, (from));
    expect(text, "thread 0 ends with 1 copies under way");
    cuda_shim_catch(text, sizeof text);
    MW_LAUNCH_SHARED(copies_askew, 1, 32, 512, NULL, (from));
    expect(text, "a copy is not at 16 bytes");
    cuda_shim_catch(text, sizeof text);
    MW_LAUNCH_SHARED(copies_askew, 1, 32, MW_MOST_SHARED_BYTES + 16, NULL, (from));
    expect(text, "no block has 166928 bytes of shared memory");
}
END_TEST

START_TEST(threads_that_never_come_are_a_failure)
{
    char text[400];
    int value = 0;
    set_order(_i);
    cuda_shim_catch(text, sizeof text);
    MW_LAUNCH(barrier_of_some, 2, 64, NULL, ());
    expect(text, "kernel barrier_of_some, block 0 of 2: thread 0 waits for ever at the barrier");
    expect(text, "of 64 threads, 40 are at barriers, 0 at shuffles, 24 have ended");
    cuda_shim_catch(text, sizeof text);
    MW_LAUNCH(barriers_of_two_places, 1, 64, NULL, ());
    expect(text, "of 64 threads, 64 are at barriers");
    cuda_shim_catch(text, sizeof text);
    MW_LAUNCH(shuffle_of_some, 1, 64, NULL, (&value));
    expect(text, "thread 32 waits for ever at the shuffle");
    expect(text, "0 are at barriers, 31 at shuffles, 33 have ended");
    cuda_shim_catch(text, sizeof text);
    MW_LAUNCH(shuffle_or_barrier, 1, 64, NULL, (&value));
    expect(text, "32 are at barriers, 0 at shuffles, 32 have ended");
    cuda_shim_catch(text, sizeof text);
    MW_LAUNCH(barrier_of_some, 2, 40, NULL, ());
    ck_assert_str_eq(text, "");
}
END_TEST

START_TEST(launches_that_cuda_refuses_are_a_failure)
{
    char text[400];
    cuda_shim_catch(text, sizeof text);
    MW_LAUNCH(barrier_of_some, 0, 32, NULL, ());
    expect(text, "no grid of 0 blocks of 32 threads");
    cuda_shim_catch(text, sizeof text);
    MW_LAUNCH(barrier_of_some, 1, 1025, NULL, ());
    expect(text, "no grid of 1 blocks of 1025 threads");
    setenv("MW_SHIM_ORDER", "sideways", 1);
    cuda_shim_catch(text, sizeof text);
    MW_LAUNCH(barrier_of_some, 1, 32, NULL, ());
    expect(text, "not 'sideways'");
}
END_TEST

START_TEST(failures_end_programs)
{
    set_order(FORWARD);
    MW_LAUNCH(barrier_of_some, 1, 64, NULL, ());
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cuda_shim");
    TCase *tests = tcase_create("cuda_shim");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, threads_without_barriers_are_calls, 0, ORDERS);
    tcase_add_loop_test(tests, barriers_hold_all_threads, 0, ORDERS);
    tcase_add_loop_test(tests, warps_shuffle_among_themselves, 0, ORDERS);
    tcase_add_loop_test(tests, shuffles_bring_what_the_lane_gave, 0, ORDERS);
    tcase_add_loop_test(tests, threads_keep_their_arrays, 0, ORDERS);
    tcase_add_loop_test(tests, warps_multiply_matrices, 0, ORDERS);
    tcase_add_loop_test(tests, copies_are_late, 0, ORDERS);
    tcase_add_test(tests, orders_show_races);
    tcase_add_loop_test(tests, warps_run_far_apart, 0, 2);
    tcase_add_test(tests, copies_that_go_wrong_are_a_failure);
#ifndef __SANITIZE_ADDRESS__
    tcase_add_test(tests, shared_memory_starts_as_nan);
#endif
    tcase_add_loop_test(tests, threads_that_never_come_are_a_failure, 0, ORDERS);
    tcase_add_test(tests, launches_that_cuda_refuses_are_a_failure);
    tcase_add_test_raise_signal(tests, failures_end_programs, SIGABRT);
    return run_suite(suite);
}
