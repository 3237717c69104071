/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Offsets in one arena for buffers whose lifetimes are known: two that are live at the same time
 * must not overlap. Knows nothing of kernels; the problem is dynamic storage allocation, and the
 * orders tried are those of Pisarchyk and Lee 2020 ("Efficient memory management for deep neural
 * net inference") and their kin. */
#ifndef MW_CODEGEN_PLAN_MEMORY_H
#define MW_CODEGEN_PLAN_MEMORY_H

#include "base/arena.h"

typedef struct {
    int64_t bytes;
    int begin, end; /* live at these times and between */
    int64_t offset; /* result: a multiple of the alignment */
} MwLifetime;

/* Assigns offsets; gives the size of the arena. */
int64_t mw_memory_assign(MwArena *arena, MwLifetime *lifetimes, int count, int64_t alignment);

/* The greatest number of bytes live at one time: no arena is smaller. */
int64_t mw_memory_lower_bound(MwArena *arena, const MwLifetime *lifetimes, int count);

#endif
