/* SPDX-License-Identifier: MIT */
/* No mesh waits for ever. The schedules of all meshes are simulated together, message by message,
 * as runtime/plan/traffic.h defines. A send is complete only when the other side has posted its
 * receive, so that the proof relies on no buffering inside the transport.
 *
 * A mesh that can proceed stays able to proceed, whatever the other meshes do, so that one order of
 * running them stands for every order. The devices of a mesh run the same tasks, so that what holds
 * for meshes holds for ranks: among all waiting ranks, the one whose mesh comes first in that order
 * has all that it needs. */
#include "runtime/plan/traffic_walk.h"

#include "base/vec.h"
#include "runtime/check/rules.h"

/* The progress of one mesh through a step. */
typedef struct {
    int task; /* index of the next task */
    int op;   /* index of the next operation of that task's program */
    bool queued;
} Walker;

typedef struct {
    const MwCheck *check;
    MwTrafficWalk traffic;
    Walker *walkers; /* [meshes] */
    int *queue;      /* [meshes] ring of the meshes that may be able to proceed */
    int first, count;
} Walk;

static void enqueue(Walk *walk, int mesh)
{
    const int meshes = walk->check->plan->mesh_count;
    if (walk->walkers[mesh].queued)
        return;
    walk->walkers[mesh].queued = true;
    walk->queue[(walk->first + walk->count++) % meshes] = mesh;
}

/* A message has ended as soon as both ends have posted it. The mesh at the other end may be able to
 * proceed. */
static void posted(void *context, int mesh, int index)
{
    Walk *walk = context;
    const MwPlanTransfer *transfer = &walk->check->plan->transfers[index];
    MwTransferProgress *progress = &walk->traffic.transfers[index];
    progress->ended = (int)mw_min(progress->sent, progress->posted);
    enqueue(walk, transfer->from_mesh == mesh ? transfer->to_mesh : transfer->from_mesh);
}

/* Begins the walk; all meshes may be able to proceed. */
static void begin(Walk *walk)
{
    const MwPlan *plan = walk->check->plan;
    MwArena *arena = walk->check->arena;
    const MwTraffic **traffic = MW_NEW(arena, const MwTraffic *, plan->mesh_count);
    for (int m = 0; m < plan->mesh_count; m++) {
        const MwTraffic own = mw_traffic(arena, plan, &plan->meshes[m]);
        traffic[m] = mw_arena_dup(arena, &own, sizeof own);
    }
    walk->walkers = MW_NEW(arena, Walker, plan->mesh_count);
    walk->queue = MW_NEW(arena, int, plan->mesh_count);
    walk->traffic = mw_traffic_walk(arena, plan, traffic);
    walk->traffic.posted = posted;
    walk->traffic.context = walk;
    for (int m = 0; m < plan->mesh_count; m++)
        enqueue(walk, m);
    mw_traffic_begin(&walk->traffic);
}

/* Runs a mesh until it has to wait or its step ends. */
static void run_mesh(Walk *walk, int mesh)
{
    const MwPlanMesh *tasks = &walk->check->plan->meshes[mesh];
    Walker *walker = &walk->walkers[mesh];
    for (; walker->task < tasks->task_count; walker->task++) {
        const MwPlanTask *task = &tasks->tasks[walker->task];
        const MwTrafficProgram *program =
            &walk->traffic.meshes[mesh].traffic->programs[task->program];
        for (; walker->op < program->op_count; walker->op++)
            if (!mw_traffic_do(&walk->traffic, mesh, &program->ops[walker->op], task->micro_batch))
                return;
        walker->op = 0;
        mw_traffic_end_task(&walk->traffic, mesh, task);
    }
}

/* The error of a mesh that waits for ever. */
static void report(const Walk *walk, int mesh)
{
    const MwPlanMesh *waiting = &walk->check->plan->meshes[mesh];
    const Walker *walker = &walk->walkers[mesh];
    const MwPlanTask *task = &waiting->tasks[walker->task];
    const MwPlanProgram *program = &waiting->programs[task->program];
    const MwTraffic *traffic = walk->traffic.meshes[mesh].traffic;
    const MwTrafficOp *op = &traffic->programs[task->program].ops[walker->op];
    const int index = traffic->endpoints[op->endpoint].transfer;
    const MwPlanTransfer *transfer = &walk->check->plan->transfers[index];
    const int peer = transfer->from_mesh == mesh ? transfer->to_mesh : transfer->from_mesh;
    const bool receives = op->kind == MW_TRAFFIC_RECEIVE;
    MwCheck at = *walk->check;
    at.place =
        mw_arena_printf(at.arena, "mesh %d, program %s, %s", mesh, program->name,
                        op->instr < 0 ? "filling the inputs"
                                      : mw_arena_printf(at.arena, "instruction %d", op->instr));
    mw_check_error(&at, "it waits for ever on micro-batch %d: mesh %d never %s transfer %d '%s'%s",
                   task->micro_batch, peer, receives ? "sends" : "receives", index, transfer->name,
                   receives ? "" : ", which it would overwrite");
}

void mw_check_traffic(const MwCheck *check)
{
    const MwPlan *plan = check->plan;
    Walk walk = {.check = check};
    begin(&walk);
    while (walk.count > 0) {
        const int mesh = walk.queue[walk.first];
        walk.first = (walk.first + 1) % plan->mesh_count;
        walk.count--;
        walk.walkers[mesh].queued = false;
        run_mesh(&walk, mesh);
    }
    for (int m = 0; m < plan->mesh_count; m++)
        if (walk.walkers[m].task < plan->meshes[m].task_count)
            report(&walk, m);
}
