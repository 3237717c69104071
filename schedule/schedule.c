/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of schedules, and what can be counted in one from the order of its tasks. */
#include "schedule/schedule.h"

#include "base/suggest.h"
#include "schedule/order.h"

#include <limits.h>
#include <string.h>

static const MwPipelineInfo infos[MW_PIPELINE_COUNT] = {
#define SCHEDULE(id, name, what, order, splits, chunked, trains)                                   \
    [MW_PIPELINE_##id] = {name, what, splits, chunked, trains},
#include "schedule/schedule.def"
#undef SCHEDULE
};

static void (*const orders[MW_PIPELINE_COUNT])(MwPipelineSchedule *schedule) = {
#define SCHEDULE(id, name, what, order, splits, chunked, trains)                                   \
    [MW_PIPELINE_##id] = mw_pipeline_order_##order,
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

/* Of one micro-batch in one chunk. */
static int task_kinds(MwPipelineKind kind)
{
    int count = 0;
    for (int task = 0; task < MW_TASK_KIND_COUNT; task++)
        count += mw_pipeline_has_task(kind, (MwTaskKind)task);
    return count;
}

MwPipelineSchedule *mw_pipeline_schedule_new(MwArena *arena, MwPipelineKind kind, int meshes,
                                             int micro_batches, int chunks)
{
    MW_ASSERT(meshes >= 1 && micro_batches >= 1 && chunks >= 1);
    MW_ASSERT(chunks == 1 || mw_pipeline_info(kind)->chunked);
    MW_ASSERT(micro_batches <= INT_MAX / task_kinds(kind) / chunks / meshes);
    int tasks = micro_batches * chunks * task_kinds(kind);
    MwPipelineSchedule *schedule = MW_NEW(arena, MwPipelineSchedule, 1);
    *schedule = (MwPipelineSchedule){kind, meshes, micro_batches, chunks,
                                     MW_NEW(arena, MwMeshSchedule, meshes)};
    for (int i = 0; i < meshes; i++) {
        schedule->meshes[i].tasks = MW_NEW(arena, MwTask, tasks);
        schedule->meshes[i].slots = MW_NEW(arena, int, chunks);
    }
    orders[kind](schedule);
    for (int i = 0; i < meshes; i++)
        MW_ASSERT(schedule->meshes[i].task_count == tasks);
    return schedule;
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
