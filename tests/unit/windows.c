/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/windows.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

const Window windows[WINDOWS] = {
    {1, 1, 1, 1, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0}, {0}},
    {2, 3, 5, 1, {1, 1, 9}, {1, 1, 3}, {1, 1, 1}, {1, 1, 1}, {0, 0, 1}, {0, 0, 1}},
    {2, 4, 6, 1, {1, 9, 11}, {1, 3, 5}, {1, 2, 1}, {1, 1, 1}, {0, 1, 0}, {0, 0, 2}},
    {2, 4, 6, 2, {1, 9, 7}, {1, 3, 2}, {1, 1, 3}, {1, 2, 1}, {0, 2, 0}, {0, 2, 0}},
    {1, 33, 66, 33, {1, 6, 5}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {1, 70, 65, 1, {1, 8, 8}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {1, 2, 3, 1, {5, 6, 7}, {2, 3, 2}, {2, 1, 1}, {1, 1, 2}, {0, 1, 0}, {0, 1, 0}},
    {2, 8, 16, 1, {1, 7, 7}, {1, 1, 1}, {1, 2, 2}, {1, 1, 1}, {0}, {0}},
    {8, 4, 8, 1, {1, 8, 8}, {1, 1, 1}, {1, 2, 2}, {1, 1, 1}, {0}, {0}},
    {2, 6, 4, 2, {5, 7, 6}, {1, 1, 1}, {2, 1, 3}, {1, 1, 1}, {0}, {0}},
    {1, 4, 8, 1, {1, 6, 7}, {1, 1, 1}, {1, 3, 2}, {1, 1, 1}, {0, 1, 1}, {0, 1, 0}},
    {2, 64, 130, 1, {1, 9, 8}, {1, 3, 2}, {1, 2, 1}, {1, 1, 2}, {0, 1, 0}, {0, 0, 1}},
    {2, 512, 128, 1, {1, 3, 4}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0}, {0}},
    {2, 64, 128, 1, {1, 1, 2}, {5, 5, 5}, {1, 1, 2}, {1, 1, 1}, {4, 4, 4}, {4, 4, 4}},
    {1, 1, 0, 0, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0}, {0}},
    {2, 3, 0, 0, {1, 1, 9}, {1, 1, 3}, {1, 1, 2}, {1, 1, 1}, {0, 0, 1}, {0, 0, 2}},
    {2, 70, 0, 0, {1, 7, 8}, {1, 3, 2}, {1, 2, 2}, {1, 1, 1}, {0, 2, 0}, {0, 0, 1}},
    {1, 5, 0, 0, {4, 5, 6}, {2, 2, 3}, {1, 2, 3}, {1, 1, 1}, {1, 0, 2}, {0, 1, 0}},
};

static int64_t window_count(const Window *z, int d)
{
    return (z->in[d] + z->before[d] + z->after[d] - z->dilation[d] * (z->size[d] - 1) - 1) /
               z->stride[d] +
           1;
}

void window_args(MwRoutine routine, const Window *z, MwType type, MwKernelArg *a)
{
    a[MW_WINDOW_TYPE].i = type;
    a[MW_WINDOW_BATCH].i = z->batch;
    a[MW_WINDOW_CHANNELS].i = z->channels;
    for (int d = 0; d < MW_WINDOW_DIMS; d++) {
        a[MW_WINDOW_IN + d].i = z->in[d];
        a[MW_WINDOW_OUT + d].i = window_count(z, d);
        a[MW_WINDOW_SIZE + d].i = z->size[d];
        a[MW_WINDOW_STRIDE + d].i = z->stride[d];
        a[MW_WINDOW_DILATION + d].i = z->dilation[d];
        a[MW_WINDOW_BEFORE + d].i = z->before[d];
    }
    if (z->groups) {
        a[MW_CONV_FEATURES].i = z->features;
        a[MW_CONV_GROUPS].i = z->groups;
        a[MW_CONV_FILTER_TYPE].i =
            routine == MW_ROUTINE_CONV_FILTER_GRAD ? MW_F32 : mw_type_stored(type);
    }
}

