/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/inspect/totals.h"

#include "codegen/plan/timeline.h"

#include <string.h>

bool mw_inspect_is_working_copy(const MwPlanMesh *mesh, const MwPlanWeight *state)
{
    for (int i = 0; i < mesh->weight_count && mesh->has_host && state->is_copy; i++) {
        const MwPlanWeight *weight = &mesh->weights[i];
        if (!weight->is_state && strcmp(weight->name, state->copy_of) == 0)
            return mw_plan_is_on_host(mesh, &mesh->buffers[weight->buffer]);
    }
    return false;
}

MwInspectTotals mw_inspect_totals(const MwPlanMesh *mesh)
{
    MwInspectTotals totals = {0};
    for (int i = 0; i < mesh->weight_count; i++) {
        const MwPlanWeight *weight = &mesh->weights[i];
        const MwPlanBuffer *buffer = &mesh->buffers[weight->buffer];
        *(mw_plan_is_on_host(mesh, buffer)                                ? &totals.kept_bytes
          : weight->is_state && !mw_inspect_is_working_copy(mesh, weight) ? &totals.state_bytes
                                                                          : &totals.weight_bytes) +=
            buffer->bytes;
    }
    for (int i = 0; i < mesh->input_count; i++)
        totals.input_bytes += mw_plan_buffer_bytes(&mesh->buffers[mesh->inputs[i].buffer]);
    totals.other_bytes =
        mesh->arena_bytes - totals.weight_bytes - totals.state_bytes - totals.input_bytes;
    for (int i = 0; i < mesh->operator_count; i++) {
        const MwPlanOperator *op = &mesh->operators[i];
        totals.collective_count += op->collective_count;
        for (int k = 0; k < op->collective_count; k++)
            totals.communicated_bytes += op->collectives[k].bytes;
    }
    return totals;
}

/* Adds the instructions of a task. */
static void add_calls(const MwPlanProgram *program, MwCollective kind, int axis, MwInspectSum *sum)
{
    for (int i = 0; i < program->instr_count; i++) {
        const MwPlanInstr *instr = &program->instrs[i];
        if (instr->kind != MW_INSTR_COLLECTIVE || instr->target != (int)kind || instr->axis != axis)
            continue;
        sum->calls += mw_plan_instr_runs(program, i);
        sum->calls_s += mw_plan_instr_runs(program, i) * instr->time_s;
    }
}

MwInspectSum mw_inspect_sum_collectives(const MwPlanMesh *mesh, MwCollective kind, int axis)
{
    MwInspectSum sum = {0};
    for (int i = 0; i < mesh->operator_count; i++) {
        for (int k = 0; k < mesh->operators[i].collective_count; k++) {
            const MwPlanCollective *collective = &mesh->operators[i].collectives[k];
            if (collective->kind != kind || collective->axis != axis)
                continue;
            sum.count++;
            sum.bytes += collective->bytes;
            sum.time_s += collective->time_s;
        }
    }
    for (int t = 0; t < mesh->task_count; t++)
        add_calls(&mesh->programs[mesh->tasks[t].program], kind, axis, &sum);
    return sum;
}

/* Adds the instructions of a program. */
static void add_work(const MwPlanProgram *program, MwInspectWork *work)
{
    for (int i = 0; i < program->instr_count; i++) {
        const MwPlanInstr *instr = &program->instrs[i];
        const double time_s = mw_plan_instr_runs(program, i) * instr->time_s;
        work->kernel_s += instr->kind == MW_INSTR_KERNEL ? time_s : 0;
        work->routine_s += instr->kind == MW_INSTR_ROUTINE ? time_s : 0;
        work->collective_s += instr->kind == MW_INSTR_COLLECTIVE ? time_s : 0;
    }
}

MwInspectWork mw_inspect_work(const MwPlanMesh *mesh, MwPhase phase)
{
    MwInspectWork work = {0};
    for (int t = 0; t < mesh->task_count; t++) {
        const MwPlanProgram *program = &mesh->programs[mesh->tasks[t].program];
        if (mw_plan_program_phase(program) == phase)
            add_work(program, &work);
    }
    return work;
}

