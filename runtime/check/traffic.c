/* SPDX-License-Identifier: MIT */
/* No mesh waits for ever. The schedules of all meshes are simulated together, message by message,
 * as runtime/plan/traffic.h defines. A send is complete only when the other side has posted its
 * receive, so that the proof relies on no buffering inside the transport.
 *
 * A mesh that can proceed stays able to proceed, whatever the other meshes do, so that one order of
 * running them stands for every order. The devices of a mesh run the same tasks, so that what holds
 * for meshes holds for ranks: among all waiting ranks, the one whose mesh comes first in that order
 * has all that it needs. */
#include "runtime/plan/traffic.h"

#include "base/vec.h"
#include "runtime/check/rules.h"

/* Messages of a transfer so far in the step. */
typedef struct {
    int sent, posted, received;
} Messages;

/* The progress of one mesh through a step. */
typedef struct {
    MwTraffic traffic;
    int task;   /* index of the next task */
    int op;     /* index of the next operation of that task's program */
    int **last; /* [endpoint][slot] sending endpoints: 1 + the message that was last sent from it */
    int **users; /* [endpoint][slot] endpoints that are posted ahead: tasks that still use it */
    bool queued;
} Walker;

typedef struct {
    const MwCheck *check;
    Messages *messages; /* [transfers] */
    Walker *walkers;    /* [meshes] */
    int *queue;         /* [meshes] ring of the meshes that may be able to proceed */
    int first, count;
} Walk;

/* ---- Setting up ---- */

static const MwPlanBuffer *buffer_of(const Walk *walk, int mesh, int endpoint)
{
    const int buffer = walk->walkers[mesh].traffic.endpoints[endpoint].buffer;
    return &walk->check->plan->meshes[mesh].buffers[buffer];
}

static void enqueue(Walk *walk, int mesh)
{
    const int meshes = walk->check->plan->mesh_count;
    if (walk->walkers[mesh].queued)
        return;
    walk->walkers[mesh].queued = true;
    walk->queue[(walk->first + walk->count++) % meshes] = mesh;
}

static Walk walk_new(const MwCheck *check)
{
    const MwPlan *plan = check->plan;
    Walk walk = {.check = check,
                 .messages = MW_NEW(check->arena, Messages, plan->transfer_count),
                 .walkers = MW_NEW(check->arena, Walker, plan->mesh_count),
                 .queue = MW_NEW(check->arena, int, plan->mesh_count)};
    for (int m = 0; m < plan->mesh_count; m++) {
        Walker *walker = &walk.walkers[m];
        walker->traffic = mw_traffic(check->arena, plan, &plan->meshes[m]);
        walker->last = MW_NEW(check->arena, int *, walker->traffic.endpoint_count);
        walker->users = MW_NEW(check->arena, int *, walker->traffic.endpoint_count);
        for (int e = 0; e < walker->traffic.endpoint_count; e++) {
            int slots = (int)mw_min(buffer_of(&walk, m, e)->slots, plan->micro_batches);
            walker->last[e] = MW_NEW(check->arena, int, slots);
            walker->users[e] = MW_NEW(check->arena, int, slots);
        }
        enqueue(&walk, m);
    }
    return walk;
}

/* ---- Messages ---- */

static Messages *messages_of(const Walk *walk, const MwTrafficEndpoint *endpoint)
{
    return &walk->messages[endpoint->transfer];
}

/* The mesh at the other end may be able to proceed. */
static void wake_peer(Walk *walk, const MwTrafficEndpoint *endpoint)
{
    const MwPlanTransfer *transfer = &walk->check->plan->transfers[endpoint->transfer];
    enqueue(walk, endpoint->sends ? transfer->to_mesh : transfer->from_mesh);
}

