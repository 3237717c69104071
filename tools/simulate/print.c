/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/simulate/print.h"

#include "base/quantity.h"
#include "tools/json.h"
#include "tools/text_table.h"

/* ---- Text ---- */

static const char *percent_text(MwArena *arena, double part, double whole)
{
    return whole > 0 ? mw_arena_printf(arena, "%.1f %%", 100 * part / whole) : "";
}

static void add_mesh(MwTextTable *table, const MwSimulateReport *report, int index)
{
    MwArena *arena = table->arena;
    const MwPlanMesh *mesh = &report->plan->meshes[index];
    const MwSimulatedMesh *times = &report->simulation->meshes[index];
    const double step_s = report->simulation->step_s;
    const char **cells = mw_text_table_row(table);
    cells[0] = mw_arena_printf(arena, "%d", index);
    cells[1] = mw_arena_printf(arena, "%d", mw_mesh_devices(&mesh->shape));
    cells[2] = mw_seconds_text(arena, times->compute_s + times->collective_s);
    cells[3] = percent_text(arena, times->compute_s, step_s);
    cells[4] = percent_text(arena, times->collective_s, step_s);
    cells[5] = percent_text(arena, times->transfer_s, step_s);
    cells[6] = percent_text(arena, times->bubble_s, step_s);
    cells[7] = percent_text(arena, times->idle_s, step_s);
}

/* Another time of the step, and how many times it the simulated one is. */
static void print_other(MwText *text, const MwSimulateReport *report, const char *what,
                        double step_s)
{
    mw_text_printf(text, ", %s %s", what, mw_seconds_text(text->arena, step_s));
    if (step_s > 0)
        mw_text_printf(text, ", x %.4g", report->simulation->step_s / step_s);
}

static void print_step(MwText *text, const MwSimulateReport *report)
{
    MwArena *arena = text->arena;
    const MwSimulation *simulation = report->simulation;
    mw_text_printf(text, "step: simulated %s", mw_seconds_text(arena, simulation->step_s));
    if (report->options->steps > 1)
        mw_text_printf(text, " (%s to %s in %d steps)", mw_seconds_text(arena, simulation->least_s),
                       mw_seconds_text(arena, simulation->most_s), report->options->steps);
    print_other(text, report, "predicted", report->plan->step_s);
    if (report->measured)
        print_other(text, report, "measured", report->measured->step_s);
    mw_text_add(text, "\n");
}

static void print_path(MwText *text, const MwSimulateReport *report)
{
    MwArena *arena = text->arena;
    const MwSimulation *simulation = report->simulation;
    const double step_s = simulation->step_s;
    mw_text_printf(text, "longest path: %s computing",
                   percent_text(arena, simulation->path.compute_s, step_s));
    mw_text_printf(text, ", %s collectives",
                   percent_text(arena, simulation->path.collective_s, step_s));
    mw_text_printf(text, ", %s transfers\n",
                   percent_text(arena, simulation->path.transfer_s, step_s));
}

/* "3.5 d", "12.0 h"; shorter times as elsewhere. */
static const char *long_time_text(MwArena *arena, double time_s)
{
    if (time_s >= 48 * 3600)
        return mw_arena_printf(arena, "%.1f d", time_s / (24 * 3600));
    return time_s >= 2 * 3600 ? mw_arena_printf(arena, "%.1f h", time_s / 3600)
                              : mw_seconds_text(arena, time_s);
}

static void print_run(MwText *text, const MwSimulateReport *report)
{
    MwArena *arena = text->arena;
    const MwGoodput *goodput = report->goodput;
    const double horizon_s = report->run->horizon_s;
    mw_text_printf(text, "\nrun: %s, a failure in %s, a checkpoint after %s of steps\n",
                   long_time_text(arena, horizon_s), long_time_text(arena, report->run->mtbf_s),
                   long_time_text(arena, goodput->every_s));
    mw_text_printf(text, "  steps done   %lld, with %lld failure%s\n", (long long)goodput->steps,
                   (long long)goodput->failures, goodput->failures == 1 ? "" : "s");
    mw_text_printf(text, "  goodput      %.2f %%, %.2f %% expected of a long run\n",
                   100 * goodput->goodput, 100 * goodput->expected);
    mw_text_printf(text, "  checkpoints  %s\n",
                   percent_text(arena, goodput->checkpoint_s, horizon_s));
    mw_text_printf(text, "  lost work    %s\n", percent_text(arena, goodput->lost_s, horizon_s));
    mw_text_printf(text, "  restarting   %s\n", percent_text(arena, goodput->restart_s, horizon_s));
}

/* What runs beside nothing. */
static const char *in_line_text(const MwSimulateOptions *options)
{
    if (options->collectives_in_line && options->messages_in_line)
        return ", without overlap";
    if (options->collectives_in_line)
        return ", without overlap of collectives";
    return options->messages_in_line ? ", without overlap of messages" : "";
}

