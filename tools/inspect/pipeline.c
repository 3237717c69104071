/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory of a stage: a buffer belongs to the first stage of its mesh whose programs use it. It
 * holds an activation if it is not kept from step to step and several programs that run on
 * micro-batches use it, since its value then waits between their tasks. */
#include "tools/inspect/pipeline.h"

#include "tools/inspect/totals.h"

#include "runtime/plan/messages.h"
#include "schedule/check.h"
#include "schedule/generate.h"

#include <math.h>
#include <string.h>

/* ---- Stages ---- */

/* How the stages of a mesh use one of its buffers. */
typedef struct {
    int stage;    /* the first stage that uses it; -1: none */
    int programs; /* how many programs of that stage, on micro-batches, use it */
    int last;     /* index of the last of them; -1: none */
} Use;

static void note_uses(const MwPlan *plan, int stage, int index, Use *uses)
{
    const MwPlanProgram *program = &plan->meshes[plan->stages[stage].mesh].programs[index];
    const bool of_step = mw_plan_program_phase(program) == MW_PHASE_UPDATE;
    for (int i = 0; i < program->instr_count; i++) {
        bool own = mw_plan_stage_runs(plan, stage, index, i);
        for (int k = 0; own && k < program->instrs[i].operand_count; k++) {
            Use *use = &uses[program->instrs[i].operands[k].buffer];
            if (use->stage < 0)
                use->stage = stage;
            if (use->stage != stage || use->last == index || of_step)
                continue;
            use->last = index;
            use->programs++;
        }
    }
}

/* [buffers of the mesh] the uses of each. */
static Use *uses_of_mesh(MwArena *arena, const MwPlan *plan, int mesh_index)
{
    const MwPlanMesh *mesh = &plan->meshes[mesh_index];
    Use *uses = MW_NEW(arena, Use, mesh->buffer_count);
    for (int b = 0; b < mesh->buffer_count; b++)
        uses[b] = (Use){.stage = -1, .last = -1};
    for (int s = 0; s < plan->stage_count; s++)
        for (int p = 0; plan->stages[s].mesh == mesh_index && p < mesh->program_count; p++)
            note_uses(plan, s, p, uses);
    return uses;
}

static int first_stage(const MwPlan *plan, int mesh)
{
    for (int s = 0; s < plan->stage_count; s++)
        if (plan->stages[s].mesh == mesh)
            return s;
    return -1;
}

/* Notes which stage has each weight and state of the mesh, and adds their bytes to it. */
static void place_weights(MwInspectPipeline *p, MwArena *arena, int mesh_index, const Use *uses)
{
    const MwPlanMesh *mesh = &p->plan->meshes[mesh_index];
    int *places = p->weight_stage[mesh_index] = MW_NEW(arena, int, mesh->weight_count);
    for (int w = 0; w < mesh->weight_count; w++) {
        const MwPlanWeight *weight = &mesh->weights[w];
        places[w] = uses[weight->buffer].stage;
        if (places[w] < 0) /* no stage uses it */
            places[w] = first_stage(p->plan, mesh_index);
        if (places[w] < 0)
            continue;
        MwInspectStage *stage = &p->stages[places[w]];
        if (!mw_plan_is_on_host(mesh, &mesh->buffers[weight->buffer]))
            *(weight->is_state && !mw_inspect_is_working_copy(mesh, weight)
                  ? &stage->state_bytes
                  : &stage->weight_bytes) += mesh->buffers[weight->buffer].bytes;
    }
}

static void add_activations(MwInspectPipeline *p, int mesh_index, const Use *uses)
{
    const MwPlanMesh *mesh = &p->plan->meshes[mesh_index];
    for (int b = 0; b < mesh->buffer_count; b++) {
        const MwPlanBuffer *buffer = &mesh->buffers[b];
        if (buffer->persistent || uses[b].programs < 2 || mw_plan_is_on_host(mesh, buffer))
            continue;
        MwInspectStage *stage = &p->stages[uses[b].stage];
        stage->activation_bytes += buffer->bytes;
        stage->held_bytes += mw_plan_buffer_bytes(buffer);
    }
}

