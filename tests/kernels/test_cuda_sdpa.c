/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Attention as CUDA kernels, run on the host with threads in three orders, against plain loops in
 * double precision; and that its bits do not depend on the order. */
#include "runtime/cuda_routines.h"
#include "tests/unit/attention.h"
#include "tests/unit/support.h"

#include <stdlib.h>
#include <string.h>

static const char *const orders[] = {"forward", "backward", "7"};

static void run(Call *call)
{
    if (call->routine == MW_ROUTINE_SDPA)
        mw_cuda_sdpa(call->operands, call->args, NULL);
    else
        mw_cuda_sdpa_grad(call->operands, call->args, NULL);
}

static void set_order(int order)
{
    setenv("MW_SHIM_ORDER", orders[order], 1);
}

START_TEST(sdpa_is_softmax_attention)
{
    for (int order = 0; order < MW_COUNT(orders); order++) {
        set_order(order);
        attention_check(&attentions[_i], MW_F32, run, 1e-5);
        attention_check(&attentions[_i], MW_BF16, run, 1e-2);
    }
}
END_TEST

START_TEST(sdpa_grad_is_its_gradient)
{
    for (int order = 0; order < MW_COUNT(orders); order++) {
        set_order(order);
        attention_grad_check(&attentions[_i], MW_F32, run, 1e-5);
        attention_grad_check(&attentions[_i], MW_BF16, run, 1e-2);
    }
}
END_TEST

/* That of the first order and of the others: every operand. */
static void check_bits(MwRoutine routine, const Attention *z, MwType type)
{
    for (int order = 1; order < MW_COUNT(orders); order++) {
        Call calls[] = {attention_call(routine, z, type), attention_call(routine, z, type)};
        set_order(0);
        run(&calls[0]);
        set_order(order);
        run(&calls[1]);
        for (int i = 0; i < mw_routine_info(routine)->operand_count; i++)
            ck_assert_mem_eq(calls[0].operands[i], calls[1].operands[i], (size_t)calls[0].bytes[i]);
        call_release(&calls[0]);
        call_release(&calls[1]);
    }
}

START_TEST(bits_do_not_depend_on_the_order)
{
    for (MwType type = MW_F32; type <= MW_BF16; type++) {
        check_bits(MW_ROUTINE_SDPA, &attentions[_i], type);
        check_bits(MW_ROUTINE_SDPA_GRAD, &attentions[_i], type);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cuda_sdpa");
    TCase *tests = tcase_create("cuda_sdpa");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, sdpa_is_softmax_attention, 0, ATTENTIONS);
    tcase_add_loop_test(tests, sdpa_grad_is_its_gradient, 0, ATTENTIONS);
    tcase_add_loop_test(tests, bits_do_not_depend_on_the_order, 0, ATTENTIONS);
    return run_suite(suite);
}
