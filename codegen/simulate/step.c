/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A mesh goes through the pieces of its tasks and the operations of their traffic until one has to
 * wait; the end of a message wakes the meshes at both of its ends. A message begins when both ends
 * have posted it (runtime/plan/traffic_walk.h), one of a transfer after another, in the order of
 * micro-batches. runtime/check/traffic.c proves of the plan, with messages as these, that no mesh
 * waits for ever.
 *
 * Where messages are in line with kernels, a mesh computes nothing while one is on its way to or
 * from it: its piece is interrupted. */
#include "codegen/simulate/step.h"

#include "codegen/simulate/flows.h"
#include "codegen/simulate/jitter.h"
#include "runtime/plan/traffic_walk.h"

#include <math.h>

/* Messages of a transfer so far in the step, besides what the walk knows of them. */
typedef struct {
    int begun;
    double begun_s;       /* the last that began, */
    MwSimulatedPath path; /* the longest to its beginning, or, if it has ended, its end */
} Messages;

/* The progress of one mesh through a step. */
typedef struct {
    int task, piece; /* the next piece of that task; -1: the task has not begun */
    bool waits;      /* for the operation before the piece, since: */
    double since_s;
    double task_s; /* beginning of the task, where it did not wait for a message */
    bool has_run;  /* a piece of the task that takes time */
    double factor; /* of the times of the task */
    double end_s;  /* of the last task */
    /* A piece that is interrupted: */
    int messages;       /* in line with kernels that are on their way to or from the mesh */
    bool computes;      /* a piece has begun and not ended */
    double piece_end_s; /* where it is not interrupted again */
    double left_s, interrupted_s; /* what is left of it, and since when */
    int turn;                     /* changes whenever an event of the mesh is no longer true */
    MwJitter jitter;
    MwSimulatedPath path; /* the longest to the end of what the mesh does */
    double *piece_s;      /* of the task, where it is recorded: when each piece begins */
} Walker;

typedef struct {
    MwArena *arena;
    const MwSimPlan *of;
    MwTrafficWalk traffic;
    Messages *messages; /* [transfers] */
    Walker *walkers;    /* [meshes] */
    MwEvents events;
    MwFlows flows;
    MwSimRecord *record;
    MwSimStep result;
    double now_s;
} Run;

/* ---- Setting up ---- */

static const MwPlanMesh *plan_mesh(const Run *run, int mesh)
{
    return &run->of->plan->meshes[mesh];
}

static const MwTraffic *traffic_of(const Run *run, int mesh)
{
    return &run->of->meshes[mesh].traffic;
}

static void add_walker(Run *run, int mesh, int step)
{
    run->walkers[mesh] = (Walker){.piece = -1,
                                  .jitter = {.deviation = run->of->options->jitter,
                                             .seed = run->of->options->seed,
                                             .stream = (uint64_t)step << 32 | (uint64_t)mesh,
                                             .apart = 1}};
    mw_events_add(&run->events, (MwEvent){.kind = MW_EVENT_MESH, .index = mesh});
}

/* ---- Pieces that messages interrupt ---- */

static void go_on_at(Run *run, int mesh, double time_s)
{
    mw_events_add(&run->events, (MwEvent){.time_s = time_s,
                                          .kind = MW_EVENT_MESH,
                                          .index = mesh,
                                          .turn = run->walkers[mesh].turn});
}

static void begin_piece(Run *run, int mesh, double time_s)
{
    Walker *walker = &run->walkers[mesh];
    walker->computes = true;
    walker->left_s = time_s;
    walker->interrupted_s = run->now_s;
    walker->piece_end_s = run->now_s + time_s;
    if (walker->messages == 0)
        go_on_at(run, mesh, walker->piece_end_s);
}

/* A message of the mesh, in line with kernels, begins to be on its way. */
static void interrupt(Run *run, int mesh)
{
    Walker *walker = &run->walkers[mesh];
    if (walker->messages++ > 0 || !walker->computes)
        return;
    walker->left_s = walker->piece_end_s - run->now_s;
    walker->interrupted_s = run->now_s;
    walker->turn++;
}

/* One has ended. */
static void resume(Run *run, int mesh)
{
    Walker *walker = &run->walkers[mesh];
    if (--walker->messages > 0 || !walker->computes)
        return;
    const double lost_s = run->now_s - walker->interrupted_s;
    run->result.meshes[mesh].transfer_s += lost_s;
    walker->path.transfer_s += lost_s;
    walker->piece_end_s = run->now_s + walker->left_s;
    go_on_at(run, mesh, walker->piece_end_s);
}