Call window_call(MwRoutine routine, const Window *z, MwType type)
{
    Call call = {.routine = routine};
    window_args(routine, z, type, call.args);
    call_allocate(&call);
    return call;
}

/* ---- Points of windows ---- */

/* Element `tap` of window `at` of an image; `x` and `y` count points of all images. */
typedef struct {
    int64_t x, y, tap;
} Point;

/* Stores the points of all windows that are inside the images, and returns their number. */
static int64_t find_points(const Window *z, Point *points)
{
    int64_t count = 0, y = 0, o[MW_WINDOW_DIMS], k[MW_WINDOW_DIMS];
    for (int64_t b = 0; b < z->batch; b++)
        for (o[0] = 0; o[0] < window_count(z, 0); o[0]++)
            for (o[1] = 0; o[1] < window_count(z, 1); o[1]++)
                for (o[2] = 0; o[2] < window_count(z, 2); o[2]++, y++) {
                    int64_t tap = 0;
                    for (k[0] = 0; k[0] < z->size[0]; k[0]++)
                        for (k[1] = 0; k[1] < z->size[1]; k[1]++)
                            for (k[2] = 0; k[2] < z->size[2]; k[2]++, tap++) {
                                int64_t x = b;
                                bool inside = true;
                                for (int d = 0; d < MW_WINDOW_DIMS; d++) {
                                    const int64_t i =
                                        o[d] * z->stride[d] - z->before[d] + k[d] * z->dilation[d];
                                    inside &= i >= 0 && i < z->in[d];
                                    x = x * z->in[d] + i;
                                }
                                if (inside)
                                    points[count++] = (Point){x, y, tap};
                            }
                }
    return count;
}

static Point *new_points(const Window *z, int64_t *count)
{
    int64_t most = z->batch;
    for (int d = 0; d < MW_WINDOW_DIMS; d++)
        most *= window_count(z, d) * z->size[d];
    Point *points = malloc(sizeof *points * (size_t)most);
    *count = find_points(z, points);
    return points;
}

/* ---- Results ---- */

/* What is expected, and the sums of the absolute values that it was added up from. */
typedef struct {
    double *value, *size;
} Expected;

static Expected expected_new(const Call *call, int operand)
{
    const int64_t count = call->bytes[operand] / mw_type_bytes(call_type(call, operand));
    return (Expected){calloc((size_t)count, sizeof(double)), calloc((size_t)count, sizeof(double))};
}

static void expect(const Expected *to, int64_t at, double term)
{
    to->value[at] += term;
    to->size[at] += fabs(term);
}

/* Half of the distance of two numbers of f16 near 0. */
static const double f16_step = 1.0 / (1 << 25);

/* Checks the last operand, which is rounded as operand `rounded` is, and frees everything. */
static void check(Call *call, int operand, int rounded, const Expected *expected)
{
    const int64_t count = call->bytes[operand] / mw_type_bytes(call_type(call, operand));
    const double least = call_type(call, rounded) == MW_F16 ? f16_step : 0;
    for (int64_t i = 0; i < count; i++) {
        const double found = call_value(call, operand, i);
        const double rounding = fabs(expected->value[i]) * call_rounding(call, rounded);
        const double allowed = 2e-6 * (expected->size[i] + 1e-30) + 1.01 * fmax(rounding, least);
        if (!(fabs(found - expected->value[i]) <= allowed)) /* an assertion writes to a file */
            ck_abort_msg("%s: element %lld is %g, not %g", mw_routine_info(call->routine)->name,
                         (long long)i, found, expected->value[i]);
    }
    free(expected->value);
    free(expected->size);
    call_release(call);
}

/* ---- Convolutions ---- */

