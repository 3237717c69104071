/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The greatest elements of rows, sums along rows and gradients scattered along rows as CUDA
 * kernels, run on the host, against plain loops. */
#include "runtime/cuda/routines.h"
#include "tests/unit/order.h"
#include "tests/unit/support.h"

#include <stdlib.h>

static void run(Call *call)
{
    static MwCudaRoutine *const routines[] = {
        [MW_ROUTINE_TOP_K] = mw_cuda_top_k,
        [MW_ROUTINE_CUMSUM] = mw_cuda_cumsum,
        [MW_ROUTINE_TAKE_ALONG_GRAD] = mw_cuda_take_along_grad,
        [MW_ROUTINE_FIRST_EQUAL] = mw_cuda_first_equal,
    };
    setenv("MW_SHIM_ORDER", "7", 1);
    routines[call->routine](call->operands, call->args, NULL);
}

START_TEST(f32_is_found_and_scattered)
{
    order_check(&orders[_i], MW_F32, run);
}
END_TEST

START_TEST(bf16_is_found_and_scattered)
{
    order_check(&orders[_i], MW_BF16, run);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cuda_order");
    TCase *tests = tcase_create("cuda_order");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, f32_is_found_and_scattered, 0, ORDERS);
    tcase_add_loop_test(tests, bf16_is_found_and_scattered, 0, ORDERS);
    return run_suite(suite);
}