static void describe_stages(MwInspectPipeline *p, MwArena *arena)
{
    const MwPlan *plan = p->plan;
    p->stages = MW_NEW(arena, MwInspectStage, plan->stage_count);
    for (int s = 0; s < plan->stage_count; s++) {
        const MwPlanStage *stage = &plan->stages[s];
        double task_s = stage->forward_s + stage->backward_s + stage->weight_s;
        p->stages[s] = (MwInspectStage){.plan = stage,
                                        .mesh = &plan->meshes[stage->mesh],
                                        .in_flight = 1,
                                        .work_s = plan->micro_batches * task_s + stage->update_s};
    }
    p->weight_stage = MW_NEW(arena, int *, plan->mesh_count);
    for (int m = 0; m < plan->mesh_count; m++) {
        const Use *uses = uses_of_mesh(arena, plan, m);
        place_weights(p, arena, m, uses);
        add_activations(p, m, uses);
    }
}

/* ---- Borders ---- */

static int64_t crossing_bytes(const MwTransfer *transfer)
{
    MwArena *arena = mw_arena_new();
    const MwMessages messages = mw_transfer_messages(arena, transfer);
    const int64_t bytes = mw_transfer_crossing_bytes(&messages);
    mw_arena_free(&arena);
    return bytes;
}

static void describe_borders(MwInspectPipeline *p, MwArena *arena)
{
    const MwPlan *plan = p->plan;
    const MwPlanEnds *ends = mw_plan_transfer_ends(arena, plan);
    p->borders = MW_NEW(arena, MwInspectBorder, plan->transfer_count);
    for (int i = 0; i < plan->transfer_count; i++) {
        const MwTransfer transfer = mw_transfer_of_plan(plan, i);
        const bool of_step = ends[i].send.phase == MW_PHASE_UPDATE;
        p->borders[i] = (MwInspectBorder){.transfer = &plan->transfers[i],
                                          .from = ends[i].send,
                                          .to = ends[i].receive,
                                          .runs = of_step ? 1 : plan->micro_batches,
                                          .bytes = crossing_bytes(&transfer),
                                          .least_bytes = mw_transfer_least_bytes(&transfer)};
    }
}

/* ---- Time ---- */

/* Whether the stages lie on the meshes as the schedule has them. */
static bool is_pipeline(const MwPlan *plan, MwPipelineKind kind)
{
    const int chunks = mw_plan_chunks(plan);
    if (plan->mesh_count < 2 || chunks < 1 || chunks > mw_pipeline_most_chunks(kind) ||
        plan->stage_count != mw_pipeline_stages(kind, plan->mesh_count, chunks))
        return false;
    for (int s = 0; s < plan->stage_count; s++)
        if (plan->stages[s].mesh != mw_pipeline_mesh_of(kind, plan->mesh_count, s))
            return false;
    return true;
}

static bool is_time(double time_s)
{
    return time_s >= 0 && time_s < INFINITY; /* false for NaN */
}

/* Whether all times can be drawn. The checker of plans leaves predicted times alone, since no run
 * depends on them. */
static bool are_times(const MwStageTimes *times, int count)
{
    for (int s = 0; s < count; s++) {
        for (int kind = 0; kind < MW_TASK_KIND_COUNT; kind++)
            if (!is_time(times[s].task[kind]))
                return false;
        if (!is_time(times[s].to_next) || !is_time(times[s].to_previous))
            return false;
    }
    return true;
}

/* The kind of a task of a stage that splits its backward. */
static MwTaskKind kind_of(MwPhase phase)
{
    return phase == MW_PHASE_FORWARD    ? MW_TASK_FORWARD
           : phase == MW_PHASE_BACKWARD ? MW_TASK_BACKWARD_INPUT
                                        : MW_TASK_WEIGHT;
}

/* The chunk of a mesh that a program is of. */
static int chunk_of(const MwPlan *plan, int mesh, int program)
{
    for (int s = mesh; s < plan->stage_count; s++) {
        const MwPlanStage *stage = &plan->stages[s];
        if (stage->mesh == mesh && program >= stage->first_program &&
            program < stage->first_program + stage->program_count)
            return s / plan->mesh_count;
    }
    return 0;
}

/* Gives a mesh the order that its tasks have in the plan. Tasks that have nothing to do, which the
 * plan leaves out, stand beside the gradients that it has of the same micro-batch. The mesh keeps
 * its own order where others are left out. */