/* ---- Messages ---- */

static void each_end(Run *run, int transfer, void (*does)(Run *run, int mesh))
{
    const MwPlanTransfer *of = &run->of->plan->transfers[transfer];
    if (!run->of->options->messages_in_line)
        return;
    does(run, of->from_mesh);
    does(run, of->to_mesh);
}

/* Begins the next message of a transfer if both ends have posted it and the one before has
 * ended. */
static void begin_message(Run *run, int transfer, MwSimulatedPath path)
{
    Messages *messages = &run->messages[transfer];
    const MwTransferProgress *progress = &run->traffic.transfers[transfer];
    if (messages->begun > progress->ended ||
        messages->begun == mw_min(progress->sent, progress->posted))
        return;
    messages->begun_s = run->now_s;
    messages->path = path;
    mw_flows_begin(&run->flows, transfer, messages->begun++, run->now_s);
    each_end(run, transfer, interrupt);
}

static void posted(void *context, int mesh, int transfer)
{
    Run *run = context;
    begin_message(run, transfer, run->walkers[mesh].path);
}

/* ---- Meshes ---- */

static const MwPlanTask *task_of(const Run *run, int mesh)
{
    return &plan_mesh(run, mesh)->tasks[run->walkers[mesh].task];
}

/* What the mesh waited for the operation that it can do now, part of it perhaps while the message
 * was on its way. */
static void end_wait(Run *run, int mesh, const MwTrafficOp *op)
{
    Walker *walker = &run->walkers[mesh];
    MwSimulatedMesh *times = &run->result.meshes[mesh];
    const int transfer = traffic_of(run, mesh)->endpoints[op->endpoint].transfer;
    const double from_s = fmin(fmax(walker->since_s, run->messages[transfer].begun_s), run->now_s);
    times->transfer_s += run->now_s - from_s;
    times->bubble_s += from_s - walker->since_s;
    walker->waits = false;
    walker->task_s = walker->has_run ? walker->task_s : run->now_s;
}

/* Begins the task; true if it is late by then. */
static bool begin_task(Run *run, int mesh)
{
    Walker *walker = &run->walkers[mesh];
    const int index = task_of(run, mesh)->program;
    const MwSimProgram *program = &run->of->meshes[mesh].programs[index];
    const int ops = traffic_of(run, mesh)->programs[index].op_count;
    const int devices = mw_mesh_devices(&plan_mesh(run, mesh)->shape);
    const MwJitterDraw draw = mw_jitter_draw(&walker->jitter, program->time_s, program->coupled,
                                             devices / program->coupled);
    MwSimulatedMesh *times = &run->result.meshes[mesh];
    if (run->record)
        walker->piece_s = MW_NEW(run->record->arena, double, ops + 1);
    walker->piece = 0;
    walker->has_run = false;
    walker->factor = draw.factor;
    walker->task_s = run->now_s + draw.late_s;
    times->compute_s += program->compute_s * draw.factor;
    times->collective_s += (program->time_s - program->compute_s) * draw.factor + draw.late_s;
    walker->path.collective_s += draw.late_s;
    return draw.late_s > 0;
}

static void end_task(Run *run, int mesh)
{
    Walker *walker = &run->walkers[mesh];
    const MwPlanTask *task = task_of(run, mesh);
    walker->end_s = run->now_s;
    run->result.path = walker->path;
    if (run->record)
        mw_vec_push(run->record->arena, &run->record->tasks,
                    ((MwSimulatedTask){mesh, walker->task, walker->task_s, run->now_s,
                                       walker->factor, walker->piece_s}));
    mw_traffic_end_task(&run->traffic, mesh, task);
    walker->task++;
    walker->piece = -1;
}

static void add_piece(Walker *walker, const MwSimProgram *program, double time_s)
{
    const double compute_s = time_s * program->compute_s / program->time_s;
    walker->path.compute_s += compute_s;
    walker->path.collective_s += time_s - compute_s;
}

