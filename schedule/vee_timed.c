/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The building blocks of vee.c are of tasks that all take equally long. Where they do not, the
 * tasks of a block wait for each other on every micro-batch. So other orders are tried beside that
 * of the block, in its memory, and the best is taken, as the adaptive schedules of the source do
 * (Qi et al. 2024). They follow from a rule: each mesh begins, as soon as it is free, the first
 * that is ready and that memory allows of
 *
 *     forwards of chunk 1, forwards of chunk 0, backwards of chunk 0, backwards of chunk 1
 *
 * or, by turns, of backwards before forwards after a forward. Where none is, it runs the oldest
 * gradients of weights, if the time until another arrives is long enough for a part of them, or if
 * they are what memory is wanted from.
 *
 * Memory: as many are in flight on a mesh as in the published order. The micro-batches between two
 * tasks of a chunk are no more than there, for each two that values lie between (LIVES); or the
 * chunks of a mesh share what is in flight by how long a micro-batch is there, which falls for
 * chunk 0 and rises for chunk 1 from mesh to mesh. The order of a trial counts if no mesh needs
 * more memory than the mesh that needs the most by the published one. One micro-batch in flight is
 * left for a chunk that has none; so the oldest can always go on. Nor may a mesh wait for ever for
 * room to send: orders that need more of it than MW_SENDS_AHEAD were quicker for the times at hand,
 * but slower for those of the plan (gpt-1t of bench/planning, 64 stages: 68.6 s against 65.4 s).
 *
 * Time grows with the tasks and a little with the meshes for each, for each of RULES, and with
 * fewer where there are many tasks (MOST_VISITS); memory with the tasks. */
#include "schedule/vee_timed.h"

#include "schedule/order.h"
#include "schedule/run.h"
#include "schedule/trial.h"

#include <math.h>

/* Tasks times meshes of all orders that are tried: 67 million take about 0.3 s, which is five
 * rules of 64 meshes on 512 micro-batches. */
static const int64_t MOST_VISITS = INT64_C(1) << 26;

static const double ROUNDING = 1e-9; /* of sums of memory */

typedef struct {
    bool by_turns;
    double fills; /* part of gradients of weights that a gap must be long enough for */
    /* how much more of the room chunk 1 has on a mesh than on the one before, as a multiple of an
     * even rise; 0: as in the published order */
    double rise;
    int spare; /* micro-batches that the chunks may have besides their shares */
} Rule;

/* In the order in which they are tried. */
static const Rule rules[] = {
    {false, 0.5, 0, 0}, {false, 0.5, 1, 0},   {true, 0.5, 0, 0}, {true, 1, 1, 0},
    {false, 0, 0, 0},   {false, 0.5, 0.8, 0}, {false, 0, 1, 0},  {false, 1, 1.2, 1},
    {true, 1, 0, 0},    {true, 0, 1, 0},      {false, 1, 0, 0},  {false, 1, 0.8, 0},
};

/* The tasks that values lie between: those kept for gradients of inputs, those kept for gradients
 * of weights, and those that gradients of inputs make for these. */
static const MwTaskKind lives[][2] = {{MW_TASK_FORWARD, MW_TASK_BACKWARD_INPUT},
                                      {MW_TASK_FORWARD, MW_TASK_WEIGHT},
                                      {MW_TASK_BACKWARD_INPUT, MW_TASK_WEIGHT}};

/* The most micro-batches of a mesh. */
typedef struct {
    int in_flight; /* of both chunks */
    int between[MW_RUN_CHUNKS][MW_COUNT(lives)];
} Limits;

typedef struct {
    Rule rule;
    const Limits *limits; /* [meshes] */
} Trial;

static Limits published_limits(const MwPipelineSchedule *published, int mesh)
{
    Limits limits = {.in_flight = published->meshes[mesh].in_flight};
    for (int c = 0; c < mw_pipeline_mesh_chunks(published, mesh); c++)
        for (int k = 0; k < MW_COUNT(lives); k++)
            limits.between[c][k] = mw_pipeline_slots(published, mesh, c, lives[k][0], lives[k][1]);
    return limits;
}

