/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks of schedules and timelines. They use of the generators only the
 * types and the placement of stages; the dependencies
 * of a task are stated here again:
 *
 *     forward         the forward of the previous stage
 *     backward        its own forward; the backward of the next stage
 *     backward_input  its own forward; the backward_input of the next stage
 *     weight          its own backward_input
 *
 * and so is the time in flight of a micro-batch in a chunk: from its forward to its last task. */
#include "schedule/check.h"

typedef struct {
    const MwPipelineSchedule *schedule;
    MwArena *arena;
    MwDiags *diags;
    int stage_count;
    bool *ran[MW_TASK_KIND_COUNT]; /* [stage_count * micro_batches] each: the task has run */
} ScheduleCheck;

/* Index of a task in the arrays by stage and micro-batch. */
static int64_t task_index(const MwPipelineSchedule *schedule, int stage, int micro_batch)
{
    return (int64_t)stage * schedule->micro_batches + micro_batch;
}

static ScheduleCheck check_new(MwArena *arena, const MwPipelineSchedule *schedule, MwDiags *diags)
{
    ScheduleCheck check = {schedule, arena, diags, mw_pipeline_stage_count(schedule)};
    for (int kind = 0; kind < MW_TASK_KIND_COUNT; kind++)
        check.ran[kind] = MW_NEW(arena, bool, task_index(schedule, check.stage_count, 0));
    return check;
}

static bool refuse(const ScheduleCheck *check, int mesh, const char *what)
{
    mw_diag_error(check->diags, mw_span_none(), "%s: mesh %d: %s",
                  mw_pipeline_info(check->schedule->kind)->name, mesh, what);
    return false;
}

static bool refuse_task(const ScheduleCheck *check, int mesh, MwTask task, const char *what)
{
    return refuse(check, mesh,
                  mw_arena_printf(check->arena, "%s of micro-batch %d in chunk %d: %s",
                                  mw_task_kind_name(task.kind), task.micro_batch, task.chunk,
                                  what));
}

static bool numbers_are_good(const MwPipelineSchedule *schedule, MwDiags *diags)
{
    const MwPipelineInfo *info = mw_pipeline_info(schedule->kind);
    const int chunks = schedule->chunks;
    if (schedule->mesh_count >= 1 && schedule->micro_batches >= 1 && chunks >= 1 &&
        chunks <= mw_pipeline_most_chunks(schedule->kind))
        return true;
    mw_diag_error(diags, mw_span_none(),
                  "%s: no schedule has %d meshes, %d micro-batches, %d chunks", info->name,
                  schedule->mesh_count, schedule->micro_batches, chunks);
    return false;
}

static bool has_kind(const MwPipelineInfo *info, MwTaskKind kind)
{
    switch (kind) {
    case MW_TASK_FORWARD:
        return true;
    case MW_TASK_BACKWARD:
        return info->trains && !info->splits;
    case MW_TASK_BACKWARD_INPUT:
    case MW_TASK_WEIGHT:
        return info->trains && info->splits;
    case MW_TASK_KIND_COUNT:
        break;
    }
    return false;
}

/* The kind of task of its own mesh that a task needs; MW_TASK_KIND_COUNT if none. */
static MwTaskKind needed_here(MwTaskKind kind)
{
    switch (kind) {
    case MW_TASK_BACKWARD:
    case MW_TASK_BACKWARD_INPUT:
        return MW_TASK_FORWARD;
    case MW_TASK_WEIGHT:
        return MW_TASK_BACKWARD_INPUT;
    default:
        return MW_TASK_KIND_COUNT;
    }
}

/* The stage whose task of the same kind and micro-batch a task needs; -1 if none. */
static int stage_needed(const ScheduleCheck *check, MwTaskKind kind, int stage)
{
    if (kind == MW_TASK_FORWARD)
        return stage - 1;
    if (kind == MW_TASK_WEIGHT || stage == check->stage_count - 1)
        return -1;
    return stage + 1;
}

/* Checks one task of a mesh: it exists, has not run before, and its inputs on this mesh have.
 * latest: [kinds * chunks] the last micro-batch so far. */
