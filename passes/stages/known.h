/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the search has solved of a model, by number of micro-batches. It outlives the copies of the
 * model (model.h), so that nothing is solved twice: where a copy was freed and is made anew, and
 * where the search is repeated for less memory. Classes of intervals are the same in all copies.
 *
 * It holds costs alone: about a kilobyte for each sample, whose number SEARCH_EFFORT bounds. */
#ifndef MW_PASSES_STAGES_KNOWN_H
#define MW_PASSES_STAGES_KNOWN_H

#include "base/arena.h"
#include "ir/key_map.h"

#include <stdint.h>

/* What the last search found (trials.c). */
typedef struct MwStageFound MwStageFound;

/* Whether all samples of a query are solved. */
typedef struct {
    bool is_solved;
    int64_t asked_at; /* the effort when they were not; -1: not asked yet */
} MwStageAnswered;

/* With one number of micro-batches. */
typedef struct {
    MwArena *arena;
    MwKeyMap samples;   /* by interval class, mesh, recomputation and sequence: an MwStageSample */
    MwKeyMap answered;  /* by interval class, devices and sequence: an MwStageAnswered */
    int64_t work;       /* mw_stage_costs_work */
    int64_t effort;     /* mw_stage_costs_effort */
    double ps_per_byte; /* unit of the prices (sample.h), which that of the first search remains;
                           0: not known yet */
} MwStageSolved;

typedef struct MwStageKnown MwStageKnown;

MwStageKnown *mw_stage_known_new(MwArena *arena);

MwArena *mw_stage_known_arena(const MwStageKnown *known);

/* Where what the last search found is kept, in the arena of `known`; it is NULL until a search. */
MwStageFound **mw_stage_known_found(MwStageKnown *known);

/* Lies in the arena of `known`, and what it keeps in one of its own within that. */
MwStageSolved *mw_stage_known_of(MwStageKnown *known, int micro_batches);

/* What all samples so far took, of all numbers of micro-batches, but for those of probes. */
int64_t mw_stage_known_effort(const MwStageKnown *known);

/* Counts what was added to the effort since it was `before` as that of probes. */
void mw_stage_known_probed(MwStageKnown *known, int64_t before);

#endif
