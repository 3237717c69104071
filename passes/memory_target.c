/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/memory_target.h"

#include "base/base.h"
#include "passes/tuning.h"

MwMemoryTarget mw_memory_target(int64_t limit_bytes, int most_corrections)
{
    return (MwMemoryTarget){.limit_bytes = limit_bytes,
                            .target_bytes = limit_bytes,
                            .corrections_left = most_corrections};
}

/* Sets the target to `bytes`, or to the middle of both bounds if `bytes` does not lie between
 * them. */
static bool move_to(MwMemoryTarget *target, int64_t bytes)
{
    int64_t low = target->most_empty_bytes, high = target->least_exceeded_bytes;
    if (bytes <= low || bytes >= high)
        bytes = low + (high - low) / 2;
    if (target->corrections_left == 0 || bytes <= low || bytes >= high)
        return false;
    target->corrections_left--;
    target->target_bytes = bytes;
    return true;
}

bool mw_memory_target_exceeded(MwMemoryTarget *target, int64_t needed_bytes,
                               int64_t estimated_bytes)
{
    MW_ASSERT(needed_bytes > target->limit_bytes);
    const bool is_known = estimated_bytes > 0 && estimated_bytes < target->target_bytes;
    const int64_t exceeded = is_known ? estimated_bytes : target->target_bytes;
    int64_t excess = needed_bytes - target->limit_bytes;
    if (target->is_corrected)
        excess += (int64_t)(MW_TUNED_MEMORY_MARGIN * (double)target->limit_bytes);
    target->is_corrected = true;
    target->least_exceeded_bytes = exceeded;
    return excess < exceeded && move_to(target, exceeded - excess);
}

bool mw_memory_target_empty(MwMemoryTarget *target)
{
    target->most_empty_bytes = target->target_bytes;
    if (target->least_exceeded_bytes == 0)
        return false;
    return move_to(target, 0);
}
