/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/trace/compare.h"

#include "runtime/plan/origin.h"
#include "tools/text_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Rows ---- */

static MwTraceRow *find_row(MwTraceReport *report, MwTraceRows *rows, const char *name, int mesh)
{
    for (int r = 0; r < rows->count; r++)
        if (rows->at[r].mesh == mesh && strcmp(rows->at[r].name, name) == 0)
            return &rows->at[r];
    MwTraceRow *row = mw_vec_add(report->arena, rows);
    *row = (MwTraceRow){.name = name,
                        .source = "",
                        .mesh = mesh,
                        .step_s = MW_NEW(report->arena, double, report->step_count)};
    return row;
}

/* Adds `sign` times the measured times to those of the row. */
static void add_times(const MwTraceReport *report, MwTraceRow *row, const MwTraceTimes *times,
                      double sign)
{
    const int ranks = report->run->meshes[row->mesh].ranks;
    for (int s = 0; s < report->step_count && ranks; s++)
        if (report->steps[s] < times->step_s.count)
            row->step_s[s] += sign * times->step_s.at[report->steps[s]] / ranks;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(MwArena *arena, const double *values, int count)
{
    double *sorted = mw_arena_dup(arena, values, sizeof *values * (size_t)count);
    qsort(sorted, (size_t)count, sizeof *sorted, compare_doubles);
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

static void measure_rows(MwTraceReport *report, MwTraceRows *rows)
{
    for (int r = 0; r < rows->count; r++)
        rows->at[r].measured_s = median(report->arena, rows->at[r].step_s, report->step_count);
}

static int compare_rows(const void *left, const void *right)
{
    const MwTraceRow *a = left, *b = right;
    const double x = fabs(a->measured_s - a->predicted_s);
    const double y = fabs(b->measured_s - b->predicted_s);
    if (x != y)
        return x < y ? 1 : -1;
    return strcmp(a->name, b->name);
}

/* ---- Instructions ---- */

/* The kind of an instruction in the sums. */
static const char *kind_of(MwArena *arena, const MwPlanInstr *instr)
{
    const bool is_message = instr->kind == MW_INSTR_SEND || instr->kind == MW_INSTR_RECEIVE;
    return is_message ? "transfers" : mw_plan_instr_kind(arena, instr);
}

/* Seconds of all its runs in a step. A send is posted and then on its way: the transfer's time is
 * that of the receive. */
static double predicted_s(const MwPlan *plan, const MwPlanMesh *mesh, int program, int instr)
{
    const MwPlanInstr *at = &mesh->programs[program].instrs[instr];
    int runs = 0;
    for (int t = 0; t < mesh->task_count; t++)
        runs += mesh->tasks[t].program == program;
    runs *= mw_plan_instr_runs(&mesh->programs[program], instr);
    switch (at->kind) {
    case MW_INSTR_KERNEL:
    case MW_INSTR_ROUTINE:
    case MW_INSTR_COLLECTIVE:
        return runs * at->time_s;
    case MW_INSTR_SEND:
        return 0;
    case MW_INSTR_RECEIVE:
        return runs * plan->transfers[at->target].time_s;
    }
    MW_UNREACHABLE();
}

/* Adds an instruction to the row of `name`. What a receive waits for its senders is no part of
 * it. */
static MwTraceRow *add_instr(MwTraceReport *report, MwTraceRows *rows, const char *name, int mesh,
                             const int at[2])
{
    const MwPlanMesh *of = &report->plan->meshes[mesh];
    const MwTraceMesh *run = &report->run->meshes[mesh];
    MwTraceRow *row = find_row(report, rows, name, mesh);
    row->count++;
    row->predicted_s += predicted_s(report->plan, of, at[0], at[1]);
    add_times(report, row, &run->instrs[at[0]][at[1]], 1);
    add_times(report, row, &run->late[at[0]][at[1]], -1);
    return row;
}

static void take_instr(MwTraceReport *report, int mesh, int program, int index, bool folds)
{
    MwArena *arena = report->arena;
    const MwPlanMesh *of = &report->plan->meshes[mesh];
    const MwPlanInstr *instr = &of->programs[program].instrs[index];
    const MwPlanOperator *op = mw_plan_instr_operator(of, instr);
    const int at[2] = {program, index};
    const char *title = mw_plan_instr_title(arena, report->plan, of, instr);
    const char *layer = mw_plan_instr_layer(arena, of, instr);
    if (folds)
        title = mw_text_folded_name(arena, title);
    else
        title = mw_arena_printf(arena, "%s %d: %s", of->programs[program].name, index, title);
    MwTraceRow *row = add_instr(report, &report->operators, title, mesh, at);
    row->source = op ? op->source : "";
    add_instr(report, &report->layers, *layer ? layer : "none", mesh, at);
    add_instr(report, &report->kinds, kind_of(arena, instr), mesh, at);
}

/* ---- The rest of a step ---- */

/* What is predicted of a step beside the instructions is the bubble. */
static void take_rest(MwTraceReport *report, int mesh)
{
    const MwTraceMesh *run = &report->run->meshes[mesh];
    const MwPlanMesh *of = &report->plan->meshes[mesh];
    double instrs_s = 0;
    const int own = report->kinds.count;
    for (int r = 0; r < own; r++)
        instrs_s += report->kinds.at[r].mesh == mesh ? report->kinds.at[r].predicted_s : 0;
    MwTraceRow *waits = find_row(report, &report->kinds, "waiting for other meshes", mesh);
    waits->predicted_s = fmax(report->plan->step_s - instrs_s, 0);
    add_times(report, waits, &run->rest[MW_TRACE_WAITS], 1);
    for (int p = 0; p < of->program_count; p++)
        for (int i = 0; i < of->programs[p].instr_count; i++)
            add_times(report, waits, &run->late[p][i], 1);
    add_times(report, find_row(report, &report->kinds, "filling inputs", mesh),
              &run->rest[MW_TRACE_INPUTS], 1);
    MwTraceRow *left = find_row(report, &report->kinds, "between instructions", mesh);
    add_times(report, left, &run->rest[MW_TRACE_STEPS], 1);
    for (int r = 0; r < report->kinds.count - 1; r++)
        for (int s = 0; s < report->step_count && report->kinds.at[r].mesh == mesh; s++)
            left->step_s[s] -= report->kinds.at[r].step_s[s];
}

/* A step takes as long as on the mesh where it takes longest. */
static void take_steps(MwTraceReport *report)
{
    MwTraceRows steps = {0};
    report->mesh_step_s = MW_NEW(report->arena, double, report->plan->mesh_count);
    for (int m = 0; m < report->plan->mesh_count; m++)
        add_times(report, find_row(report, &steps, "step", m),
                  &report->run->meshes[m].rest[MW_TRACE_STEPS], 1);
    measure_rows(report, &steps);
    for (int m = 0; m < steps.count; m++) {
        report->mesh_step_s[m] = steps.at[m].measured_s;
        if (m == 0 || steps.at[m].measured_s > report->step.measured_s)
            report->step = steps.at[m];
    }
    report->step.predicted_s = report->plan->step_s;
}

bool mw_trace_compare(MwArena *arena, const MwPlan *plan, const MwTraceRun *run, bool folds,
                      MwTraceReport *report)
{
    *report = (MwTraceReport){.arena = arena, .plan = plan, .run = run};
    report->steps = mw_trace_steps(arena, run, &report->step_count);
    if (report->step_count == 0)
        return false;
    for (int m = 0; m < plan->mesh_count; m++) {
        const MwPlanMesh *mesh = &plan->meshes[m];
        if (!run->meshes[m].ranks)
            continue;
        for (int p = 0; p < mesh->program_count; p++)
            for (int i = 0; i < mesh->programs[p].instr_count; i++)
                take_instr(report, m, p, i, folds);
        take_rest(report, m);
    }
    take_steps(report);
    MwTraceRows *sorted[] = {&report->layers, &report->operators};
    measure_rows(report, &report->kinds);
    for (int i = 0; i < MW_COUNT(sorted); i++) {
        measure_rows(report, sorted[i]);
        qsort(sorted[i]->at, (size_t)sorted[i]->count, sizeof *sorted[i]->at, compare_rows);
    }
    return true;
}