static bool task_is_good(ScheduleCheck *check, int mesh, MwTask task, int *latest)
{
    const MwPipelineSchedule *schedule = check->schedule;
    if (!has_kind(mw_pipeline_info(schedule->kind), task.kind))
        return refuse(check, mesh, "a task of a kind that the schedule does not have");
    if (task.micro_batch < 0 || task.micro_batch >= schedule->micro_batches || task.chunk < 0 ||
        task.chunk >= mw_pipeline_mesh_chunks(schedule, mesh))
        return refuse_task(check, mesh, task, "out of range");
    int64_t at =
        task_index(schedule, mw_pipeline_stage(schedule, mesh, task.chunk), task.micro_batch);
    MwTaskKind needed = needed_here(task.kind);
    if (check->ran[task.kind][at])
        return refuse_task(check, mesh, task, "runs twice");
    if (needed != MW_TASK_KIND_COUNT && !check->ran[needed][at])
        return refuse_task(check, mesh, task, "runs before what it needs");
    int *before = &latest[task.kind * schedule->chunks + task.chunk];
    if (task.micro_batch < *before)
        return refuse_task(check, mesh, task, "runs after a later micro-batch");
    check->ran[task.kind][at] = true;
    *before = task.micro_batch;
    return true;
}

static int64_t tasks_of_mesh(const MwPipelineSchedule *schedule, int mesh)
{
    int64_t kinds = 0;
    for (int kind = 0; kind < MW_TASK_KIND_COUNT; kind++)
        kinds += has_kind(mw_pipeline_info(schedule->kind), (MwTaskKind)kind);
    return kinds * mw_pipeline_mesh_chunks(schedule, mesh) * schedule->micro_batches;
}

/* Checks that a mesh runs every task once, in an order that is valid on this mesh alone. */
static bool list_is_good(ScheduleCheck *check, int mesh_index)
{
    const MwPipelineSchedule *schedule = check->schedule;
    const MwMeshSchedule *mesh = &schedule->meshes[mesh_index];
    int *latest = MW_NEW(check->arena, int, MW_TASK_KIND_COUNT *(int64_t)schedule->chunks);
    for (int i = 0; i < mesh->task_count; i++)
        if (!task_is_good(check, mesh_index, mesh->tasks[i], latest))
            return false;
    int64_t missing = tasks_of_mesh(schedule, mesh_index) - mesh->task_count;
    return missing == 0 ||
           refuse(check, mesh_index,
                  mw_arena_printf(check->arena, "tasks are missing: %lld", (long long)missing));
}

/* Checks for deadlock: runs the tasks of all meshes without times, each mesh as far as it can,
 * until none can continue. */
static bool runs_to_end(ScheduleCheck *check)
{
    const MwPipelineSchedule *schedule = check->schedule;
    int *next = MW_NEW(check->arena, int, schedule->mesh_count);
    bool moved = true, good = true;
    while (moved) {
        moved = false;
        for (int i = 0; i < schedule->mesh_count; i++) {
            for (; next[i] < schedule->meshes[i].task_count; next[i]++, moved = true) {
                MwTask task = schedule->meshes[i].tasks[next[i]];
                int stage = mw_pipeline_stage(schedule, i, task.chunk);
                int needed = stage_needed(check, task.kind, stage);
                if (needed >= 0 &&
                    !check->ran[task.kind][task_index(schedule, needed, task.micro_batch)])
                    break;
                check->ran[task.kind][task_index(schedule, stage, task.micro_batch)] = true;
            }
        }
    }
    for (int i = 0; i < schedule->mesh_count; i++)
        if (next[i] < schedule->meshes[i].task_count)
            good = refuse_task(check, i, schedule->meshes[i].tasks[next[i]],
                               "deadlock: never gets what it needs");
    return good;
}

/* Counts the micro-batches in flight after each task begins, and compares with the stated
 * numbers. */
static bool in_flight_is_as_stated(const ScheduleCheck *check, int mesh_index)
{
    const MwPipelineSchedule *schedule = check->schedule;
    const MwMeshSchedule *mesh = &schedule->meshes[mesh_index];
    const MwPipelineInfo *info = mw_pipeline_info(schedule->kind);
    const MwTaskKind last = !info->trains  ? MW_TASK_FORWARD
                            : info->splits ? MW_TASK_WEIGHT
                                           : MW_TASK_BACKWARD;
    int *live = MW_NEW(check->arena, int, schedule->chunks), all = 0;
    for (int i = 0; i < mesh->task_count; i++) {
        MwTask task = mesh->tasks[i];
        live[task.chunk] += task.kind == MW_TASK_FORWARD;
        all += task.kind == MW_TASK_FORWARD;
        if (all > mesh->in_flight || live[task.chunk] > mesh->slots[task.chunk])
            return refuse_task(
                check, mesh_index, task,
                mw_arena_printf(check->arena, "%d in flight of %d stated, %d in the chunk of %d",
                                all, mesh->in_flight, live[task.chunk], mesh->slots[task.chunk]));
        live[task.chunk] -= task.kind == last;
        all -= task.kind == last;
    }
    return true;
}

