/* SPDX-License-Identifier: MIT */
/* No mesh waits for ever. The meshes run together, message by message, as traffic.h says; a send is
 * done only when the other side has posted its receive, so that no memory inside of the transport
 * is counted on.
 *
 * Once a mesh can go on it stays able to, whatever the others do, so that one order of running them
 * stands for all. The devices of a mesh run the same tasks, so that what holds for meshes holds for
 * ranks: of all ranks that wait, the one whose mesh comes first in that order has all it needs. */
#include "runtime/plan/traffic.h"
#include "base/vec.h"
#include "runtime/check/rules.h"

/* Messages of a transfer. */
typedef struct {
    int sent, posted, received; /* so far in the step */
} Messages;

/* One mesh on its way through a step. */
typedef struct {
    MwTraffic traffic;
    int task, event; /* the next one; of the task's program */
    int **last;      /* [line][slot] of a sending line: 1 + the message last sent from it */
    int **users;     /* [line][slot] of a line that is ahead: tasks that still use it */
    bool queued;
} Walker;

typedef struct {
    const MwCheck *check;
    Messages *messages; /* [transfers] */
    Walker *walkers;    /* [meshes] */
    int *queue;         /* meshes that may go on, a ring */
    int first, count;
} Walk;

/* ---- Getting ready ---- */

static const MwPlanBuffer *buffer_of(const Walk *walk, int mesh, int line)
{
    return &walk->check->plan->meshes[mesh].buffers[walk->walkers[mesh].traffic.lines[line].buffer];
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
        walker->last = MW_NEW(check->arena, int *, walker->traffic.line_count);
        walker->users = MW_NEW(check->arena, int *, walker->traffic.line_count);
        for (int l = 0; l < walker->traffic.line_count; l++) {
            int slots = (int)mw_min(buffer_of(&walk, m, l)->slots, plan->micro_batches);
            walker->last[l] = MW_NEW(check->arena, int, slots);
            walker->users[l] = MW_NEW(check->arena, int, slots);
        }
        enqueue(&walk, m);
    }
    return walk;
}

/* ---- Messages ---- */

static Messages *messages_of(const Walk *walk, const MwTrafficLine *line)
{
    return &walk->messages[line->transfer];
}

/* The other side may go on. */
static void wake_peer(Walk *walk, const MwTrafficLine *line)
{
    const MwPlanTransfer *transfer = &walk->check->plan->transfers[line->transfer];
    enqueue(walk, line->sends ? transfer->to_mesh : transfer->from_mesh);
}

static void post_receive(Walk *walk, int mesh, int line_index)
{
    const Walker *walker = &walk->walkers[mesh];
    const MwTrafficLine *line = &walker->traffic.lines[line_index];
    const int message = messages_of(walk, line)->posted++;
    const int micro = walker->traffic.programs[line->program].micro_batches[message];
    walker->users[line_index][mw_plan_slot(buffer_of(walk, mesh, line_index), micro)] = line->users;
    wake_peer(walk, line);
}

static void post_ahead(Walk *walk, int mesh, int line_index)
{
    const Walker *walker = &walk->walkers[mesh];
    const MwTrafficLine *line = &walker->traffic.lines[line_index];
    const MwTrafficProgram *program = &walker->traffic.programs[line->program];
    const MwPlanBuffer *buffer = buffer_of(walk, mesh, line_index);
    const int *posted = &messages_of(walk, line)->posted;
    while (line->is_ahead && *posted < program->run_count &&
           !walker->users[line_index][mw_plan_slot(buffer, program->micro_batches[*posted])])
        post_receive(walk, mesh, line_index);
}

/* True if the event can happen now; it then has. */
static bool do_event(Walk *walk, int mesh, const MwTrafficEvent *event, int micro_batch)
{
    const Walker *walker = &walk->walkers[mesh];
    const MwTrafficLine *line = &walker->traffic.lines[event->line];
    Messages *messages = messages_of(walk, line);
    int *last =
        &walker->last[event->line][mw_plan_slot(buffer_of(walk, mesh, event->line), micro_batch)];
    switch (event->kind) {
    case MW_TRAFFIC_WAIT:
        return messages->posted >= *last;
    case MW_TRAFFIC_WAIT_ALL:
        return messages->posted >= messages->sent;
    case MW_TRAFFIC_SEND:
        if (messages->posted < *last)
            return false;
        *last = ++messages->sent;
        wake_peer(walk, line);
        return true;
    case MW_TRAFFIC_RECEIVE:
        if (messages->posted == messages->received)
            post_receive(walk, mesh, event->line);
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

/* Runs a mesh as far as it can go. */
static void run_mesh(Walk *walk, int mesh)
{
    const MwPlanMesh *tasks = &walk->check->plan->meshes[mesh];
    Walker *walker = &walk->walkers[mesh];
    for (; walker->task < tasks->task_count; walker->task++) {
        const MwPlanTask *task = &tasks->tasks[walker->task];
        const MwTrafficProgram *program = &walker->traffic.programs[task->program];
        for (; walker->event < program->event_count; walker->event++)
            if (!do_event(walk, mesh, &program->events[walker->event], task->micro_batch))
                return;
        walker->event = 0;
        for (int i = 0; i < program->line_count; i++) {
            const int line = program->lines[i];
            walker->users[line][mw_plan_slot(buffer_of(walk, mesh, line), task->micro_batch)]--;
            post_ahead(walk, mesh, line);
        }
    }
}

/* What a mesh that does not go on waits for. */
static void report(const Walk *walk, int mesh)
{
    const MwPlanMesh *waiting = &walk->check->plan->meshes[mesh];
    const Walker *walker = &walk->walkers[mesh];
    const MwPlanTask *task = &waiting->tasks[walker->task];
    const MwPlanProgram *program = &waiting->programs[task->program];
    const MwTrafficEvent *event = &walker->traffic.programs[task->program].events[walker->event];
    const int index = walker->traffic.lines[event->line].transfer;
    const MwPlanTransfer *transfer = &walk->check->plan->transfers[index];
    const int peer = transfer->from_mesh == mesh ? transfer->to_mesh : transfer->from_mesh;
    const bool receives = event->kind == MW_TRAFFIC_RECEIVE;
    MwCheck at = *walk->check;
    at.place = mw_arena_printf(at.arena, "mesh %d, program %s, %s", mesh, program->name,
                               event->instr < 0
                                   ? "filling the inputs"
                                   : mw_arena_printf(at.arena, "instruction %d", event->instr));
    mw_check_error(&at, "it waits for ever on micro-batch %d: mesh %d never %s transfer %d '%s'%s",
                   task->micro_batch, peer, receives ? "sends" : "receives", index, transfer->name,
                   receives ? "" : ", which it would overwrite");
}

void mw_check_traffic(const MwCheck *check)
{
    const MwPlan *plan = check->plan;
    Walk walk = walk_new(check);
    for (int m = 0; m < plan->mesh_count; m++)
        for (int l = 0; l < walk.walkers[m].traffic.line_count; l++)
            post_ahead(&walk, m, l);
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
