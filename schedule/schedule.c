/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of schedules, and counts that follow from the order of tasks. */
#include "schedule/schedule.h"

#include "base/suggest.h"

#include <limits.h>
#include <string.h>

static const MwPipelineInfo infos[MW_PIPELINE_COUNT] = {
#define SCHEDULE(id, name, text, what, splits, chunked, trains, placement, timed, turn, late,      \
                 leaner, held, deferred, returns, by_stages)                                       \
    [MW_PIPELINE_##id] = {text,    what,     splits, chunked, trains, MW_PLACE_##placement,        \
                          timed,   turn,     late,   leaner,  held,   deferred,                    \
                          returns, by_stages},
#include "schedule/schedule.def"
#undef SCHEDULE
};

const MwPipelineInfo *mw_pipeline_info(MwPipelineKind kind)
{
    MW_ASSERT(kind < MW_PIPELINE_COUNT);
    return &infos[kind];
}

bool mw_pipeline_parse(const char *name, MwPipelineKind *kind)
{
    for (int i = 0; i < MW_PIPELINE_COUNT; i++) {
        if (strcmp(infos[i].name, name) == 0) {
            *kind = (MwPipelineKind)i;
            return true;
        }
    }
    return false;
}

const char *mw_pipeline_suggest(const char *typed)
{
    const char *names[MW_PIPELINE_COUNT];
    for (int i = 0; i < MW_PIPELINE_COUNT; i++)
        names[i] = infos[i].name;
    return mw_suggest(typed, names, MW_PIPELINE_COUNT);
}

MwPipelineKind mw_pipeline_first(bool trains)
{
    int kind = 0;
    while (infos[kind].turn != 1 || infos[kind].trains != trains)
        kind++;
    return (MwPipelineKind)kind;
}

MwPipelineKind mw_pipeline_chunked(void)
{
    int kind = 0;
    while (!infos[kind].chunked)
        kind++;
    return (MwPipelineKind)kind;
}

MwPipelineKind mw_pipeline_splitting(void)
{
    int kind = 0;
    while (!infos[kind].splits)
        kind++;
    return (MwPipelineKind)kind;
}

/* Whether stages go down the meshes and up again. */
static bool is_vee(MwPipelineKind kind, int chunks)
{
    MW_ASSERT(chunks >= 1 && chunks <= mw_pipeline_most_chunks(kind));
    return infos[kind].placement == MW_PLACE_VEE && chunks > 1;
}

int mw_pipeline_most_chunks(MwPipelineKind kind)
{
    if (!infos[kind].chunked)
        return 1;
    return infos[kind].placement == MW_PLACE_VEE ? 2 : INT_MAX;
}

int mw_pipeline_stages(MwPipelineKind kind, int meshes, int chunks)
{
    return meshes * chunks - is_vee(kind, chunks);
}

int mw_pipeline_meshes(MwPipelineKind kind, int stages, int chunks)
{
    return (stages + is_vee(kind, chunks)) / chunks;
}

int mw_pipeline_mesh_of(MwPipelineKind kind, int meshes, int stage)
{
    if (infos[kind].placement == MW_PLACE_VEE && stage >= meshes)
        return 2 * meshes - 2 - stage;
    return stage % meshes;
}

int mw_pipeline_chunks_of(MwPipelineKind kind, int meshes, int chunks, int mesh)
{
    return is_vee(kind, chunks) && mesh == meshes - 1 ? 1 : chunks;
}

int mw_pipeline_parts_of(MwPipelineKind kind, int meshes, int chunks, int stage)
{
    return is_vee(kind, chunks) && stage == meshes - 1 ? 2 : 1;
}

int mw_pipeline_stage_of_part(MwPipelineKind kind, int meshes, int chunks, int part)
{
    return is_vee(kind, chunks) && part >= meshes ? part - 1 : part;
}

int mw_pipeline_stage(const MwPipelineSchedule *schedule, int mesh, int chunk)
{
    const int meshes = schedule->mesh_count;
    if (infos[schedule->kind].placement == MW_PLACE_VEE && chunk == 1)
        return 2 * meshes - 2 - mesh;
    return chunk * meshes + mesh;
}

int mw_pipeline_mesh_chunks(const MwPipelineSchedule *schedule, int mesh)
{
    return mw_pipeline_chunks_of(schedule->kind, schedule->mesh_count, schedule->chunks, mesh);
}

int mw_pipeline_stage_count(const MwPipelineSchedule *schedule)
{
    return mw_pipeline_stages(schedule->kind, schedule->mesh_count, schedule->chunks);
}

int mw_pipeline_mesh_tasks(const MwPipelineSchedule *schedule, int mesh)
{
    int kinds = 0;
    for (int task = 0; task < MW_TASK_KIND_COUNT; task++)
        kinds += mw_pipeline_has_task(schedule->kind, (MwTaskKind)task);
    return kinds * schedule->micro_batches * mw_pipeline_mesh_chunks(schedule, mesh);
}

int mw_pipeline_most_held(void)
{
    int most = 0;
    for (int i = 0; i < MW_PIPELINE_COUNT; i++)
        most = (int)mw_max(most, infos[i].held);
    return most;
}

const char *mw_task_kind_name(MwTaskKind kind)
{
    static const char *const names[MW_TASK_KIND_COUNT] = {"forward", "backward", "backward_input",
                                                          "weight"};
    MW_ASSERT(kind < MW_TASK_KIND_COUNT);
    return names[kind];
}

bool mw_pipeline_has_task(MwPipelineKind kind, MwTaskKind task)
{
    const MwPipelineInfo *info = mw_pipeline_info(kind);
    return task == MW_TASK_FORWARD || (info->trains && info->splits == (task != MW_TASK_BACKWARD));
}

int mw_pipeline_slots(const MwPipelineSchedule *schedule, int mesh, int chunk, MwTaskKind from,
                      MwTaskKind to)
{
    const MwMeshSchedule *order = &schedule->meshes[mesh];
    int live = 0, most = 0;
    for (int i = 0; i < order->task_count; i++) {
        if (order->tasks[i].chunk != chunk)
            continue;
        live += order->tasks[i].kind == from;
        most = (int)mw_max(most, live);
        live -= order->tasks[i].kind == to;
    }
    return most;
}

void mw_mesh_schedule_count(MwPipelineSchedule *schedule, int mesh)
{
    MwMeshSchedule *order = &schedule->meshes[mesh];
    int live = 0;
    order->in_flight = 0;
    for (int i = 0; i < order->task_count; i++) {
        live += order->tasks[i].kind == MW_TASK_FORWARD;
        order->in_flight = (int)mw_max(order->in_flight, live);
        live -= order->tasks[i].kind == MW_TASK_WEIGHT;
    }
    for (int c = 0; c < mw_pipeline_mesh_chunks(schedule, mesh); c++)
        order->slots[c] = mw_pipeline_slots(schedule, mesh, c, MW_TASK_FORWARD, MW_TASK_WEIGHT);
}
