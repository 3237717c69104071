/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Attention as CUDA kernels, run on the host with threads in two orders, against plain loops in
 * double precision; and that its bits do not depend on the order. */
#include "runtime/cuda/routines.h"
#include "runtime/cuda/sdpa_kernels.h"
#include "tests/unit/attention.h"
#include "tests/unit/support.h"

#include <stdlib.h>
#include <string.h>

static const char *const orders[] = {"backward", "7"};

/* Sanitizers look for stray addresses, which no order changes, and are slow. */
#ifdef __SANITIZE_ADDRESS__
enum { ORDERS = 1 };
#else
enum { ORDERS = MW_COUNT(orders) };
#endif

static void run_once(Call *call, int order)
{
    static MwCudaRoutine *const routines[MW_ROUTINE_COUNT] = {
        [MW_ROUTINE_SDPA] = mw_cuda_sdpa,
        [MW_ROUTINE_SDPA_GRAD] = mw_cuda_sdpa_grad,
        [MW_ROUTINE_SDPA_MASKED] = mw_cuda_sdpa_masked,
        [MW_ROUTINE_SDPA_MASKED_GRAD] = mw_cuda_sdpa_masked_grad,
        [MW_ROUTINE_SDPA_MASK_GRAD] = mw_cuda_sdpa_mask_grad,
    };
    setenv("MW_SHIM_ORDER", orders[order], 1);
    routines[call->routine](call->operands, call->args, NULL);
}

/* What the call writes is NaN again. */
static void forget(Call *call)
{
    const MwRoutineInfo *info = mw_routine_info(call->routine);
    for (int i = 0; i < info->operand_count; i++)
        if (strchr("ws", info->accesses[i]))
            memset(call->operands[i], 0xff, (size_t)call->bytes[i]);
}

/* In every order; all give the bits that the first one gives. */
static void run(Call *call)
{
    const MwRoutineInfo *info = mw_routine_info(call->routine);
    void *first[MW_ROUTINE_MAX_OPERANDS];
    run_once(call, 0);
    for (int i = 0; i < info->operand_count; i++) {
        first[i] = malloc((size_t)call->bytes[i]);
        memcpy(first[i], call->operands[i], (size_t)call->bytes[i]);
    }
    for (int order = 1; order < ORDERS; order++) {
        forget(call);
        run_once(call, order);
        for (int i = 0; i < info->operand_count; i++)
            ck_assert_msg(memcmp(first[i], call->operands[i], (size_t)call->bytes[i]) == 0,
                          "operand %d is another one in order %s", i, orders[order]);
    }
    for (int i = 0; i < info->operand_count; i++)
        free(first[i]);
}

START_TEST(f32_is_attention_and_its_gradient)
{
    attention_check(&attentions[_i], MW_F32, run, 1e-5);
}
END_TEST

START_TEST(bf16_is_attention_and_its_gradient)
{
    attention_check(&attentions[_i], MW_BF16, run, 1e-2);
}
END_TEST

enum { WIDE = 13 }; /* of the table: tensor cores take it, in more than 99 KiB */

/* A block has that on GPUs of compute capability 8.6 and 8.9. */
START_TEST(wide_bf16_fits_little_shared_memory)
{
    ck_assert_int_eq(attentions[_i].d, 96);
    setenv("MW_SHIM_SHARED_KIB", "99", 1);
    attention_check(&attentions[_i], MW_BF16, run, 1e-2);
    unsetenv("MW_SHIM_SHARED_KIB");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cuda_sdpa");
    TCase *tests = tcase_create("cuda_sdpa");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, f32_is_attention_and_its_gradient, 0, ATTENTIONS);
    tcase_add_loop_test(tests, bf16_is_attention_and_its_gradient, 0, ATTENTIONS);
    tcase_add_loop_test(tests, wide_bf16_fits_little_shared_memory, WIDE, WIDE + 1);
    return run_suite(suite);
}
