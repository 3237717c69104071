/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Computes the timeline in sweeps over the meshes; each sweep advances every mesh until an input
 * is unknown. The time of a task depends only on the tasks before it, so the order of the sweeps
 * does not matter. */
#include "schedule/timeline.h"

#include <math.h>

typedef struct {
    const MwPipelineSchedule *schedule;
    const MwStageTimes *times;
    MwTimeline *timeline;
    int *next; /* [mesh_count]: number of tasks of each mesh with known times */
    double
        *sent; /* [mesh_count]: when all that a mesh sent has arrived; NULL: its transfers share no
                     link */
    /* [stage_count * micro_batches]: arrival of a stage's result at the stage that needs it;
     * negative while unknown. */
    double *activations, *gradients;
} TimelineRun;

static bool is_backward(MwTaskKind kind)
{
    return kind == MW_TASK_BACKWARD || kind == MW_TASK_BACKWARD_INPUT;
}

/* Arrival of the input of `task` from another stage: 0 if it needs none, negative if unknown. */
static double arrival(const TimelineRun *run, MwTask task, int stage)
{
    const int m = run->schedule->micro_batches;
    const int last = mw_pipeline_stage_count(run->schedule) - 1;
    if (task.kind == MW_TASK_FORWARD && stage > 0)
        return run->activations[(stage - 1) * m + task.micro_batch];
    if (is_backward(task.kind) && stage < last)
        return run->gradients[(stage + 1) * m + task.micro_batch];
    return 0;
}

/* Records when the result of a task of a mesh arrives at the next stage: its transfer begins when
 * that of the micro-batch before it, which was sent before, has arrived, and where the mesh has one
 * link, all that it sent. arrivals: [micro-batches] of the stage. */
static void send(const TimelineRun *run, int mesh, MwTask task, double end, double transfer,
                 double *arrivals)
{
    const double before = run->sent              ? run->sent[mesh]
                          : task.micro_batch > 0 ? arrivals[task.micro_batch - 1]
                                                 : 0;
    const bool crosses = run->schedule->mesh_count > 1;
    arrivals[task.micro_batch] = crosses ? fmax(end, before) + transfer : end;
    if (run->sent && transfer > 0)
        run->sent[mesh] = arrivals[task.micro_batch];
}

static void send_result(const TimelineRun *run, int mesh, MwTask task, int stage, double end)
{
    const MwStageTimes *times = &run->times[stage];
    const int first = stage * run->schedule->micro_batches;
    if (task.kind == MW_TASK_FORWARD && stage + 1 < mw_pipeline_stage_count(run->schedule))
        send(run, mesh, task, end, times->to_next, run->activations + first);
    else if (is_backward(task.kind) && stage > 0)
        send(run, mesh, task, end, times->to_previous, run->gradients + first);
}

/* Computes the times of as many tasks of a mesh as possible; true if any. */
static bool advance(TimelineRun *run, int mesh_index)
{
    const MwMeshSchedule *mesh = &run->schedule->meshes[mesh_index];
    MwMeshTimeline *placed = &run->timeline->meshes[mesh_index];
    int *next = &run->next[mesh_index], begun = *next;
    for (; *next < mesh->task_count; ++*next) {
        MwTask task = mesh->tasks[*next];
        int stage = mw_pipeline_stage(run->schedule, mesh_index, task.chunk);
        double start = arrival(run, task, stage);
        if (start < 0)
            break;
        if (*next > 0 && placed->tasks[*next - 1].end > start)
            start = placed->tasks[*next - 1].end;
        double length = run->times[stage].task[task.kind];
        placed->tasks[*next] = (MwTaskTime){start, start + length};
        placed->busy += length;
        send_result(run, mesh_index, task, stage, start + length);
    }
    return *next > begun;
}

static void sum_up(MwTimeline *timeline, const MwPipelineSchedule *schedule)
{
    for (int i = 0; i < schedule->mesh_count; i++) {
        MwMeshTimeline *mesh = &timeline->meshes[i];
        double end = mesh->tasks[schedule->meshes[i].task_count - 1].end;
        mesh->span = end - mesh->tasks[0].start;
        timeline->total = end > timeline->total ? end : timeline->total;
        timeline->cost = mesh->span > timeline->cost ? mesh->span : timeline->cost;
        timeline->ideal = mesh->busy > timeline->ideal ? mesh->busy : timeline->ideal;
    }
    if (timeline->cost > timeline->ideal) /* otherwise they differ by rounding at most */
        timeline->bubble_rate = (timeline->cost - timeline->ideal) / timeline->cost;
}

static double *unknown(MwArena *arena, int count)
{
    double *at = MW_NEW(arena, double, count);
    for (int i = 0; i < count; i++)
        at[i] = -1;
    return at;
}

static MwTimeline *timeline_of(MwArena *arena, const MwPipelineSchedule *schedule,
                               const MwStageTimes *times, bool shares_links)
{
    const int meshes = schedule->mesh_count;
    const int results = mw_pipeline_stage_count(schedule) * schedule->micro_batches;
    MwTimeline *timeline = MW_NEW(arena, MwTimeline, 1);
    timeline->meshes = MW_NEW(arena, MwMeshTimeline, meshes);
    for (int i = 0; i < meshes; i++)
        timeline->meshes[i].tasks = MW_NEW(arena, MwTaskTime, schedule->meshes[i].task_count);
    TimelineRun run = {schedule,
                       times,
                       timeline,
                       MW_NEW(arena, int, meshes),
                       shares_links ? MW_NEW(arena, double, meshes) : NULL,
                       unknown(arena, results),
                       unknown(arena, results)};
    for (bool moved = true; moved;) {
        moved = false;
        for (int i = 0; i < meshes; i++)
            moved |= advance(&run, i);
    }
    for (int i = 0; i < meshes; i++)
        MW_ASSERT(run.next[i] == schedule->meshes[i].task_count);
    sum_up(timeline, schedule);
    return timeline;
}

MwTimeline *mw_timeline_new(MwArena *arena, const MwPipelineSchedule *schedule,
                            const MwStageTimes *times)
{
    return timeline_of(arena, schedule, times, false);
}

MwTimeline *mw_timeline_new_shared(MwArena *arena, const MwPipelineSchedule *schedule,
                                   const MwStageTimes *times)
{
    return timeline_of(arena, schedule, times, true);
}

MwStageTimes *mw_stage_times_new_clocks(MwArena *arena, MwPipelineKind kind, int meshes, int chunks)
{
    const int stages = mw_pipeline_stages(kind, meshes, chunks);
    MwStageTimes *times = MW_NEW(arena, MwStageTimes, stages);
    for (int s = 0; s < stages; s++) {
        const int parts = mw_pipeline_parts_of(kind, meshes, chunks, s);
        times[s].memory.late = parts;
        for (int task = 0; task < MW_TASK_KIND_COUNT; task++)
            times[s].task[task] = parts;
    }
    return times;
}

MwTimeline *mw_timeline_new_clocks(MwArena *arena, const MwPipelineSchedule *schedule)
{
    return mw_timeline_new(
        arena, schedule,
        mw_stage_times_new_clocks(arena, schedule->kind, schedule->mesh_count, schedule->chunks));
}
