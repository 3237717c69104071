/* SPDX-License-Identifier: MIT */
/* The greatest elements of rows on the CPU, sums along rows, and gradients scattered along rows.
 *
 * The greatest elements are collected in a heap whose root is the least of them, and which then
 * becomes a sorted list in place (Williams, "Algorithm 232: Heapsort", CACM 7(6), 1964). It takes
 * n log k comparisons at most for k of n elements, and nearly n where k is small: an element that
 * does not go into the heap is compared with the root alone. */
#include "base/element.h"
#include "runtime/cpu/routines.h"
#include "runtime/plan/routine.h"

#include <string.h>

/* Numbers in the order of floats, in which 0 and -0 are equal, and NaN is the greatest. */
static uint32_t rank_of(float x, uint32_t mirror)
{
    uint32_t bits;
    x += 0.0f; /* of -0 it makes 0 */
    memcpy(&bits, &x, sizeof bits);
    const uint32_t rank = x != x ? UINT32_MAX : bits >> 31 ? ~bits : bits | 1u << 31;
    return rank ^ mirror;
}

/* The elements found in one row; no two are equal, because their ids differ. */
typedef struct {
    float *value;
    int32_t *id;
    uint32_t mirror; /* all ones: the least are sought */
} Found;

/* Whether the element (x, id) comes after element k of those found. */
static bool comes_after(const Found *f, float x, int32_t id, int64_t k)
{
    const uint32_t a = rank_of(x, f->mirror), b = rank_of(f->value[k], f->mirror);
    return a < b || (a == b && id > f->id[k]);
}

static void set(const Found *f, int64_t k, float x, int32_t id)
{
    f->value[k] = x;
    f->id[k] = id;
}

/* Puts an element at the root of a heap of `count` elements, or below, where it belongs: the
 * children of a node come before it. */
static void sink(const Found *f, int64_t count, float x, int32_t id)
{
    int64_t at = 0;
    for (int64_t child = 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && comes_after(f, f->value[child + 1], f->id[child + 1], child))
            child++;
        if (comes_after(f, x, id, child))
            break;
        set(f, at, f->value[child], f->id[child]);
        at = child;
    }
    set(f, at, x, id);
}

/* Adds an element to a heap of `count` elements. */
static void rise(const Found *f, int64_t count, float x, int32_t id)
{
    int64_t at = count;
    for (; at && comes_after(f, x, id, (at - 1) / 2); at = (at - 1) / 2)
        set(f, at, f->value[(at - 1) / 2], f->id[(at - 1) / 2]);
    set(f, at, x, id);
}

bool mw_cpu_top_k(void *const *operands, const MwKernelArg *args, MwFault *fault)
{
    const int64_t columns = args[MW_ALONG_COLUMNS].i, count = args[MW_ALONG_COUNT].i;
    (void)fault;
    for (int64_t r = 0; r < args[MW_ALONG_ROWS].i; r++) {
        const float *x = (const float *)operands[0] + r * columns;
        const Found f = {(float *)operands[1] + r * count, (int32_t *)operands[2] + r * count,
                         args[MW_TOP_K_ASCENDING].i ? UINT32_MAX : 0};
        for (int64_t i = 0; i < count; i++)
            rise(&f, i, x[i], (int32_t)i);
        for (int64_t i = count; i < columns; i++)
            if (!comes_after(&f, x[i], (int32_t)i, 0))
                sink(&f, count, x[i], (int32_t)i);
        for (int64_t left = count - 1; left > 0; left--) {
            const float last = f.value[left];
            const int32_t id = f.id[left];
            set(&f, left, f.value[0], f.id[0]);
            sink(&f, left, last, id);
        }
    }
    return true;
}

static void add_floats(const float *from, int64_t columns, int64_t first, int64_t step, float *to)
{
    double sum = 0;
    for (int64_t i = 0; i < columns; i++) {
        sum += (double)from[first + i * step];
        to[first + i * step] = (float)sum;
    }
}

/* Sums wrap. */
static void add_integers(MwType type, const void *from, int64_t columns, int64_t first,
                         int64_t step, void *to)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < columns; i++) {
        sum += (uint64_t)mw_element_integer(type, from, first + i * step);
        mw_element_put_integer(type, to, first + i * step, (int64_t)sum);
    }
}

bool mw_cpu_cumsum(void *const *operands, const MwKernelArg *args, MwFault *fault)
{
    const int64_t columns = args[MW_ALONG_COLUMNS].i, inverse = args[MW_CUMSUM_INVERSE].i;
    const MwType type = (MwType)args[MW_ALONG_TYPE].i;
    (void)fault;
    for (int64_t r = 0; r < args[MW_ALONG_ROWS].i; r++) {
        const int64_t first = r * columns + (inverse ? columns - 1 : 0), step = inverse ? -1 : 1;
        if (type == MW_F32)
            add_floats(operands[0], columns, first, step, operands[1]);
        else
            add_integers(type, operands[0], columns, first, step, operands[1]);
    }
    return true;
}

bool mw_cpu_take_along_grad(void *const *operands, const MwKernelArg *args, MwFault *fault)
{
    const int64_t columns = args[MW_ALONG_COLUMNS].i, count = args[MW_ALONG_COUNT].i;
    (void)fault;
    for (int64_t r = 0; r < args[MW_ALONG_ROWS].i; r++) {
        const int32_t *ids = (const int32_t *)operands[0] + r * count;
        const float *d = (const float *)operands[1] + r * count;
        float *dx = (float *)operands[2] + r * columns;
        memset(dx, 0, sizeof *dx * (size_t)columns);
        for (int64_t i = 0; i < count; i++)
            if (ids[i] >= 0 && ids[i] < columns)
                dx[ids[i]] += d[i];
    }
    return true;
}