double mw_inspect_gap(const MwPlanCosts *costs)
{
    if (costs->objective_s <= 0)
        return 0;
    return (costs->objective_s - costs->lower_bound_s) / costs->objective_s;
}

const MwPlanWeight *mw_inspect_state_of(const MwPlanMesh *mesh, const MwPlanWeight *weight)
{
    const MwPlanWeight *best = NULL;
    size_t length = strlen(weight->name);
    for (int i = 0; i < mesh->weight_count; i++) {
        const MwPlanWeight *state = &mesh->weights[i];
        if (!state->is_state || state->is_copy || strncmp(state->name, weight->name, length) != 0 ||
            state->name[length] != '.' || strchr(state->name + length + 1, '.'))
            continue;
        if (!best || mesh->buffers[state->buffer].bytes < mesh->buffers[best->buffer].bytes)
            best = state;
    }
    return best;
}

static int add_paddings(MwInspectPadding *to, const char *kind, const char *name,
                        const MwTensor *global, const MwTensor *held)
{
    int count = 0;
    for (int d = 0; d < global->rank; d++)
        if (global->dim[d] != held->dim[d])
            to[count++] = (MwInspectPadding){kind, name, d, global->dim[d], held->dim[d]};
    return count;
}

MwInspectPadding *mw_inspect_paddings(MwArena *arena, const MwPlanMesh *mesh, int *count)
{
    MwInspectPadding *all =
        MW_NEW(arena, MwInspectPadding,
               MW_MAX_RANK * (mesh->input_count + mesh->weight_count + mesh->output_count));
    int n = 0;
    for (int i = 0; i < mesh->input_count; i++)
        n += add_paddings(all + n, "input", mesh->inputs[i].name, &mesh->inputs[i].global,
                          mw_plan_held(&mesh->inputs[i]));
    for (int i = 0; i < mesh->weight_count; i++)
        if (!mesh->weights[i].is_state)
            n += add_paddings(all + n, "weight", mesh->weights[i].name, &mesh->weights[i].global,
                              mw_plan_held(&mesh->weights[i]));
    for (int i = 0; i < mesh->output_count; i++)
        n += add_paddings(all + n, "output", mesh->outputs[i].name, &mesh->outputs[i].global,
                          mw_plan_held(&mesh->outputs[i]));
    *count = n;
    return all;
}

const char *mw_spec_string(MwArena *arena, MwSpec spec, int rank)
{
    char buffer[MW_SPEC_TEXT_BYTES];
    return mw_arena_strdup(arena, mw_spec_text(spec, rank, buffer));
}

const char *mw_tensor_string(MwArena *arena, const MwTensor *tensor)
{
    char buffer[MW_TENSOR_TEXT_BYTES];
    return mw_arena_strdup(arena, mw_tensor_text(tensor, buffer));
}

/* Whether two collectives of an operator read the same. */
static bool is_alike(const MwPlanCollective *a, const MwPlanCollective *b)
{
    return a->kind == b->kind && a->axis == b->axis && a->bytes == b->bytes;
}

const char *mw_inspect_collectives(MwArena *arena, const MwPlanOperator *op, const char *separator)
{
    MwText text = {.arena = arena};
    mw_text_add(&text, "");
    for (int i = 0; i < op->collective_count; i++) {
        const MwPlanCollective *collective = &op->collectives[i];
        int before = 0, all = 0;
        for (int k = 0; k < op->collective_count; k++) {
            before += k < i && is_alike(&op->collectives[k], collective);
            all += is_alike(&op->collectives[k], collective);
        }
        if (before)
            continue;
        mw_text_printf(&text, "%s%s/%d %s", text.bytes ? separator : "",
                       mw_collective_name(collective->kind), collective->axis,
                       mw_bytes_text(arena, (double)collective->bytes));
        if (all > 1)
            mw_text_printf(&text, " (x%d)", all);
    }
    return text.at;
}
