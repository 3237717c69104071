/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/plan/instrs.h"

#include "codegen/fuse/gemm_unit.h"
#include "codegen/fuse/library_unit.h"
#include "codegen/legal/library.h"
#include "codegen/plan/predict.h"
#include "codegen/plan/report.h"
#include "cost/reshard.h"
#include "runtime/plan/routine.h"

#include <string.h>

static const MwNode *first_node(const MwLegal *legal, const MwUnit *unit)
{
    return mw_legal_at(legal, unit->nodes.at[0]);
}

static int buffer_of(const MwEmitter *e, MwValueId root)
{
    int buffer = e->storage->buffer[root.index];
    MW_ASSERT(buffer >= 0);
    return buffer;
}

static int operand_buffer(const MwEmitter *e, const MwNode *node, int k)
{
    return buffer_of(e, mw_legal_root(e->legal, node->operands[k]));
}

static int result_buffer(const MwEmitter *e, const MwNode *node, int k)
{
    return buffer_of(e, (MwValueId){node->first_result + k});
}

static MwPlanInstr new_instr(MwEmitter *e, MwInstrKind kind, int target, int operands, int args)
{
    return (MwPlanInstr){.kind = kind,
                         .target = target,
                         .operands = MW_NEW(e->arena, MwPlanOperand, operands),
                         .operand_count = operands,
                         .args = MW_NEW(e->arena, MwPlanArg, args),
                         .arg_count = args,
                         .operator_index = -1};
}

/* Predicts the instruction's time from its work. */
static void set_work(const MwEmitter *e, MwPlanInstr *instr, const MwWork *work)
{
    MwWork placed = *work;
    placed.memory_s = mw_reuse_s(e->reuse, &e->model, instr, work->bytes);
    instr->time_s = mw_cost_work_s(&e->model, &placed);
    instr->has_work = true;
    instr->flops = work->flops;
    instr->work_bytes = work->bytes;
}

static MwWork stream_work(bool on_host, double flops, double bytes)
{
    return (MwWork){.kind = on_host ? MW_WORK_HOST : MW_WORK_STREAM,
                    .type = MW_F32,
                    .flops = flops,
                    .bytes = bytes};
}

/* ---- Kernels ---- */

static bool emit_kernel(MwEmitter *e, int u, MwPlanInstr *out)
{
    const MwKernelCall *call = &e->calls[u];
    if (call->body < 0)
        return false;
    *out = (MwPlanInstr){
        .kind = MW_INSTR_KERNEL,
        .target = mw_kernel_pool_use(e->pool, e->legal, &e->units->units.at[u], call->body),
        .operands = call->operands,
        .operand_count = call->operand_count,
        .args = call->args,
        .arg_count = call->arg_count,
        .operator_index = -1};
    MwWork work = stream_work(e->units->units.at[u].on_host, call->flops, call->bytes);
    work.row_flops = call->rows.flops;
    work.columns = call->rows.columns;
    set_work(e, out, &work);
    return true;
}

/* ---- Routines ---- */

static MwPlanInstr emit_routine(MwEmitter *e, MwRoutine routine, const int *buffers)
{
    const MwRoutineInfo *info = mw_routine_info(routine);
    MwPlanInstr instr = new_instr(e, MW_INSTR_ROUTINE, routine, info->operand_count,
                                  info->int_count + info->float_count);
    for (int i = 0; i < info->operand_count; i++)
        instr.operands[i] = (MwPlanOperand){buffers[i], info->accesses[i] == 'r' ? MW_ACCESS_READ
                                                                                 : MW_ACCESS_WRITE};
    for (int i = 0; i < info->float_count; i++)
        instr.args[info->int_count + i].kind = MW_ARG_FLOAT;
    return instr;
}

/* Returns the work of a call: its FLOPs, and its bytes, with each matrix and each further operand
 * read or written once. */
static MwWork gemm_work(const MwEmitter *e, const MwGemmUnit *gemm, MwRoutine routine)
{
    const MwGemmExtras *x = mw_gemm_extras(routine);
    const MwTensor *result = &e->legal->graph->values.at[gemm->einsum->first_result].tensor;
    const double m = (double)gemm->call.m, n = (double)gemm->call.n;
    const int more = (gemm->accumulate != NULL) + (x->aux != 0);
    const double vector = x->bias ? n : x->sums ? (x->summed ? n : m) : 0;
    MwWork work = mw_gemm_call_work(&gemm->call);
    work.bytes += work.batch * mw_type_bytes(result->type) * (more * m * n + vector);
    return work;
}