static void check_conv(MwRoutine routine, const Window *z, MwType type, bool rounds, RunCall *run)
{
    Call call = window_call(routine, z, type);
    const Expected expected = expected_new(&call, 2);
    const int64_t channels = z->channels / z->groups, features = z->features / z->groups;
    int64_t count;
    Point *points = new_points(z, &count);
    run(&call);
    for (int64_t i = 0; i < count; i++)
        for (int64_t f = 0; f < z->features; f++)
            for (int64_t c = 0; c < channels; c++) {
                const int64_t x = points[i].x * z->channels + f / features * channels + c;
                const int64_t y = points[i].y * z->features + f;
                const int64_t w = (points[i].tap * channels + c) * z->features + f;
                if (routine == MW_ROUTINE_CONV)
                    expect(&expected, y, call_value(&call, 0, x) * call_value(&call, 1, w));
                else if (routine == MW_ROUTINE_CONV_TRANSPOSE)
                    expect(&expected, x, call_value(&call, 0, y) * call_value(&call, 1, w));
                else
                    expect(&expected, w, call_value(&call, 0, x) * call_value(&call, 1, y));
            }
    free(points);
    check(&call, 2, rounds ? 0 : 2, &expected);
}

/* ---- Pooling ---- */

static void check_sums(MwRoutine routine, const Window *z, MwType type, RunCall *run)
{
    Call call = window_call(routine, z, type);
    const Expected expected = expected_new(&call, 1);
    int64_t count;
    Point *points = new_points(z, &count);
    run(&call);
    for (int64_t i = 0; i < count; i++)
        for (int64_t c = 0; c < z->channels; c++) {
            const int64_t x = points[i].x * z->channels + c, y = points[i].y * z->channels + c;
            if (routine == MW_ROUTINE_SUM_POOL)
                expect(&expected, y, call_value(&call, 0, x));
            else
                expect(&expected, x, call_value(&call, 0, y));
        }
    free(points);
    check(&call, 1, 1, &expected);
}

/* The point of the window from points[i] on, the first of its window, whose element of channel c is
 * the first of the greatest. */
static int64_t greatest(const Call *call, const Window *z, const Point *points, int64_t count,
                        int64_t i, int64_t c)
{
    int64_t best = i;
    for (int64_t k = i; k < count && points[k].y == points[i].y; k++)
        if (call_value(call, 0, points[k].x * z->channels + c) >
            call_value(call, 0, points[best].x * z->channels + c))
            best = k;
    return best;
}

static void check_maxima(MwRoutine routine, const Window *z, MwType type, RunCall *run)
{
    const int result = routine == MW_ROUTINE_MAX_POOL ? 1 : 2;
    Call call = window_call(routine, z, type);
    const Expected expected = expected_new(&call, result);
    int64_t count;
    Point *points = new_points(z, &count);
    run(&call);
    for (int64_t i = 0; i < count; i++) {
        if (i && points[i].y == points[i - 1].y)
            continue;
        for (int64_t c = 0; c < z->channels; c++) {
            const int64_t y = points[i].y * z->channels + c;
            const int64_t x = points[greatest(&call, z, points, count, i, c)].x * z->channels + c;
            if (routine != MW_ROUTINE_MAX_POOL_GRAD)
                expect(&expected, y, call_value(&call, result - 1, x));
            else
                expect(&expected, x, call_value(&call, 1, y));
        }
    }
    free(points);
    check(&call, result, result, &expected);
}

void windows_check(const Window *z, MwType type, bool rounds, RunCall *run)
{
    if (z->groups) {
        check_conv(MW_ROUTINE_CONV, z, type, rounds, run);
        check_conv(MW_ROUTINE_CONV_TRANSPOSE, z, type, rounds, run);
        check_conv(MW_ROUTINE_CONV_FILTER_GRAD, z, type, rounds, run);
    } else {
        check_sums(MW_ROUTINE_SUM_POOL, z, type, run);
        check_sums(MW_ROUTINE_SUM_POOL_GRAD, z, type, run);
        check_maxima(MW_ROUTINE_MAX_POOL, z, type, run);
        check_maxima(MW_ROUTINE_MAX_POOL_GRAD, z, type, run);
        check_maxima(MW_ROUTINE_MAX_POOL_PICK, z, type, run);
    }
}