static void read_order(MwArena *arena, const MwPlan *plan, int index, MwMeshSchedule *order)
{
    const MwPlanMesh *mesh = &plan->meshes[index];
    bool *has[MW_TASK_KIND_COUNT];
    for (int kind = 0; kind < MW_TASK_KIND_COUNT; kind++)
        has[kind] = MW_NEW(arena, bool, mw_plan_chunks(plan));
    MwTask *tasks = MW_NEW(arena, MwTask, 2 * mesh->task_count);
    int count = 0;
    for (int p = 0; p < mesh->program_count; p++)
        has[kind_of(mw_plan_program_phase(&mesh->programs[p]))][chunk_of(plan, index, p)] = true;
    for (int t = 0; t < mesh->task_count; t++) {
        const int program = mesh->tasks[t].program, micro_batch = mesh->tasks[t].micro_batch;
        const MwPhase phase = mw_plan_program_phase(&mesh->programs[program]);
        const int chunk = chunk_of(plan, index, program);
        if (phase == MW_PHASE_UPDATE)
            continue;
        if (phase == MW_PHASE_BACKWARD_WEIGHT && !has[MW_TASK_BACKWARD_INPUT][chunk])
            tasks[count++] = (MwTask){MW_TASK_BACKWARD_INPUT, micro_batch, chunk};
        tasks[count++] = (MwTask){kind_of(phase), micro_batch, chunk};
        if (phase == MW_PHASE_BACKWARD && !has[MW_TASK_WEIGHT][chunk])
            tasks[count++] = (MwTask){MW_TASK_WEIGHT, micro_batch, chunk};
    }
    if (count == order->task_count)
        memcpy(order->tasks, tasks, sizeof *tasks * (size_t)count);
}

/* The schedule of the plan. The order of a timed schedule, which no generator knows, is that of the
 * plan. */
static const MwPipelineSchedule *schedule_of(MwArena *arena, const MwPlan *plan,
                                             MwPipelineKind kind)
{
    MwPipelineSchedule *schedule = mw_pipeline_schedule_new(
        arena, kind, plan->mesh_count, plan->micro_batches, mw_plan_chunks(plan));
    for (int i = 0; i < plan->mesh_count && mw_pipeline_info(kind)->timed; i++) {
        read_order(arena, plan, i, &schedule->meshes[i]);
        mw_mesh_schedule_count(schedule, i);
    }
    return schedule;
}

static void draw_timeline(MwInspectPipeline *p, MwArena *arena)
{
    const MwPlan *plan = p->plan;
    MwPipelineKind kind;
    if (!mw_pipeline_parse(plan->schedule, &kind) || !is_pipeline(plan, kind))
        return;
    const MwPipelineSchedule *schedule = schedule_of(arena, plan, kind);
    if (!mw_pipeline_schedule_check(arena, schedule, mw_diags_new(arena)))
        return;
    const MwStageTimes *times =
        mw_plan_stage_times(arena, plan, mw_plan_transfer_ends(arena, plan));
    if (!are_times(times, plan->stage_count))
        return;
    const MwTimeline *timeline = mw_timeline_new_shared(arena, schedule, times);
    if (!(timeline->total > 0 && timeline->total < INFINITY))
        return;
    MwScheduleView *view = MW_NEW(arena, MwScheduleView, 1);
    *view = (MwScheduleView){.schedule = schedule,
                             .timeline = timeline,
                             .clocks = mw_timeline_new_clocks(arena, schedule),
                             .in_seconds = true};
    p->drawn = view;
    p->bubble_rate = timeline->bubble_rate;
    for (int s = 0; s < plan->stage_count; s++)
        p->stages[s].in_flight = schedule->meshes[plan->stages[s].mesh].slots[s / plan->mesh_count];
}

MwInspectPipeline mw_inspect_pipeline(MwArena *arena, const MwPlan *plan)
{
    MwInspectPipeline pipeline = {.plan = plan};
    describe_stages(&pipeline, arena);
    describe_borders(&pipeline, arena);
    draw_timeline(&pipeline, arena);
    return pipeline;
}

/* ---- Texts ---- */

bool mw_inspect_is_shared(const MwPlan *plan, int mesh)
{
    int count = 0;
    for (int s = 0; s < plan->stage_count; s++)
        count += plan->stages[s].mesh == mesh;
    return count > 1;
}

const char *mw_inspect_range(MwArena *arena, int first, int count)
{
    if (count < 1)
        return "none";
    return count == 1 ? mw_arena_printf(arena, "%d", first)
                      : mw_arena_printf(arena, "%d to %d", first, first + count - 1);
}
