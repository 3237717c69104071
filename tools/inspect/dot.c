/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `inspect --format dot`: operators as boxes, values as arrows; collectives in the boxes that need
 * them. Where there are several stages, each is a cluster, and transfers are broad arrows from one
 * to another. */
#include "tools/inspect/inspect.h"
#include "tools/inspect/pipeline.h"
#include "tools/inspect/totals.h"

/* Adds `text` to a quoted DOT string. */
static void add_quoted(MwText *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            mw_text_add(out, "\\");
        mw_text_add_n(out, text, 1);
    }
}

static const char *phase_colour(const char *name)
{
    static const char *const colours[MW_PHASE_COUNT] = {[MW_PHASE_FORWARD] = "#dbe9f6",
                                                        [MW_PHASE_BACKWARD] = "#fbe3d0",
                                                        [MW_PHASE_BACKWARD_WEIGHT] = "#f7edc0",
                                                        [MW_PHASE_UPDATE] = "#e1f0dc"};
    MwPhase phase;
    return mw_phase_parse(name, &phase) ? colours[phase] : "#ffffff";
}

static void add_operator(MwText *out, int mesh, int index, const MwPlanOperator *op)
{
    mw_text_printf(out, "  m%d_%d [label=\"", mesh, index);
    add_quoted(out, op->name);
    mw_text_printf(out, "\\n%s %s %s", op->op, mw_type_name(op->type),
                   mw_spec_string(out->arena, op->spec, op->rank));
    if (op->compute_s > 0)
        mw_text_printf(out, "\\n%s", mw_seconds_text(out->arena, op->compute_s));
    if (op->collective_count)
        mw_text_printf(out, "\\n%s", mw_inspect_collectives(out->arena, op, "\\n"));
    mw_text_printf(out, "\", fillcolor=\"%s\"%s];\n", phase_colour(op->phase),
                   op->collective_count ? ", penwidth=2, color=\"#b03030\"" : "");
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i].operator_index >= 0)
            mw_text_printf(out, "  m%d_%d -> m%d_%d;\n", mesh, op->operands[i].operator_index, mesh,
                           index);
}

static void add_operators(MwText *out, const MwPlan *plan, int mesh, int first, int count)
{
    for (int i = first; i < first + count; i++)
        add_operator(out, mesh, i, &plan->meshes[mesh].operators[i]);
}

static void add_stage(MwText *out, const MwPlan *plan, int index)
{
    const MwPlanStage *stage = &plan->stages[index];
    char shape[MW_MESH_TEXT_BYTES];
    mw_text_printf(out, "  subgraph cluster_%d {\n  label=\"stage %d: layers %s, mesh %d (%s)\";\n",
                   index, index,
                   mw_inspect_range(out->arena, stage->first_layer, stage->layer_count),
                   stage->mesh, mw_mesh_text(&plan->meshes[stage->mesh].shape, shape));
    add_operators(out, plan, stage->mesh, stage->first_operator, stage->operator_count);
    mw_text_add(out, "  }\n");
}

static void add_border(MwText *out, const MwInspectBorder *border)
{
    const MwPlanTransfer *transfer = border->transfer;
    if (border->from.operator_index < 0 || border->to.operator_index < 0)
        return;
    mw_text_printf(out, "  m%d_%d -> m%d_%d [penwidth=3, color=\"#4878a8\", label=\"",
                   transfer->from_mesh, border->from.operator_index, transfer->to_mesh,
                   border->to.operator_index);
    add_quoted(out, transfer->name);
    mw_text_printf(out, "\\n%s\"];\n", mw_bytes_text(out->arena, (double)border->bytes));
}

void mw_inspect_dot(MwText *text, const MwPlan *plan)
{
    const MwInspectPipeline pipeline = mw_inspect_pipeline(text->arena, plan);
    mw_text_add(text, "digraph \"");
    add_quoted(text, plan->model);
    mw_text_add(text, "\" {\n"
                      "  node [shape=box, style=filled, fontname=\"sans-serif\", fontsize=10];\n");
    for (int m = 0; m < plan->mesh_count && plan->stage_count < 2; m++)
        add_operators(text, plan, m, 0, plan->meshes[m].operator_count);
    for (int s = 0; s < plan->stage_count && plan->stage_count > 1; s++)
        add_stage(text, plan, s);
    for (int i = 0; i < plan->transfer_count; i++)
        add_border(text, &pipeline.borders[i]);
    mw_text_add(text, "}\n");
}
