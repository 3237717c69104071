/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `inspect --format text`: tables for a terminal. Here what concerns one mesh alone. */
#include "tools/inspect/inspect.h"
#include "tools/inspect/summary.h"
#include "tools/inspect/text_pipeline.h"
#include "tools/inspect/text_section.h"
#include "tools/inspect/totals.h"

#include <string.h>

static const char *operands_text(MwArena *arena, const MwPlanOperator *op)
{
    MwText text = {.arena = arena};
    mw_text_add(&text, "");
    for (int i = 0; i < op->operand_count; i++)
        mw_text_printf(&text, "%s%s", i ? " " : "",
                       mw_spec_string(arena, op->operands[i].spec, op->operands[i].rank));
    return text.at;
}

static const char *runner_up_text(MwArena *arena, const MwPlanOperator *op)
{
    if (op->pinned)
        return "pinned";
    if (!op->has_runner_up)
        return "";
    return mw_arena_printf(arena, "%s %s%s", mw_spec_string(arena, op->runner_up, op->rank),
                           op->runner_up_extra_s < 0 ? "" : "+",
                           mw_seconds_text(arena, op->runner_up_extra_s));
}

/* Operators of a mesh that lie side by side. */
typedef struct {
    const MwPlanOperator *at;
    int count;
} Operators;

static void print_phase(MwText *text, Operators operators, MwPhase phase, const char *title,
                        MwInspectView view)
{
    static const char *const headings[] = {"operator",   "op",          "type",
                                           "spec",       "operands",    "compute",
                                           "resharding", "collectives", "runner-up"};
    MwArena *arena = text->arena;
    MwTextTable table = mw_text_table_new(arena, headings, MW_COUNT(headings));
    for (int i = 0; i < operators.count; i++) {
        const MwPlanOperator *op = &operators.at[i];
        if (strcmp(op->phase, mw_phase_name(phase)) != 0)
            continue;
        const char **cells = mw_text_table_row(&table);
        cells[0] = op->name;
        cells[1] = op->op;
        cells[2] = mw_type_name(op->type);
        cells[3] = mw_spec_string(arena, op->spec, op->rank);
        cells[4] = operands_text(arena, op);
        cells[5] = mw_seconds_text(arena, op->compute_s);
        cells[6] = op->communication_s > 0 ? mw_seconds_text(arena, op->communication_s) : "";
        cells[7] = mw_inspect_collectives(arena, op, ", ");
        cells[8] = runner_up_text(arena, op);
    }
    if (table.rows.count > 1)
        mw_inspect_text_section(text, &table, title, true, view);
}

static void print_operators(MwText *text, Operators operators, const char *title,
                            MwInspectView view)
{
    for (int phase = 0; phase < MW_PHASE_COUNT; phase++)
        print_phase(text, operators, (MwPhase)phase,
                    mw_arena_printf(text->arena, "%s%s", title, mw_phase_name((MwPhase)phase)),
                    view);
}

static void print_weights(MwText *text, const MwPlanMesh *mesh, MwInspectView view)
{
    static const char *const headings[] = {"weight", "global", "spec", "state", "per device"};
    MwArena *arena = text->arena;
    MwTextTable table = mw_text_table_new(arena, headings, MW_COUNT(headings));
    for (int i = 0; i < mesh->weight_count; i++) {
        const MwPlanWeight *weight = &mesh->weights[i];
        if (weight->is_state)
            continue;
        const MwPlanWeight *state = mw_inspect_state_of(mesh, weight);
        const char **cells = mw_text_table_row(&table);
        cells[0] = weight->name;
        cells[1] = mw_tensor_string(arena, &weight->global);
        cells[2] = mw_spec_string(arena, weight->spec, weight->global.rank);
        cells[3] = state ? mw_spec_string(arena, state->spec, state->global.rank) : "";
        cells[4] = mw_bytes_text(arena, (double)mesh->buffers[weight->buffer].bytes);
    }
    mw_inspect_text_section(text, &table, "weights", true, view);
}

static void print_paddings(MwText *text, const MwPlanMesh *mesh, MwInspectView view)
{
    static const char *const headings[] = {"tensor", "kind", "dimension", "size", "padded to"};
    MwTextTable table = mw_text_table_new(text->arena, headings, MW_COUNT(headings));
    int count;
    const MwInspectPadding *paddings = mw_inspect_paddings(text->arena, mesh, &count);
    for (int i = 0; i < count; i++) {
        const char **cells = mw_text_table_row(&table);
        cells[0] = paddings[i].name;
        cells[1] = paddings[i].kind;
        cells[2] = mw_arena_printf(text->arena, "%d", paddings[i].dim);
        cells[3] = mw_arena_printf(text->arena, "%lld", (long long)paddings[i].size);
        cells[4] = mw_arena_printf(text->arena, "%lld", (long long)paddings[i].padded);
    }
    if (count)
        mw_inspect_text_section(text, &table, "padded sizes", true, view);
}

/* Adds the sums over a step for one kind of collective on one mesh axis. */
static void add_collective_row(MwTextTable *table, const MwPlanMesh *mesh, MwCollective kind,
                               int axis)
{
    const MwInspectSum sum = mw_inspect_sum_collectives(mesh, kind, axis);
    if (!sum.count)
        return;
    const char **cells = mw_text_table_row(table);
    cells[0] = mw_collective_name(kind);
    cells[1] = mw_arena_printf(table->arena, "%d", axis);
    cells[2] = mw_arena_printf(table->arena, "%d", sum.count);
    cells[3] = mw_bytes_text(table->arena, (double)sum.bytes);
    cells[4] = mw_seconds_text(table->arena, sum.time_s);
    cells[5] = mw_arena_printf(table->arena, "%d", sum.calls);
    cells[6] = mw_seconds_text(table->arena, sum.calls_s);
}

