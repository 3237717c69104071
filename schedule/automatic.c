/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The automatic zero-bubble schedules: the order that a heuristic finds for the times that tasks
 * and transfers take, within a limit of the memory of each mesh (Qi et al. 2023, section 3.1). The
 * unit is what a micro-batch keeps from its forward to its backward, M_B of the source; of that,
 * the share M_W / M_B remains until its gradients of weights. zb-1p has p of it, as 1f1b has, zb-2p
 * 2p.
 *
 * Every mesh begins, as soon as it is free:
 *
 *     before its first backward   forwards, as many as the limit allows
 *     then                        a forward and a backward in turn
 *     where it would wait         gradients of weights, if the gap is long enough for them, or if
 *                                 no mesh has waited longer; also where the limit leaves no room
 *                                 for a forward
 *
 * The source has two choices: whether a forward may delay the first backward, and whether a mesh
 * leaves out a forward if it is ahead of the next mesh by more than one. Here are two others:
 * whether gradients of weights fill gaps that are shorter than they, and whether a backward goes
 * before them. All combinations are tried, beside zb-h1 or zb-h2, and the best is taken.
 *
 * Time grows with the tasks, and a little with the meshes for each; memory with the tasks. */
#include "schedule/order.h"

#include "schedule/timeline.h"

#include <math.h>
#include <string.h>

static const double ROUNDING = 1e-9; /* of sums of shares */

enum { TASK_KINDS = 3 }; /* of a micro-batch: forward, gradients of inputs, of weights */

/* The choices that are tried. */
typedef struct {
    bool delays_backward; /* a forward may delay the first backward */
    bool skips_forward;   /* a mesh that is more than one forward ahead runs a backward first */
    bool takes_other;     /* a backward that is there goes before gradients of weights in a gap */
    bool fills_short;     /* gradients of weights also fill gaps that are shorter than they */
} Choices;

/* What a mesh has begun. */
typedef struct {
    int begun[MW_TASK_KIND_COUNT]; /* micro-batches */
    double free_at, wake, waited;  /* wake: when it is to look for a task again */
    MwTaskKind last;               /* of its forwards and backwards */
} MeshRun;

typedef struct {
    MwPipelineSchedule *schedule;
    const MwStageTimes *times;
    Choices choices;
    int limit; /* of the memory of a mesh, in what a micro-batch keeps for its backward */
    MeshRun *meshes;
    /* [meshes * micro_batches] arrival of what the task needs; INFINITY: not known yet */
    double *activations, *gradients;
    double now;
} Run;

static double *arrivals_of(const Run *run, MwTaskKind kind)
{
    return kind == MW_TASK_FORWARD ? run->activations : run->gradients;
}

/* When the next task of a kind may begin on a mesh, if the mesh is free: INFINITY if there is none,
 * or if that is not known yet. */
static double ready_at(const Run *run, int mesh, MwTaskKind kind)
{
    const MeshRun *on = &run->meshes[mesh];
    const int next = on->begun[kind];
    if (next == run->schedule->micro_batches)
        return INFINITY;
    if (kind == MW_TASK_WEIGHT)
        return next < on->begun[MW_TASK_BACKWARD_INPUT] ? run->now : INFINITY;
    if (kind == MW_TASK_BACKWARD_INPUT && next >= on->begun[MW_TASK_FORWARD])
        return INFINITY;
    return arrivals_of(run, kind)[mesh * run->schedule->micro_batches + next];
}

static bool is_ready(const Run *run, int mesh, MwTaskKind kind)
{
    return ready_at(run, mesh, kind) <= run->now;
}

/* Tells the mesh that waits for the result of a task when it arrives: transfers go one after
 * another. */
static void send(const Run *run, int mesh, MwTask task, double end)
{
    const bool is_forward = task.kind == MW_TASK_FORWARD;
    const int m = run->schedule->micro_batches, to = is_forward ? mesh + 1 : mesh - 1;
    if (task.kind == MW_TASK_WEIGHT || to < 0 || to == run->schedule->mesh_count)
        return;
    double *arrivals = arrivals_of(run, task.kind) + to * m;
    const double before = task.micro_batch > 0 ? arrivals[task.micro_batch - 1] : 0;
    const double transfer = is_forward ? run->times[mesh].to_next : run->times[mesh].to_previous;
    arrivals[task.micro_batch] = fmax(end, before) + transfer;
    if (run->meshes[to].free_at <= run->now)
        run->meshes[to].wake = fmin(run->meshes[to].wake, arrivals[task.micro_batch]);
}

static void begin(Run *run, int mesh, MwTaskKind kind)
{
    MeshRun *on = &run->meshes[mesh];
    const MwTask task = {kind, on->begun[kind]++, 0};
    mw_mesh_schedule_add(&run->schedule->meshes[mesh], kind, task.micro_batch, 0);
    if (on->begun[MW_TASK_FORWARD] > 1 || kind != MW_TASK_FORWARD)
        on->waited += run->now - on->free_at;
    on->free_at = run->now + run->times[mesh].task[kind];
    if (kind != MW_TASK_WEIGHT)
        on->last = kind;
    send(run, mesh, task, on->free_at);
}