/* The most that any mesh has in flight, in chunks. */
static int most_in_flight(const MwPipelineSchedule *published)
{
    int most = 0;
    for (int i = 0; i < published->mesh_count; i++) {
        const int stage = mw_pipeline_stage(published, i, 0);
        most = (int)mw_max(most, published->meshes[i].in_flight *
                                     mw_pipeline_parts_of(published->kind, published->mesh_count,
                                                          published->chunks, stage));
    }
    return most;
}

/* As many in flight on each mesh as on any, shared by its chunks as follows from its place. */
static Limits shared_limits(const MwPipelineSchedule *published, int mesh, const Rule *rule)
{
    const int most = most_in_flight(published), last = published->mesh_count - 1;
    const bool turns = mesh == last; /* has one chunk, of the work of two */
    const double rise = rule->rise * (most / 2.0 - 1) / mw_max(last, 1);
    const int above = (int)mw_max(1, mw_min(most - 1, (int)(1.5 + mesh * rise)));
    const int below = (int)mw_max(1, mw_min(most - 1, most + rule->spare - above));
    Limits limits = {.in_flight = turns ? most / MW_RUN_CHUNKS : most};
    for (int k = 0; k < MW_COUNT(lives); k++) {
        limits.between[0][k] = turns ? limits.in_flight : below;
        limits.between[1][k] = above;
    }
    return limits;
}

static Limits *limits_of(MwArena *arena, const MwPipelineSchedule *published, const Rule *rule)
{
    Limits *limits = MW_NEW(arena, Limits, published->mesh_count);
    for (int i = 0; i < published->mesh_count; i++)
        limits[i] =
            rule->rise > 0 ? shared_limits(published, i, rule) : published_limits(published, i);
    return limits;
}

/* ---- Memory ---- */

static int between(const MwScheduleRun *run, int mesh, int chunk, MwTaskKind from, MwTaskKind to)
{
    const MwMeshRun *on = &run->meshes[mesh];
    return on->begun[from][chunk] - on->begun[to][chunk];
}

/* Whether the mesh has room for another forward of a chunk, and then still for one of another. */
static bool has_room(const Trial *trial, const MwScheduleRun *run, int mesh, int chunk)
{
    int count = 1;
    for (int c = 0; c < mw_pipeline_mesh_chunks(run->schedule, mesh); c++) {
        const int here = between(run, mesh, c, MW_TASK_FORWARD, MW_TASK_WEIGHT);
        count += here > 0 || c == chunk ? here : 1;
    }
    return count <= trial->limits[mesh].in_flight;
}

typedef enum { ALLOWED, WANTS_WEIGHT, WANTS_BACKWARD } Room;

/* Whether memory allows the next task of a kind, or what it waits for. */
static Room room_for(const Trial *trial, const MwScheduleRun *run, int mesh, MwTask task)
{
    const Limits *limits = &trial->limits[mesh];
    for (int k = 0; k < MW_COUNT(lives); k++)
        if (lives[k][0] == task.kind && between(run, mesh, task.chunk, lives[k][0], lives[k][1]) >=
                                            limits->between[task.chunk][k])
            return lives[k][1] == MW_TASK_WEIGHT ? WANTS_WEIGHT : WANTS_BACKWARD;
    if (task.kind == MW_TASK_FORWARD && !has_room(trial, run, mesh, task.chunk))
        return WANTS_WEIGHT;
    return ALLOWED;
}

/* What the mesh that needs the most memory needs. */
static double needed(const MwPipelineSchedule *schedule, const MwStageTimes *times)
{
    double most = 0;
    for (int i = 0; i < schedule->mesh_count; i++) {
        double here = 0;
        for (int c = 0; c < mw_pipeline_mesh_chunks(schedule, i); c++) {
            const MwStageMemory *of = &times[mw_pipeline_stage(schedule, i, c)].memory;
            const double each[] = {of->saved, of->late, of->weight};
            here += of->kept;
            for (int k = 0; k < MW_COUNT(lives); k++)
                here += each[k] * mw_pipeline_slots(schedule, i, c, lives[k][0], lives[k][1]);
        }
        most = fmax(most, here);
    }
    return most;
}

