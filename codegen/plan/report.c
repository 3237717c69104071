/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/plan/report.h"

#include "cost/curve.h"
#include "ir/print.h"
#include "passes/sharding/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The node that a unit is named after: its last; of a contraction or a library operator with what
 * follows it, that. */
static int main_node(const MwLegal *legal, const MwUnit *unit)
{
    for (int i = 0; i < unit->nodes.count && !unit->is_kernel; i++) {
        const MwOp op = mw_legal_at(legal, unit->nodes.at[i])->op;
        if (op == MW_OP_EINSUM || mw_op_info(op)->lowering == MW_LOWER_LIBRARY)
            return unit->nodes.at[i];
    }
    return mw_vec_last(&unit->nodes);
}

/* The index of a node's operator among those of the stage; -1: it is of none. */
static int report_index(const MwStage *stage, const MwLegal *legal, int node)
{
    const MwNodeId global = stage->local->node_global[legal->source.at[node]];
    return stage->report ? stage->report->index[global.index] : -1;
}

static int compare_ints(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

void mw_plan_set_operators(MwPlanInstr *instr, int *operators, int count)
{
    int kept = 0;
    if (count)
        qsort(operators, (size_t)count, sizeof *operators, compare_ints);
    for (int i = 0; i < count; i++)
        if (kept == 0 || operators[i] != operators[kept - 1])
            operators[kept++] = operators[i];
    instr->has_operators = kept > 1;
    instr->operators = kept > 1 ? operators : NULL;
    instr->operator_count = kept > 1 ? kept : 0;
}

/* Fills `operators` and returns their number. */
static int list_operators(const MwPlanInstr *instr, int *operators)
{
    if (instr->operator_count == 0 && instr->operator_index >= 0) {
        operators[0] = instr->operator_index;
        return 1;
    }
    for (int i = 0; i < instr->operator_count; i++)
        operators[i] = instr->operators[i];
    return instr->operator_count;
}

void mw_plan_join_operators(MwArena *arena, const MwPlanInstr *const *parts, int count,
                            MwPlanInstr *instr)
{
    int most = 0, all = 0;
    for (int i = 0; i < count; i++)
        most += parts[i]->operator_count + 1;
    int *operators = MW_NEW(arena, int, most);
    for (int i = 0; i < count; i++) {
        all += list_operators(parts[i], operators + all);
        if (parts[i]->operator_index != instr->operator_index)
            instr->operator_index = -1;
    }
    mw_plan_set_operators(instr, operators, all);
}

void mw_plan_report_instr(MwArena *arena, const MwStage *stage, const MwLegal *legal,
                          const MwUnit *unit, int first, MwPlanInstr *instr)
{
    const int own = report_index(stage, legal, main_node(legal, unit));
    int *operators = MW_NEW(arena, int, unit->nodes.count), count = 0;
    instr->operator_index = own < 0 ? -1 : first + own;
    for (int i = 0; i < unit->nodes.count; i++) {
        const int index = report_index(stage, legal, unit->nodes.at[i]);
        if (index >= 0)
            operators[count++] = first + index;
    }
    mw_plan_set_operators(instr, operators, count);
}

const char *mw_plan_report_source(MwArena *arena, const MwNode *node)
{
    if (!node->origin.span.source)
        return "";
    MwSourcePosition place = mw_span_position(node->origin.span);
    return mw_arena_printf(arena, "%s:%d:%d", node->origin.span.source->name, place.line,
                           place.column);
}

static void fill_operands(MwArena *arena, const MwReport *report, const MwReportNode *from,
                          int first, MwPlanOperator *to)
{
    to->operand_count = from->operand_count;
    to->operands = MW_NEW(arena, MwPlanOperatorOperand, from->operand_count);
    for (int k = 0; k < from->operand_count; k++)
        to->operands[k] = (MwPlanOperatorOperand){
            .operator_index = first + report->index[from->operands[k].producer.index],
            .rank = from->operands[k].rank,
            .spec = from->operands[k].spec};
    to->collective_count = from->collective_count;
    to->collectives = MW_NEW(arena, MwPlanCollective, from->collective_count);
    for (int i = 0; i < from->collective_count; i++)
        to->collectives[i] = (MwPlanCollective){.kind = from->collectives[i].kind,
                                                .axis = from->collectives[i].axis,
                                                .bytes = from->collectives[i].bytes,
                                                .time_s = from->collectives[i].time_s};
}

static MwPlanOperator operator_of(MwArena *arena, const MwStage *stage, const MwReportNode *from,
                                  int first)
{
    const MwGraph *graph = stage->local->global;
    const MwNode *node = mw_node(graph, from->node);
    const MwValue *result = mw_value(graph, mw_node_result(graph, from->node, 0));
    MwPlanOperator to = {.name = result->name,
                         .op = mw_op_info(node->op)->name,
                         .source = mw_plan_report_source(arena, node),
                         .phase = mw_phase_name(node->phase),
                         .type = result->tensor.type,
                         .rank = from->rank,
                         .spec = from->spec,
                         .compute_s = from->compute_s,
                         .communication_s = from->communication_s,
                         .has_runner_up = from->has_runner_up,
                         .runner_up = from->runner_up,
                         .runner_up_extra_s = from->runner_up_extra_s,
                         .pinned = from->pinned};
    fill_operands(arena, stage->report, from, first, &to);
    return to;
}

void mw_plan_report_fill(MwArena *arena, const MwStage *stage, MwPlanMesh *mesh)
{
    const MwReport *report = stage->report;
    if (!report)
        return;
    int first = mesh->operator_count;
    for (int i = 0; i < report->count; i++)
        mesh->operators[mesh->operator_count++] =
            operator_of(arena, stage, &report->nodes[i], first);
    mesh->costs.objective_s += report->objective_s;
    mesh->costs.lower_bound_s += report->lower_bound_s;
    mesh->costs.compute_s += report->compute_s;
    mesh->costs.communication_s += report->communication_s;
}

/* The element type of the results that contractions spend most time on. */
static MwType result_type(const MwPlanMesh *mesh)
{
    double spent_s[MW_TYPE_COUNT] = {0};
    int most = MW_F32;
    for (int i = 0; i < mesh->operator_count; i++)
        if (strcmp(mesh->operators[i].op, mw_op_info(MW_OP_EINSUM)->name) == 0)
            spent_s[mesh->operators[i].type] += mesh->operators[i].compute_s;
    for (int type = 0; type < MW_TYPE_COUNT; type++)
        most = spent_s[type] > spent_s[most] ? type : most;
    return (MwType)most;
}

void mw_plan_report_ceilings(const MwGraph *graph, const MwDeviceModel *device, MwPlanMesh *mesh)
{
    const MwGemm *gemm = &device->gemm[mw_product_type(graph, result_type(mesh))];
    mesh->flops_per_s = fmax(gemm->peak_flops, gemm->rate_flops);
    for (int i = 0; i < gemm->rates.count && gemm->peak_flops <= 0; i++)
        mesh->flops_per_s = fmax(mesh->flops_per_s, gemm->rates.at[i]);
    mesh->bytes_per_s = mw_curve_most(&device->bandwidth);
    mesh->has_ceilings = mesh->flops_per_s > 0 && mesh->bytes_per_s > 0;
    mesh->collective_share = mw_device_collective_share(device);
    mesh->has_collective_share = mesh->collective_share > 0;
}
