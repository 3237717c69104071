/* SPDX-License-Identifier: MIT */
/* Linear recurrences on the CPU: one step after another, each of all that lies side by side. */
#include "runtime/cpu/routines.h"
#include "runtime/plan/routine.h"

bool mw_cpu_linear_scan(void *const *operands, const MwKernelArg *args, MwFault *fault)
{
    const int64_t steps = args[MW_LINEAR_SCAN_STEPS].i, inner = args[MW_LINEAR_SCAN_INNER].i;
    const bool reverse = args[MW_LINEAR_SCAN_REVERSE].i;
    (void)fault;
    for (int64_t o = 0; o < args[MW_LINEAR_SCAN_OUTER].i; o++) {
        const float *before = NULL;
        for (int64_t s = 0; s < steps; s++) {
            const int64_t at = (o * steps + (reverse ? steps - 1 - s : s)) * inner;
            const float *x = (const float *)operands[0] + at;
            const float *decay = (const float *)operands[1] + at;
            float *y = (float *)operands[2] + at;
            for (int64_t i = 0; i < inner; i++)
                y[i] = before ? decay[i] * before[i] + x[i] : x[i];
            before = y;
        }
    }
    return true;
}