/* ---- The choice of a mesh ---- */

enum { CHOICES = 2 * MW_RUN_CHUNKS };

/* Lists the next forwards and backwards of a mesh, those first that go before the others; gives
 * their number. */
static int list_choices(const Trial *trial, const MwScheduleRun *run, int mesh,
                        MwTask tasks[CHOICES])
{
    const int chunks = mw_pipeline_mesh_chunks(run->schedule, mesh);
    const bool backward_first = trial->rule.by_turns && run->meshes[mesh].last == MW_TASK_FORWARD;
    for (int c = 0; c < chunks; c++) {
        tasks[(backward_first ? chunks : 0) + chunks - 1 - c] =
            mw_run_next(run, mesh, MW_TASK_FORWARD, c);
        tasks[(backward_first ? 0 : chunks) + c] =
            mw_run_next(run, mesh, MW_TASK_BACKWARD_INPUT, c);
    }
    return 2 * chunks;
}

static void advance(void *context, MwScheduleRun *run, int mesh)
{
    const Trial *trial = context;
    MwTask tasks[CHOICES];
    const int count = list_choices(trial, run, mesh, tasks);
    double arrival = INFINITY;
    bool wants_weight = false;
    for (int i = 0; i < count; i++) {
        const Room room = room_for(trial, run, mesh, tasks[i]);
        const double at = mw_run_ready_at(run, mesh, tasks[i]);
        if (room == ALLOWED && at <= run->now) {
            mw_run_begin(run, mesh, tasks[i]);
            return;
        }
        arrival = room == ALLOWED ? fmin(arrival, at) : arrival;
        wants_weight |= room == WANTS_WEIGHT && at <= run->now;
    }
    const int chunk = mw_run_oldest_weight(run, mesh);
    if (chunk < 0)
        return;
    const int stage = mw_pipeline_stage(run->schedule, mesh, chunk);
    const double part = trial->rule.fills * run->times[stage].task[MW_TASK_WEIGHT];
    if (wants_weight || arrival - run->now >= part)
        mw_run_begin(run, mesh, mw_run_next(run, mesh, MW_TASK_WEIGHT, chunk));
}

/* ---- The best of all ---- */

static int64_t visits_of(const MwPipelineSchedule *schedule)
{
    int64_t visits = 0;
    for (int i = 0; i < schedule->mesh_count; i++)
        visits += (int64_t)schedule->mesh_count * mw_pipeline_mesh_tasks(schedule, i);
    return visits;
}

void mw_pipeline_order_vee_timed(MwPipelineSchedule *schedule, const MwPipelineSchedule *published,
                                 const MwStageTimes *times)
{
    MwArena *scratch = mw_arena_new();
    MwTimeline least = mw_schedule_no_trial();
    const int64_t visits = visits_of(schedule);
    const double most = needed(published, times) * (1 + ROUNDING);
    mw_schedule_take_if_better(scratch, schedule, published, times, &least);
    for (int r = 0; r < MW_COUNT(rules) && (r + 1) * visits <= MOST_VISITS; r++) {
        Trial trial = {rules[r], limits_of(scratch, published, &rules[r])};
        MwPipelineSchedule *other = mw_schedule_new_like(scratch, schedule);
        mw_run_all(scratch, other, times, advance, &trial);
        if (needed(other, times) <= most && mw_schedule_runs(scratch, other, MW_SENDS_AHEAD))
            mw_schedule_take_if_better(scratch, schedule, other, times, &least);
    }
    for (int i = 0; i < schedule->mesh_count; i++)
        mw_mesh_schedule_count(schedule, i);
    mw_arena_free(&scratch);
}
