/* SPDX-License-Identifier: MIT */
#include "base/vec.h"

#include <string.h>

void *mw_vec_grow(MwArena *arena, const void *at, int *capacity, size_t element_bytes)
{
    int old_capacity = *capacity;
    MW_ASSERT(old_capacity < INT32_MAX / 2);
    *capacity = old_capacity ? old_capacity * 2 : 8;
    void *grown = mw_arena_alloc(arena, element_bytes * (size_t)*capacity);
    if (old_capacity)
        memcpy(grown, at, element_bytes * (size_t)old_capacity);
    return grown;
}