/* ---- The choice of a mesh ---- */

/* Whether the memory allows another forward. */
static bool has_room(const Run *run, int mesh)
{
    const int *begun = run->meshes[mesh].begun;
    const int whole = begun[MW_TASK_FORWARD] - begun[MW_TASK_BACKWARD_INPUT];
    const int parts = begun[MW_TASK_BACKWARD_INPUT] - begun[MW_TASK_WEIGHT];
    return whole + 1 + parts * run->times[mesh].weight_share <= run->limit + ROUNDING;
}

/* Whether gradients of weights should run in a gap of this mesh. */
static bool fills(const Run *run, int mesh, double gap)
{
    if (!is_ready(run, mesh, MW_TASK_WEIGHT))
        return false;
    if (run->choices.fills_short || gap >= run->times[mesh].task[MW_TASK_WEIGHT])
        return true;
    for (int i = 0; i < run->schedule->mesh_count; i++)
        if (run->meshes[i].waited > run->meshes[mesh].waited + gap)
            return false;
    return true;
}

/* Whether a mesh is ahead of the next by so many forwards that it may leave one out. */
static bool is_far_ahead(const Run *run, int mesh)
{
    return run->choices.skips_forward && mesh < run->schedule->mesh_count - 1 &&
           run->meshes[mesh].begun[MW_TASK_FORWARD] - run->meshes[mesh + 1].begun[MW_TASK_FORWARD] >
               1;
}

/* The forward or backward whose turn it is; MW_TASK_WEIGHT: there is none. */
static MwTaskKind in_turn(const Run *run, int mesh)
{
    const MeshRun *on = &run->meshes[mesh];
    const int m = run->schedule->micro_batches;
    const bool has_forwards = on->begun[MW_TASK_FORWARD] < m;
    if (on->begun[MW_TASK_BACKWARD_INPUT] == m)
        return MW_TASK_WEIGHT;
    if (!has_forwards)
        return MW_TASK_BACKWARD_INPUT;
    if (on->begun[MW_TASK_BACKWARD_INPUT] == 0) {
        const double gap = ready_at(run, mesh, MW_TASK_BACKWARD_INPUT) - run->now;
        const bool delays = gap < run->times[mesh].task[MW_TASK_FORWARD];
        const bool may_delay = run->choices.delays_backward && gap > 0;
        return has_room(run, mesh) && (!delays || may_delay) ? MW_TASK_FORWARD
                                                             : MW_TASK_BACKWARD_INPUT;
    }
    if (on->last == MW_TASK_FORWARD ||
        (is_far_ahead(run, mesh) && is_ready(run, mesh, MW_TASK_BACKWARD_INPUT)))
        return MW_TASK_BACKWARD_INPUT;
    return MW_TASK_FORWARD;
}

/* Begins a task on a mesh that is free, if there is one to begin. */
static void advance(Run *run, int mesh)
{
    MwTaskKind kind = in_turn(run, mesh);
    if (kind == MW_TASK_FORWARD && !has_room(run, mesh)) {
        if (is_ready(run, mesh, MW_TASK_WEIGHT)) {
            begin(run, mesh, MW_TASK_WEIGHT);
            return;
        }
        kind = MW_TASK_BACKWARD_INPUT;
    }
    if (is_ready(run, mesh, kind)) {
        begin(run, mesh, kind);
        return;
    }
    const double gap = ready_at(run, mesh, kind) - run->now;
    const MwTaskKind other = kind == MW_TASK_FORWARD ? MW_TASK_BACKWARD_INPUT : MW_TASK_FORWARD;
    if (run->choices.takes_other && kind == MW_TASK_FORWARD &&
        is_ready(run, mesh, MW_TASK_BACKWARD_INPUT))
        begin(run, mesh, MW_TASK_BACKWARD_INPUT);
    else if (fills(run, mesh, gap))
        begin(run, mesh, MW_TASK_WEIGHT);
    else if (kind != MW_TASK_WEIGHT && is_ready(run, mesh, other) &&
             (other == MW_TASK_BACKWARD_INPUT ||
              (has_room(run, mesh) && gap >= run->times[mesh].task[MW_TASK_FORWARD])))
        begin(run, mesh, other);
}

/* ---- All meshes ---- */

/* When a mesh becomes free or, if it is free, receives something; INFINITY if that is not known. */
static double wake_of(const Run *run, int mesh)
{
    const double at[] = {ready_at(run, mesh, MW_TASK_FORWARD),
                         ready_at(run, mesh, MW_TASK_BACKWARD_INPUT)};
    double wake = INFINITY;
    if (run->meshes[mesh].free_at > run->now)
        return run->meshes[mesh].free_at;
    for (int k = 0; k < MW_COUNT(at); k++)
        if (at[k] > run->now)
            wake = fmin(wake, at[k]);
    return wake;
}

