/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `inspect --format dot`: operators as boxes, values as arrows; collectives on the arrows' heads.
 */
#include "tools/inspect.h"

#include <string.h>

/* `text` inside a quoted DOT string. */
static void add_quoted(MwText *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            mw_text_add(out, "\\");
        mw_text_add_n(out, text, 1);
    }
}

static const char *phase_colour(const char *phase)
{
    if (strcmp(phase, "forward") == 0)
        return "#dbe9f6";
    return strcmp(phase, "backward") == 0 ? "#fbe3d0" : "#e1f0dc";
}

static void add_operator(MwText *out, int mesh, int index, const MwPlanOperator *op)
{
    mw_text_printf(out, "  m%d_%d [label=\"", mesh, index);
    add_quoted(out, op->name);
    mw_text_printf(out, "\\n%s %s", op->op, mw_spec_string(out->arena, op->spec, op->rank));
    if (op->compute_s > 0)
        mw_text_printf(out, "\\n%s", mw_seconds_text(out->arena, op->compute_s));
    for (int i = 0; i < op->collective_count; i++)
        mw_text_printf(out, "\\n%s/%d %s", mw_collective_name(op->collectives[i].kind),
                       op->collectives[i].axis,
                       mw_bytes_text(out->arena, (double)op->collectives[i].bytes));
    mw_text_printf(out, "\", fillcolor=\"%s\"%s];\n", phase_colour(op->phase),
                   op->collective_count ? ", penwidth=2, color=\"#b03030\"" : "");
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i].operator_index >= 0)
            mw_text_printf(out, "  m%d_%d -> m%d_%d;\n", mesh, op->operands[i].operator_index, mesh,
                           index);
}

void mw_inspect_dot(MwText *text, const MwPlan *plan)
{
    mw_text_add(text, "digraph \"");
    add_quoted(text, plan->model);
    mw_text_add(text, "\" {\n"
                      "  node [shape=box, style=filled, fontname=\"sans-serif\", fontsize=10];\n");
    for (int m = 0; m < plan->mesh_count; m++)
        for (int i = 0; i < plan->meshes[m].operator_count; i++)
            add_operator(text, m, i, &plan->meshes[m].operators[i]);
    mw_text_add(text, "}\n");
}
