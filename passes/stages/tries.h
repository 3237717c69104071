/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The layouts that a search tries, one number of micro-batches and one schedule after another. Each
 * becomes a trial, by estimate; trials.h says in which order, and validates them. */
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
    MwRanking ranking; /* the first `ranked` were tried, or left out */
    int ranked;
    int64_t ranked_effort; /* that was known when it was made */
    MW_VEC(MwVeeFound) vees;
    MwTriedPipelines before; /* by earlier searches of the model, so that most of it is solved */
    MwStageTrials *out;
} MwStageTries;

/* The best layout so far that fits; NULL: none does. */
const MwStageLayout *mw_stage_tries_incumbent(const MwStageTries *t);

/* Whether what there is will do: where any layout that fits is enough, and there is one. */
bool mw_stage_tries_will_do(const MwStageTries *t);

/* Whether probes rank pipelines, and one stage among them. */
bool mw_stage_tries_are_probed(const MwStageTries *t);

/* Whether what is left of the effort allows to try another number of micro-batches. */
bool mw_stage_tries_has_effort(const MwStageTries *t);

/* Tries one stage with up to `most` more numbers of micro-batches, from index `next` on, for
 * which memory may suffice. */
void mw_stage_try_single(MwStageTries *t, int *next, int most);

/* Tries pipelines: the schedule of turn 1 with each number of micro-batches; then the other
 * schedules that are not late. */
void mw_stage_try_pipelines(MwStageTries *t);

/* Adds what was tried to what searches before the next one tried. */
void mw_stage_tries_end(MwStageTries *t);

/* Tries the best layout with other numbers of stages, to report what they would take: all
 * numbers if there are few, else half and twice as many; on many devices of stages that are solved
 * already. */
void mw_stage_try_other_counts(MwStageTries *t);

/* Tries the late schedules with the numbers of micro-batches that the others were tried with. */
void mw_stage_try_late(MwStageTries *t);

#endif
