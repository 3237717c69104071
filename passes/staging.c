/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a schedule implies for the memory of a stage. */
#include "passes/staging.h"

int64_t mw_staging_memory_bytes(const MwStaging *staging, int stage, int64_t memory_bytes)
{
    if (staging->memory_share)
        return (int64_t)(staging->memory_share[stage] * (double)memory_bytes);
    return memory_bytes / mw_staging_chunks(staging, mw_staging_mesh(staging, stage));
}

/* Whether no task of another micro-batch runs between the tasks of one. */
static bool is_sequential(const MwMeshSchedule *mesh)
{
    int most = -1;
    for (int i = 0; i < mesh->task_count; i++) {
        if (mesh->tasks[i].micro_batch < most)
            return false;
        most = mesh->tasks[i].micro_batch;
    }
    return true;
}

/* The kind of task that runs a phase. */
static MwTaskKind kind_of(const MwStaging *staging, MwPhase phase)
{
    if (phase == MW_PHASE_FORWARD)
        return MW_TASK_FORWARD;
    if (phase == MW_PHASE_BACKWARD_WEIGHT)
        return MW_TASK_WEIGHT;
    return mw_staging_splits_backward(staging) ? MW_TASK_BACKWARD_INPUT : MW_TASK_BACKWARD;
}

static bool has_task(const MwStaging *staging, MwPhase phase)
{
    return phase != MW_PHASE_UPDATE &&
           mw_pipeline_has_task(staging->schedule->kind, kind_of(staging, phase));
}

static bool backward_follows(const MwStaging *staging, int stage)
{
    const MwMeshSchedule *mesh = &staging->schedule->meshes[mw_staging_mesh(staging, stage)];
    const MwTaskKind backward = kind_of(staging, MW_PHASE_BACKWARD);
    for (int i = 0; i < mesh->task_count; i++) {
        const MwTask *task = &mesh->tasks[i], *next = task + 1;
        if (task->kind != MW_TASK_FORWARD || task->chunk != stage / staging->mesh_count)
            continue;
        if (i + 1 == mesh->task_count || next->kind != backward || next->chunk != task->chunk ||
            next->micro_batch != task->micro_batch)
            return false;
    }
    return stage == staging->stage_count - 1;
}

int mw_flight_slots(const MwFlight *flight, MwPhase from, MwPhase to, bool moves)
{
    const int64_t between = flight->slots[from][to];
    return (int)mw_min(moves ? mw_max(between + 1, flight->sends_ahead) : between,
                       flight->micro_batches);
}

MwFlight mw_staging_flight(const MwStaging *staging, int stage)
{
    int mesh = mw_staging_mesh(staging, stage), chunk = stage / staging->mesh_count;
    const int chunks = mw_staging_chunks(staging, mesh);
    MwFlight flight = {.micro_batches = staging->micro_batches,
                       .shares_update = chunks > 1,
                       .is_sequential =
                           chunks == 1 && is_sequential(&staging->schedule->meshes[mesh]),
                       .backward_follows = backward_follows(staging, stage),
                       .sends_ahead = staging->schedule->sends_ahead};
    for (int from = 0; from < MW_PHASE_COUNT; from++)
        for (int to = 0; to < MW_PHASE_COUNT; to++) {
            bool waits =
                from < to && has_task(staging, (MwPhase)from) && has_task(staging, (MwPhase)to);
            flight.slots[from][to] = waits ? mw_pipeline_slots(staging->schedule, mesh, chunk,
                                                               kind_of(staging, (MwPhase)from),
                                                               kind_of(staging, (MwPhase)to))
                                           : 1;
        }
    return flight;
}
