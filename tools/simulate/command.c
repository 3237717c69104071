/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `meshwright simulate PLAN`. */
#include "codegen/simulate/simulate.h"

#include "frontend/cluster/cluster.h"
#include "tools/argument.h"
#include "tools/commands.h"
#include "tools/data_files.h"
#include "tools/simulate/measured.h"
#include "tools/simulate/options.h"
#include "tools/simulate/perfetto.h"
#include "tools/simulate/print.h"

/* False after an error. */
static bool simulate_run(MwArena *arena, const MwSimulateCommand *command, MwSimulateReport *report,
                         MwDiags *diags)
{
    const MwSimulateRunOptions *run = &command->run;
    if (run->mtbf_s == 0)
        return true;
    MwGoodputOptions *options = MW_NEW(arena, MwGoodputOptions, 1);
    *options = (MwGoodputOptions){.step_s = report->simulation->step_s,
                                  .mtbf_s = run->mtbf_s / report->plan->rank_count,
                                  .checkpoint_s = run->checkpoint_s,
                                  .restart_s = run->restart_s,
                                  .every_s = run->every_s,
                                  .horizon_s = run->horizon_s,
                                  .seed = command->simulate.seed};
    if (!(options->step_s > 0))
        mw_diag_error(diags, mw_span_none(), "a step takes no time: a run has no end of them");
    else if (options->horizon_s > MW_MOST_FAILURES * options->mtbf_s)
        mw_diag_error(diags, mw_span_none(), "the run would fail more than %g times",
                      MW_MOST_FAILURES);
    else {
        MwGoodput *goodput = MW_NEW(arena, MwGoodput, 1);
        *goodput = mw_goodput(options);
        report->run = options;
        report->goodput = goodput;
    }
    return report->goodput;
}

static void show(const MwSimulateCommand *command, const MwSimulateReport *report, MwDiags *diags)
{
    MwText text = {.arena = command->arena}, trace = {.arena = command->arena};
    switch ((MwSimulateFormat)command->show.format) {
    case MW_SIMULATE_TEXT:
        mw_simulate_print_text(&text, report);
        break;
    case MW_SIMULATE_JSON:
        mw_simulate_print_json(&text, report);
        break;
    case MW_SIMULATE_FORMATS:
        MW_UNREACHABLE();
    }
    mw_result_write(command->show.output, &text, diags);
    if (!command->trace)
        return;
    mw_simulate_trace(&trace, report->plan, report->simulation);
    mw_result_write(command->trace, &trace, diags);
}

/* Takes the measured plan in place of the plan. False after an error. */
static bool measure(MwArena *arena, const MwSimulateCommand *command, MwSimulateReport *report,
                    MwDiags *diags)
{
    MwMeasuredPlan *measured = MW_NEW(arena, MwMeasuredPlan, 1);
    if (!mw_simulate_measured(arena, report->plan, command->measured, measured, diags))
        return false;
    report->measured = measured;
    report->plan = measured->plan;
    return true;
}

/* False after an error. */
static bool load(MwArena *arena, MwSimulateCommand *command, MwSimulateReport *report,
                 MwDiags *diags)
{
    report->plan = mw_show_plan(arena, command->plan, diags);
    report->options = &command->simulate;
    if (!report->plan || (command->measured && !measure(arena, command, report, diags)))
        return false;
    if (!command->cluster)
        return true;
    const char *path = mw_data_file(arena, &mw_data_clusters, command->cluster);
    command->simulate.cluster = mw_cluster_load(arena, path, diags);
    return command->simulate.cluster;
}

int mw_command_simulate(int argc, char **argv)
{
    MwArena *arena = mw_arena_new();
    MwDiags *diags = mw_diags_new(arena);
    MwSimulateCommand command = {.arena = arena};
    MwSimulateReport report = {0};
    mw_simulate_parse(&command, argc, argv);
    if (load(arena, &command, &report, diags))
        report.simulation = mw_simulate(arena, report.plan, &command.simulate, diags);
    if (report.simulation && simulate_run(arena, &command, &report, diags))
        show(&command, &report, diags);
    mw_diags_print(diags, stderr);
    const int status = mw_diags_error_count(diags) != 0;
    mw_arena_free(&arena);
    return status;
}
