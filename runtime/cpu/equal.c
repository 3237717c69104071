/* SPDX-License-Identifier: MIT */
/* The first of equal ids on the CPU, by a hash table of their places with linear probing (Knuth,
 * The Art of Computer Programming 3, section 6.4). */
#include "runtime/cpu/routines.h"
#include "runtime/plan/routine.h"

#include <string.h>

bool mw_cpu_first_equal(void *const *operands, const MwKernelArg *args, MwFault *fault)
{
    const int64_t count = args[MW_FIRST_EQUAL_COUNT].i, slots = mw_first_equal_slots(count);
    const int32_t *ids = operands[0];
    int32_t *first = operands[1], *slot = operands[2];
    (void)fault;
    memset(slot, -1, sizeof *slot * (size_t)slots);
    for (int64_t i = 0; i < count; i++) {
        int64_t at = MW_FIRST_EQUAL_SLOT(ids[i], slots);
        while (slot[at] >= 0 && ids[slot[at]] != ids[i])
            at = (at + 1) & (slots - 1);
        if (slot[at] < 0)
            slot[at] = (int32_t)i;
        first[i] = slot[at];
    }
    return true;
}
