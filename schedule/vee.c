/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The schedules whose stages go down the meshes and up again (MW_PLACE_VEE), made of a building
 * block: the times of the forwards and backwards of one micro-batch on all meshes, repeated for the
 * next micro-batch every PERIOD (Qi et al. 2024, "Pipeline Parallelism with Controllable Memory",
 * sections 2 and 3). The unit of time is a task of one chunk; forward, gradients of inputs and
 * gradients of weights are alike, and a mesh has a PERIOD of them for a micro-batch. With p meshes,
 * on mesh i, after those of mesh 0 by turns:
 *
 *     forward of chunk 0    down i
 *     forward of chunk 1    after the last forward of chunk 0, up (p - 1 - i)
 *     backward of chunk 1   after the last forward and `pause`, down i
 *     backward of chunk 0   after the last backward of chunk 1, up (p - 1 - i)
 *
 * A chunk of a mesh has a micro-batch in flight from its forward to its backward. Both chunks
 * together have it for 2p (down + up) of time, or (down + up) / 3 of p micro-batches: `down` and
 * `up` are what decides the memory. They and `pause` are such that the four never fall together,
 * modulo PERIOD, on any mesh:
 *
 *             down  up  pause                      chunks in flight           bubble
 *     zb-v    1     5   0                          2p                         0
 *     v-half  1     2   1, 4 where p is even       p + 1, p + 2               3(p - 1) or less
 *     v-min   1     1   0, 2 where 3 divides p     2 floor((p + 1) / 3) + 2   4(p - 1) + 1 or less
 *
 * The bubble is in units of time: that of 1f1b is 6(p - 1), and it has 2p chunks in flight. Where
 * the three kinds of tasks do not take equal time, v-half and v-min wait for each micro-batch anew.
 *
 * The order on each mesh follows from a simulation in which each mesh runs its forwards and
 * backwards in the order of the block, as soon as it can. While it waits, or may not have more in
 * flight, it runs the gradients of weights that are there, oldest first. With `ahead`, a mesh that
 * waits begins forwards of chunk 0 before their turn: in the beginning, that is, where nothing else
 * is there. Then chunk 0 leaves room for what chunk 1 has in flight: one micro-batch on mesh 0, as
 * many as chunk 0 on mesh p - 1.
 *
 * With one chunk on each mesh there is no way up, and the order is that of zb-h1. */
#include "schedule/order.h"

enum {
    CHUNKS = 2,
    PERIOD = 6,
};

/* A building block, and the most that a mesh has in flight, in chunks. */
typedef struct {
    int down, up, pause, limit;
    bool ahead;
} Vee;

/* What a mesh has begun. */
typedef struct {
    int begun[MW_TASK_KIND_COUNT][CHUNKS];     /* micro-batches */
    int64_t start[MW_TASK_KIND_COUNT][CHUNKS]; /* of forwards and backwards in the first block */
    int64_t free_at;
    int in_flight; /* in chunks */
} MeshRun;

typedef struct {
    MwPipelineSchedule *schedule;
    Vee vee;
    MeshRun *meshes;
    /* [kind][stages * micro_batches] when the task ends; -1: it has not begun */
    int64_t *ends[MW_TASK_KIND_COUNT];
    int64_t now;
} Run;

/* ---- The tasks ---- */

static int stage_of(const Run *run, int mesh, int chunk)
{
    return mw_pipeline_stage(run->schedule, mesh, chunk);
}

static int parts_of(const Run *run, int stage)
{
    const MwPipelineSchedule *s = run->schedule;
    return mw_pipeline_parts_of(s->kind, s->mesh_count, s->chunks, stage);
}

static int64_t *end_of(const Run *run, MwTaskKind kind, int stage, int micro_batch)
{
    return &run->ends[kind][(int64_t)stage * run->schedule->micro_batches + micro_batch];
}

/* Whether the task has ended; there is none beyond the first and the last stage. */
static bool has_ended(const Run *run, MwTaskKind kind, int stage, int micro_batch)
{
    if (stage < 0 || stage >= mw_pipeline_stage_count(run->schedule))
        return true;
    const int64_t end = *end_of(run, kind, stage, micro_batch);
    return end >= 0 && end <= run->now;
}

/* The next task of a kind in a chunk. */
static MwTask next_of(const Run *run, int mesh, MwTaskKind kind, int chunk)
{
    return (MwTask){kind, run->meshes[mesh].begun[kind][chunk], chunk};
}