static void print_collectives(MwText *text, const MwPlanMesh *mesh, MwInspectView view)
{
    static const char *const headings[] = {"collective", "axis",  "count",        "bytes",
                                           "time",       "calls", "time of calls"};
    MwTextTable table = mw_text_table_new(text->arena, headings, MW_COUNT(headings));
    for (int kind = 0; kind < MW_COLLECTIVE_COUNT; kind++)
        for (int axis = 0; axis < mesh->shape.axis_count; axis++)
            add_collective_row(&table, mesh, (MwCollective)kind, axis);
    mw_inspect_text_section(text, &table, "collectives of a step, per device", false, view);
}

static void print_costs(MwText *text, const MwPlanMesh *mesh, const char *step)
{
    MwArena *arena = text->arena;
    const MwPlanCosts *costs = &mesh->costs;
    double gap = mw_inspect_gap(costs);
    mw_text_printf(text, "  %-16s%s\n", step, mw_seconds_text(arena, costs->step_s));
    mw_text_printf(text, "  objective       %s: compute %s, communication %s\n",
                   mw_seconds_text(arena, costs->objective_s),
                   mw_seconds_text(arena, costs->compute_s),
                   mw_seconds_text(arena, costs->communication_s));
    mw_text_printf(text, "  lower bound     %s: ", mw_seconds_text(arena, costs->lower_bound_s));
    if (gap <= 0)
        mw_text_add(text, "optimal by the cost model\n");
    else
        mw_text_printf(text, "gap %.3g %%\n", 100 * gap);
}

static void print_memory(MwText *text, const MwPlanMesh *mesh)
{
    MwArena *arena = text->arena;
    MwInspectTotals totals = mw_inspect_totals(mesh);
    mw_text_printf(text, "  memory          %s per device: weights %s, states %s, inputs %s, ",
                   mw_bytes_text(arena, (double)mesh->arena_bytes),
                   mw_bytes_text(arena, (double)totals.weight_bytes),
                   mw_bytes_text(arena, (double)totals.state_bytes),
                   mw_bytes_text(arena, (double)totals.input_bytes));
    mw_text_printf(text, "activations and scratch %s\n",
                   mw_bytes_text(arena, (double)totals.other_bytes));
    if (mesh->has_host)
        mw_text_printf(text, "  on the host     %s per device: kept %s, copies %s\n",
                       mw_bytes_text(arena, (double)mesh->host_bytes),
                       mw_bytes_text(arena, (double)totals.kept_bytes),
                       mw_bytes_text(arena, (double)(mesh->host_bytes - totals.kept_bytes)));
    if (mesh->costs.live_bytes > 0)
        mw_text_printf(text, "                  %.3f times the greatest sum of live buffers\n",
                       (double)mesh->arena_bytes / (double)mesh->costs.live_bytes);
}

/* The operators of each stage of a mesh. */
static void print_stages(MwText *text, const MwPlan *plan, int mesh_index, MwInspectView view)
{
    const MwPlanMesh *mesh = &plan->meshes[mesh_index];
    const bool is_shared = mw_inspect_is_shared(plan, mesh_index);
    if (!is_shared)
        print_operators(text, (Operators){mesh->operators, mesh->operator_count}, "", view);
    for (int s = 0; s < plan->stage_count && is_shared; s++) {
        const MwPlanStage *stage = &plan->stages[s];
        if (stage->mesh == mesh_index)
            print_operators(
                text, (Operators){mesh->operators + stage->first_operator, stage->operator_count},
                mw_arena_printf(text->arena, "stage %d, ", s), view);
    }
}

/* "stage 2", "stages 0 and 2"; empty where the plan has one mesh. */
static const char *stages_text(MwArena *arena, const MwPlan *plan, int mesh)
{
    MwText text = {.arena = arena};
    const char *before = mw_inspect_is_shared(plan, mesh) ? ": stages " : ": stage ";
    mw_text_add(&text, "");
    for (int s = 0; s < plan->stage_count && plan->mesh_count > 1; s++) {
        if (plan->stages[s].mesh != mesh)
            continue;
        mw_text_printf(&text, "%s%d", before, s);
        before = ", ";
    }
    return text.at;
}

static void print_mesh(MwText *text, const MwPlan *plan, int index, MwInspectView view)
{
    const MwPlanMesh *mesh = &plan->meshes[index];
    char shape[MW_MESH_TEXT_BYTES];
    int last = mesh->first_rank + mw_mesh_devices(&mesh->shape) - 1;
    mw_text_printf(text, "\nmesh %d: %s, ranks %d to %d%s\n", index,
                   mw_mesh_text(&mesh->shape, shape), mesh->first_rank, last,
                   stages_text(text->arena, plan, index));
    print_costs(text, mesh, plan->mesh_count > 1 ? "busy" : "predicted step");
    print_memory(text, mesh);
    print_stages(text, plan, index, view);
    print_weights(text, mesh, view);
    print_paddings(text, mesh, view);
    print_collectives(text, mesh, view);
}

void mw_inspect_text(MwText *text, const MwPlan *plan, MwInspectView view)
{
    mw_inspect_summary(text, plan);
    if (plan->mesh_count > 1)
        mw_text_add(text, "\n");
    if (plan->mesh_count > 1) {
        const MwInspectPipeline pipeline = mw_inspect_pipeline(text->arena, plan);
        mw_inspect_text_pipeline(text, &pipeline, view);
    }
    for (int m = 0; m < plan->mesh_count; m++)
        print_mesh(text, plan, m, view);
    mw_inspect_text_alternatives(text, plan, view);
}
