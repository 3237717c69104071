/* SPDX-License-Identifier: MIT */
#include "base/divisors.h"

MwDivisors mw_divisors(MwArena *arena, int64_t n)
{
    MwDivisors all = {0};
    MW_ASSERT(n > 0);
    for (int64_t d = 1; d <= n / d; d++)
        if (n % d == 0)
            mw_vec_push(arena, &all, d);
    for (int i = all.count - 1; i >= 0; i--) {
        const int64_t other = n / all.at[i];
        if (other != all.at[i])
            mw_vec_push(arena, &all, other);
    }
    return all;
}
