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
 * the three kinds of tasks do not take equal time, the blocks of v-half and v-min wait for each
 * micro-batch anew: other orders are tried beside theirs (vee_timed.h). Those of zb-v, tried
 * likewise, were better in none of 36 cases, of 4 to 8 meshes with F, B and W up to 1.4 apart.
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

#include "schedule/run.h"
#include "schedule/trial.h"
#include "schedule/vee_timed.h"

enum { PERIOD = 6 };

/* A building block, and the most that a mesh has in flight, in chunks. */
typedef struct {
    int down, up, pause, limit;
    bool ahead;
} Vee;

/* When a mesh begins forwards and backwards in the first block. */
typedef struct {
    int64_t start[MW_TASK_KIND_COUNT][MW_RUN_CHUNKS];
} Turns;

typedef struct {
    Vee vee;
    Turns *turns; /* [meshes] */
} Block;

/* ---- The order on a mesh ---- */

/* Micro-batches that a chunk of a mesh has in flight. */
static int in_flight(const MwScheduleRun *run, int mesh, int chunk)
{
    const MwMeshRun *on = &run->meshes[mesh];
    return on->begun[MW_TASK_FORWARD][chunk] - on->begun[MW_TASK_WEIGHT][chunk];
}

/* Whether the limit allows the mesh another forward. */
static bool has_room(const Block *block, const MwScheduleRun *run, int mesh)
{
    const MwPipelineSchedule *s = run->schedule;
    const int chunks = mw_pipeline_mesh_chunks(s, mesh);
    const int parts =
        mw_pipeline_parts_of(s->kind, s->mesh_count, s->chunks, mw_pipeline_stage(s, mesh, 0));
    int count = 1;
    for (int c = 0; c < chunks; c++)
        count += in_flight(run, mesh, c);
    return count * parts <= block->vee.limit;
}

/* The forward or backward whose turn it is in the repeated block; after the last, a task of kind
 * MW_TASK_WEIGHT. */
static MwTask in_turn(const Block *block, const MwScheduleRun *run, int mesh)
{
    static const MwTaskKind kinds[] = {MW_TASK_FORWARD, MW_TASK_BACKWARD_INPUT};
    MwTask first = {MW_TASK_WEIGHT, 0, 0};
    int64_t earliest = INT64_MAX;
    for (int k = 0; k < MW_COUNT(kinds); k++) {
        for (int c = 0; c < mw_pipeline_mesh_chunks(run->schedule, mesh); c++) {
            const MwTask task = mw_run_next(run, mesh, kinds[k], c);
            const int64_t start =
                block->turns[mesh].start[task.kind][c] + (int64_t)PERIOD * task.micro_batch;
            if (task.micro_batch == run->schedule->micro_batches || start >= earliest)
                continue;
            earliest = start;
            first = task;
        }
    }
    return first;
}

/* Micro-batches that chunk 1 of a mesh has in flight where chunk 0 fills the rest of the limit. */
static int room_above(const Block *block, const MwScheduleRun *run, int mesh)
{
    const int last = run->schedule->mesh_count - 1;
    return (int)mw_max(1, 1 + mesh * (block->vee.limit / MW_RUN_CHUNKS - 1) / last);
}

/* Whether a forward of chunk 0 may begin before its turn. */
static bool may_run_ahead(const Block *block, const MwScheduleRun *run, int mesh)
{
    return block->vee.ahead && mesh < run->schedule->mesh_count - 1 &&
           in_flight(run, mesh, 0) + room_above(block, run, mesh) < block->vee.limit &&
           has_room(block, run, mesh) &&
           mw_run_is_ready(run, mesh, mw_run_next(run, mesh, MW_TASK_FORWARD, 0));
}

static void advance(void *context, MwScheduleRun *run, int mesh)
{
    const Block *block = context;
    const MwTask task = in_turn(block, run, mesh);
    const int weight = mw_run_oldest_weight(run, mesh);
    if (task.kind != MW_TASK_WEIGHT && mw_run_is_ready(run, mesh, task) &&
        (task.kind != MW_TASK_FORWARD || has_room(block, run, mesh)))
        mw_run_begin(run, mesh, task);
    else if (may_run_ahead(block, run, mesh))
        mw_run_begin(run, mesh, mw_run_next(run, mesh, MW_TASK_FORWARD, 0));
    else if (weight >= 0)
        mw_run_begin(run, mesh, mw_run_next(run, mesh, MW_TASK_WEIGHT, weight));
}

/* ---- All meshes ---- */

static Block block_new(MwArena *arena, const MwPipelineSchedule *schedule, Vee vee)
{
    const int64_t last = schedule->mesh_count - 1;
    Block block = {vee, MW_NEW(arena, Turns, schedule->mesh_count)};
    for (int64_t i = 0; i <= last; i++) {
        const int64_t down = vee.down * i, up = vee.up * (last - i);
        const int64_t turned = vee.down * last + 1, back = turned + vee.up * last + 1 + vee.pause;
        Turns *on = &block.turns[i];
        on->start[MW_TASK_FORWARD][0] = down;
        on->start[MW_TASK_FORWARD][1] = turned + up;
        on->start[MW_TASK_BACKWARD_INPUT][i < last] = back + down;
        on->start[MW_TASK_BACKWARD_INPUT][i == last] = back + vee.down * last + 1 + up;
    }
    return block;
}

/* Adds the order of the block, repeated. */
static void order_by_block(MwPipelineSchedule *schedule, Vee vee)
{
    MwArena *scratch = mw_arena_new();
    Block block = block_new(scratch, schedule, vee);
    const MwStageTimes *clocks =
        mw_stage_times_new_clocks(scratch, schedule->kind, schedule->mesh_count, schedule->chunks);
    mw_run_all(scratch, schedule, clocks, advance, &block);
    for (int i = 0; i < schedule->mesh_count; i++)
        mw_mesh_schedule_count(schedule, i);
    mw_arena_free(&scratch);
}

static void order(MwPipelineSchedule *schedule, const MwStageTimes *times, Vee vee)
{
    if (schedule->chunks == 1) {
        mw_pipeline_order_zb_h1(schedule, times);
    } else if (!times || !mw_pipeline_info(schedule->kind)->timed) {
        order_by_block(schedule, vee);
    } else {
        MwArena *scratch = mw_arena_new();
        MwPipelineSchedule *published = mw_schedule_new_like(scratch, schedule);
        order_by_block(published, vee);
        mw_pipeline_order_vee_timed(schedule, published, times);
        mw_arena_free(&scratch);
    }
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
                 .limit = MW_RUN_CHUNKS * ((meshes + 1) / 3) + MW_RUN_CHUNKS};
}

/* Defines both functions of a generator (order.h). */
#define VEE(name)                                                                                  \
    void mw_pipeline_order_##name(MwPipelineSchedule *schedule, const MwStageTimes *times)         \
    {                                                                                              \
        order(schedule, times, vee_##name(schedule->mesh_count));                                  \
    }                                                                                              \
    int64_t mw_pipeline_in_flight_##name(int meshes, int mesh, int micro_batches)                  \
    {                                                                                              \
        return mw_pipeline_in_flight_zb_h1(meshes, mesh, micro_batches);                           \
    }

VEE(zb_v)
VEE(v_half)
VEE(v_min)
