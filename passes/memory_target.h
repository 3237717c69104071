/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory target: how planning continues after a plan that needs more memory than a device
 * has. Every loop that plans again with less memory uses it.
 *
 * Each step of planning estimates memory, and a later step knows better: a solved stage needs
 * more than was estimated for its layers, resharding makes copies, buffers leave gaps between
 * them. The limit is constant. The target, which estimates may not exceed, changes:
 *
 * - after an outcome that needs more than the limit, the target falls by the excess, below what
 *   that outcome was estimated to need, since any target from there on has the same outcome; and
 *   from the second time on also by a margin (MW_TUNED_MEMORY_MARGIN), because no outcome follows
 *   its target exactly;
 * - after a target without any outcome, it rises to the middle between that target and the least
 *   target whose outcome needed too much.
 *
 * So this is a bisection: targets whose outcome is too large lie above, targets without an
 * outcome below. It ends when an outcome fits, when there is no outcome for the whole limit,
 * when both bounds meet, or after the number of corrections that the caller allows. */
#ifndef MW_PASSES_MEMORY_TARGET_H
#define MW_PASSES_MEMORY_TARGET_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int64_t limit_bytes;          /* the limit of every outcome */
    int64_t target_bytes;         /* what to plan for next; at first the limit */
    int64_t least_exceeded_bytes; /* least target whose outcome needed too much; 0: none */
    int64_t most_empty_bytes;     /* greatest target without an outcome; 0: none */
    int corrections_left;         /* number of further targets */
    bool is_corrected;            /* an outcome needed too much before */
} MwMemoryTarget;

/* A target that starts at the limit. */
MwMemoryTarget mw_memory_target(int64_t limit_bytes, int most_corrections);

/* Sets the next target after an outcome that needs `needed_bytes`, more than the limit, where
 * `estimated_bytes` were estimated (0: not known). False if there is no other target; the target
 * then stays. */
bool mw_memory_target_exceeded(MwMemoryTarget *target, int64_t needed_bytes,
                               int64_t estimated_bytes);

/* Sets the next target after a target without an outcome. False if there is no other target. */
bool mw_memory_target_empty(MwMemoryTarget *target);

#endif