/* Whether a mesh may begin its next task of a kind in a chunk now. */
static bool is_ready(const Run *run, int mesh, MwTask task)
{
    const int stage = stage_of(run, mesh, task.chunk);
    if (task.micro_batch == run->schedule->micro_batches)
        return false;
    switch (task.kind) {
    case MW_TASK_FORWARD:
        return has_ended(run, MW_TASK_FORWARD, stage - 1, task.micro_batch) &&
               run->meshes[mesh].in_flight + parts_of(run, stage) <= run->vee.limit;
    case MW_TASK_BACKWARD_INPUT:
        return has_ended(run, MW_TASK_FORWARD, stage, task.micro_batch) &&
               has_ended(run, MW_TASK_BACKWARD_INPUT, stage + 1, task.micro_batch);
    case MW_TASK_WEIGHT:
        return has_ended(run, MW_TASK_BACKWARD_INPUT, stage, task.micro_batch);
    case MW_TASK_BACKWARD:
    case MW_TASK_KIND_COUNT:
        break;
    }
    MW_UNREACHABLE();
}

static void begin(Run *run, int mesh, MwTask task)
{
    MeshRun *on = &run->meshes[mesh];
    const int stage = stage_of(run, mesh, task.chunk), parts = parts_of(run, stage);
    mw_mesh_schedule_add(&run->schedule->meshes[mesh], task.kind, task.micro_batch, task.chunk);
    on->begun[task.kind][task.chunk]++;
    on->free_at = run->now + parts;
    *end_of(run, task.kind, stage, task.micro_batch) = on->free_at;
    if (task.kind == MW_TASK_FORWARD)
        on->in_flight += parts;
    if (task.kind == MW_TASK_WEIGHT)
        on->in_flight -= parts;
}

/* ---- The order on a mesh ---- */

/* The forward or backward whose turn it is in the repeated block; after the last, a task of kind
 * MW_TASK_WEIGHT. */
static MwTask in_turn(const Run *run, int mesh)
{
    static const MwTaskKind kinds[] = {MW_TASK_FORWARD, MW_TASK_BACKWARD_INPUT};
    const MeshRun *on = &run->meshes[mesh];
    MwTask first = {MW_TASK_WEIGHT, 0, 0};
    int64_t earliest = INT64_MAX;
    for (int k = 0; k < MW_COUNT(kinds); k++) {
        for (int c = 0; c < mw_pipeline_mesh_chunks(run->schedule, mesh); c++) {
            const MwTask task = next_of(run, mesh, kinds[k], c);
            const int64_t start = on->start[task.kind][c] + (int64_t)PERIOD * task.micro_batch;
            if (task.micro_batch == run->schedule->micro_batches || start >= earliest)
                continue;
            earliest = start;
            first = task;
        }
    }
    return first;
}

/* Micro-batches that chunk 1 of a mesh has in flight where chunk 0 fills the rest of the limit. */
static int room_above(const Run *run, int mesh)
{
    const int last = run->schedule->mesh_count - 1;
    return (int)mw_max(1, 1 + mesh * (run->vee.limit / CHUNKS - 1) / last);
}

/* Whether a forward of chunk 0 may begin before its turn. */
static bool may_run_ahead(const Run *run, int mesh)
{
    const MeshRun *on = &run->meshes[mesh];
    return run->vee.ahead && mesh < run->schedule->mesh_count - 1 &&
           on->begun[MW_TASK_FORWARD][0] - on->begun[MW_TASK_WEIGHT][0] + room_above(run, mesh) <
               run->vee.limit &&
           is_ready(run, mesh, next_of(run, mesh, MW_TASK_FORWARD, 0));
}

/* The chunk whose next gradients of weights have waited longest; -1: none is there. */
static int oldest_weight(const Run *run, int mesh)
{
    int oldest = -1;
    int64_t earliest = INT64_MAX;
    for (int c = 0; c < mw_pipeline_mesh_chunks(run->schedule, mesh); c++) {
        const MwTask task = next_of(run, mesh, MW_TASK_WEIGHT, c);
        if (!is_ready(run, mesh, task))
            continue;
        const int64_t end =
            *end_of(run, MW_TASK_BACKWARD_INPUT, stage_of(run, mesh, c), task.micro_batch);
        if (end >= earliest)
            continue;
        earliest = end;
        oldest = c;
    }
    return oldest;
}

