/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `inspect --format html`: one self-contained page with totals, charts and sortable tables. */
#include "tools/inspect/html_charts.h"
#include "tools/inspect/html_page.h"
#include "tools/inspect/html_pipeline.h"
#include "tools/inspect/inspect.h"
#include "tools/inspect/summary.h"
#include "tools/inspect/totals.h"

static void add_operator(MwText *out, const MwPlanOperator *op)
{
    MwArena *arena = out->arena;
    mw_text_printf(out, "<tr class=\"%s\">", op->phase);
    mw_html_cell(out, op->name);
    mw_html_cell(out, op->op);
    mw_html_cell(out, op->source);
    mw_html_cell(out, mw_type_name(op->type));
    mw_html_cell(out, mw_spec_string(arena, op->spec, op->rank));
    MwText operands = {.arena = arena};
    mw_text_add(&operands, "");
    for (int i = 0; i < op->operand_count; i++)
        mw_text_printf(&operands, "%s ",
                       mw_spec_string(arena, op->operands[i].spec, op->operands[i].rank));
    mw_html_cell(out, operands.at);
    mw_html_seconds(out, op->compute_s);
    mw_html_seconds(out, op->communication_s);
    mw_html_cell(out, mw_inspect_collectives(arena, op, ", "));
    const char *runner_up = op->has_runner_up ? mw_spec_string(arena, op->runner_up, op->rank) : "";
    mw_html_cell(out, op->pinned ? "pinned" : runner_up);
    double extra_s = op->has_runner_up && !op->pinned ? op->runner_up_extra_s : 0;
    mw_html_seconds(out, extra_s);
    mw_text_add(out, "</tr>\n");
}

static void add_weight(MwText *out, const MwPlanMesh *mesh, const MwPlanWeight *weight)
{
    MwArena *arena = out->arena;
    const MwPlanWeight *state = mw_inspect_state_of(mesh, weight);
    mw_text_add(out, "<tr>");
    mw_html_cell(out, weight->name);
    mw_html_cell(out, mw_tensor_string(arena, &weight->global));
    mw_html_cell(out, mw_spec_string(arena, weight->spec, weight->global.rank));
    mw_html_cell(out, state ? mw_spec_string(arena, state->spec, state->global.rank) : "");
    mw_html_bytes(out, mesh->buffers[weight->buffer].bytes);
    mw_text_add(out, "</tr>\n");
}

/* Draws the arena as a bar, in which each part is as wide as its share. */
static void add_memory_bar(MwText *out, const MwPlanMesh *mesh)
{
    MwInspectTotals totals = mw_inspect_totals(mesh);
    const struct {
        const char *name, *colour;
        int64_t bytes;
    } parts[] = {{"weights", "#4878a8", totals.weight_bytes},
                 {"states", "#7a5ea8", totals.state_bytes},
                 {"inputs", "#5b8a5b", totals.input_bytes},
                 {"activations and scratch", "#c07840", totals.other_bytes}};
    mw_text_add(out, "<div class=\"bar\">");
    for (int i = 0; i < MW_COUNT(parts); i++)
        mw_text_printf(out, "<div style=\"background:%s;flex:%lld 0 0\" title=\"%s\">%s %s</div>",
                       parts[i].colour, (long long)parts[i].bytes, parts[i].name, parts[i].name,
                       mw_bytes_text(out->arena, (double)parts[i].bytes));
    mw_text_add(out, "</div>\n");
}

static void add_operators(MwText *out, const char *title, const MwPlanOperator *operators,
                          int count)
{
    static const char *const headings[] = {"operator",    "op",        "source",    "type",
                                           "spec",        "operands",  "compute",   "resharding",
                                           "collectives", "runner-up", "costs more"};
    mw_html_table(out, title, headings, MW_COUNT(headings));
    for (int i = 0; i < count; i++)
        add_operator(out, &operators[i]);
    mw_html_table_end(out);
}

static void add_weights(MwText *out, const MwPlanMesh *mesh)
{
    static const char *const headings[] = {"weight", "global", "spec", "state", "per device"};
    mw_html_table(out, "weights", headings, MW_COUNT(headings));
    for (int i = 0; i < mesh->weight_count; i++)
        if (!mesh->weights[i].is_state)
            add_weight(out, mesh, &mesh->weights[i]);
    mw_html_table_end(out);
}

/* The sums over a step of one kind of collective on one axis of the mesh. */
static void add_collective(MwText *out, const MwPlanMesh *mesh, MwCollective kind, int axis)
{
    const MwInspectSum sum = mw_inspect_sum_collectives(mesh, kind, axis);
    if (!sum.count)
        return;
    mw_text_add(out, "<tr>");
    mw_html_cell(out, mw_collective_name(kind));
    mw_html_int(out, axis);
    mw_html_int(out, mesh->shape.size[axis]);
    mw_html_int(out, sum.count);
    mw_html_bytes(out, sum.bytes);
    mw_html_seconds(out, sum.time_s);
    mw_html_int(out, sum.calls);
    mw_html_seconds(out, sum.calls_s);
    mw_text_add(out, "</tr>\n");
}

