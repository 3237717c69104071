/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "schedule/generate.h"

#include "schedule/order.h"
#include "schedule/trial.h"

#include <limits.h>

static const struct {
    void (*order)(MwPipelineSchedule *schedule, const MwStageTimes *times);
    int64_t (*in_flight)(int meshes, int mesh, int micro_batches);
} generators[MW_PIPELINE_COUNT] = {
#define SCHEDULE(id, name, ...)                                                                    \
    [MW_PIPELINE_##id] = {mw_pipeline_order_##name, mw_pipeline_in_flight_##name},
#include "schedule/schedule.def"
#undef SCHEDULE
};

MwPipelineSchedule *mw_pipeline_schedule_timed(MwArena *arena, MwPipelineKind kind, int meshes,
                                               int micro_batches, int chunks,
                                               const MwStageTimes *times)
{
    MW_ASSERT(meshes >= 1 && micro_batches >= 1 && chunks >= 1);
    MW_ASSERT(chunks <= mw_pipeline_most_chunks(kind));
    MW_ASSERT(micro_batches <= INT_MAX / MW_TASK_KIND_COUNT / chunks / meshes);
    const MwPipelineSchedule sizes = {.kind = kind,
                                      .mesh_count = meshes,
                                      .micro_batches = micro_batches,
                                      .chunks = chunks,
                                      .sends_ahead = MW_SENDS_AHEAD};
    MwPipelineSchedule *schedule = mw_schedule_new_like(arena, &sizes);
    generators[kind].order(schedule, times);
    for (int i = 0; i < meshes; i++)
        MW_ASSERT(schedule->meshes[i].task_count == mw_pipeline_mesh_tasks(schedule, i));
    if (mw_pipeline_info(kind)->timed)
        schedule->sends_ahead = mw_schedule_sends_ahead(schedule);
    return schedule;
}

MwPipelineSchedule *mw_pipeline_schedule_new(MwArena *arena, MwPipelineKind kind, int meshes,
                                             int micro_batches, int chunks)
{
    return mw_pipeline_schedule_timed(arena, kind, meshes, micro_batches, chunks, NULL);
}

int mw_pipeline_in_flight(MwPipelineKind kind, int meshes, int mesh, int micro_batches)
{
    return (int)mw_min(generators[kind].in_flight(meshes, mesh, micro_batches), micro_batches);
}
