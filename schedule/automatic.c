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
 * before them. All combinations are tried, beside zb-h1 or zb-h2, and the best is taken. */
#include "schedule/order.h"

#include "schedule/run.h"
#include "schedule/trial.h"

static const double ROUNDING = 1e-9; /* of sums of shares */

/* The choices that are tried. */
typedef struct {
    bool delays_backward; /* a forward may delay the first backward */
    bool skips_forward;   /* a mesh that is more than one forward ahead runs a backward first */
    bool takes_other;     /* a backward that is there goes before gradients of weights in a gap */
    bool fills_short;     /* gradients of weights also fill gaps that are shorter than they */
} Choices;

typedef struct {
    Choices choices;
    int limit; /* of the memory of a mesh, in what a micro-batch keeps for its backward */
} Rule;

static MwTask next(const MwScheduleRun *run, int mesh, MwTaskKind kind)
{
    return mw_run_next(run, mesh, kind, 0);
}

static int begun(const MwScheduleRun *run, int mesh, MwTaskKind kind)
{
    return run->meshes[mesh].begun[kind][0];
}

static bool is_ready(const MwScheduleRun *run, int mesh, MwTaskKind kind)
{
    return mw_run_is_ready(run, mesh, next(run, mesh, kind));
}

/* How long it is until the next task of a kind may begin. */
static double gap_before(const MwScheduleRun *run, int mesh, MwTaskKind kind)
{
    return mw_run_ready_at(run, mesh, next(run, mesh, kind)) - run->now;
}

static void begin(MwScheduleRun *run, int mesh, MwTaskKind kind)
{
    mw_run_begin(run, mesh, next(run, mesh, kind));
}

/* ---- The choice of a mesh ---- */

/* Of what a micro-batch keeps from its forward to its backward, the share that it keeps until its
 * gradients of weights. */
static double weight_share(const MwStageMemory *memory)
{
    const double whole = memory->saved + memory->late;
    return whole > 0 ? (memory->late + memory->weight) / whole : 1;
}

/* Whether the memory allows another forward. */
static bool has_room(const Rule *rule, const MwScheduleRun *run, int mesh)
{
    const int backwards = begun(run, mesh, MW_TASK_BACKWARD_INPUT);
    const int whole = begun(run, mesh, MW_TASK_FORWARD) - backwards;
    const int parts = backwards - begun(run, mesh, MW_TASK_WEIGHT);
    return whole + 1 + parts * weight_share(&run->times[mesh].memory) <= rule->limit + ROUNDING;
}

/* Whether gradients of weights should run in a gap of this mesh. */
static bool fills(const Rule *rule, const MwScheduleRun *run, int mesh, double gap)
{
    if (!is_ready(run, mesh, MW_TASK_WEIGHT))
        return false;
    if (rule->choices.fills_short || gap >= run->times[mesh].task[MW_TASK_WEIGHT])
        return true;
    for (int i = 0; i < run->schedule->mesh_count; i++)
        if (run->meshes[i].waited > run->meshes[mesh].waited + gap)
            return false;
    return true;
}

/* Whether a mesh is ahead of the next by so many forwards that it may leave one out. */
static bool is_far_ahead(const Rule *rule, const MwScheduleRun *run, int mesh)
{
    return rule->choices.skips_forward && mesh < run->schedule->mesh_count - 1 &&
           begun(run, mesh, MW_TASK_FORWARD) - begun(run, mesh + 1, MW_TASK_FORWARD) > 1;
}

/* The forward or backward whose turn it is; MW_TASK_WEIGHT: there is none. */
static MwTaskKind in_turn(const Rule *rule, const MwScheduleRun *run, int mesh)
{
    const int m = run->schedule->micro_batches;
    if (begun(run, mesh, MW_TASK_BACKWARD_INPUT) == m)
        return MW_TASK_WEIGHT;
    if (begun(run, mesh, MW_TASK_FORWARD) == m)
        return MW_TASK_BACKWARD_INPUT;
    if (begun(run, mesh, MW_TASK_BACKWARD_INPUT) == 0) {
        const double gap = gap_before(run, mesh, MW_TASK_BACKWARD_INPUT);
        const bool delays = gap < run->times[mesh].task[MW_TASK_FORWARD];
        const bool may_delay = rule->choices.delays_backward && gap > 0;
        return has_room(rule, run, mesh) && (!delays || may_delay) ? MW_TASK_FORWARD
                                                                   : MW_TASK_BACKWARD_INPUT;
    }
    if (run->meshes[mesh].last == MW_TASK_FORWARD ||
        (is_far_ahead(rule, run, mesh) && is_ready(run, mesh, MW_TASK_BACKWARD_INPUT)))
        return MW_TASK_BACKWARD_INPUT;
    return MW_TASK_FORWARD;
}

/* Begins a task on a mesh that is free, if there is one to begin. */
static void advance(void *context, MwScheduleRun *run, int mesh)
{
    const Rule *rule = context;
    MwTaskKind kind = in_turn(rule, run, mesh);
    if (kind == MW_TASK_FORWARD && !has_room(rule, run, mesh)) {
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
    const double gap = gap_before(run, mesh, kind);
    const MwTaskKind other = kind == MW_TASK_FORWARD ? MW_TASK_BACKWARD_INPUT : MW_TASK_FORWARD;
    if (rule->choices.takes_other && kind == MW_TASK_FORWARD &&
        is_ready(run, mesh, MW_TASK_BACKWARD_INPUT))
        begin(run, mesh, MW_TASK_BACKWARD_INPUT);
    else if (fills(rule, run, mesh, gap))
        begin(run, mesh, MW_TASK_WEIGHT);
    else if (kind != MW_TASK_WEIGHT && is_ready(run, mesh, other) &&
             (other == MW_TASK_BACKWARD_INPUT ||
              (has_room(rule, run, mesh) && gap >= run->times[mesh].task[MW_TASK_FORWARD])))
        begin(run, mesh, other);
}

/* ---- The best of all choices ---- */

static void order_within(MwPipelineSchedule *schedule, const MwStageTimes *times, int limit,
                         void (*by_hand)(MwPipelineSchedule *schedule, const MwStageTimes *times))
{
    MwArena *scratch = mw_arena_new();
    if (!times)
        times = mw_stage_times_new_clocks(scratch, schedule->kind, schedule->mesh_count, 1);
    MwTimeline least = mw_schedule_no_trial();
    MwPipelineSchedule *tried = mw_schedule_new_like(scratch, schedule);
    by_hand(tried, times);
    mw_schedule_take_if_better(scratch, schedule, tried, times, &least);
    for (int bits = 0; bits < 16; bits++) {
        Rule rule = {{bits & 1, bits & 2, bits & 4, bits & 8}, limit};
        MwPipelineSchedule *other = mw_schedule_new_like(scratch, schedule);
        mw_run_all(scratch, other, times, advance, &rule);
        mw_schedule_take_if_better(scratch, schedule, other, times, &least);
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
