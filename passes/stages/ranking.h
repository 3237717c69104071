/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order in which pipelines are tried: numbers of micro-batches with a number of equal meshes,
 * where probes tell what these promise (probe.h), and then each number with any meshes.
 *
 * It grows with the numbers of micro-batches times those of equal meshes. */
#ifndef MW_PASSES_STAGES_RANKING_H
#define MW_PASSES_STAGES_RANKING_H

#include "passes/stages/probe.h"

/* A number of micro-batches, with a number of meshes or any. */
typedef struct {
    MwStageBatching *batching;
    int meshes;        /* number of equal meshes; 1: one stage; 0: any */
    double expected_s; /* of a step, by estimate */
    bool is_probed;    /* that estimate is of a stage that was solved */
    bool is_tried;
    double step_s, ideal_s; /* of the best layout with it; INFINITY: none yet */
    double even_s; /* least step time of such layouts, of one chunk, were their stages even */
    bool lacks_memory[MW_PIPELINE_COUNT]; /* schedules for which memory does not suffice */
} MwRankedPipeline;

typedef MW_VEC(MwRankedPipeline) MwRanking;

/* Measures the batchings of the query, and ranks what is tried by estimate, in `arena`. */
MwRanking mw_stage_rank(MwArena *arena, const MwStageProbeQuery *query);

#endif
