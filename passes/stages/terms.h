/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A pipeline schedule in the terms of the stage problem (solver/stages/stages.h). */
#ifndef MW_PASSES_STAGES_TERMS_H
#define MW_PASSES_STAGES_TERMS_H

#include "schedule/schedule.h"
#include "solver/stages/stages.h"

typedef struct {
    MwPipelineKind kind;
    int micro_batches;
    /* Where meshes have several chunks, each of which is a stage of the problem: the schedule itself;
     * NULL: meshes have one. */
    const MwPipelineSchedule *unrolled;
} MwScheduleTerms;

/* `terms` must outlive the result. */
MwStageSchedule mw_schedule_terms(const MwScheduleTerms *terms);

#endif
