/* SPDX-License-Identifier: MIT */
#include "runtime/plan/evaluation.h"

#include <string.h>

/* What is known of a mesh: it only grows, until the walks over all meshes add nothing. */
typedef struct {
    const MwPlanMesh *mesh;
    bool **needs;      /* [programs][instrs] the instruction runs */
    bool *needs_input; /* [inputs] */
    int *first_slot;   /* [buffers] the place of the buffer's first slot in `live` */
    bool *live;        /* [slots] its value is used later in the step; during a walk */
    int slot_count;
} Slice;

typedef struct {
    MwArena *arena;
    const MwPlan *plan;
    Slice *slices;       /* [meshes] */
    bool *needs_message; /* [transfers] */
    bool grew;
} Slicer;

static void need(Slicer *slicer, bool *flag)
{
    slicer->grew |= !*flag;
    *flag = true;
}

static bool *live_at(const Slice *slice, int buffer, int micro_batch)
{
    return &slice->live[slice->first_slot[buffer] +
                        mw_plan_slot(&slice->mesh->buffers[buffer], micro_batch)];
}

/* ---- One walk back through the tasks of a mesh ---- */

/* Whether the instruction gives something that is used. */
static bool gives(const Slicer *slicer, const Slice *slice, const MwPlanInstr *instr, int micro)
{
    if (instr->kind == MW_INSTR_SEND)
        return slicer->needs_message[instr->target];
    for (int k = 0; k < instr->operand_count; k++)
        if (instr->operands[k].access != MW_ACCESS_READ &&
            *live_at(slice, instr->operands[k].buffer, micro))
            return true;
    return false;
}

/* The instruction runs: what it writes is not used before it, what it reads is. In a loop, what it
 * writes may be used before, by an earlier run. */
static void use(Slicer *slicer, const Slice *slice, const MwPlanInstr *instr, int micro, bool loops)
{
    for (int k = 0; k < instr->operand_count; k++)
        if (instr->operands[k].access == MW_ACCESS_WRITE && !loops)
            *live_at(slice, instr->operands[k].buffer, micro) = false;
    for (int k = 0; k < instr->operand_count; k++)
        if (instr->operands[k].access != MW_ACCESS_WRITE)
            *live_at(slice, instr->operands[k].buffer, micro) = true;
    if (instr->kind == MW_INSTR_RECEIVE)
        need(slicer, &slicer->needs_message[instr->target]);
}

/* Instructions first .. first + count - 1, which run together or not at all: one, or a loop. */
static void walk_group(Slicer *slicer, Slice *slice, const MwPlanTask *task, int first, int count,
                       bool loops)
{
    const MwPlanInstr *instrs = slice->mesh->programs[task->program].instrs;
    bool *needs = slice->needs[task->program], runs = false;
    for (int i = first; i < first + count; i++)
        runs |= needs[i] || gives(slicer, slice, &instrs[i], task->micro_batch);
    for (int i = first + count - 1; runs && i >= first; i--) {
        need(slicer, &needs[i]);
        use(slicer, slice, &instrs[i], task->micro_batch, loops);
    }
}

static void walk_task(Slicer *slicer, Slice *slice, const MwPlanTask *task)
{
    const MwPlanProgram *program = &slice->mesh->programs[task->program];
    for (int end = program->instr_count; end > 0;) {
        const MwPlanLoop *loop = mw_plan_loop_at(program, end - 1);
        const int first = loop ? loop->first : end - 1;
        walk_group(slicer, slice, task, first, end - first, loop != NULL);
        end = first;
    }
    for (int i = 0; i < slice->mesh->input_count; i++) {
        const MwPlanInput *input = &slice->mesh->inputs[i];
        bool *live = live_at(slice, input->buffer, task->micro_batch);
        if (input->program != task->program || !(*live || slice->needs_input[i]))
            continue;
        need(slicer, &slice->needs_input[i]);
        *live = false;
    }
}

static void walk_mesh(Slicer *slicer, Slice *slice)
{
    const MwPlanMesh *mesh = slice->mesh;
    memset(slice->live, 0, (size_t)slice->slot_count);
    for (int i = 0; i < mesh->metric_count; i++)
        *live_at(slice, mesh->metrics[i].buffer, -1) = true;
    for (int t = mesh->task_count - 1; t >= 0; t--)
        walk_task(slicer, slice, &mesh->tasks[t]);
}

static Slice slice_of(MwArena *arena, const MwPlanMesh *mesh)
{
    Slice slice = {.mesh = mesh,
                   .needs = MW_NEW(arena, bool *, mesh->program_count),
                   .needs_input = MW_NEW(arena, bool, mesh->input_count),
                   .first_slot = MW_NEW(arena, int, mesh->buffer_count)};
    for (int p = 0; p < mesh->program_count; p++)
        slice.needs[p] = MW_NEW(arena, bool, mesh->programs[p].instr_count);
    for (int i = 0; i < mesh->buffer_count; i++) {
        slice.first_slot[i] = slice.slot_count;
        slice.slot_count += mesh->buffers[i].slots;
    }
    slice.live = MW_NEW(arena, bool, slice.slot_count);
    return slice;
}

/* ---- The plan of what is needed ---- */