static void post_receive(Walk *walk, int mesh, int index)
{
    const Walker *walker = &walk->walkers[mesh];
    const MwTrafficEndpoint *endpoint = &walker->traffic.endpoints[index];
    const int message = messages_of(walk, endpoint)->posted++;
    const int micro = walker->traffic.programs[endpoint->program].micro_batches[message];
    walker->users[index][mw_plan_slot(buffer_of(walk, mesh, index), micro)] = endpoint->users;
    wake_peer(walk, endpoint);
}

static void post_ahead(Walk *walk, int mesh, int index)
{
    const Walker *walker = &walk->walkers[mesh];
    const MwTrafficEndpoint *endpoint = &walker->traffic.endpoints[index];
    const MwTrafficProgram *program = &walker->traffic.programs[endpoint->program];
    const MwPlanBuffer *buffer = buffer_of(walk, mesh, index);
    const int *posted = &messages_of(walk, endpoint)->posted;
    while (endpoint->is_ahead && *posted < program->run_count &&
           !walker->users[index][mw_plan_slot(buffer, program->micro_batches[*posted])])
        post_receive(walk, mesh, index);
}

/* Does the operation if it can be done now; false if it cannot. */
static bool do_op(Walk *walk, int mesh, const MwTrafficOp *op, int micro_batch)
{
    const Walker *walker = &walk->walkers[mesh];
    const MwTrafficEndpoint *endpoint = &walker->traffic.endpoints[op->endpoint];
    Messages *messages = messages_of(walk, endpoint);
    int *last =
        &walker->last[op->endpoint][mw_plan_slot(buffer_of(walk, mesh, op->endpoint), micro_batch)];
    switch (op->kind) {
    case MW_TRAFFIC_WAIT:
        return messages->posted >= *last;
    case MW_TRAFFIC_WAIT_ALL:
        return messages->posted >= messages->sent;
    case MW_TRAFFIC_SEND:
        if (messages->posted < *last)
            return false;
        *last = ++messages->sent;
        wake_peer(walk, endpoint);
        return true;
    case MW_TRAFFIC_RECEIVE:
        if (messages->posted == messages->received)
            post_receive(walk, mesh, op->endpoint);
        if (messages->sent == messages->received)
            return false;
        messages->received++;
        return true;
    case MW_TRAFFIC_KINDS:
        break;
    }
    MW_UNREACHABLE();
}

/* ---- Meshes ---- */

/* Runs a mesh until it has to wait or its step ends. */
static void run_mesh(Walk *walk, int mesh)
{
    const MwPlanMesh *tasks = &walk->check->plan->meshes[mesh];
    Walker *walker = &walk->walkers[mesh];
    for (; walker->task < tasks->task_count; walker->task++) {
        const MwPlanTask *task = &tasks->tasks[walker->task];
        const MwTrafficProgram *program = &walker->traffic.programs[task->program];
        for (; walker->op < program->op_count; walker->op++)
            if (!do_op(walk, mesh, &program->ops[walker->op], task->micro_batch))
                return;
        walker->op = 0;
        for (int i = 0; i < program->ahead_count; i++) {
            const int endpoint = program->ahead[i];
            const MwPlanBuffer *buffer = buffer_of(walk, mesh, endpoint);
            walker->users[endpoint][mw_plan_slot(buffer, task->micro_batch)]--;
            post_ahead(walk, mesh, endpoint);
        }
    }
}

/* The error of a mesh that waits for ever. */
static void report(const Walk *walk, int mesh)
{
    const MwPlanMesh *waiting = &walk->check->plan->meshes[mesh];
    const Walker *walker = &walk->walkers[mesh];
    const MwPlanTask *task = &waiting->tasks[walker->task];
    const MwPlanProgram *program = &waiting->programs[task->program];
    const MwTrafficOp *op = &walker->traffic.programs[task->program].ops[walker->op];
    const int index = walker->traffic.endpoints[op->endpoint].transfer;
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
    Walk walk = walk_new(check);
    for (int m = 0; m < plan->mesh_count; m++)
        for (int e = 0; e < walk.walkers[m].traffic.endpoint_count; e++)
            post_ahead(&walk, m, e);
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
