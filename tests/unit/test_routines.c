/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A device's routines against plain loops in double precision, over a table of shapes; and that a
 * call touches what mw_routine_extents says and no more. */
#include "base/half.h"
#include "runtime/plan/routine.h"
#include "tests/unit/attention.h"
#include "tests/unit/order.h"
#include "tests/unit/support.h"
#include "tests/unit/tested_device.h"
#include "tests/unit/windows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Runs the call on the device, as that of a plan, on copies of the operands and of what stands
 * behind them. */
static bool try(Call *call, bool *is_host, MwFault *fault)
{
    const MwPlanInstr instr = {.kind = MW_INSTR_ROUTINE, .target = (int)call->routine};
    void *operands[MW_ROUTINE_MAX_OPERANDS];
    const MwDeviceCall on_device = {&instr, operands, call->bytes, call->args};
    const int count = mw_routine_info(call->routine)->operand_count;
    MwArena *arena = mw_arena_new();
    MwDevice *device = tested_device_new(arena, call_plan(arena, call, 1), NULL, fault);
    bool good = device != NULL;
    *is_host = device && device->is_host;
    int held = 0;
    for (; held < count && good; held++) {
        const int64_t bytes = call->bytes[held] + CALL_GUARD_BYTES;
        operands[held] = device->table->alloc(device, bytes, fault);
        good = operands[held] &&
               device->table->copy_in(device, operands[held], call->operands[held], bytes, fault);
    }
    good = good && device->table->run(device, &on_device, fault);
    for (int i = 0; i < held; i++) {
        const int64_t bytes = call->bytes[i] + CALL_GUARD_BYTES;
        good =
            good && device->table->copy_out(device, call->operands[i], operands[i], bytes, fault);
        device->table->release(device, operands[i], bytes);
    }
    mw_device_free(&device);
    mw_arena_free(&arena);
    return good;
}

static void run(Call *call)
{
    MwFault fault = {0};
    bool is_host;
    ck_assert_msg(try(call, &is_host, &fault), "%s", fault.text);
}

/* Whether element `index` of an operand is right. `scale` is the sum of the absolute values that
 * were added up for it. */
static void check_close(const Call *call, int operand, int64_t index, double expected, double scale)
{
    const double found = call_value(call, operand, index);
    const double rounding = 1.01 * call_rounding(call, operand) * fabs(expected);
    if (!(fabs(found - expected) <= 2e-5 * scale + rounding)) /* an assertion writes to a file */
        ck_abort_msg("operand %d: element %lld is %g, not %g", operand, (long long)index, found,
                     expected);
}

/* ---- gemm ---- */

typedef struct {
    int64_t m, n, k, batch0, batch1;
    bool trans_a, trans_b;
    double alpha, beta;
    int64_t pad; /* elements between rows, batches and before the first */
    MwType type, c_type;
    MwType b_type; /* where it is another; F32: it is `type` */
} GemmCase;

static const GemmCase gemms[] = {
    {1, 1, 1, 1, 1, false, false, 1, 0, 0, MW_F32, MW_F32},
    {5, 7, 3, 1, 1, false, false, 1, 0, 0, MW_F32, MW_F32},
    {5, 7, 3, 1, 1, true, false, 2, 0, 3, MW_F32, MW_F32},
    {5, 7, 3, 1, 1, false, true, 1, 1, 1, MW_F32, MW_F32},
    {5, 7, 3, 1, 1, true, true, -1, 0.5, 2, MW_F32, MW_F32},
    {4, 6, 8, 3, 2, false, false, 1, 0, 0, MW_F32, MW_F32},
    {4, 6, 8, 2, 3, true, false, 1, 1, 5, MW_F32, MW_F32},
    {64, 33, 65, 2, 1, false, true, 0.5, 0, 4, MW_F32, MW_F32},
    {1, 300, 17, 1, 4, false, false, 1, 0, 0, MW_F32, MW_F32},
    {300, 1, 17, 4, 1, true, true, 1, 1, 1, MW_F32, MW_F32},
    {1, 2, 1, 70000, 1, false, false, 1, 0, 0, MW_F32, MW_F32}, /* more batches than a call has */
    {2, 1, 1, 2, 33000, false, false, 1, 0, 1, MW_F32, MW_F32},
    {1, 1, 2, 260, 260, false, false, 1, 0, 0, MW_F32, MW_F32},
    {1, 1, 1, 1, 1, false, false, 1, 0, 0, MW_BF16, MW_BF16},
    {5, 7, 3, 1, 1, true, false, 2, 1, 3, MW_BF16, MW_BF16},
    {4, 6, 8, 2, 3, false, true, 1, 0, 5, MW_BF16, MW_BF16},
    {64, 33, 300, 1, 2, false, false, 1, 0, 8, MW_BF16, MW_BF16},
    {5, 7, 3, 1, 1, false, true, 1, 0, 1, MW_BF16, MW_F32},
    {64, 33, 300, 2, 1, true, true, 0.5, 1, 4, MW_BF16, MW_F32},
    {64, 33, 300, 1, 2, false, true, 1, 1, 8, MW_F16, MW_F16},
    {5, 7, 3, 1, 1, false, true, 1, 0, 1, MW_F16, MW_F32},
    /* large enough for oneDNN */
    {130, 96, 97, 1, 1, false, false, 1, 0, 0, MW_F32, MW_F32},
    {96, 97, 130, 1, 1, true, true, 0.5, 1, 3, MW_F32, MW_F32},
    {64, 80, 72, 1, 3, true, false, 1, 0, 0, MW_F32, MW_F32},
    {64, 80, 72, 2, 2, false, true, 1, 0.5, 5, MW_F32, MW_F32},
    {1, 1100, 1000, 1, 1, false, true, 1, 0, 0, MW_F32, MW_F32},
    {130, 96, 97, 1, 1, false, false, 1, 0, 0, MW_BF16, MW_BF16},
    {96, 97, 130, 1, 1, true, true, 0.5, 1, 3, MW_BF16, MW_F32},
    {64, 80, 72, 2, 2, true, false, 1, 1, 5, MW_BF16, MW_BF16},
    {64, 80, 72, 1, 3, false, true, 1, 0, 0, MW_BF16, MW_F32},
    /* of numbers that tf32 has */
    {5, 7, 3, 1, 1, true, false, 2, 1, 3, MW_TF32, MW_F32},
    {4, 6, 8, 2, 3, false, true, 1, 0, 5, MW_TF32, MW_F32},
    {130, 96, 97, 1, 1, false, false, 1, 0.5, 0, MW_TF32, MW_F32},
    /* floats of 8 bits, where GPUs take them */
    {16, 16, 16, 1, 1, false, true, 1, 0, 0, MW_E4M3, MW_BF16},
    {48, 32, 64, 1, 1, false, true, 0.5, 1, 16, MW_E4M3, MW_BF16, MW_E5M2},
    {32, 48, 80, 1, 2, false, true, 1, 0, 32, MW_E5M2, MW_F32, MW_E4M3},
    {64, 96, 128, 2, 1, false, true, 1, 1, 0, MW_E4M3, MW_F32},
};

