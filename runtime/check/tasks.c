/* SPDX-License-Identifier: MIT */
/* The tasks of a mesh: every program runs once on each micro-batch, or without one; and what runs
 * without one has no choice of slots. */
#include "runtime/check/rules.h"

/* How often a program runs. */
typedef struct {
    int64_t on_micros, without;
} Runs;

static bool check_task(const MwCheck *check, int index)
{
    const MwPlanTask *task = &check->mesh->tasks[index];
    if (task->program < 0 || task->program >= check->mesh->program_count)
        mw_check_error(check, "task %d runs program %d, which does not exist", index,
                       task->program);
    else if (task->micro_batch < -1 || task->micro_batch >= check->plan->micro_batches)
        mw_check_error(check, "task %d is of micro-batch %d of %d", index, task->micro_batch,
                       check->plan->micro_batches);
    else
        return true;
    return false;
}

/* A program that runs as often as there are micro-batches runs on each of them. */
static void check_each_once(const MwCheck *check, int program)
{
    const MwPlanMesh *mesh = check->mesh;
    bool *seen = MW_NEW(check->arena, bool, check->plan->micro_batches);
    for (int t = 0; t < mesh->task_count; t++) {
        const int micro = mesh->tasks[t].micro_batch;
        if (mesh->tasks[t].program != program)
            continue;
        if (seen[micro])
            mw_check_error(check, "program %s runs on micro-batch %d twice",
                           mesh->programs[program].name, micro);
        seen[micro] = true;
    }
}

static void check_runs(const MwCheck *check, int program, const Runs *runs)
{
    const char *name = check->mesh->programs[program].name;
    if (runs->on_micros && runs->without)
        mw_check_error(check, "program %s runs both on micro-batches and without one", name);
    else if (runs->on_micros && runs->on_micros != check->plan->micro_batches)
        mw_check_error(check, "program %s runs %lld times, and there are %d micro-batches", name,
                       (long long)runs->on_micros, check->plan->micro_batches);
    else if (runs->on_micros)
        check_each_once(check, program);
}

/* Checks that a buffer that is used without a micro-batch has one slot. */
static void check_slots(const MwCheck *check, const char *user, int buffer)
{
    const MwPlanBuffer *used = &check->mesh->buffers[buffer];
    if (used->slots != 1)
        mw_check_error(check, "%s uses buffer %d '%s', which has %d slots, without a micro-batch",
                       user, buffer, used->name, used->slots);
}

static void check_program_slots(const MwCheck *check, const MwPlanProgram *program)
{
    const char *user = mw_arena_printf(check->arena, "program %s", program->name);
    for (int i = 0; i < program->instr_count; i++)
        for (int k = 0; k < program->instrs[i].operand_count; k++)
            check_slots(check, user, program->instrs[i].operands[k].buffer);
}

/* Checks that data of micro-batches belongs to a program that runs on micro-batches. */
static void check_data_program(const MwCheck *check, const Runs *runs, const char *kind,
                               const char *name, int program)
{
    if (program < 0 || program >= check->mesh->program_count)
        mw_check_error(check, "%s '%s' belongs to program %d, which does not exist", kind, name,
                       program);
    else if (!runs[program].on_micros)
        mw_check_error(check, "%s '%s' belongs to program %s, which runs on no micro-batch", kind,
                       name, check->mesh->programs[program].name);
}

static void check_data(const MwCheck *check, const Runs *runs)
{
    const MwPlanMesh *mesh = check->mesh;
    for (int i = 0; i < mesh->input_count; i++)
        check_data_program(check, runs, "input", mesh->inputs[i].name, mesh->inputs[i].program);
    for (int i = 0; i < mesh->output_count; i++) {
        const MwPlanOutput *output = &mesh->outputs[i];
        if (!output->whole)
            check_data_program(check, runs, "output", output->name, output->program);
        else if (output->program != -1)
            mw_check_error(check, "output '%s' is whole and belongs to program %d", output->name,
                           output->program);
        else
            check_slots(check, "the end of the step", output->buffer);
    }
    for (int i = 0; i < mesh->weight_count; i++)
        check_slots(check, "setting the weights", mesh->weights[i].buffer);
    for (int i = 0; i < mesh->metric_count; i++)
        check_slots(check, "the end of the step", mesh->metrics[i].buffer);
}

void mw_check_tasks(const MwCheck *check)
{
    const MwPlanMesh *mesh = check->mesh;
    Runs *runs = MW_NEW(check->arena, Runs, mesh->program_count);
    int64_t on_micros = 0;
    for (int t = 0; t < mesh->task_count; t++) {
        if (!check_task(check, t))
            return;
        const bool has_micro = mesh->tasks[t].micro_batch >= 0;
        runs[mesh->tasks[t].program].on_micros += has_micro;
        runs[mesh->tasks[t].program].without += !has_micro;
        on_micros += has_micro;
    }
    if (!on_micros)
        mw_check_error(check, "no program runs on the micro-batches");
    for (int p = 0; p < mesh->program_count; p++) {
        check_runs(check, p, &runs[p]);
        if (runs[p].without)
            check_program_slots(check, &mesh->programs[p]);
    }
    check_data(check, runs);
}
