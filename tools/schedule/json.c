/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `schedule --format json`: each task is a line. docs/schedules.md lists the keys. */
#include "tools/schedule/view.h"

static void field(MwText *text, const char *key, double value)
{
    mw_text_printf(text, "\"%s\": ", key);
    mw_text_add_double(text, value);
}

static void add_head(MwText *text, const MwScheduleView *view)
{
    const MwPipelineSchedule *schedule = view->schedule;
    mw_text_printf(text, " \"schedule\": \"%s\",\n", mw_pipeline_info(schedule->kind)->name);
    mw_text_printf(text, " \"mesh_count\": %d,\n \"micro_batches\": %d,\n \"chunks\": %d,\n",
                   schedule->mesh_count, schedule->micro_batches, schedule->chunks);
    mw_text_add(text, " \"times\": {");
    field(text, "forward", view->forward);
    mw_text_add(text, ", ");
    field(text, "backward_input", view->backward_input);
    mw_text_add(text, ", ");
    field(text, "weight", view->weight);
    mw_text_add(text, ", ");
    field(text, "transfer", view->transfer);
    mw_text_add(text, "},\n");
}

static void add_task(MwText *text, const MwScheduleView *view, int mesh, int k)
{
    MwTask task = view->schedule->meshes[mesh].tasks[k];
    MwTaskTime time = view->timeline->meshes[mesh].tasks[k];
    mw_text_add(text, "   {");
    field(text, "clock", view->clocks->meshes[mesh].tasks[k].start);
    mw_text_printf(text, ", \"kind\": \"%s\", \"micro_batch\": %d, \"chunk\": %d, ",
                   mw_task_kind_name(task.kind), task.micro_batch, task.chunk);
    field(text, "start", time.start);
    mw_text_add(text, ", ");
    field(text, "end", time.end);
    mw_text_add(text, "}");
}

static void add_tasks(MwText *text, const MwScheduleView *view)
{
    mw_text_add(text, " \"meshes\": [");
    for (int i = 0; i < view->schedule->mesh_count; i++) {
        mw_text_add(text, i ? ",\n  [\n" : "\n  [\n");
        for (int k = 0; k < view->schedule->meshes[i].task_count; k++) {
            mw_text_add(text, k ? ",\n" : "");
            add_task(text, view, i, k);
        }
        mw_text_add(text, "\n  ]");
    }
    mw_text_add(text, "\n ]\n");
}

static void add_memory(MwText *text, const MwPipelineSchedule *schedule)
{
    mw_text_add(text, " \"in_flight\": [");
    for (int i = 0; i < schedule->mesh_count; i++)
        mw_text_printf(text, "%s%d", i ? ", " : "", schedule->meshes[i].in_flight);
    mw_text_add(text, "],\n \"slots\": [");
    for (int i = 0; i < schedule->mesh_count; i++) {
        for (int c = 0; c < mw_pipeline_mesh_chunks(schedule, i); c++)
            mw_text_printf(text, "%s%d", c ? ", " : i ? ", [" : "[", schedule->meshes[i].slots[c]);
        mw_text_add(text, "]");
    }
    mw_text_add(text, "],\n");
}

void mw_schedule_view_json(MwText *text, const MwScheduleView *view)
{
    const struct {
        const char *key;
        double value;
    } figures[] = {
        {"clocks", view->clocks->total},
        {"total", view->timeline->total},
        {"cost", view->timeline->cost},
        {"ideal", view->timeline->ideal},
        {"bubble_rate", view->timeline->bubble_rate},
    };
    mw_text_add(text, "{\n");
    add_head(text, view);
    for (int i = 0; i < MW_COUNT(figures); i++) {
        mw_text_add(text, " ");
        field(text, figures[i].key, figures[i].value);
        mw_text_add(text, ",\n");
    }
    add_memory(text, view->schedule);
    add_tasks(text, view);
    mw_text_add(text, "}\n");
}