static Call gemm_call(const GemmCase *from)
{
    Call call = {.routine = MW_ROUTINE_GEMM};
    MwKernelArg *a = call.args;
    const int64_t m = from->m, n = from->n, k = from->k;
    const int64_t pad = from->pad, batch1 = from->batch1;
    a[MW_GEMM_TRANS_A].i = from->trans_a;
    a[MW_GEMM_TRANS_B].i = from->trans_b;
    a[MW_GEMM_M].i = m;
    a[MW_GEMM_N].i = n;
    a[MW_GEMM_K].i = k;
    a[MW_GEMM_LDA].i = (from->trans_a ? m : k) + pad;
    a[MW_GEMM_LDB].i = (from->trans_b ? k : n) + pad;
    a[MW_GEMM_LDC].i = n + pad;
    a[MW_GEMM_BATCH0].i = from->batch0;
    a[MW_GEMM_BATCH1].i = batch1;
    a[MW_GEMM_A_STRIDE1].i = (from->trans_a ? k : m) * a[MW_GEMM_LDA].i + pad;
    a[MW_GEMM_B_STRIDE1].i = (from->trans_b ? n : k) * a[MW_GEMM_LDB].i;
    a[MW_GEMM_C_STRIDE1].i = m * a[MW_GEMM_LDC].i + pad;
    a[MW_GEMM_A_STRIDE0].i = batch1 * a[MW_GEMM_A_STRIDE1].i;
    a[MW_GEMM_B_STRIDE0].i = batch1 * a[MW_GEMM_B_STRIDE1].i + pad;
    a[MW_GEMM_C_STRIDE0].i = batch1 * a[MW_GEMM_C_STRIDE1].i;
    a[MW_GEMM_TYPE].i = from->type;
    a[MW_GEMM_B_TYPE].i = from->b_type == MW_F32 ? from->type : from->b_type;
    a[MW_GEMM_C_TYPE].i = from->c_type;
    a[MW_GEMM_A_OFFSET].i = a[MW_GEMM_B_OFFSET].i = a[MW_GEMM_C_OFFSET].i = pad;
    a[MW_GEMM_ALPHA].f = from->alpha;
    a[MW_GEMM_BETA].f = from->beta;
    call_allocate(&call);
    return call;
}

/* The product at (row, column) of one batch, and in `*size` the sum of its absolute terms. */
static double gemm_reference(const Call *call, int64_t a_at, int64_t b_at, int64_t row,
                             int64_t column, double *size)
{
    const MwKernelArg *args = call->args;
    double sum = 0;
    *size = 1;
    for (int64_t k = 0; k < args[MW_GEMM_K].i; k++) {
        double x = call_value(call, 0,
                              a_at + (args[MW_GEMM_TRANS_A].i ? k * args[MW_GEMM_LDA].i + row
                                                              : row * args[MW_GEMM_LDA].i + k));
        double y = call_value(call, 1,
                              b_at + (args[MW_GEMM_TRANS_B].i ? column * args[MW_GEMM_LDB].i + k
                                                              : k * args[MW_GEMM_LDB].i + column));
        sum += x * y;
        *size += fabs(x * y);
    }
    return sum;
}