static void add_collectives(MwText *out, const MwPlanMesh *mesh)
{
    static const char *const headings[] = {"collective", "axis", "devices", "count",
                                           "bytes",      "time", "calls",   "time of calls"};
    mw_html_table(out, "collectives of a step, per device", headings, MW_COUNT(headings));
    for (int kind = 0; kind < MW_COLLECTIVE_COUNT; kind++)
        for (int axis = 0; axis < mesh->shape.axis_count; axis++)
            add_collective(out, mesh, (MwCollective)kind, axis);
    mw_html_table_end(out);
}

static void add_paddings(MwText *out, const MwPlanMesh *mesh)
{
    static const char *const headings[] = {"tensor", "kind", "dimension", "size", "padded to"};
    int count;
    const MwInspectPadding *paddings = mw_inspect_paddings(out->arena, mesh, &count);
    if (!count)
        return;
    mw_html_table(out, "padded sizes", headings, MW_COUNT(headings));
    for (int i = 0; i < count; i++) {
        mw_text_add(out, "<tr>");
        mw_html_cell(out, paddings[i].name);
        mw_html_cell(out, paddings[i].kind);
        const int64_t numbers[] = {paddings[i].dim, paddings[i].size, paddings[i].padded};
        for (int k = 0; k < MW_COUNT(numbers); k++)
            mw_html_cell(out, mw_arena_printf(out->arena, "%lld", (long long)numbers[k]));
        mw_text_add(out, "</tr>\n");
    }
    mw_html_table_end(out);
}

static void add_costs(MwText *out, const MwPlanMesh *mesh, const char *step)
{
    MwArena *arena = out->arena;
    const MwPlanCosts *costs = &mesh->costs;
    mw_text_printf(out, "<p>%s %s. ", step, mw_seconds_text(arena, costs->step_s));
    mw_text_printf(out, "Objective %s: compute %s, communication %s. ",
                   mw_seconds_text(arena, costs->objective_s),
                   mw_seconds_text(arena, costs->compute_s),
                   mw_seconds_text(arena, costs->communication_s));
    mw_text_printf(out, "Lower bound %s, gap %.3g %%.</p>\n",
                   mw_seconds_text(arena, costs->lower_bound_s), 100 * mw_inspect_gap(costs));
    mw_text_printf(out, "<p>Memory %s per device", mw_bytes_text(arena, (double)mesh->arena_bytes));
    if (mesh->has_host)
        mw_text_printf(out, ", and %s on the host", mw_bytes_text(arena, (double)mesh->host_bytes));
    mw_text_add(out, ".</p>\n");
}

static void add_mesh(MwText *out, const MwPlan *plan, int index)
{
    const MwPlanMesh *mesh = &plan->meshes[index];
    const bool is_shared = mw_inspect_is_shared(plan, index);
    char shape[MW_MESH_TEXT_BYTES];
    mw_text_printf(out, "<h2>mesh %d: %s</h2>\n", index, mw_mesh_text(&mesh->shape, shape));
    add_costs(out, mesh, plan->mesh_count > 1 ? "Busy" : "Predicted step");
    add_memory_bar(out, mesh);
    mw_inspect_html_memory(out, plan, mesh);
    mw_inspect_html_roofline(out, plan, mesh);
    add_collectives(out, mesh);
    if (!is_shared)
        add_operators(out, "operators", mesh->operators, mesh->operator_count);
    for (int s = 0; s < plan->stage_count && is_shared; s++)
        if (plan->stages[s].mesh == index)
            add_operators(out, mw_arena_printf(out->arena, "operators of stage %d", s),
                          mesh->operators + plan->stages[s].first_operator,
                          plan->stages[s].operator_count);
    add_weights(out, mesh);
    add_paddings(out, mesh);
}

static void add_head(MwText *out, const MwPlan *plan)
{
    mw_html_begin(out, plan->model);
    mw_text_add(out, "<p><code>");
    mw_html_escaped(out, plan->source);
    mw_text_printf(out, "</code> for %d ranks of ", plan->rank_count);
    mw_html_escaped(out, plan->cluster);
    mw_text_printf(out, ", backend %s, micro-batches: %d</p>\n", plan->backend,
                   plan->micro_batches);
    if (plan->has_price)
        mw_text_printf(out, "<p>cost: %s</p>\n", mw_inspect_cost(out->arena, plan));
}

void mw_inspect_html(MwText *text, const MwPlan *plan)
{
    add_head(text, plan);
    if (plan->mesh_count > 1) {
        const MwInspectPipeline pipeline = mw_inspect_pipeline(text->arena, plan);
        mw_inspect_html_pipeline(text, &pipeline);
    }
    for (int m = 0; m < plan->mesh_count; m++)
        add_mesh(text, plan, m);
    mw_inspect_html_alternatives(text, plan);
    mw_html_end(text);
}