bool mw_pipeline_schedule_check(MwArena *arena, const MwPipelineSchedule *schedule, MwDiags *diags)
{
    if (!numbers_are_good(schedule, diags))
        return false;
    ScheduleCheck check = check_new(arena, schedule, diags);
    bool good = true;
    for (int i = 0; i < schedule->mesh_count; i++)
        good &= list_is_good(&check, i);
    if (!good)
        return false;
    for (int i = 0; i < schedule->mesh_count; i++)
        good &= in_flight_is_as_stated(&check, i);
    ScheduleCheck run = check_new(arena, schedule, diags);
    return runs_to_end(&run) && good;
}

/* Fills end[kind][stage and micro-batch] with the end of each task. */
static void fill_ends(const MwPipelineSchedule *schedule, const MwTimeline *timeline,
                      double *const *end)
{
    for (int i = 0; i < schedule->mesh_count; i++) {
        for (int k = 0; k < schedule->meshes[i].task_count; k++) {
            MwTask task = schedule->meshes[i].tasks[k];
            int stage = mw_pipeline_stage(schedule, i, task.chunk);
            end[task.kind][task_index(schedule, stage, task.micro_batch)] =
                timeline->meshes[i].tasks[k].end;
        }
    }
}

/* The earliest start of a task, given the ends of the tasks that it needs. */
static double earliest(const ScheduleCheck *check, const MwStageTimes *times, double *const *end,
                       MwTask task, int stage)
{
    const MwPipelineSchedule *schedule = check->schedule;
    double from = 0;
    int other = stage_needed(check, task.kind, stage);
    const double transfer =
        other < stage ? times[mw_max(other, 0)].to_next : times[other].to_previous;
    for (int m = 0; other >= 0 && m <= task.micro_batch; m++) {
        const double sent = end[task.kind][task_index(schedule, other, m)];
        from = schedule->mesh_count > 1 ? (sent > from ? sent : from) + transfer : sent;
    }
    MwTaskKind here = needed_here(task.kind);
    if (here != MW_TASK_KIND_COUNT &&
        end[here][task_index(schedule, stage, task.micro_batch)] > from)
        from = end[here][task_index(schedule, stage, task.micro_batch)];
    return from;
}

/* What is wrong with the times of one task; NULL if nothing is. */
static const char *wrong_time(MwTaskTime time, double length, double mesh_free, double needs_met)
{
    if (time.start < mesh_free)
        return "begins before the task before it has ended";
    if (time.start < needs_met)
        return "begins before it has what it needs";
    if (time.end != time.start + length)
        return "does not last as long as it takes";
    return NULL;
}

bool mw_timeline_check(MwArena *arena, const MwPipelineSchedule *schedule,
                       const MwStageTimes *times, const MwTimeline *timeline, MwDiags *diags)
{
    ScheduleCheck check = check_new(arena, schedule, diags);
    double *end[MW_TASK_KIND_COUNT];
    for (int kind = 0; kind < MW_TASK_KIND_COUNT; kind++)
        end[kind] = MW_NEW(arena, double, task_index(schedule, check.stage_count, 0));
    fill_ends(schedule, timeline, end);
    bool good = true;
    for (int i = 0; i < schedule->mesh_count; i++) {
        const char *wrong = NULL;
        double mesh_free = 0;
        for (int k = 0; k < schedule->meshes[i].task_count && !wrong; k++) {
            MwTask task = schedule->meshes[i].tasks[k];
            MwTaskTime time = timeline->meshes[i].tasks[k];
            int stage = mw_pipeline_stage(schedule, i, task.chunk);
            wrong = wrong_time(time, times[stage].task[task.kind], mesh_free,
                               earliest(&check, times, end, task, stage));
            if (wrong)
                good = refuse_task(&check, i, task, wrong);
            mesh_free = time.end;
        }
    }
    return good;
}
