/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/scheduled_plan.h"

#include "tests/unit/plan_parts.h"

/* Buffers of a chunk, each with a slot for every micro-batch. */
enum { IN, OUT, GRADIENT_IN, GRADIENT_OUT, CHUNK_BUFFERS };

enum { ELEMENTS = 16 };

typedef struct {
    MwArena *arena;
    const ScheduledPlan *of;
    MwPlan *plan;
    int stages;
} Builder;

static int buffer_of(int chunk, int which)
{
    return chunk * CHUNK_BUFFERS + which;
}

/* Activations of stage s go by transfer s, its gradients by stages + s. */
static int transfer_of(const Builder *b, int stage, bool backward)
{
    return backward ? b->stages + stage : stage;
}

static void add_buffers(Builder *b, MwPlanMesh *mesh)
{
    const int count = b->of->schedule->chunks * CHUNK_BUFFERS;
    mesh->buffers = MW_NEW(b->arena, MwPlanBuffer, count + 1);
    mesh->buffer_count = count + 1;
    for (int i = 0; i <= count; i++) {
        MwPlanBuffer *buffer = &mesh->buffers[i];
        *buffer = (MwPlanBuffer){.name = "b",
                                 .tensor = vector(ELEMENTS),
                                 .offset = mesh->arena_bytes,
                                 .bytes = 4 * ELEMENTS,
                                 .slots = i < count ? b->plan->micro_batches : 1};
        mesh->arena_bytes += mw_round_up(mw_plan_buffer_bytes(buffer), MW_BUFFER_ALIGNMENT);
    }
}

static void add_instr(Builder *b, MwPlanProgram *program, MwInstrKind kind, int target, int buffer,
                      double time_s)
{
    const MwPlanOperand operand = {buffer,
                                   kind == MW_INSTR_SEND ? MW_ACCESS_READ : MW_ACCESS_WRITE};
    program->instrs[program->instr_count] = plan_instr(b->arena, kind, target, &operand, 1);
    program->instrs[program->instr_count++].time_s = time_s;
}

static void add_transfer(Builder *b, int index, int from, int to, bool backward)
{
    const MwPipelineSchedule *schedule = b->of->schedule;
    const int meshes = schedule->mesh_count;
    b->plan->transfers[index] = (MwPlanTransfer){
        .name = "t",
        .tensor = vector(ELEMENTS),
        .from_mesh = mw_pipeline_mesh_of(schedule->kind, meshes, from),
        .from_buffer = buffer_of(from / meshes, backward ? GRADIENT_OUT : OUT),
        .to_mesh = mw_pipeline_mesh_of(schedule->kind, meshes, to),
        .to_buffer = buffer_of(to / meshes, backward ? GRADIENT_IN : IN),
        .time_s = backward ? b->of->times[from].to_previous : b->of->times[from].to_next};
    b->plan->transfer_count = (int)mw_max(b->plan->transfer_count, index + 1);
}

/* The program of a kind of task of a stage; weights have none to send. */
static void add_program(Builder *b, int mesh, int chunk, MwTaskKind kind)
{
    static const char *const names[] = {[MW_TASK_FORWARD] = "forward",
                                        [MW_TASK_BACKWARD] = "backward",
                                        [MW_TASK_BACKWARD_INPUT] = "backward",
                                        [MW_TASK_WEIGHT] = "backward_weight"};
    const int stage = mw_pipeline_stage(b->of->schedule, mesh, chunk);
    const bool backward = kind != MW_TASK_FORWARD, crosses = b->plan->mesh_count > 1;
    const int before = backward ? stage + 1 : stage - 1, after = backward ? stage - 1 : stage + 1;
    MwPlanProgram *program = &b->plan->meshes[mesh].programs[b->plan->meshes[mesh].program_count++];
    *program = (MwPlanProgram){.name = mw_arena_printf(b->arena, "%s.%d", names[kind], chunk),
                               .instrs = MW_NEW(b->arena, MwPlanInstr, 3)};
    if (kind != MW_TASK_WEIGHT && crosses && before >= 0 && before < b->stages)
        add_instr(b, program, MW_INSTR_RECEIVE, transfer_of(b, before, backward),
                  buffer_of(chunk, backward ? GRADIENT_IN : IN), 0);
    add_instr(b, program, MW_INSTR_KERNEL, 0, buffer_of(chunk, backward ? GRADIENT_OUT : OUT),
              b->of->times[stage].task[kind]);
    if (kind == MW_TASK_WEIGHT || !crosses || after < 0 || after >= b->stages)
        return;
    add_instr(b, program, MW_INSTR_SEND, transfer_of(b, stage, backward),
              buffer_of(chunk, backward ? GRADIENT_OUT : OUT), 0);
    add_transfer(b, transfer_of(b, stage, backward), stage, after, backward);
}