/* Goes on with the task, from the end of the piece before `piece`; true if it has ended. */
static bool run_pieces(Run *run, int mesh)
{
    Walker *walker = &run->walkers[mesh];
    const MwPlanTask *task = task_of(run, mesh);
    const MwTrafficProgram *traffic = &traffic_of(run, mesh)->programs[task->program];
    const MwSimProgram *program = &run->of->meshes[mesh].programs[task->program];
    for (; walker->piece <= traffic->op_count; walker->piece++) {
        const MwTrafficOp *op = walker->piece > 0 ? &traffic->ops[walker->piece - 1] : NULL;
        if (op && !mw_traffic_do(&run->traffic, mesh, op, task->micro_batch)) {
            walker->since_s = walker->waits ? walker->since_s : run->now_s;
            walker->waits = true;
            return false;
        }
        if (walker->waits)
            end_wait(run, mesh, op);
        if (run->record)
            walker->piece_s[walker->piece] = run->now_s;
        const double time_s = program->piece_s[walker->piece] * walker->factor;
        if (time_s > 0) {
            walker->piece++;
            walker->has_run = true;
            add_piece(walker, program, time_s);
            begin_piece(run, mesh, time_s);
            return false;
        }
    }
    return true;
}

static void run_mesh(Run *run, int mesh)
{
    Walker *walker = &run->walkers[mesh];
    while (walker->task < plan_mesh(run, mesh)->task_count) {
        if (walker->piece < 0 && begin_task(run, mesh)) {
            go_on_at(run, mesh, walker->task_s);
            return;
        }
        if (!run_pieces(run, mesh))
            return;
        end_task(run, mesh);
    }
}

/* A message has ended, with the longest path to its end. */
static void wake(Run *run, int mesh, MwSimulatedPath path)
{
    if (!run->walkers[mesh].waits)
        return;
    run->walkers[mesh].path = path;
    run_mesh(run, mesh);
}

static void end_message(Run *run, const MwFlow *flow)
{
    const MwPlanTransfer *transfer = &run->of->plan->transfers[flow->transfer];
    Messages *messages = &run->messages[flow->transfer];
    run->traffic.transfers[flow->transfer].ended++;
    messages->path.transfer_s += run->now_s - flow->begin_s;
    each_end(run, flow->transfer, resume);
    run->result.path = messages->path;
    begin_message(run, flow->transfer, run->result.path);
    if (run->record)
        mw_vec_push(
            run->record->arena, &run->record->messages,
            ((MwSimulatedMessage){flow->transfer, flow->message, flow->begin_s, run->now_s}));
    const MwSimulatedPath path = run->result.path;
    wake(run, transfer->to_mesh, path);
    wake(run, transfer->from_mesh, path);
}

/* ---- The step ---- */

static void begin_run(Run *run, int step)
{
    const MwPlan *plan = run->of->plan;
    MwArena *arena = run->arena;
    const MwTraffic **traffic = MW_NEW(arena, const MwTraffic *, plan->mesh_count);
    run->messages = MW_NEW(arena, Messages, plan->transfer_count);
    run->walkers = MW_NEW(arena, Walker, plan->mesh_count);
    run->result.meshes = MW_NEW(arena, MwSimulatedMesh, plan->mesh_count);
    run->events.arena = arena;
    run->flows = mw_flows(arena, &run->of->routes, &run->events);
    for (int m = 0; m < plan->mesh_count; m++) {
        traffic[m] = traffic_of(run, m);
        add_walker(run, m, step);
    }
    run->traffic = mw_traffic_walk(arena, plan, traffic);
    run->traffic.posted = posted;
    run->traffic.context = run;
    mw_traffic_begin(&run->traffic);
}

static void take_event(Run *run, const MwEvent *event)
{
    MwFlow flow;
    if (event->kind == MW_EVENT_MESH) {
        if (event->turn != run->walkers[event->index].turn)
            return;
        run->now_s = event->time_s;
        run->walkers[event->index].computes = false;
        run_mesh(run, event->index);
    } else if (mw_flows_take(&run->flows, event, &flow)) {
        run->now_s = event->time_s;
        end_message(run, &flow);
    }
}

MwSimStep mw_sim_step(MwArena *arena, const MwSimPlan *of, int step, MwSimRecord *record)
{
    const int meshes = of->plan->mesh_count;
    Run run = {.arena = arena, .of = of, .record = record};
    begin_run(&run, step);
    while (run.events.heap.count) {
        const MwEvent event = mw_events_take(&run.events);
        take_event(&run, &event);
    }
    run.result.events = run.events.added;
    run.result.step_s = run.now_s;
    for (int m = 0; m < meshes; m++) {
        MW_ASSERT(run.walkers[m].task == of->plan->meshes[m].task_count);
        run.result.meshes[m].idle_s = run.now_s - run.walkers[m].end_s;
    }
    return run.result;
}
