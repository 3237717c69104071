/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/stages/terms.h"

#include "schedule/generate.h"

/* Micro-batches in flight in the stage with `remaining` stages after it. */
static int64_t in_flight(const void *context, int stages, int remaining)
{
    const MwScheduleTerms *terms = context;
    const MwPipelineSchedule *unrolled = terms->unrolled;
    const int stage = stages - 1 - remaining;
    if (!unrolled)
        return mw_pipeline_in_flight(terms->kind, stages, stage, terms->micro_batches);
    const int mesh = mw_pipeline_mesh_of(terms->kind, unrolled->mesh_count, stage);
    return unrolled->meshes[mesh].slots[stage / unrolled->mesh_count];
}

/* The chunks of a mesh share the time for which the first of them waits, which is why `chunks`
 * is a square: see MwStageSchedule. */
MwStageSchedule mw_schedule_terms(const MwScheduleTerms *terms)
{
    const MwPipelineInfo *info = mw_pipeline_info(terms->kind);
    int chunks = terms->unrolled ? terms->unrolled->chunks : 1;
    return (MwStageSchedule){.micro_batches = terms->micro_batches,
                             .chunks = chunks * chunks,
                             .deferred = info->deferred,
                             .returns = info->returns,
                             .by_stages = info->by_stages,
                             .in_flight = in_flight,
                             .context = terms};
}
