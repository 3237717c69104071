/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How planning goes on where what it finds needs more memory than a device has: the one rule of every
 * loop that plans again with less.
 *
 * Each step of planning estimates memory, and a later one knows better: a stage that is solved needs
 * more than was estimated for its layers, resharding makes copies, buffers leave gaps between them. The
 * limit stays the same; the target, which the estimates are held to, is what changes:
 *
 *   - after an outcome that needs more than the limit, the target falls by the excess, and from the
 *     second time on by a margin too (MW_TUNED_MEMORY_MARGIN), since no outcome follows its target exactly;
 *   - after a target for which nothing was found, it rises to halfway between that and the least target
 *     whose outcome needed too much.
 *
 * So the targets with too large an outcome fall, those with none rise, and the next lies between them.
 * It ends when one outcome fits, when nothing was found for the whole limit, when both meet, or after as
 * many corrections as its owner allows. */
#ifndef MW_PASSES_MEMORY_TARGET_H
#define MW_PASSES_MEMORY_TARGET_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int64_t limit_bytes;          /* what no outcome may exceed */
    int64_t target_bytes;         /* what is planned for next; at first the limit */
    int64_t least_exceeded_bytes; /* the least target whose outcome needed too much; 0: none did */
    int64_t most_empty_bytes;     /* the greatest target for which nothing was found; 0: none */
    int corrections_left;
    bool is_corrected; /* by an outcome that needed too much */
} MwMemoryTarget;

MwMemoryTarget mw_memory_target(int64_t limit_bytes, int most_corrections);

/* Sets the next target after an outcome that needs `needed_bytes`, more than the limit. False, and the
 * target stays, if there is none. */
bool mw_memory_target_exceeded(MwMemoryTarget *target, int64_t needed_bytes);

/* The same after a target for which nothing was found. */
bool mw_memory_target_empty(MwMemoryTarget *target);

#endif
