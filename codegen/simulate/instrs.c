/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/simulate/instrs.h"

static const MwPlanProgram *program_of(const MwSimPlan *of, const MwSimulatedTask *task)
{
    const MwPlanMesh *mesh = &of->plan->meshes[task->mesh];
    return &mesh->programs[mesh->tasks[task->task].program];
}

static int64_t count_instrs(const MwSimPlan *of, const MwSimulation *simulation)
{
    int64_t count = 0;
    for (int t = 0; t < simulation->task_count; t++)
        count += program_of(of, &simulation->tasks[t])->instr_count;
    return count;
}

/* When what is `offset_s` from the beginning of a program begins in a task: it is in the last piece
 * that begins no later. */
static double begin_s(const MwSimProgram *program, int ops, const MwSimulatedTask *task,
                      double offset_s)
{
    double piece_s = 0;
    int piece = 0;
    for (; piece < ops && piece_s + program->piece_s[piece] <= offset_s; piece++)
        piece_s += program->piece_s[piece];
    return task->piece_s[piece] + (offset_s - piece_s) * task->factor;
}

static void add_task(const MwSimPlan *of, MwSimulation *simulation, int index)
{
    const MwSimulatedTask *task = &simulation->tasks[index];
    const MwPlanProgram *program = program_of(of, task);
    const MwSimMesh *mesh = &of->meshes[task->mesh];
    const int number = (int)(program - of->plan->meshes[task->mesh].programs);
    for (int i = 0; i < program->instr_count; i++) {
        const double time_s = program->instrs[i].time_s * task->factor;
        const double begin =
            begin_s(&mesh->programs[number], mesh->traffic.programs[number].op_count, task,
                    mesh->programs[number].instr_s[i]);
        if (time_s > 0)
            simulation->instrs[simulation->instr_count++] =
                (MwSimulatedInstr){index, i, begin, begin + time_s};
    }
}

void mw_sim_instrs(MwArena *arena, const MwSimPlan *of, MwSimulation *simulation)
{
    const int64_t count = count_instrs(of, simulation);
    if (count > MW_MOST_SIMULATED_INSTRS)
        return;
    simulation->instrs = MW_NEW(arena, MwSimulatedInstr, count);
    for (int t = 0; t < simulation->task_count; t++)
        add_task(of, simulation, t);
}