/* Begins a task on a mesh that is free, if there is one to begin. */
static void advance(Run *run, int mesh)
{
    const MwTask task = in_turn(run, mesh);
    const int weight = oldest_weight(run, mesh);
    if (task.kind != MW_TASK_WEIGHT && is_ready(run, mesh, task))
        begin(run, mesh, task);
    else if (may_run_ahead(run, mesh))
        begin(run, mesh, next_of(run, mesh, MW_TASK_FORWARD, 0));
    else if (weight >= 0)
        begin(run, mesh, next_of(run, mesh, MW_TASK_WEIGHT, weight));
}

/* ---- All meshes ---- */

static Run run_new(MwArena *arena, MwPipelineSchedule *schedule, Vee vee)
{
    const int64_t last = schedule->mesh_count - 1;
    const int64_t results = (int64_t)mw_pipeline_stage_count(schedule) * schedule->micro_batches;
    Run run = {schedule, vee, MW_NEW(arena, MeshRun, schedule->mesh_count)};
    for (int kind = 0; kind < MW_TASK_KIND_COUNT; kind++) {
        run.ends[kind] = MW_NEW(arena, int64_t, results);
        for (int64_t i = 0; i < results; i++)
            run.ends[kind][i] = -1;
    }
    for (int64_t i = 0; i <= last; i++) {
        const int64_t down = vee.down * i, up = vee.up * (last - i);
        const int64_t turned = vee.down * last + 1, back = turned + vee.up * last + 1 + vee.pause;
        MeshRun *on = &run.meshes[i];
        on->start[MW_TASK_FORWARD][0] = down;
        on->start[MW_TASK_FORWARD][1] = turned + up;
        on->start[MW_TASK_BACKWARD_INPUT][i < last] = back + down;
        on->start[MW_TASK_BACKWARD_INPUT][i == last] = back + vee.down * last + 1 + up;
    }
    return run;
}

/* The next time at which a mesh becomes free; -1: none is busy. */
static int64_t next_time(const Run *run)
{
    int64_t next = -1;
    for (int i = 0; i < run->schedule->mesh_count; i++)
        if (run->meshes[i].free_at > run->now && (next < 0 || run->meshes[i].free_at < next))
            next = run->meshes[i].free_at;
    return next;
}

static void add_all(MwPipelineSchedule *schedule, const MwStageTimes *times, Vee vee)
{
    if (schedule->chunks == 1) {
        mw_pipeline_order_zb_h1(schedule, times);
        return;
    }
    MwArena *scratch = mw_arena_new();
    Run run = run_new(scratch, schedule, vee);
    while (run.now >= 0) {
        for (int i = 0; i < schedule->mesh_count; i++)
            if (run.meshes[i].free_at <= run.now)
                advance(&run, i);
        run.now = next_time(&run);
    }
    for (int i = 0; i < schedule->mesh_count; i++)
        mw_mesh_schedule_count(schedule, i);
    mw_arena_free(&scratch);
}

/* ---- The schedules ---- */

static Vee vee_zb_v(int meshes)
{
    return (Vee){.down = 1, .up = 5, .limit = 2 * meshes, .ahead = true};
}

static Vee vee_v_half(int meshes)
{
    const bool is_odd = meshes % 2;
    return (Vee){.down = 1, .up = 2, .pause = is_odd ? 1 : 4, .limit = meshes + (is_odd ? 1 : 2)};
}

static Vee vee_v_min(int meshes)
{
    return (Vee){.down = 1,
                 .up = 1,
                 .pause = meshes % 3 ? 0 : 2,
                 .limit = CHUNKS * ((meshes + 1) / 3) + CHUNKS};
}

/* Defines both functions of a generator (order.h). */
#define VEE(name)                                                                                  \
    void mw_pipeline_order_##name(MwPipelineSchedule *schedule, const MwStageTimes *times)         \
    {                                                                                              \
        add_all(schedule, times, vee_##name(schedule->mesh_count));                                \
    }                                                                                              \
    int64_t mw_pipeline_in_flight_##name(int meshes, int mesh, int micro_batches)                  \
    {                                                                                              \
        return mw_pipeline_in_flight_zb_h1(meshes, mesh, micro_batches);                           \
    }

VEE(zb_v)
VEE(v_half)
VEE(v_min)