static void check_gemm_batch(const Call *call, const Call *before, int64_t i, int64_t j)
{
    const MwKernelArg *args = call->args;
    const int64_t a_at =
        args[MW_GEMM_A_OFFSET].i + i * args[MW_GEMM_A_STRIDE0].i + j * args[MW_GEMM_A_STRIDE1].i;
    const int64_t b_at =
        args[MW_GEMM_B_OFFSET].i + i * args[MW_GEMM_B_STRIDE0].i + j * args[MW_GEMM_B_STRIDE1].i;
    const int64_t c_at =
        args[MW_GEMM_C_OFFSET].i + i * args[MW_GEMM_C_STRIDE0].i + j * args[MW_GEMM_C_STRIDE1].i;
    for (int64_t row = 0; row < args[MW_GEMM_M].i; row++) {
        for (int64_t column = 0; column < args[MW_GEMM_N].i; column++) {
            int64_t at = c_at + row * args[MW_GEMM_LDC].i + column;
            double size;
            double product = gemm_reference(call, a_at, b_at, row, column, &size);
            double kept = args[MW_GEMM_BETA].f * call_value(before, 2, at);
            check_close(call, 2, at, args[MW_GEMM_ALPHA].f * product + kept, size);
        }
    }
}

START_TEST(gemm_is_the_product)
{
    Call call = gemm_call(&gemms[_i]), before = gemm_call(&gemms[_i]);
    MwFault fault = {0};
    bool is_host;
    const bool good = try(&call, &is_host, &fault);
    const MwType type = gemms[_i].type;
    const bool is_taken = !is_host || !(type == MW_F16 || mw_type_is_fp8(type));
    ck_assert_msg(good == is_taken, "%s", fault.text);
    if (!is_taken)
        ck_assert_str_eq(fault.text, "gemm takes f32 and bf16 alone on this backend");
    for (int64_t i = 0; i < gemms[_i].batch0 && is_taken; i++)
        for (int64_t j = 0; j < gemms[_i].batch1; j++)
            check_gemm_batch(&call, &before, i, j);
    call_release(&call);
    call_release(&before);
}
END_TEST

/* A number by 1, the only numbers of a product that are not 0: what is taken of it. 2^-11 is half
 * of what tf32 resolves at 1. */
static const struct {
    float x, taken;
} rounded[] = {
    {1 + 0x1p-10f, 1 + 0x1p-10f},   {1 + 0x1p-11f, 1 + 0x1p-10f}, {1 + 0x1p-11f - 0x1p-23f, 1},
    {-1 - 0x1p-11f, -1 - 0x1p-10f}, {1 + 0x3p-11f, 1 + 0x1p-9f},  {0x3p-137f, 0x1p-135f},
    {0x1.ffcp127f, 0x1.ffcp127f},   {0x1.ffep127f, INFINITY},     {INFINITY, INFINITY}};

static const GemmCase of_one = {16, 16, 16, 1, 1, false, false, 1, 0, 0, MW_TF32, MW_F32};

/* ---- Products with more ---- */

static const struct {
    MwRoutine routine;
    int64_t m, n, k;
    bool trans_a, trans_b;
    double alpha, beta;
    int64_t pad; /* elements between rows and before the first */
    MwType type, c_type;
} finished[] = {
    {MW_ROUTINE_GEMM_BIAS, 5, 7, 3, false, false, 1, 0, 0, MW_F32, MW_F32},
    {MW_ROUTINE_GEMM_BIAS, 64, 33, 65, false, true, 0.5, 0, 3, MW_F32, MW_F32},
    {MW_ROUTINE_GEMM_BIAS, 9, 16, 40, true, false, 1, 0, 0, MW_BF16, MW_BF16},
    {MW_ROUTINE_GEMM_BIAS, 9, 16, 40, true, false, 1, 0, 1, MW_BF16, MW_F32},
    {MW_ROUTINE_GEMM_GELU, 5, 7, 3, false, false, 2, 0, 0, MW_F32, MW_F32},
    {MW_ROUTINE_GEMM_GELU, 40, 24, 16, true, false, 1, 0, 8, MW_BF16, MW_BF16},
    {MW_ROUTINE_GEMM_GELU_AUX, 40, 24, 16, false, false, 1, 0, 0, MW_F32, MW_F32},
    {MW_ROUTINE_GEMM_GELU_AUX, 5, 7, 3, false, true, 1, 0, 0, MW_F32, MW_F32},
    {MW_ROUTINE_GEMM_GELU_AUX, 5, 8, 3, false, true, 1, 0, 1, MW_BF16, MW_BF16},
    {MW_ROUTINE_GEMM_BIAS_GELU, 40, 24, 16, false, false, 1, 0, 0, MW_F32, MW_F32},
    {MW_ROUTINE_GEMM_BIAS_GELU, 5, 7, 3, false, true, -1, 0, 2, MW_BF16, MW_BF16},
    {MW_ROUTINE_GEMM_BIAS_GELU_AUX, 40, 24, 16, false, false, 1, 0, 8, MW_F32, MW_F32},
    {MW_ROUTINE_GEMM_BIAS_GELU_AUX, 5, 7, 3, false, false, 1, 0, 0, MW_F32, MW_F32},
    {MW_ROUTINE_GEMM_BIAS_GELU_AUX, 33, 64, 300, false, true, 0.5, 0, 0, MW_BF16, MW_BF16},
    {MW_ROUTINE_GEMM_GELU_GRAD, 40, 24, 16, false, true, 1, 0, 0, MW_F32, MW_F32},
    {MW_ROUTINE_GEMM_GELU_GRAD, 5, 7, 3, false, true, 1, 0, 4, MW_F32, MW_F32},
    {MW_ROUTINE_GEMM_GELU_GRAD, 33, 64, 30, true, true, 1, 0, 0, MW_BF16, MW_BF16},
    {MW_ROUTINE_GEMM_SUM_A, 5, 7, 3, true, false, 1, 1, 0, MW_F32, MW_F32},
    {MW_ROUTINE_GEMM_SUM_A, 33, 40, 300, false, false, 1, 0, 3, MW_BF16, MW_F32},
    {MW_ROUTINE_GEMM_SUM_A, 33, 4, 2100, false, false, 1, 0, 3, MW_F32, MW_F32},
    {MW_ROUTINE_GEMM_SUM_B, 4, 40, 2049, true, false, 1, 0, 0, MW_BF16, MW_F32},
    {MW_ROUTINE_GEMM_SUM_B, 5, 7, 3, true, true, 1, 0, 1, MW_F32, MW_F32},
    {MW_ROUTINE_GEMM_SUM_B, 40, 33, 300, true, false, 1, 1, 0, MW_BF16, MW_F32},
    {MW_ROUTINE_GEMM_SUM_B, 40, 33, 30, true, false, 1, 0, 0, MW_BF16, MW_BF16},
    {MW_ROUTINE_GEMM_BIAS, 9, 16, 40, true, false, 1, 0, 1, MW_F16, MW_F32},
    {MW_ROUTINE_GEMM_BIAS_GELU_AUX, 33, 64, 300, false, true, 0.5, 0, 0, MW_F16, MW_F16},
    {MW_ROUTINE_GEMM_GELU_GRAD, 33, 64, 30, true, true, 1, 0, 0, MW_F16, MW_F16},
    {MW_ROUTINE_GEMM_SUM_B, 40, 33, 30, true, false, 1, 0, 0, MW_F16, MW_F16},
    {MW_ROUTINE_GEMM_BIAS_GELU_AUX, 40, 24, 16, false, false, 1, 0, 8, MW_TF32, MW_F32},
    {MW_ROUTINE_GEMM_SUM_B, 40, 33, 30, true, false, 1, 1, 0, MW_TF32, MW_F32},
};

