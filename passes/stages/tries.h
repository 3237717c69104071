/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a search has tried so far. Each layout becomes a trial, by estimate: single.h and
 * pipelines.h say what is tried, trials.h in which order, and validates them. */
#ifndef MW_PASSES_STAGES_TRIES_H
#define MW_PASSES_STAGES_TRIES_H

#include "passes/memory_target.h"
#include "passes/stages/ranking.h"
#include "passes/stages/trials_query.h"

/* What schedules whose stages go down the meshes and up again have found. */
typedef struct MwVeeFound MwVeeFound;

typedef MW_VEC(MwStageTrial) MwStageTrialList;

/* A pipeline that a search tried, in numbers. */
typedef struct {
    int micro_batches, meshes; /* as in MwRankedPipeline */
} MwTriedPipeline;

typedef MW_VEC(MwTriedPipeline) MwTriedPipelines;

/* A search. Its trials grow with the numbers of micro-batches that are tried, times schedules and
 * numbers of stages, of which SEARCH_EFFORT bounds what is solved. */
typedef struct {
    const MwStageTrialsQuery *query;
    const MwCompilation *compilation;
    MwArena *arena;
    MwArena *kept; /* of the layouts, which outlive the compilation where `known` does */
    int devices;
    MwMemoryTarget target; /* of the memory of a device */
    MwStageBatchings batchings;
    MwStageKnown *known;
    double begin_s; /* of the search, and the effort that was known of before it */
    int64_t begin_effort;
    int64_t most_effort; /* beyond which no more numbers of micro-batches are tried */
    /* of one stage in the last trial of it: least step time, whatever its memory; micro-batches;
     * memory that it needed, and the part of it that does not depend on their number */
    double one_stage_s, one_stage_bytes, one_stage_kept_bytes;
    int one_stage_micro_batches;
    MwStageTrialList trials;
    MwRanking ranking; /* the first `considered` were tried, or left out */
    int considered;
    int64_t ranked_effort; /* that was known when it was made */
    MW_VEC(MwVeeFound) vees;
    MwTriedPipelines before; /* by earlier searches of the model, so that most of it is solved */
    MwStageTrials *out;
} MwStageTries;

/* The memory of a device that a layout may take by estimate. */
static inline double mw_stage_tries_bytes(const MwStageTries *t)
{
    return (double)t->target.target_bytes;
}

/* The best layout so far that fits; NULL: none does. */
const MwStageLayout *mw_stage_tries_incumbent(const MwStageTries *t);

/* Whether there is a layout, be it one that does not fit. */
bool mw_stage_tries_has_layout(const MwStageTries *t);

/* Whether what there is will do: where any layout that fits is enough, and there is one. */
bool mw_stage_tries_will_do(const MwStageTries *t);

/* Whether probes rank pipelines, and one stage among them. */
bool mw_stage_tries_are_probed(const MwStageTries *t);

/* Whether what is left of the effort allows to try another number of micro-batches. */
bool mw_stage_tries_has_effort(const MwStageTries *t);

/* Adds a trial. It replaces an unsolved trial of the same name that does not fit: the search asks
 * again for comparison, and with a smaller memory target. */
void mw_stage_tries_add(MwStageTries *t, MwStageTrial trial);

/* Adds a layout that has a price, with a copy of its stages. */
void mw_stage_tries_add_layout(MwStageTries *t, const MwStageLayout *layout);

/* The layout with its stages in the arena that outlives the models. */
MwStageLayout mw_stage_tries_keep(const MwStageTries *t, MwStageLayout layout);

#endif