void mw_simulate_print_text(MwText *text, const MwSimulateReport *report)
{
    static const char *const headings[] = {"mesh",        "devices",   "busy",   "computing",
                                           "collectives", "transfers", "bubble", "done"};
    const MwPlan *plan = report->plan;
    const MwCluster *cluster = report->options->cluster;
    MwTextTable table = mw_text_table_new(text->arena, headings, MW_COUNT(headings));
    mw_text_printf(text, "model %s: %d rank%s, computing as %s, over ", plan->model,
                   plan->rank_count, plan->rank_count == 1 ? "" : "s",
                   report->measured ? "measured" : "planned");
    mw_text_printf(text, "links %s%s%s%s\n", cluster ? "of " : "as planned",
                   cluster ? cluster->name : "",
                   report->options->contention ? "" : ", which transfers do not share",
                   in_line_text(report->options));
    print_step(text, report);
    if (report->simulation->step_s > 0)
        print_path(text, report);
    for (int m = 0; m < plan->mesh_count; m++)
        add_mesh(&table, report, m);
    mw_text_add(text, "\n");
    mw_text_table_print(text, &table);
    if (report->goodput)
        print_run(text, report);
}

/* ---- JSON ---- */

static void put_mesh(MwJson *json, const MwSimulateReport *report, int index)
{
    const MwSimulatedMesh *times = &report->simulation->meshes[index];
    yajl_gen_map_open(json->gen);
    mw_json_field_int(json, "mesh", index);
    mw_json_field_int(json, "devices", mw_mesh_devices(&report->plan->meshes[index].shape));
    mw_json_field_double(json, "compute_s", times->compute_s);
    mw_json_field_double(json, "collective_s", times->collective_s);
    mw_json_field_double(json, "transfer_s", times->transfer_s);
    mw_json_field_double(json, "bubble_s", times->bubble_s);
    mw_json_field_double(json, "idle_s", times->idle_s);
    yajl_gen_map_close(json->gen);
}

static void put_run(MwJson *json, const MwSimulateReport *report)
{
    const MwGoodput *goodput = report->goodput;
    mw_json_string(json, "run");
    yajl_gen_map_open(json->gen);
    mw_json_field_double(json, "horizon_s", report->run->horizon_s);
    mw_json_field_double(json, "mtbf_s", report->run->mtbf_s);
    mw_json_field_double(json, "every_s", goodput->every_s);
    mw_json_field_int(json, "steps", goodput->steps);
    mw_json_field_int(json, "failures", goodput->failures);
    mw_json_field_double(json, "kept_s", goodput->kept_s);
    mw_json_field_double(json, "checkpoint_s", goodput->checkpoint_s);
    mw_json_field_double(json, "lost_s", goodput->lost_s);
    mw_json_field_double(json, "restart_s", goodput->restart_s);
    mw_json_field_double(json, "goodput", goodput->goodput);
    mw_json_field_double(json, "expected", goodput->expected);
    yajl_gen_map_close(json->gen);
}

void mw_simulate_print_json(MwText *text, const MwSimulateReport *report)
{
    const MwSimulation *simulation = report->simulation;
    MwJson json = mw_json_begin(text->arena);
    mw_json_field_string(&json, "model", report->plan->model);
    mw_json_field_string(&json, "cluster",
                         report->options->cluster ? report->options->cluster->name
                                                  : report->plan->cluster);
    mw_json_field_int(&json, "ranks", report->plan->rank_count);
    mw_json_field_bool(&json, "contention", report->options->contention);
    mw_json_field_bool(&json, "collectives_in_line", report->options->collectives_in_line);
    mw_json_field_bool(&json, "messages_in_line", report->options->messages_in_line);
    mw_json_field_int(&json, "seed", (int64_t)report->options->seed);
    mw_json_field_int(&json, "steps", report->options->steps);
    mw_json_field_double(&json, "step_s", simulation->step_s);
    mw_json_field_double(&json, "least_step_s", simulation->least_s);
    mw_json_field_double(&json, "most_step_s", simulation->most_s);
    mw_json_field_double(&json, "predicted_s", report->plan->step_s);
    if (report->measured)
        mw_json_field_double(&json, "measured_s", report->measured->step_s);
    mw_json_field_int(&json, "events", simulation->events);
    mw_json_string(&json, "longest_path");
    yajl_gen_map_open(json.gen);
    mw_json_field_double(&json, "compute_s", simulation->path.compute_s);
    mw_json_field_double(&json, "collective_s", simulation->path.collective_s);
    mw_json_field_double(&json, "transfer_s", simulation->path.transfer_s);
    yajl_gen_map_close(json.gen);
    mw_json_field_array(&json, "meshes");
    for (int m = 0; m < report->plan->mesh_count; m++)
        put_mesh(&json, report, m);
    yajl_gen_array_close(json.gen);
    if (report->goodput)
        put_run(&json, report);
    mw_json_end(&json, text);
}
