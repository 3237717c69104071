/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/inspect/html_pipeline.h"

#include "tools/inspect/html_page.h"
#include "tools/inspect/totals.h"

/* The drawing has a box for every task; beyond this many the timeline is text. */
enum { MOST_BOXES = 20000, TEXT_COLUMNS = 200 };

static void add_stage(MwText *out, const MwInspectPipeline *p, int id)
{
    const MwInspectStage *stage = &p->stages[id];
    const MwPlanStage *plan = stage->plan;
    const MwMeshShape *shape = &stage->mesh->shape;
    char shape_text[MW_MESH_TEXT_BYTES];
    mw_text_add(out, "<tr>");
    mw_html_int(out, id);
    mw_html_cell(out, mw_inspect_range(out->arena, plan->first_layer, plan->layer_count));
    mw_html_int(out, plan->remat_layers);
    mw_html_int(out, plan->selective_layers);
    mw_html_int(out, plan->streamed_layers);
    mw_html_int(out, plan->mesh);
    mw_html_cell(out, mw_mesh_text(shape, shape_text));
    mw_html_cell(out,
                 mw_inspect_range(out->arena, stage->mesh->first_rank, mw_mesh_devices(shape)));
    mw_html_seconds(out, plan->forward_s);
    mw_html_seconds(out, plan->backward_s);
    mw_html_seconds(out, plan->weight_s);
    mw_html_seconds(out, plan->update_s);
    mw_html_seconds(out, stage->work_s);
    mw_html_bytes(out, stage->mesh->arena_bytes);
    mw_html_bytes(out, stage->weight_bytes);
    mw_html_bytes(out, stage->state_bytes);
    mw_html_bytes(out, stage->activation_bytes);
    mw_html_int(out, stage->in_flight);
    mw_html_bytes(out, stage->held_bytes);
    mw_text_add(out, "</tr>\n");
}

static void add_stages(MwText *out, const MwInspectPipeline *p)
{
    static const char *const headings[] = {
        "stage",   "layers",  "recomputed",  "selectively", "streamed", "mesh", "shape",
        "ranks",   "forward", "backward",    "weight",      "update",   "busy", "mesh's arena",
        "weights", "states",  "activations", "in flight",   "in all"};
    mw_html_table(out, "stages", headings, MW_COUNT(headings));
    for (int s = 0; s < p->plan->stage_count; s++)
        add_stage(out, p, s);
    mw_html_table_end(out);
}

static void add_border(MwText *out, const MwInspectBorder *border)
{
    MwArena *arena = out->arena;
    const MwPlanTransfer *transfer = border->transfer;
    const int rank = transfer->tensor.rank;
    mw_text_printf(out, "<tr class=\"%s\">", mw_phase_name(border->from.phase));
    mw_html_cell(out, transfer->name);
    mw_html_cell(out, mw_tensor_string(arena, &transfer->tensor));
    mw_html_int(out, border->from.stage);
    mw_html_cell(out, mw_spec_string(arena, transfer->from_spec, rank));
    mw_html_int(out, border->to.stage);
    mw_html_cell(out, mw_spec_string(arena, transfer->to_spec, rank));
    mw_html_int(out, border->runs);
    mw_html_bytes(out, border->bytes);
    mw_html_bytes(out, border->least_bytes);
    mw_html_seconds(out, transfer->time_s);
    mw_text_add(out, "</tr>\n");
}

static void add_borders(MwText *out, const MwInspectPipeline *p)
{
    static const char *const headings[] = {"value", "tensor", "from",    "spec",     "to",
                                           "spec",  "times",  "crosses", "at least", "time"};
    mw_html_table(out, "from stage to stage, each time", headings, MW_COUNT(headings));
    for (int i = 0; i < p->plan->transfer_count; i++)
        add_border(out, &p->borders[i]);
    mw_html_table_end(out);
}

static void add_timeline(MwText *out, const MwScheduleView *view)
{
    int64_t tasks = 0;
    for (int m = 0; m < view->schedule->mesh_count; m++)
        tasks += view->schedule->meshes[m].task_count;
    mw_text_add(out, "<h2>timeline</h2>\n");
    if (tasks <= MOST_BOXES) {
        mw_schedule_view_svg(out, view);
        return;
    }
    mw_text_add(out, "<pre>");
    mw_schedule_view_ends(out, view, TEXT_COLUMNS);
    mw_text_add(out, "</pre>\n");
}

void mw_inspect_html_pipeline(MwText *out, const MwInspectPipeline *pipeline)
{
    const MwPlan *plan = pipeline->plan;
    mw_text_printf(out, "<p>Stages: %d on %d meshes, schedule ", plan->stage_count,
                   plan->mesh_count);
    mw_html_escaped(out, plan->schedule);
    mw_text_printf(out, ". Predicted step %s, bubble rate %.4f.</p>\n",
                   mw_seconds_text(out->arena, plan->step_s), pipeline->bubble_rate);
    add_stages(out, pipeline);
    add_borders(out, pipeline);
    if (pipeline->drawn)
        add_timeline(out, pipeline->drawn);
}

void mw_inspect_html_alternatives(MwText *out, const MwPlan *plan)
{
    static const char *const headings[] = {"layout", "rejected for", "step at least",
                                           "a device needs"};
    if (!plan->alternative_count)
        return;
    mw_html_table(out, "alternatives that the search rejected", headings, MW_COUNT(headings));
    for (int i = 0; i < plan->alternative_count; i++) {
        const MwPlanAlternative *alternative = &plan->alternatives[i];
        mw_text_add(out, "<tr>");
        mw_html_cell(out, alternative->name);
        mw_html_cell(out, alternative->reason);
        mw_html_seconds(out, alternative->step_s);
        mw_html_bytes(out, alternative->needed_bytes);
        mw_text_add(out, "</tr>\n");
    }
    mw_html_table_end(out);
}