/* Begins what a mesh can begin now. */
static void wake(Run *run, int mesh)
{
    const MwMeshSchedule *order = &run->schedule->meshes[mesh];
    for (int count = -1; run->meshes[mesh].free_at <= run->now && order->task_count > count;) {
        count = order->task_count;
        advance(run, mesh);
    }
    run->meshes[mesh].wake = wake_of(run, mesh);
}

static double next_time(const Run *run)
{
    double next = INFINITY;
    for (int i = 0; i < run->schedule->mesh_count; i++)
        next = fmin(next, run->meshes[i].wake);
    return next;
}

/* Adds the order that a set of choices leads to. */
static void simulate(MwArena *arena, Run *run)
{
    const int meshes = run->schedule->mesh_count, m = run->schedule->micro_batches;
    run->meshes = MW_NEW(arena, MeshRun, meshes);
    run->activations = MW_NEW(arena, double, meshes *m);
    run->gradients = MW_NEW(arena, double, meshes *m);
    for (int i = 0; i < meshes * m; i++) {
        run->activations[i] = i < m ? 0 : INFINITY;
        run->gradients[i] = i < (meshes - 1) * m ? INFINITY : 0;
    }
    for (run->now = 0; isfinite(run->now); run->now = next_time(run))
        for (int i = 0; i < meshes; i++)
            if (run->meshes[i].wake <= run->now)
                wake(run, i);
}

/* ---- The best of all choices ---- */

/* A schedule of the same sizes without tasks. */
static MwPipelineSchedule *empty_like(MwArena *arena, const MwPipelineSchedule *schedule)
{
    MwPipelineSchedule *empty = mw_arena_dup(arena, schedule, sizeof *schedule);
    empty->meshes = MW_NEW(arena, MwMeshSchedule, schedule->mesh_count);
    for (int i = 0; i < schedule->mesh_count; i++)
        empty->meshes[i] =
            (MwMeshSchedule){.tasks = MW_NEW(arena, MwTask, TASK_KINDS * schedule->micro_batches),
                             .slots = MW_NEW(arena, int, 1)};
    return empty;
}

/* Takes the order of tasks of `other` if it costs less than `least`, which is then its cost. */
static void take_if_better(MwArena *arena, MwPipelineSchedule *schedule,
                           const MwPipelineSchedule *other, const MwStageTimes *times,
                           MwTimeline *least)
{
    const MwTimeline *timeline = mw_timeline_new(arena, other, times);
    if (timeline->cost > least->cost ||
        (timeline->cost == least->cost && timeline->total >= least->total))
        return;
    *least = *timeline;
    for (int i = 0; i < schedule->mesh_count; i++) {
        MwMeshSchedule *mesh = &schedule->meshes[i];
        mesh->task_count = other->meshes[i].task_count;
        memcpy(mesh->tasks, other->meshes[i].tasks, sizeof *mesh->tasks * (size_t)mesh->task_count);
    }
}

static void order_within(MwPipelineSchedule *schedule, const MwStageTimes *times, int limit,
                         void (*by_hand)(MwPipelineSchedule *schedule, const MwStageTimes *times))
{
    MwArena *scratch = mw_arena_new();
    MwTimeline least = {.cost = INFINITY, .total = INFINITY};
    MwPipelineSchedule *tried = empty_like(scratch, schedule);
    by_hand(tried, times);
    take_if_better(scratch, schedule, tried, times, &least);
    for (int bits = 0; bits < 16; bits++) {
        Run run = {.schedule = empty_like(scratch, schedule),
                   .times = times,
                   .choices = {bits & 1, bits & 2, bits & 4, bits & 8},
                   .limit = limit};
        simulate(scratch, &run);
        take_if_better(scratch, schedule, run.schedule, times, &least);
    }
    for (int i = 0; i < schedule->mesh_count; i++)
        mw_mesh_schedule_count(schedule, i);
    mw_arena_free(&scratch);
}

/* ---- The schedules ---- */

void mw_pipeline_order_zb_1p(MwPipelineSchedule *schedule, const MwStageTimes *times)
{
    order_within(schedule, times, schedule->mesh_count, mw_pipeline_order_zb_h1);
}

int64_t mw_pipeline_in_flight_zb_1p(int meshes, int mesh, int micro_batches)
{
    (void)mesh, (void)micro_batches;
    return meshes;
}

void mw_pipeline_order_zb_2p(MwPipelineSchedule *schedule, const MwStageTimes *times)
{
    order_within(schedule, times, 2 * schedule->mesh_count, mw_pipeline_order_zb_h2);
}

int64_t mw_pipeline_in_flight_zb_2p(int meshes, int mesh, int micro_batches)
{
    (void)mesh, (void)micro_batches;
    return 2 * (int64_t)meshes;
}