static void add_update(Builder *b, MwPlanMesh *mesh)
{
    MwPlanProgram *program = &mesh->programs[mesh->program_count++];
    const int last = mesh->buffer_count - 1;
    const MwPlanOperand sum[] = {{last, MW_ACCESS_READ}, {last, MW_ACCESS_WRITE}};
    *program = (MwPlanProgram){.name = "update", .instrs = MW_NEW(b->arena, MwPlanInstr, 2)};
    program->instrs[0] = plan_all_reduce(b->arena, sum, ELEMENTS);
    program->instrs[0].time_s = b->of->sum_s;
    program->instr_count = 1;
    add_instr(b, program, MW_INSTR_KERNEL, 0, last, b->of->update_s);
    mesh->tasks[mesh->task_count++] = (MwPlanTask){mesh->program_count - 1, -1};
}

static void add_mesh(Builder *b, int index)
{
    const MwPipelineSchedule *schedule = b->of->schedule;
    const MwMeshSchedule *tasks = &schedule->meshes[index];
    MwPlanMesh *mesh = &b->plan->meshes[index];
    int *programs = MW_NEW(b->arena, int, schedule->chunks *MW_TASK_KIND_COUNT);
    *mesh = (MwPlanMesh){
        .shape = {.axis_count = 1, .size = {b->of->devices}},
        .first_rank = index * b->of->devices,
        .programs = MW_NEW(b->arena, MwPlanProgram, schedule->chunks * MW_TASK_KIND_COUNT + 1),
        .tasks = MW_NEW(b->arena, MwPlanTask, tasks->task_count + 1)};
    add_buffers(b, mesh);
    for (int chunk = 0; chunk < mw_pipeline_mesh_chunks(schedule, index); chunk++)
        for (int kind = 0; kind < MW_TASK_KIND_COUNT; kind++)
            if (mw_pipeline_has_task(schedule->kind, (MwTaskKind)kind)) {
                programs[chunk * MW_TASK_KIND_COUNT + kind] = mesh->program_count;
                add_program(b, index, chunk, (MwTaskKind)kind);
            }
    for (int t = 0; t < tasks->task_count; t++)
        mesh->tasks[mesh->task_count++] = (MwPlanTask){
            programs[tasks->tasks[t].chunk * MW_TASK_KIND_COUNT + tasks->tasks[t].kind],
            tasks->tasks[t].micro_batch};
    add_update(b, mesh);
}

MwPlan *scheduled_plan(MwArena *arena, const ScheduledPlan *of)
{
    const MwPipelineSchedule *schedule = of->schedule;
    Builder b = {.arena = arena,
                 .of = of,
                 .plan = MW_NEW(arena, MwPlan, 1),
                 .stages = mw_pipeline_stage_count(schedule)};
    *b.plan = (MwPlan){.model = "scheduled",
                       .cluster = "local",
                       .backend = "cpu",
                       .rank_count = schedule->mesh_count * of->devices,
                       .micro_batches = schedule->micro_batches,
                       .schedule = mw_pipeline_info(schedule->kind)->name,
                       .meshes = MW_NEW(arena, MwPlanMesh, schedule->mesh_count),
                       .mesh_count = schedule->mesh_count,
                       .transfers = MW_NEW(arena, MwPlanTransfer, 2 * b.stages)};
    for (int m = 0; m < schedule->mesh_count; m++)
        add_mesh(&b, m);
    return b.plan;
}
