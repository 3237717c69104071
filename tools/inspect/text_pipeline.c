/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/inspect/text_pipeline.h"

#include "tools/inspect/text_section.h"
#include "tools/inspect/totals.h"

enum { COLUMNS = 100 }; /* of the timeline, unless the view says */

static const char *number(MwArena *arena, int value)
{
    return mw_arena_printf(arena, "%d", value);
}

static const char *bytes_cell(MwArena *arena, int64_t bytes)
{
    return mw_bytes_text(arena, (double)bytes);
}

static void print_head(MwText *text, const MwInspectPipeline *p)
{
    const MwPlan *plan = p->plan;
    mw_text_printf(text, "  stages          %d on %d meshes, schedule %s\n", plan->stage_count,
                   plan->mesh_count, plan->schedule);
    mw_text_printf(text, "  predicted step  %s", mw_seconds_text(text->arena, plan->step_s));
    if (p->drawn)
        mw_text_printf(text, ", simulated; timeline of the schedule %s, bubble rate %.4f",
                       mw_seconds_text(text->arena, p->drawn->timeline->total), p->bubble_rate);
    mw_text_add(text, "\n");
}

static const char *layers_text(MwArena *arena, const MwPlanStage *stage)
{
    MwText text = {.arena = arena};
    mw_text_add(&text, mw_inspect_range(arena, stage->first_layer, stage->layer_count));
    if (stage->remat_layers)
        mw_text_printf(&text, " (%d recomputed)", stage->remat_layers);
    if (stage->selective_layers)
        mw_text_printf(&text, " (%d selectively)", stage->selective_layers);
    if (stage->streamed_layers)
        mw_text_printf(&text, " (%d streamed)", stage->streamed_layers);
    return text.at;
}

static void print_times(MwText *text, const MwInspectPipeline *p, MwInspectView view)
{
    static const char *const headings[] = {"stage",   "layers",   "mesh",   "shape",  "ranks",
                                           "forward", "backward", "weight", "update", "busy"};
    MwArena *arena = text->arena;
    MwTextTable table = mw_text_table_new(arena, headings, MW_COUNT(headings));
    for (int s = 0; s < p->plan->stage_count; s++) {
        const MwInspectStage *stage = &p->stages[s];
        const MwMeshShape *shape = &stage->mesh->shape;
        char shape_text[MW_MESH_TEXT_BYTES];
        const double times[] = {stage->plan->forward_s, stage->plan->backward_s,
                                stage->plan->weight_s, stage->plan->update_s};
        const char **cells = mw_text_table_row(&table);
        cells[0] = number(arena, s);
        cells[1] = layers_text(arena, stage->plan);
        cells[2] = number(arena, stage->plan->mesh);
        cells[3] = mw_arena_strdup(arena, mw_mesh_text(shape, shape_text));
        cells[4] = mw_inspect_range(arena, stage->mesh->first_rank, mw_mesh_devices(shape));
        for (int t = 0; t < MW_COUNT(times); t++)
            cells[5 + t] = mw_seconds_text(arena, times[t]);
        if (p->plan->step_s > 0)
            cells[9] = mw_arena_printf(arena, "%.1f %%", 100 * stage->work_s / p->plan->step_s);
    }
    mw_inspect_text_section(text, &table, "stages", false, view);
}

static void print_memory(MwText *text, const MwInspectPipeline *p, MwInspectView view)
{
    static const char *const headings[] = {"stage",       "mesh's arena", "weights", "states",
                                           "activations", "in flight",    "in all"};
    MwArena *arena = text->arena;
    MwTextTable table = mw_text_table_new(arena, headings, MW_COUNT(headings));
    for (int s = 0; s < p->plan->stage_count; s++) {
        const MwInspectStage *stage = &p->stages[s];
        const char **cells = mw_text_table_row(&table);
        cells[0] = number(arena, s);
        cells[1] = bytes_cell(arena, stage->mesh->arena_bytes);
        cells[2] = bytes_cell(arena, stage->weight_bytes);
        cells[3] = bytes_cell(arena, stage->state_bytes);
        cells[4] = bytes_cell(arena, stage->activation_bytes);
        cells[5] = mw_arena_printf(arena, "x %d", stage->in_flight);
        cells[6] = bytes_cell(arena, stage->held_bytes);
    }
    mw_inspect_text_section(text, &table, "memory of stages, per device", false, view);
}

/* "1 [S0, R]" */
static const char *end_text(MwArena *arena, MwPlanEnd end, MwSpec spec, int rank)
{
    return mw_arena_printf(arena, "%d %s", end.stage, mw_spec_string(arena, spec, rank));
}

static void print_borders(MwText *text, const MwInspectPipeline *p, MwInspectView view)
{
    static const char *const headings[] = {"value", "phase",   "tensor",   "from", "to",
                                           "times", "crosses", "at least", "time"};
    MwArena *arena = text->arena;
    MwTextTable table = mw_text_table_new(arena, headings, MW_COUNT(headings));
    for (int i = 0; i < p->plan->transfer_count; i++) {
        const MwInspectBorder *border = &p->borders[i];
        const MwPlanTransfer *transfer = border->transfer;
        const int rank = transfer->tensor.rank;
        const char **cells = mw_text_table_row(&table);
        cells[0] = transfer->name;
        cells[1] = mw_phase_name(border->from.phase);
        cells[2] = mw_tensor_string(arena, &transfer->tensor);
        cells[3] = end_text(arena, border->from, transfer->from_spec, rank);
        cells[4] = end_text(arena, border->to, transfer->to_spec, rank);
        cells[5] = number(arena, border->runs);
        cells[6] = bytes_cell(arena, border->bytes);
        cells[7] = bytes_cell(arena, border->least_bytes);
        cells[8] = mw_seconds_text(arena, transfer->time_s);
    }
    mw_inspect_text_section(text, &table, "from stage to stage, each time", false, view);
}

void mw_inspect_text_pipeline(MwText *text, const MwInspectPipeline *pipeline, MwInspectView view)
{
    print_head(text, pipeline);
    print_times(text, pipeline, view);
    print_memory(text, pipeline, view);
    print_borders(text, pipeline, view);
    if (!pipeline->drawn)
        return;
    mw_text_add(text, "\ntimeline\n");
    mw_schedule_view_ends(text, pipeline->drawn, view.columns ? view.columns : COLUMNS);
    mw_text_add(text, "\n");
    mw_schedule_view_meshes(text, pipeline->drawn);
}

void mw_inspect_text_alternatives(MwText *text, const MwPlan *plan, MwInspectView view)
{
    static const char *const headings[] = {"layout", "rejected for", "step at least", "of this",
                                           "a device needs"};
    MwArena *arena = text->arena;
    MwTextTable table = mw_text_table_new(arena, headings, MW_COUNT(headings));
    for (int i = 0; i < plan->alternative_count; i++) {
        const MwPlanAlternative *alternative = &plan->alternatives[i];
        const char **cells = mw_text_table_row(&table);
        cells[0] = alternative->name;
        cells[1] = alternative->reason;
        if (alternative->step_s > 0)
            cells[2] = mw_seconds_text(arena, alternative->step_s);
        if (alternative->step_s > 0 && plan->step_s > 0)
            cells[3] = mw_arena_printf(arena, "x %.3g", alternative->step_s / plan->step_s);
        if (alternative->needed_bytes > 0)
            cells[4] = bytes_cell(arena, alternative->needed_bytes);
    }
    if (plan->alternative_count)
        mw_inspect_text_section(text, &table, "alternatives that the search rejected", false, view);
}
