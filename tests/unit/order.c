/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/order.h"

#include "base/element.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

const Order orders[ORDERS] = {
    {1, 1, 1, false},  {9, 8, 2, false},   {5, 64, 8, false},  {3, 100, 33, false},
    {2, 70, 70, true}, {40, 33, 1, false}, {7, 256, 6, false}, {3, 3, 2, true},
};

static void store(Call *call, int operand, int64_t i, float value)
{
    mw_element_put(call_type(call, operand), call->operands[operand], i, (double)value);
}

/* Few different numbers, so that many are equal. */
static float element(int64_t i)
{
    const int draw = (int)floorf(call_sample(i, 7) * 12);
    return draw == 11 ? NAN : draw == 10 ? -INFINITY : draw == 9 ? -0.0f : (float)(draw / 2);
}

Call order_call(MwRoutine routine, const Order *z, MwType type)
{
    Call call = {.routine = routine};
    call.args[MW_ALONG_TYPE].i = type;
    call.args[MW_ALONG_ROWS].i = z->rows;
    call.args[MW_ALONG_COLUMNS].i = z->columns;
    call.args[MW_ALONG_COUNT].i = z->count;
    if (routine == MW_ROUTINE_TOP_K)
        call.args[MW_TOP_K_ASCENDING].i = z->ascending;
    call_allocate(&call);
    for (int64_t i = 0; i < z->rows * z->columns && routine == MW_ROUTINE_TOP_K; i++)
        store(&call, 0, i, element(i));
    for (int64_t i = 0; i < z->rows * z->count && routine == MW_ROUTINE_TAKE_ALONG_GRAD; i++)
        ((int32_t *)call.operands[0])[i] =
            (int32_t)floorf(call_sample(i, 7) * (float)(z->columns + 1));
    return call;
}

/* Whether element i of the row from `first` on comes before element j. */
static bool comes_before(const Call *call, const Order *z, int64_t first, int64_t i, int64_t j)
{
    const double a = call_value(call, 0, first + i), b = call_value(call, 0, first + j);
    const bool is_greater = isnan(a) ? !isnan(b) : a > b, is_less = isnan(b) ? !isnan(a) : a < b;
    return (z->ascending ? is_less : is_greater) || (!is_less && !is_greater && i < j);
}

static void check_top_k(const Order *z, MwType type, RunCall *run)
{
    Call call = order_call(MW_ROUTINE_TOP_K, z, type);
    run(&call);
    for (int64_t r = 0; r < z->rows; r++)
        for (int64_t i = 0; i < z->columns; i++) {
            int64_t place = 0;
            for (int64_t j = 0; j < z->columns; j++)
                place += comes_before(&call, z, r * z->columns, j, i);
            if (place >= z->count)
                continue;
            const double x = call_value(&call, 0, r * z->columns + i);
            const double value = call_value(&call, 1, r * z->count + place);
            ck_assert_int_eq(((const int32_t *)call.operands[2])[r * z->count + place], i);
            ck_assert(value == x ? signbit(value) == signbit(x) : isnan(value) && isnan(x));
        }
    call_release(&call);
}

static void check_take_along_grad(const Order *z, MwType type, RunCall *run)
{
    Call call = order_call(MW_ROUTINE_TAKE_ALONG_GRAD, z, type);
    const int32_t *ids = call.operands[0];
    run(&call);
    for (int64_t i = 0; i < z->rows * z->columns; i++) {
        double sum = 0, size = 0;
        for (int64_t k = i / z->columns * z->count; k < (i / z->columns + 1) * z->count; k++)
            if (ids[k] == i % z->columns) {
                sum += call_value(&call, 1, k);
                size += fabs(call_value(&call, 1, k));
            }
        const double rounding = fabs(sum) * 1.01 * call_rounding(&call, 2);
        ck_assert_double_le(fabs(call_value(&call, 2, i) - sum), 1e-6 * size + rounding);
    }
    call_release(&call);
}

