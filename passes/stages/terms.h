/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A pipeline schedule as the coefficients of the stage problem (solver/stages/problem.h). */
#ifndef MW_PASSES_STAGES_TERMS_H
#define MW_PASSES_STAGES_TERMS_H

#include "schedule/schedule.h"
#include "solver/stages/stages.h"

typedef struct {
    MwPipelineKind kind;
    int micro_batches;
    /* The schedule, where meshes have several chunks and each chunk is a stage of the problem.
     * NULL: each mesh has one chunk. Stages that go down the meshes and up again are those of
     * another problem (vee_choice.h). */
    const MwPipelineSchedule *unrolled;
} MwScheduleTerms;

/* `terms` must outlive the result. */
MwStageSchedule mw_schedule_terms(const MwScheduleTerms *terms);

#endif