static MwPlanInstr emit_gemm(MwEmitter *e, const MwUnit *unit)
{
    const MwGemmUnit gemm = mw_gemm_unit(e->legal, unit);
    const MwRoutine routine = mw_gemm_unit_routine(&gemm, e->legal, e->units);
    const MwGemmExtras *x = mw_gemm_extras(routine);
    const MwGemmOperands more = mw_gemm_unit_operands(&gemm, routine);
    int buffers[MW_ROUTINE_MAX_OPERANDS] = {operand_buffer(e, gemm.einsum, gemm.call.swaps),
                                            operand_buffer(e, gemm.einsum, !gemm.call.swaps),
                                            result_buffer(e, gemm.result, 0)};
    MW_ASSERT(!gemm.accumulate || buffers[2] == operand_buffer(e, gemm.accumulate, 0));
    if (x->bias)
        buffers[x->bias] = buffer_of(e, mw_legal_root(e->legal, more.bias));
    if (x->aux)
        buffers[x->aux] = buffer_of(e, mw_legal_root(e->legal, more.aux));
    if (x->sums)
        buffers[x->sums] = buffer_of(e, more.sums);
    MwPlanInstr instr = emit_routine(e, routine, buffers);
    for (int i = 0; i < MW_GEMM_ALPHA; i++)
        instr.args[i].i = gemm.call.args[i];
    instr.args[MW_GEMM_ALPHA].f = 1;
    instr.args[MW_GEMM_BETA].f = gemm.accumulate != NULL;
    if (gemm.accumulate)
        instr.operands[2].access = MW_ACCESS_READ_WRITE;
    const MwWork work = gemm_work(e, &gemm, routine);
    set_work(e, &instr, &work);
    return instr;
}

/* The work of a node on the shapes of one device. */
static MwWork node_work(const MwEmitter *e, const MwNode *node)
{
    const MwGraph *graph = e->legal->graph;
    const MwNodeId id = mw_value(graph, mw_legal_result(node))->node;
    const MwShardingRule rule = mw_sharding_rule(e->arena, graph, id);
    int ways[MW_MAX_FACTORS];
    for (int f = 0; f < MW_MAX_FACTORS; f++)
        ways[f] = 1;
    return mw_cost_node_work(graph, id, &rule, ways);
}

/* The arguments of the call of a library operator, which writes its results where the unit has
 * them. */
static MwPlanArg *library_args(const MwEmitter *e, const MwUnit *unit, const MwNode *node)
{
    MwPlanArg *args = mw_library_args(e->arena, e->legal, node);
    for (int k = 0; k < node->result_count; k++) {
        const MwView place = mw_library_unit_result(e->legal, unit, k);
        if (place.root.index != node->first_result + k)
            MW_ASSERT(mw_library_place_result(e->legal, node, k, &place.layout, args));
    }
    return args;
}

/* Operands of the call: those of the operator, without what the node waits for besides; its
 * results, the memory that it works in. */
static MwPlanInstr emit_library(MwEmitter *e, int u, const MwNode *node)
{
    const MwUnit *unit = &e->units->units.at[u];
    const MwRoutine routine = mw_library_routine(node->op);
    int buffers[MW_ROUTINE_MAX_OPERANDS], count = 0;
    for (int k = 0; k < mw_op_info(node->op)->operands; k++)
        buffers[count++] = operand_buffer(e, node, k);
    for (int k = 0; k < node->result_count; k++)
        buffers[count++] = buffer_of(e, mw_library_unit_result(e->legal, unit, k).root);
    if (mw_routine_has_scratch(routine))
        buffers[count++] = e->storage->scratch[u];
    MwPlanInstr instr = emit_routine(e, routine, buffers);
    MW_ASSERT(instr.operand_count == count);
    instr.args = library_args(e, unit, node);
    const MwWork work = node_work(e, node);
    set_work(e, &instr, &work);
    return instr;
}