/* `transfers`: the new number of each transfer. */
static MwPlanProgram kept_program(MwArena *arena, const MwPlanProgram *from, const bool *needs,
                                  const int *transfers)
{
    MwPlanProgram program = *from;
    int *kept_before = MW_NEW(arena, int, from->instr_count + 1);
    program.instrs = MW_NEW(arena, MwPlanInstr, from->instr_count);
    program.loops = MW_NEW(arena, MwPlanLoop, from->loop_count);
    program.instr_count = program.loop_count = 0;
    for (int i = 0; i < from->instr_count; i++) {
        kept_before[i] = program.instr_count;
        if (!needs[i])
            continue;
        MwPlanInstr *instr = &program.instrs[program.instr_count++];
        *instr = from->instrs[i];
        if (instr->kind == MW_INSTR_SEND || instr->kind == MW_INSTR_RECEIVE)
            instr->target = transfers[instr->target];
    }
    for (int i = 0; i < from->loop_count; i++) {
        if (!needs[from->loops[i].first])
            continue;
        program.loops[program.loop_count] = from->loops[i];
        program.loops[program.loop_count++].first = kept_before[from->loops[i].first];
    }
    return program;
}

static void keep_inputs(MwArena *arena, const Slice *slice, MwPlanMesh *mesh)
{
    mesh->inputs = MW_NEW(arena, MwPlanInput, slice->mesh->input_count);
    mesh->input_count = 0;
    for (int i = 0; i < slice->mesh->input_count; i++)
        if (slice->needs_input[i])
            mesh->inputs[mesh->input_count++] = slice->mesh->inputs[i];
}

/* Keeps the tasks of programs that do something, or of one at least. */
static void keep_tasks(MwArena *arena, const Slice *slice, MwPlanMesh *mesh)
{
    bool *runs = MW_NEW(arena, bool, mesh->program_count), any = false;
    for (int p = 0; p < mesh->program_count; p++)
        any |= runs[p] = mesh->programs[p].instr_count > 0;
    for (int i = 0; i < mesh->input_count; i++)
        any |= runs[mesh->inputs[i].program] = true;
    mesh->tasks = MW_NEW(arena, MwPlanTask, slice->mesh->task_count);
    mesh->task_count = 0;
    for (int t = 0; t < slice->mesh->task_count; t++) {
        const MwPlanTask *task = &slice->mesh->tasks[t];
        if (!any && task->micro_batch >= 0)
            any = runs[task->program] = true;
        if (runs[task->program])
            mesh->tasks[mesh->task_count++] = *task;
    }
}

static MwPlanMesh kept_mesh(MwArena *arena, const Slice *slice, const int *transfers)
{
    MwPlanMesh mesh = *slice->mesh;
    mesh.programs = MW_NEW(arena, MwPlanProgram, mesh.program_count);
    for (int p = 0; p < mesh.program_count; p++)
        mesh.programs[p] =
            kept_program(arena, &slice->mesh->programs[p], slice->needs[p], transfers);
    keep_inputs(arena, slice, &mesh);
    keep_tasks(arena, slice, &mesh);
    mesh.outputs = NULL;
    mesh.output_count = 0;
    return mesh;
}

static const MwPlan *kept_plan(const Slicer *slicer)
{
    MwArena *arena = slicer->arena;
    MwPlan *plan = mw_arena_dup(arena, slicer->plan, sizeof *plan);
    int *transfers = MW_NEW(arena, int, plan->transfer_count);
    plan->transfers = MW_NEW(arena, MwPlanTransfer, slicer->plan->transfer_count);
    plan->transfer_count = 0;
    for (int t = 0; t < slicer->plan->transfer_count; t++) {
        transfers[t] = plan->transfer_count;
        if (slicer->needs_message[t])
            plan->transfers[plan->transfer_count++] = slicer->plan->transfers[t];
    }
    plan->meshes = MW_NEW(arena, MwPlanMesh, plan->mesh_count);
    for (int m = 0; m < plan->mesh_count; m++)
        plan->meshes[m] = kept_mesh(arena, &slicer->slices[m], transfers);
    return plan;
}

const MwPlan *mw_plan_evaluation(MwArena *arena, const MwPlan *plan)
{
    Slicer slicer = {.arena = arena,
                     .plan = plan,
                     .slices = MW_NEW(arena, Slice, plan->mesh_count),
                     .needs_message = MW_NEW(arena, bool, plan->transfer_count)};
    for (int m = 0; m < plan->mesh_count; m++)
        slicer.slices[m] = slice_of(arena, &plan->meshes[m]);
    do {
        slicer.grew = false;
        for (int m = 0; m < plan->mesh_count; m++)
            walk_mesh(&slicer, &slicer.slices[m]);
    } while (slicer.grew);
    return kept_plan(&slicer);
}

bool mw_plan_changes(const MwPlanMesh *mesh, int weight)
{
    const int buffer = mesh->weights[weight].buffer;
    for (int p = 0; p < mesh->program_count && !mesh->weights[weight].reset_each_step; p++)
        for (int i = 0; i < mesh->programs[p].instr_count; i++)
            for (int k = 0; k < mesh->programs[p].instrs[i].operand_count; k++)
                if (mesh->programs[p].instrs[i].operands[k].buffer == buffer &&
                    mesh->programs[p].instrs[i].operands[k].access != MW_ACCESS_READ)
                    return true;
    return false;
}