static Call finished_call(int index)
{
    const int64_t m = finished[index].m, n = finished[index].n, k = finished[index].k;
    const int64_t pad = finished[index].pad;
    const bool trans_a = finished[index].trans_a, trans_b = finished[index].trans_b;
    Call call = {.routine = finished[index].routine};
    MwKernelArg *a = call.args;
    a[MW_GEMM_TRANS_A].i = trans_a;
    a[MW_GEMM_TRANS_B].i = trans_b;
    a[MW_GEMM_M].i = m;
    a[MW_GEMM_N].i = n;
    a[MW_GEMM_K].i = k;
    a[MW_GEMM_LDA].i = (trans_a ? m : k) + pad;
    a[MW_GEMM_LDB].i = (trans_b ? k : n) + pad;
    a[MW_GEMM_LDC].i = n + pad;
    a[MW_GEMM_BATCH0].i = a[MW_GEMM_BATCH1].i = 1;
    a[MW_GEMM_TYPE].i = a[MW_GEMM_B_TYPE].i = finished[index].type;
    a[MW_GEMM_C_TYPE].i = finished[index].c_type;
    a[MW_GEMM_A_OFFSET].i = a[MW_GEMM_B_OFFSET].i = a[MW_GEMM_C_OFFSET].i = pad;
    a[MW_GEMM_ALPHA].f = finished[index].alpha;
    a[MW_GEMM_BETA].f = finished[index].beta;
    call_allocate(&call);
    return call;
}