/* Whole numbers, whose sums are exact. */
static void check_cumsum(const Order *z, MwType type, RunCall *run)
{
    Call call = {.routine = MW_ROUTINE_CUMSUM};
    call.args[MW_ALONG_TYPE].i = type;
    call.args[MW_ALONG_ROWS].i = z->rows;
    call.args[MW_ALONG_COLUMNS].i = call.args[MW_ALONG_COUNT].i = z->columns;
    call.args[MW_CUMSUM_INVERSE].i = z->ascending;
    call_allocate(&call);
    for (int64_t i = 0; i < z->rows * z->columns; i++)
        store(&call, 0, i, floorf(call_sample(i, 7) * 9) - 4);
    run(&call);
    for (int64_t i = 0; i < z->rows * z->columns; i++) {
        const int64_t first = i - i % z->columns;
        const int64_t end = z->ascending ? first + z->columns : i + 1;
        double sum = 0;
        for (int64_t k = z->ascending ? i : first; k < end; k++)
            sum += call_value(&call, 0, k);
        const double rounding = fabs(sum) * call_rounding(&call, 1);
        ck_assert_double_le(fabs(call_value(&call, 1, i) - sum), rounding);
    }
    call_release(&call);
}

/* Rows as steps, then columns. */
static void check_linear_scan(const Order *z, MwType type, RunCall *run)
{
    Call call = {.routine = MW_ROUTINE_LINEAR_SCAN};
    call.args[MW_LINEAR_SCAN_TYPE].i = type;
    call.args[MW_LINEAR_SCAN_OUTER].i = z->count;
    call.args[MW_LINEAR_SCAN_STEPS].i = z->rows;
    call.args[MW_LINEAR_SCAN_INNER].i = z->columns;
    call.args[MW_LINEAR_SCAN_REVERSE].i = z->ascending;
    call_allocate(&call);
    const int64_t n = z->rows, inner = z->columns;
    for (int64_t i = 0; i < z->count * n * inner; i++) {
        store(&call, 0, i, call_sample(i, 7) - 0.5f);
        store(&call, 1, i, 2 * call_sample(i, 9) - 1);
    }
    run(&call);
    for (int64_t i = 0; i < z->count * n * inner; i++) {
        const int64_t by = z->ascending ? 1 : -1, step = i / inner % n;
        double y = 0, size = 0, factor = 1;
        for (int64_t s = step, at = i; s >= 0 && s < n; s += by, at += by * inner) {
            y += factor * call_value(&call, 0, at);
            size += fabs(factor * call_value(&call, 0, at));
            factor *= call_value(&call, 1, at);
        }
        const double rounding = fabs(y) * 1.01 * call_rounding(&call, 2);
        const double found = call_value(&call, 2, i);
        const bool is_beyond = type == MW_F16 && fabs(y) >= 65520; /* the numbers of f16 */
        ck_assert(is_beyond ? found == copysign(INFINITY, y)
                            : fabs(found - y) <= 1e-5 * size + rounding);
    }
    call_release(&call);
}

/* Ids from few different ones and from many, of both signs. */
static void check_first_equal(const Order *z, RunCall *run)
{
    Call call = {.routine = MW_ROUTINE_FIRST_EQUAL};
    const int64_t count = call.args[MW_FIRST_EQUAL_COUNT].i = z->rows * z->columns;
    call_allocate(&call);
    int32_t *ids = call.operands[0];
    for (int64_t i = 0; i < count; i++)
        ids[i] = (int32_t)floorf(call_sample(i, 7) * (float)z->columns) * 4096 - 1;
    run(&call);
    for (int64_t i = 0; i < count; i++) {
        int64_t first = 0;
        while (ids[first] != ids[i])
            first++;
        ck_assert_int_eq(((const int32_t *)call.operands[1])[i], first);
    }
    call_release(&call);
}

void order_check(const Order *z, MwType type, RunCall *run)
{
    check_cumsum(z, type, run);
    check_linear_scan(z, type, run);
    if (type == MW_F32) {
        check_cumsum(z, MW_I32, run);
        check_first_equal(z, run);
    }
    check_top_k(z, type, run);
    check_take_along_grad(z, type, run);
}
