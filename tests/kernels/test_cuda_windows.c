/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Convolutions and pooling as CUDA kernels, run on the host, against plain loops in double
 * precision. */
#include "runtime/cuda/routines.h"
#include "tests/unit/support.h"
#include "tests/unit/windows.h"

#include <stdlib.h>

static void run(Call *call)
{
    static MwCudaRoutine *const routines[] = {
        [MW_ROUTINE_CONV] = mw_cuda_conv,
        [MW_ROUTINE_CONV_TRANSPOSE] = mw_cuda_conv_transpose,
        [MW_ROUTINE_CONV_FILTER_GRAD] = mw_cuda_conv_filter_grad,
        [MW_ROUTINE_MAX_POOL] = mw_cuda_max_pool,
        [MW_ROUTINE_MAX_POOL_GRAD] = mw_cuda_max_pool_grad,
        [MW_ROUTINE_SUM_POOL] = mw_cuda_sum_pool,
        [MW_ROUTINE_SUM_POOL_GRAD] = mw_cuda_sum_pool_grad,
    };
    setenv("MW_SHIM_ORDER", "7", 1);
    routines[call->routine](call->operands, call->args, NULL);
}

START_TEST(f32_is_convolved_and_pooled)
{
    windows_check(&windows[_i], MW_F32, run);
}
END_TEST

START_TEST(bf16_is_convolved_and_pooled)
{
    windows_check(&windows[_i], MW_BF16, run);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cuda_windows");
    TCase *tests = tcase_create("cuda_windows");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, f32_is_convolved_and_pooled, 0, WINDOWS);
    tcase_add_loop_test(tests, bf16_is_convolved_and_pooled, 0, WINDOWS);
    return run_suite(suite);
}
