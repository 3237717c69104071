/* SPDX-License-Identifier: MIT */
/* Attributes, assertions and small arithmetic, for every part of meshwright.
 *
 * There are three kinds of failure, and only the third is handled here: the user's
 * (base/diag.h), the environment's (base/diag.h without a span, or the runtime's fault
 * handling), and our own, which MW_ASSERT states and checks in release builds too. */
#ifndef MW_BASE_BASE_H
#define MW_BASE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MW_PRINTF(format_arg, first_arg) __attribute__((format(printf, format_arg, first_arg)))
#define MW_NORETURN __attribute__((noreturn))

#define MW_COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* Ends the process with "internal error: FILE:LINE: ...". Never returns. */
MW_NORETURN void mw_internal_error(const char *file, int line, const char *format, ...)
    MW_PRINTF(3, 4);

#define MW_ASSERT(condition)                                                                       \
    ((condition) ? (void)0 : mw_internal_error(__FILE__, __LINE__, "%s", #condition))
#define MW_UNREACHABLE() mw_internal_error(__FILE__, __LINE__, "unreachable")

static inline int64_t mw_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t mw_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* a / b rounded up, for a >= 0 and b > 0. */
static inline int64_t mw_ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* The least multiple of `unit` that is at least `value`, for value >= 0 and unit > 0. */
static inline int64_t mw_round_up(int64_t value, int64_t unit)
{
    return mw_ceil_div(value, unit) * unit;
}

/* The greatest common divisor, for a >= 0 and b >= 0 that are not both 0. */
static inline int64_t mw_common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t remainder = a % b;
        a = b;
        b = remainder;
    }
    return a;
}

/* The greatest prime that divides n, for n > 1. */
static inline int mw_greatest_prime(int n)
{
    for (int p = 2; p <= n / p;)
        if (n % p == 0)
            n /= p;
        else
            p++;
    return n;
}

#endif
