/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/simulate/measured.h"

#include "tools/trace/read.h"

#include <math.h>

typedef struct {
    MwArena *arena;
    const MwTraceRun *run;
    const int *steps; /* that count */
    int step_count;
} Reader;

/* The mean over the steps and the ranks of a mesh. */
static double mean_s(const Reader *reader, const MwTraceMesh *mesh, const MwTraceTimes *times)
{
    double sum_s = 0;
    for (int i = 0; i < reader->step_count; i++)
        if (reader->steps[i] < times->step_s.count)
            sum_s += times->step_s.at[reader->steps[i]];
    return mesh->ranks ? sum_s / reader->step_count / mesh->ranks : 0;
}

static int count_runs(const MwPlanMesh *mesh, int program)
{
    int runs = 0;
    for (int t = 0; t < mesh->task_count; t++)
        runs += mesh->tasks[t].program == program;
    return runs;
}

/* Sets the times of a program's instructions. A receive takes as long as its message needs, which
 * is simulated. Returns the seconds of a step that went into them. */
static double take_program(const Reader *reader, const MwTraceMesh *from, const MwPlanMesh *mesh,
                           int index)
{
    MwPlanProgram *program = &mesh->programs[index];
    const int runs = count_runs(mesh, index);
    double sum_s = 0;
    program->instrs = mw_arena_dup(reader->arena, program->instrs,
                                   sizeof *program->instrs * (size_t)program->instr_count);
    for (int i = 0; i < program->instr_count && runs; i++) {
        const double step_s = mean_s(reader, from, &from->instrs[index][i]);
        const bool receives = program->instrs[i].kind == MW_INSTR_RECEIVE;
        program->instrs[i].time_s = receives ? 0 : step_s / runs / mw_plan_instr_runs(program, i);
        sum_s += step_s;
    }
    return sum_s;
}

/* Adds the rest of a step to all runs of instructions alike, since it is between them. */
static void spread_rest(const MwPlanMesh *mesh, double rest_s)
{
    double runs = 0;
    for (int p = 0; p < mesh->program_count; p++)
        for (int i = 0; i < mesh->programs[p].instr_count; i++)
            runs += count_runs(mesh, p) * mw_plan_instr_runs(&mesh->programs[p], i);
    for (int p = 0; p < mesh->program_count && runs > 0; p++)
        for (int i = 0; i < mesh->programs[p].instr_count; i++)
            mesh->programs[p].instrs[i].time_s += rest_s / runs;
}

/* Returns the seconds of a step. */
static double take_mesh(const Reader *reader, const MwTraceMesh *from, MwPlanMesh *mesh)
{
    const double step_s = mean_s(reader, from, &from->rest[MW_TRACE_STEPS]);
    double rest_s = step_s - mean_s(reader, from, &from->rest[MW_TRACE_WAITS]);
    mesh->programs = mw_arena_dup(reader->arena, mesh->programs,
                                  sizeof *mesh->programs * (size_t)mesh->program_count);
    for (int p = 0; p < mesh->program_count; p++)
        rest_s -= take_program(reader, from, mesh, p);
    if (rest_s > 0)
        spread_rest(mesh, rest_s);
    return step_s;
}

bool mw_simulate_measured(MwArena *arena, const MwPlan *plan, const char *trace,
                          MwMeasuredPlan *measured, MwDiags *diags)
{
    Reader reader = {.arena = arena, .run = mw_trace_read(arena, plan, &trace, 1, diags)};
    if (!reader.run)
        return false;
    reader.steps = mw_trace_steps(arena, reader.run, &reader.step_count);
    for (int m = 0; m < plan->mesh_count; m++)
        if (reader.step_count == 0 || reader.run->meshes[m].ranks == 0) {
            mw_diag_error(diags, mw_span_none(), "%s: it has no step of all meshes", trace);
            return false;
        }
    MwPlan *copy = mw_arena_dup(arena, plan, sizeof *plan);
    copy->meshes =
        mw_arena_dup(arena, plan->meshes, sizeof *plan->meshes * (size_t)plan->mesh_count);
    *measured = (MwMeasuredPlan){.plan = copy, .steps = reader.step_count};
    for (int m = 0; m < plan->mesh_count; m++)
        measured->step_s =
            fmax(measured->step_s, take_mesh(&reader, &reader.run->meshes[m], &copy->meshes[m]));
    return true;
}
