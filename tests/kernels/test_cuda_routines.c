/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Routines of devices as CUDA kernels, run on the host, against plain loops. Attention has a test
 * of its own. */
#include "runtime/cuda/conv_kernels.h"
#include "runtime/cuda/epilogue.h"
#include "runtime/cuda/routines.h"
#include "tests/unit/order.h"
#include "tests/unit/support.h"
#include "tests/unit/windows.h"

#include <stdlib.h>

static void run(Call *call)
{
    static MwCudaRoutine *const routines[] = {
        [MW_ROUTINE_MAX_POOL] = mw_cuda_max_pool,
        [MW_ROUTINE_MAX_POOL_GRAD] = mw_cuda_max_pool_grad,
        [MW_ROUTINE_MAX_POOL_PICK] = mw_cuda_max_pool_pick,
        [MW_ROUTINE_SUM_POOL] = mw_cuda_sum_pool,
        [MW_ROUTINE_SUM_POOL_GRAD] = mw_cuda_sum_pool_grad,
        [MW_ROUTINE_TOP_K] = mw_cuda_top_k,
        [MW_ROUTINE_CUMSUM] = mw_cuda_cumsum,
        [MW_ROUTINE_TAKE_ALONG_GRAD] = mw_cuda_take_along_grad,
        [MW_ROUTINE_LINEAR_SCAN] = mw_cuda_linear_scan,
        [MW_ROUTINE_FIRST_EQUAL] = mw_cuda_first_equal,
    };
    setenv("MW_SHIM_ORDER", "7", 1);
    if (call->routine >= MW_COUNT(routines) || !routines[call->routine])
        mw_cuda_conv(call->routine, call->operands, call->args, NULL);
    else
        routines[call->routine](call->operands, call->args, NULL);
}

static const MwType types[] = {MW_F32, MW_BF16, MW_F16};

/* Every shape in every type. */
START_TEST(images_are_convolved_and_pooled)
{
    windows_check(&windows[_i / MW_COUNT(types)], types[_i % MW_COUNT(types)], false, run);
}
END_TEST

START_TEST(parts_of_rows_are_found_and_scattered)
{
    order_check(&orders[_i / MW_COUNT(types)], types[_i % MW_COUNT(types)], run);
}
END_TEST

/* Sizes of GPT-2 124M and 1.5B: rows, and columns that are added up. */
static const struct {
    int64_t rows, columns;
} summed[] = {{8192, 768}, {8192, 2304}, {8192, 3072}, {16384, 1600}, {8192, 6400}, {8192, 50304}};

/* Two blocks for each of 132 multiprocessors, and at least 8 rows a thread. */
START_TEST(sums_of_rows_fill_a_gpu)
{
    const int64_t rows = summed[_i].rows, columns = summed[_i].columns;
    const int64_t slices = mw_cuda_sum_slices(rows, columns);
    const int64_t blocks = slices * mw_ceil_div(columns, MW_CUDA_SUM_COLUMNS);
    ck_assert_int_ge(blocks, 264);
    ck_assert_int_ge(rows / slices, 8 * MW_CUDA_SUM_ROWS);
    ck_assert(slices == 1 ||
              blocks * MW_CUDA_SUM_COLUMNS * (int64_t)sizeof(double) <= MW_CUDA_EPILOGUE_WORKSPACE);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cuda_routines");
    TCase *tests = tcase_create("cuda_routines");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, images_are_convolved_and_pooled, 0, WINDOWS * MW_COUNT(types));
    tcase_add_loop_test(tests, parts_of_rows_are_found_and_scattered, 0, ORDERS * MW_COUNT(types));
    tcase_add_loop_test(tests, sums_of_rows_fill_a_gpu, 0, MW_COUNT(summed));
    return run_suite(suite);
}