MwPlanInstr mw_instr_of_copy(MwEmitter *e, int from, int to, int64_t bytes)
{
    const int buffers[] = {from, to};
    MwPlanInstr instr = emit_routine(e, MW_ROUTINE_COPY, buffers);
    instr.args[0].i = bytes;
    const bool on_host = e->storage->mesh->buffers.at[from].on_host;
    const MwWork work = stream_work(on_host, 0, 2 * (double)bytes);
    set_work(e, &instr, &work);
    return instr;
}

/* ---- Collectives ---- */

static MwPlanInstr emit_collective(MwEmitter *e, const MwNode *node)
{
    MwCollective kind = mw_op_collective(node->op);
    MwPlanInstr instr = new_instr(e, MW_INSTR_COLLECTIVE, kind, 2, 0);
    const MwTensor *source = mw_legal_operand_tensor(e->legal, node, 0);
    const MwTensor *result = &e->legal->graph->values.at[node->first_result].tensor;
    int from = operand_buffer(e, node, 0), to = result_buffer(e, node, 0);
    instr.operands[0] = (MwPlanOperand){from, MW_ACCESS_READ};
    instr.operands[1] = (MwPlanOperand){to, MW_ACCESS_WRITE};
    instr.axis = (int)mw_node_int(node, MW_ATTR_MESH_AXIS);
    instr.type = source->type;
    instr.count = mw_tensor_elements(source);
    const MwAttr *combine = mw_node_attr(node, MW_ATTR_COMBINE);
    if (combine)
        MW_ASSERT(mw_combine_parse(combine->text, &instr.combine));
    MW_ASSERT(mw_tensor_elements(result) <= instr.count * e->model.mesh.size[instr.axis]);
    instr.time_s = mw_predict_collective_s(&e->model, &instr);
    mw_reuse_s(e->reuse, &e->model, &instr,
               (double)(mw_tensor_bytes(source) + mw_tensor_bytes(result)));
    return instr;
}

MwPlanInstr mw_instr_of_bucket(MwEmitter *e, const MwPlanInstr *const *parts, int count)
{
    MwPlanInstr bucket = *parts[0];
    bucket.operands = MW_NEW(e->arena, MwPlanOperand, 2 * count);
    bucket.operand_count = 2 * count;
    bucket.args = MW_NEW(e->arena, MwPlanArg, count);
    bucket.arg_count = count;
    bucket.count = 0;
    for (int i = 0; i < count; i++) {
        memcpy(bucket.operands + 2 * i, parts[i]->operands, 2 * sizeof *bucket.operands);
        bucket.args[i].i = parts[i]->count;
        bucket.count += parts[i]->count;
    }
    mw_plan_join_operators(e->arena, parts, count, &bucket);
    bucket.time_s = mw_predict_collective_s(&e->model, &bucket);
    return bucket;
}

/* ---- Transfers ---- */

static MwPlanInstr emit_transfer(MwEmitter *e, const MwNode *node)
{
    bool sends = node->op == MW_OP_SEND;
    MwPlanInstr instr = new_instr(e, sends ? MW_INSTR_SEND : MW_INSTR_RECEIVE,
                                  (int)mw_node_int(node, MW_ATTR_TRANSFER), 1, 0);
    instr.operands[0] = sends ? (MwPlanOperand){operand_buffer(e, node, 0), MW_ACCESS_READ}
                              : (MwPlanOperand){result_buffer(e, node, 0), MW_ACCESS_WRITE};
    return instr;
}

/* ---- Units ---- */

static MwPlanInstr emit_call(MwEmitter *e, int u)
{
    const MwUnit *unit = &e->units->units.at[u];
    const MwNode *node = first_node(e->legal, unit);
    if (mw_unit_is_gemm(e->legal, unit))
        return emit_gemm(e, unit);
    switch (mw_op_info(node->op)->lowering) {
    case MW_LOWER_LIBRARY:
        return emit_library(e, u, node);
    case MW_LOWER_COLLECTIVE:
        return emit_collective(e, node);
    case MW_LOWER_TRANSFER:
        return emit_transfer(e, node);
    default:
        MW_UNREACHABLE();
    }
}

bool mw_instr_of_unit(MwEmitter *e, int u, MwPlanInstr *instr)
{
    if (e->units->units.at[u].is_kernel)
        return emit_kernel(e, u, instr);
    *instr = emit_call(e, u);
    return true;
}
