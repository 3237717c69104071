/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/stages/terms.h"

#include "schedule/generate.h"

/* Micro-batches in flight in the stage with `remaining` stages after it. Where stages go down the
 * meshes and up again, the chunks of a mesh share its memory as they need it. The first has more in
 * flight, and their mean counts there, as for chunks that are alike; in the second, which may have
 * the end of the model, its own number. */
static int64_t in_flight(const void *context, int stages, int remaining)
{
    const MwScheduleTerms *terms = context;
    const MwPipelineSchedule *unrolled = terms->unrolled;
    const int part = stages - 1 - remaining;
    if (!unrolled)
        return mw_pipeline_in_flight(terms->kind, stages, part, terms->micro_batches);
    const int stage =
        mw_pipeline_stage_of_part(terms->kind, unrolled->mesh_count, unrolled->chunks, part);
    const int mesh = mw_pipeline_mesh_of(terms->kind, unrolled->mesh_count, stage);
    const int *slots = unrolled->meshes[mesh].slots;
    const int own = slots[stage / unrolled->mesh_count];
    if (mw_pipeline_info(terms->kind)->placement != MW_PLACE_VEE)
        return own;
    int64_t sum = 0;
    for (int c = 0; c < mw_pipeline_mesh_chunks(unrolled, mesh); c++)
        sum += slots[c];
    return mw_min(own, mw_ceil_div(sum, mw_pipeline_mesh_chunks(unrolled, mesh)));
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