static double gelu_tanh(double x)
{
    return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

static double gelu_tanh_slope(double x)
{
    const double t = tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
}

/* As check_close, where the product was rounded once before it was finished. */
static void check_finished(const Call *call, int operand, int64_t index, double expected,
                           double product, double scale)
{
    check_close(call, operand, index, expected,
                scale + 1.01 * call_rounding(call, operand) / 2e-5 * fabs(product));
}

static void check_finished_row(const Call *call, const Call *before, int64_t row)
{
    const MwKernelArg *args = call->args;
    const MwGemmExtras *x = mw_gemm_extras(call->routine);
    for (int64_t column = 0; column < args[MW_GEMM_N].i; column++) {
        const int64_t at = args[MW_GEMM_C_OFFSET].i + row * args[MW_GEMM_LDC].i + column;
        double size, value;
        const double product =
            args[MW_GEMM_ALPHA].f * gemm_reference(call, args[MW_GEMM_A_OFFSET].i,
                                                   args[MW_GEMM_B_OFFSET].i, row, column, &size);
        value = product + (x->bias ? call_value(before, x->bias, column) : 0);
        if (x->has_gelu_grad)
            value *= gelu_tanh_slope(call_value(before, x->aux, at));
        else if (args[MW_GEMM_BETA].f != 0)
            value += args[MW_GEMM_BETA].f * call_value(before, 2, at);
        if (x->has_gelu && x->aux)
            check_finished(call, x->aux, at, value, product, size);
        check_finished(call, 2, at, x->has_gelu ? gelu_tanh(value) : value, product, size);
    }
}

static void check_sums(const Call *call)
{
    const MwKernelArg *args = call->args;
    const MwGemmExtras *x = mw_gemm_extras(call->routine);
    const int64_t count = args[x->summed ? MW_GEMM_N : MW_GEMM_M].i;
    const int64_t ld = args[MW_GEMM_LDA + x->summed].i;
    const bool k_is_inner = x->summed == (args[MW_GEMM_TRANS_A + x->summed].i != 0);
    for (int64_t i = 0; i < count && x->sums; i++) {
        double sum = 0, size = 0;
        for (int64_t k = 0; k < args[MW_GEMM_K].i; k++) {
            const int64_t at =
                args[MW_GEMM_A_OFFSET + x->summed].i + (k_is_inner ? i * ld + k : k * ld + i);
            sum += call_value(call, x->summed, at);
            size += fabs(call_value(call, x->summed, at));
        }
        check_close(call, x->sums, i, sum, size);
    }
}

static void check_finished_call(int index)
{
    Call call = finished_call(index), before = finished_call(index);
    MwFault fault = {0};
    bool is_host;
    const bool good = try(&call, &is_host, &fault);
    ck_assert_msg(good == !is_host, "%s", fault.text);
    for (int64_t row = 0; row < finished[index].m && good; row++)
        check_finished_row(&call, &before, row);
    if (good)
        check_sums(&call);
    else
        ck_assert_msg(strstr(fault.text, " is no routine of this backend") != NULL, "%s",
                      fault.text);
    call_release(&call);
    call_release(&before);
}

/* The library is asked once: it makes all, or what it would not take is not asked for. */
START_TEST(products_are_finished)
{
    setenv("FAKE_CUDA_FAULT", "cublasLtMatmulAlgoGetHeuristic:2:fail", 1);
    check_finished_call(_i);
}
END_TEST

/* It has nothing for the whole of it, but for the product. */
static const char *const refusals[] = {
    "epilogue_heuristic:1:hang", /* it has no algorithm */
    /* none of the algorithms that it has does, or the first does not */
    "epilogue_call:1:hang,epilogue_call:2:hang,epilogue_call:3:hang",
    "epilogue_call:1:hang",
};

START_TEST(products_are_finished_without_the_library)
{
    setenv("FAKE_CUDA_FAULT", refusals[_i % MW_COUNT(refusals)], 1);
    check_finished_call(_i / MW_COUNT(refusals));
}
END_TEST

/* ---- sdpa and sdpa_grad ---- */

START_TEST(sdpa_is_softmax_attention_and_has_its_gradient)
{
    attention_check(&attentions[_i], MW_F32, run, 2e-5);
}
END_TEST

/* Of all that a routine writes. */
static void check_same_bits(MwRoutine routine, const Attention *z, MwType type)
{
    Call first = attention_call(routine, z, type), second = attention_call(routine, z, type);
    const char *accesses = mw_routine_info(routine)->accesses;
    run(&first);
    run(&second);
    for (int i = 0; accesses[i]; i++)
        if (accesses[i] == 'w')
            ck_assert_mem_eq(first.operands[i], second.operands[i], (size_t)first.bytes[i]);
    call_release(&first);
    call_release(&second);
}

START_TEST(sdpa_gives_the_same_bits_every_time)
{
    check_same_bits(MW_ROUTINE_SDPA, &attentions[3], MW_F32);
    check_same_bits(MW_ROUTINE_SDPA_GRAD, &attentions[3], MW_F32);
}
END_TEST

START_TEST(attention_in_bf16_is_for_gpus)
{
    Call call = attention_call(MW_ROUTINE_SDPA, &attentions[1], MW_BF16);
    MwFault fault = {0};
    bool is_host;
    const bool good = try(&call, &is_host, &fault);
    ck_assert_msg(good == !is_host, "%s", fault.text);
    if (is_host)
        ck_assert_str_eq(fault.text, "sdpa takes f32 alone on this backend");
    call_release(&call);
}
END_TEST

/* Whether a device may have faster ways for a shape than those that take all of them. */
static bool is_usual(const Attention *z)
{
    return z->d % 8 == 0 && z->d <= 128 && z->pad % 8 == 0 && !z->mask && !z->window &&
           z->soft_cap == 0;
}

START_TEST(attention_in_halves_has_its_gradient)
{
    Call call = attention_call(MW_ROUTINE_SDPA, &attentions[1], MW_BF16);
    MwFault fault = {0};
    bool is_host;
    const bool is_for_halves = try(&call, &is_host, &fault);
    call_release(&call);
    if (!is_for_halves || !is_usual(&attentions[_i]))
        return;
    attention_check(&attentions[_i], MW_BF16, run, 1e-2);
    attention_check(&attentions[_i], MW_F16, run, 2e-3);
    check_same_bits(MW_ROUTINE_SDPA_GRAD, &attentions[_i], MW_BF16);
}
END_TEST

/* Arguments that no call may have; what is more than a product has no batches. */
static const struct {
    int arg;
    int64_t value;
} wrong_gemms[] = {{MW_GEMM_TYPE, MW_I32},    {MW_GEMM_TYPE, -1},        {MW_GEMM_C_TYPE, MW_BF16},
                   {MW_GEMM_C_TYPE, MW_TF32}, {MW_GEMM_C_TYPE, 1000},    {MW_GEMM_LDC, 6},
                   {MW_GEMM_BATCH0, -1},      {MW_GEMM_B_TYPE, MW_BF16}, {MW_GEMM_TYPE, MW_E4M3}};

START_TEST(extents_refuse_nonsense_of_gemm)
{
    int64_t bytes[MW_ROUTINE_MAX_OPERANDS];
    Call call = gemm_call(&gemms[1]);
    call.args[wrong_gemms[_i].arg].i = wrong_gemms[_i].value;
    ck_assert(!mw_routine_extents(MW_ROUTINE_GEMM, call.args, bytes));
    call_release(&call);
}
END_TEST

/* Types of a, b and c that go together or do not, of 8 bits. */
static const struct {
    MwType a, b, c;
    bool good;
} fp8_types[] = {{MW_E4M3, MW_E4M3, MW_BF16, true},  {MW_E4M3, MW_E5M2, MW_F32, true},
                 {MW_E5M2, MW_E4M3, MW_BF16, true},  {MW_E5M2, MW_E5M2, MW_BF16, false},
                 {MW_E4M3, MW_BF16, MW_BF16, false}, {MW_E4M3, MW_E4M3, MW_F16, false},
                 {MW_E4M3, MW_E4M3, MW_E4M3, false}, {MW_FP8, MW_FP8, MW_BF16, false}};

START_TEST(products_of_8_bits_have_types_that_gpus_have)
{
    int64_t bytes[MW_ROUTINE_MAX_OPERANDS];
    Call call = gemm_call(&gemms[1]);
    call.args[MW_GEMM_TYPE].i = fp8_types[_i].a;
    call.args[MW_GEMM_B_TYPE].i = fp8_types[_i].b;
    call.args[MW_GEMM_C_TYPE].i = fp8_types[_i].c;
    ck_assert(mw_routine_extents(MW_ROUTINE_GEMM, call.args, bytes) == fp8_types[_i].good);
    call_release(&call);
}
END_TEST

/* What GPUs do not take of them. */
static const struct {
    int arg;
    int64_t value;
} wrong_fp8[] = {{MW_GEMM_TRANS_A, 1}, {MW_GEMM_TRANS_B, 0}, {MW_GEMM_M, 24},      {MW_GEMM_N, 8},
                 {MW_GEMM_K, 40},      {MW_GEMM_LDA, 56},    {MW_GEMM_B_OFFSET, 8}};

START_TEST(products_of_8_bits_lie_as_gpus_want_them)
{
    Call call = gemm_call(&(GemmCase){32, 32, 48, 1, 1, false, true, 1, 0, 0, MW_E4M3, MW_BF16});
    ck_assert(mw_gemm_takes_fp8(call.args));
    ck_assert_ptr_null(mw_routine_off(MW_ROUTINE_GEMM, call.args, MW_BACKEND_cuda));
    ck_assert_str_eq(mw_routine_off(MW_ROUTINE_GEMM, call.args, MW_BACKEND_cpu),
                     "takes f32 and bf16 alone on this backend");
    call.args[wrong_fp8[_i].arg].i = wrong_fp8[_i].value;
    ck_assert(!mw_gemm_takes_fp8(call.args));
    ck_assert_str_eq(mw_routine_off(MW_ROUTINE_GEMM, call.args, MW_BACKEND_cuda),
                     "takes floats of 8 bits where a is not turned and b is, by multiples of 16");
    call_release(&call);
}
END_TEST

START_TEST(extents_refuse_batches_of_more_than_products)
{
    int64_t bytes[MW_ROUTINE_MAX_OPERANDS];
    Call call = finished_call(_i);
    ck_assert(mw_routine_extents(call.routine, call.args, bytes));
    call.args[MW_GEMM_BATCH1].i = 2;
    ck_assert(!mw_routine_extents(call.routine, call.args, bytes));
    call_release(&call);
}
END_TEST

static const struct {
    int arg;
    int64_t value;
} wrong_attentions[] = {{MW_SDPA_B, 0},
                        {MW_SDPA_S, -1},
                        {MW_SDPA_G, 3},
                        {MW_SDPA_Q_ROW, 1},
                        {MW_SDPA_K_OFFSET, -4},
                        {MW_SDPA_T, (int64_t)1 << 61},
                        {MW_SDPA_POSITION, -1},
                        {MW_SDPA_KEY_POSITION, -1},
                        {MW_SDPA_TYPE, MW_I32},
                        {MW_SDPA_WINDOW, -1},
                        {MW_SDPA_OFFSET, INT64_MIN},
                        {MW_SDPA_MASK_H, 3},
                        {MW_SDPA_MASK_S, 0},
                        {MW_SDPA_MASK_TYPE, MW_BOOL}};

/* The same of the gradients of q, k and v. */
static const int wrong_results[][2] = {{MW_SDPA_DQ_ROW, 1},     {MW_SDPA_DK_ROW, -1},
                                       {MW_SDPA_DV_ROW, 0},     {MW_SDPA_DQ_OFFSET, -1},
                                       {MW_SDPA_DK_OFFSET, -4}, {MW_SDPA_DV_OFFSET, INT32_MIN}};

enum { MASKED = 30 }; /* of the table: a mask that is added */

/* ---- Windows ---- */

START_TEST(windows_are_convolved_and_pooled)
{
    windows_check(&windows[_i], MW_F32, false, run);
}
END_TEST

/* Convolutions of numbers that tf32 has. */
START_TEST(windows_are_convolved_in_tf32)
{
    if (windows[_i].groups)
        windows_check(&windows[_i], MW_TF32, false, run);
}
END_TEST

static Call call_of_one(MwRoutine routine)
{
    return routine == MW_ROUTINE_GEMM ? gemm_call(&of_one)
                                      : window_call(routine, &windows[0], MW_TF32);
}

/* How GPUs round is not documented, and their convolutions do so by cuDNN alone. */
START_TEST(tf32_is_the_nearest)
{
    static const MwRoutine products[] = {MW_ROUTINE_GEMM, MW_ROUTINE_CONV,
                                         MW_ROUTINE_CONV_TRANSPOSE, MW_ROUTINE_CONV_FILTER_GRAD};
    const float x = rounded[_i].x, taken = rounded[_i].taken;
    for (int i = 0; i < 2 * MW_COUNT(products); i++) {
        const MwRoutine routine = products[i / 2];
        Call call = call_of_one(routine);
        MwFault fault = {0};
        bool is_host;
        for (int k = 0; k < 2; k++)
            memset(call.operands[k], 0, (size_t)call.bytes[k]);
        *(float *)call.operands[i % 2] = x;
        *(float *)call.operands[1 - i % 2] = 1;
        ck_assert_msg(try(&call, &is_host, &fault), "%s", fault.text);
        const float found = *(float *)call.operands[2];
        if (is_host)
            ck_assert_float_eq(found, taken);
        else if (isnormal(taken))
            ck_assert(fabsf(found - x) <= 0x1p-10f * fabsf(x) &&
                      (routine != MW_ROUTINE_GEMM || mw_tf32_from_f32(found) == found));
        call_release(&call);
    }
}
END_TEST

static const MwType halves[] = {MW_BF16, MW_F16};

/* Every shape in every type of 16 bits, which a CPU refuses. */
START_TEST(windows_of_16_bits_are_for_gpus)
{
    const Window *z = &windows[_i / MW_COUNT(halves)];
    const MwType type = halves[_i % MW_COUNT(halves)];
    Call call = window_call(z->groups ? MW_ROUTINE_CONV : MW_ROUTINE_SUM_POOL, z, type);
    MwFault fault = {0};
    bool is_host;
    const bool good = try(&call, &is_host, &fault);
    ck_assert_msg(good == !is_host, "%s", fault.text);
    call_release(&call);
    if (!is_host)
        windows_check(z, type, true, run);
}
END_TEST

static const struct {
    int arg;
    int64_t value;
} wrong_windows[] = {{MW_WINDOW_BATCH, 0},
                     {MW_WINDOW_CHANNELS, 3},
                     {MW_CONV_FEATURES, 3},
                     {MW_CONV_GROUPS, 0},
                     {MW_CONV_FILTER_TYPE, MW_I32},
                     {MW_CONV_FILTER_TYPE, MW_TF32},
                     {MW_WINDOW_TYPE, MW_I32},
                     {MW_WINDOW_BEFORE, -1},
                     {MW_WINDOW_STRIDE + 2, 0},
                     {MW_WINDOW_OUT + 1, -1},
                     {MW_WINDOW_IN + 1, (int64_t)1 << 61},
                     {MW_WINDOW_SIZE + 1, (int64_t)1 << 31},
                     {MW_WINDOW_DILATION, (int64_t)1 << 31}};

START_TEST(extents_refuse_nonsense_of_windows)
{
    int64_t bytes[MW_ROUTINE_MAX_OPERANDS];
    Call call = window_call(MW_ROUTINE_CONV_FILTER_GRAD, &windows[3], MW_F32);
    call.args[wrong_windows[_i].arg].i = wrong_windows[_i].value;
    ck_assert(!mw_routine_extents(call.routine, call.args, bytes));
    call_release(&call);
}
END_TEST

/* The last of 5 windows of 3 elements begins at element 7 of 9, the last that a third one may. */
static const struct {
    int arg;
    int64_t value;
} wrong_pools[] = {{MW_WINDOW_BEFORE + 2, 3}, {MW_WINDOW_OUT + 2, 6}, {MW_WINDOW_STRIDE + 2, 3},
                   {MW_WINDOW_IN + 2, 7},     {MW_WINDOW_OUT + 1, 2}, {MW_WINDOW_BEFORE, 1}};

START_TEST(extents_refuse_windows_of_padding)
{
    int64_t bytes[MW_ROUTINE_MAX_OPERANDS];
    Call call = window_call(MW_ROUTINE_MAX_POOL, &windows[15], MW_F32);
    ck_assert(mw_routine_extents(MW_ROUTINE_MAX_POOL, call.args, bytes));
    call.args[wrong_pools[_i].arg].i = wrong_pools[_i].value;
    ck_assert(!mw_routine_extents(MW_ROUTINE_MAX_POOL, call.args, bytes));
    call_release(&call);
}
END_TEST

START_TEST(extents_refuse_nonsense)
{
    int64_t bytes[MW_ROUTINE_MAX_OPERANDS];
    Call call = attention_call(MW_ROUTINE_SDPA_MASK_GRAD, &attentions[MASKED], MW_F32);
    call.args[wrong_attentions[_i].arg].i = wrong_attentions[_i].value;
    ck_assert(!mw_routine_extents(call.routine, call.args, bytes));
    call_release(&call);
}
END_TEST

START_TEST(extents_refuse_nonsense_of_results)
{
    int64_t bytes[MW_ROUTINE_MAX_OPERANDS];
    Call call = attention_call(MW_ROUTINE_SDPA_GRAD, &attentions[_i % 2 ? MASKED : 3], MW_F32);
    call.args[wrong_results[_i / 2][0]].i = wrong_results[_i / 2][1];
    ck_assert(!mw_routine_extents(call.routine, call.args, bytes));
    call_release(&call);
}
END_TEST

/* ---- Parts of rows ---- */

START_TEST(parts_of_rows_are_found_and_scattered)
{
    order_check(&orders[_i], MW_F32, run);
}
END_TEST

static const struct {
    int arg;
    int64_t value;
} wrong_orders[] = {{MW_ALONG_TYPE, MW_I32},
                    {MW_ALONG_ROWS, 0},
                    {MW_ALONG_ROWS, (int64_t)1 << 61},
                    {MW_ALONG_COLUMNS, (int64_t)1 << 31},
                    {MW_ALONG_COUNT, 0},
                    {MW_ALONG_COUNT, 65}};

START_TEST(extents_refuse_nonsense_of_rows)
{
    int64_t bytes[MW_ROUTINE_MAX_OPERANDS];
    Call call = order_call(MW_ROUTINE_TOP_K, &orders[2], MW_F32);
    call.args[wrong_orders[_i].arg].i = wrong_orders[_i].value;
    ck_assert(!mw_routine_extents(call.routine, call.args, bytes));
    call_release(&call);
}
END_TEST

START_TEST(extents_refuse_nonsense_of_ids)
{
    int64_t bytes[MW_ROUTINE_MAX_OPERANDS];
    const int64_t wrong[] = {0, -1, INT32_MAX};
    for (int i = 0; i < MW_COUNT(wrong); i++)
        ck_assert(
            !mw_routine_extents(MW_ROUTINE_FIRST_EQUAL, &(MwKernelArg){.i = wrong[i]}, bytes));
}
END_TEST

START_TEST(zero_and_copy_move_bytes)
{
    Call copy = {.routine = MW_ROUTINE_COPY, .args = {{.i = 8}}};
    Call zero = {.routine = MW_ROUTINE_ZERO, .args = {{.i = 8}}};
    call_allocate(&copy);
    call_allocate(&zero);
    run(&copy);
    run(&zero);
    ck_assert_mem_eq(copy.operands[0], copy.operands[1], 8);
    ck_assert(*(float *)copy.operands[0] == call_sample(0, 0));
    ck_assert(*(int64_t *)zero.operands[0] == 0);
    call_release(&copy);
    call_release(&zero);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("routines");
    TCase *tests = tcase_create("routines"), *attention = tcase_create("attention");
    suite_add_tcase(suite, tests);
    suite_add_tcase(suite, attention);
    tcase_add_loop_test(tests, gemm_is_the_product, 0, MW_COUNT(gemms));
    tcase_add_loop_test(tests, products_are_finished, 0, MW_COUNT(finished));
    tcase_add_loop_test(tests, products_are_finished_without_the_library, 0,
                        MW_COUNT(finished) * MW_COUNT(refusals));
    tcase_add_loop_test(attention, sdpa_is_softmax_attention_and_has_its_gradient, 0, ATTENTIONS);
    tcase_add_test(attention, sdpa_gives_the_same_bits_every_time);
    tcase_add_test(attention, attention_in_bf16_is_for_gpus);
    tcase_add_loop_test(attention, attention_in_halves_has_its_gradient, 0, ATTENTIONS);
    tcase_add_loop_test(tests, extents_refuse_nonsense_of_gemm, 0, MW_COUNT(wrong_gemms));
    tcase_add_loop_test(tests, products_of_8_bits_have_types_that_gpus_have, 0,
                        MW_COUNT(fp8_types));
    tcase_add_loop_test(tests, products_of_8_bits_lie_as_gpus_want_them, 0, MW_COUNT(wrong_fp8));
    tcase_add_loop_test(tests, extents_refuse_batches_of_more_than_products, 0, MW_COUNT(finished));
    tcase_add_loop_test(tests, extents_refuse_nonsense, 0, MW_COUNT(wrong_attentions));
    tcase_add_loop_test(tests, extents_refuse_nonsense_of_results, 0, 2 * MW_COUNT(wrong_results));
    tcase_add_loop_test(tests, windows_are_convolved_and_pooled, 0, WINDOWS);
    tcase_add_loop_test(tests, windows_of_16_bits_are_for_gpus, 0, WINDOWS * MW_COUNT(halves));
    tcase_add_loop_test(tests, windows_are_convolved_in_tf32, 0, WINDOWS);
    tcase_add_loop_test(tests, tf32_is_the_nearest, 0, MW_COUNT(rounded));
    tcase_add_loop_test(tests, extents_refuse_nonsense_of_windows, 0, MW_COUNT(wrong_windows));
    tcase_add_loop_test(tests, extents_refuse_windows_of_padding, 0, MW_COUNT(wrong_pools));
    tcase_add_loop_test(tests, parts_of_rows_are_found_and_scattered, 0, ORDERS);
    tcase_add_loop_test(tests, extents_refuse_nonsense_of_rows, 0, MW_COUNT(wrong_orders));
    tcase_add_test(tests, extents_refuse_nonsense_of_ids);
    tcase_add_test(tests, zero_and_copy_move_bytes);
    return run_suite(suite);
}
