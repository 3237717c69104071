/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/plan_build.h"

#include "base/quantity.h"
#include "codegen/instrs.h"
#include "codegen/plan_report.h"
#include "ir/print.h"

#include <string.h>

typedef struct {
    MwArena *arena;
    const MwCompilation *compilation;
    const MwStage *stage;
    const MwLocalGraph *local;
    const MwLegal *legal;
    const MwUnits *units;
    MwOrder order;
    MwStorage storage;
    MwEmitter emitter;
    MwPlanMesh *mesh;
} Builder;

static const MwGraph *graph_of(const Builder *b)
{
    return b->legal->graph;
}

static int buffer_of(const Builder *b, MwValueId legal_value)
{
    int buffer = b->storage.buffer[mw_legal_root(b->legal, legal_value).index];
    MW_ASSERT(buffer >= 0);
    return buffer;
}

/* ---- Buffers ---- */

static const char *buffer_name(const Builder *b, int index)
{
    MwValueId value = b->storage.buffers.at[index].value;
    if (mw_has_value(value))
        return mw_value(graph_of(b), value)->name;
    return mw_arena_printf(b->arena, "scratch.%d", index);
}

static void build_buffers(Builder *b)
{
    MwPlanMesh *mesh = b->mesh;
    mesh->buffer_count = b->storage.buffers.count;
    mesh->buffers = MW_NEW(b->arena, MwPlanBuffer, mesh->buffer_count);
    for (int i = 0; i < mesh->buffer_count; i++) {
        const MwStorageBuffer *from = &b->storage.buffers.at[i];
        mesh->buffers[i] = (MwPlanBuffer){.name = buffer_name(b, i),
                                          .tensor = from->tensor,
                                          .offset = from->offset,
                                          .bytes = from->bytes,
                                          .slots = 1,
                                          .persistent = from->persistent};
    }
    mesh->arena_bytes = b->storage.arena_bytes;
    mesh->costs.live_bytes = b->storage.live_bytes;
}

/* ---- Programs ---- */

static int copies_in(const Builder *b, MwPhase phase)
{
    int count = 0;
    for (int i = 0; i < graph_of(b)->assigns.count; i++)
        count += b->storage.copies[i] &&
                 mw_value_node(graph_of(b), graph_of(b)->assigns.at[i].value)->phase == phase;
    return count;
}

/* New values that could not be written over the old ones are copied there at the end. */
static void emit_copies(Builder *b, MwPhase phase, MwPlanProgram *program)
{
    for (int i = 0; i < graph_of(b)->assigns.count; i++) {
        const MwAssign *assign = &graph_of(b)->assigns.at[i];
        if (!b->storage.copies[i] || mw_value_node(graph_of(b), assign->value)->phase != phase)
            continue;
        int64_t bytes = mw_tensor_bytes(mw_value_tensor(graph_of(b), assign->target));
        program->instrs[program->instr_count++] = mw_instr_of_copy(
            &b->emitter, buffer_of(b, assign->value), buffer_of(b, assign->target), bytes);
    }
}

static void emit_program(Builder *b, MwPhase phase, MwPlanProgram *program)
{
    int begin = b->order.begin[phase], end = b->order.begin[phase + 1];
    program->instrs = MW_NEW(b->arena, MwPlanInstr, end - begin + copies_in(b, phase));
    for (int p = begin; p < end; p++) {
        int unit = b->order.unit[p];
        MwPlanInstr instr = mw_instr_of_unit(&b->emitter, unit);
        instr.operator_index =
            mw_plan_report_operator(b->stage, b->legal, &b->units->units.at[unit]);
        program->instrs[program->instr_count++] = instr;
    }
    emit_copies(b, phase, program);
}

/* A micro-batch has a task, even where all that leaves the model is there without one. */
static bool is_needed(MwPhase phase, const MwPlanProgram *program)
{
    return program->instr_count > 0 || phase == MW_PHASE_FORWARD;
}

static void build_programs(Builder *b)
{
    MwPlanMesh *mesh = b->mesh;
    mesh->programs = MW_NEW(b->arena, MwPlanProgram, MW_PHASE_COUNT);
    mesh->tasks =
        MW_NEW(b->arena, MwPlanTask, MW_PHASE_COUNT * b->compilation->staging.micro_batches);
    int program[MW_PHASE_COUNT];
    for (int phase = 0; phase < MW_PHASE_COUNT; phase++) {
        MwPlanProgram *made = &mesh->programs[mesh->program_count];
        made->name = mw_phase_name((MwPhase)phase);
        emit_program(b, (MwPhase)phase, made);
        program[phase] = is_needed((MwPhase)phase, made) ? mesh->program_count++ : -1;
    }
    for (int m = 0; m < b->compilation->staging.micro_batches; m++)
        for (int phase = 0; phase < MW_PHASE_UPDATE; phase++)
            if (program[phase] >= 0)
                mesh->tasks[mesh->task_count++] = (MwPlanTask){program[phase], m};
    if (program[MW_PHASE_UPDATE] >= 0)
        mesh->tasks[mesh->task_count++] = (MwPlanTask){program[MW_PHASE_UPDATE], -1};
}

/* ---- What goes in and comes out ---- */

static MwSpec spec_of(const Builder *b, MwValueId local_value)
{
    return b->local->value_spec[local_value.index];
}

static const MwTensor *global_tensor(const Builder *b, MwValueId local_value)
{
    return mw_value_tensor(b->local->global, b->local->value_global[local_value.index]);
}

/* The whole batch of something of which a micro-batch is a part. */
static MwTensor whole_batch(const Builder *b, const MwTensor *tensor)
{
    MwTensor whole = *tensor;
    if (whole.rank)
        whole.dim[0] *= b->compilation->staging.micro_batches;
    return whole;
}

/* The least number of entries among the tables that the rows of `value` are looked up in. */
static int64_t index_bound(const Builder *b, MwValueId global_value)
{
    const MwGraph *graph = b->local->global;
    int64_t bound = 0;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        bool looks_up = node->op == MW_OP_EMBEDDING || node->op == MW_OP_PICK;
        int ids = node->op == MW_OP_EMBEDDING ? 0 : 1;
        for (int k = 0; k < node->operand_count; k++) {
            if (!mw_value_equal(node->operands[k], global_value))
                continue;
            int64_t own = 0;
            if (node->op == MW_OP_IDENTITY)
                own = index_bound(b, mw_node_result(graph, (MwNodeId){n}, 0));
            if (looks_up && k == ids) {
                const MwTensor *table = mw_value_tensor(graph, node->operands[!ids]);
                own = ids == 0 ? table->dim[0] : table->dim[table->rank - 1];
            }
            bound = own && (!bound || own < bound) ? own : bound;
        }
    }
    return bound;
}

/* The first or the last program that runs on micro-batches; 0 if none does. */
static int micro_program(const Builder *b, bool last)
{
    int found = 0;
    for (int t = 0; t < b->mesh->task_count; t++)
        if (b->mesh->tasks[t].micro_batch == 0 && (last || t == 0))
            found = b->mesh->tasks[t].program;
    return found;
}

static void build_inputs(Builder *b)
{
    const MwGraph *graph = b->local->graph;
    b->mesh->inputs = MW_NEW(b->arena, MwPlanInput, graph->nodes.count);
    for (int n = 0; n < graph->nodes.count; n++) {
        if (graph->nodes.at[n].op != MW_OP_INPUT)
            continue;
        MwValueId value = mw_node_result(graph, (MwNodeId){n}, 0);
        b->mesh->inputs[b->mesh->input_count++] =
            (MwPlanInput){.name = mw_value(graph, value)->name,
                          .buffer = buffer_of(b, b->legal->form[value.index]),
                          .global = whole_batch(b, global_tensor(b, value)),
                          .spec = spec_of(b, value),
                          .bound = index_bound(b, b->local->value_global[value.index]),
                          .program = micro_program(b, false)};
    }
}

static void build_outputs(Builder *b)
{
    const MwGraph *graph = b->local->graph;
    MwPlanMesh *mesh = b->mesh;
    mesh->outputs = MW_NEW(b->arena, MwPlanOutput, graph->outputs.count);
    for (int i = 0; i < graph->outputs.count; i++) {
        MwValueId value = graph->outputs.at[i].value;
        MwPhase phase = mw_value_node(graph, value)->phase;
        MwOp op = mw_value_node(graph, value)->op;
        bool whole = phase == MW_PHASE_UPDATE || op == MW_OP_WEIGHT || op == MW_OP_STATE;
        const MwTensor *tensor = global_tensor(b, value);
        mesh->outputs[mesh->output_count++] =
            (MwPlanOutput){.name = graph->outputs.at[i].name,
                           .buffer = buffer_of(b, graph_of(b)->outputs.at[i].value),
                           .global = whole ? *tensor : whole_batch(b, tensor),
                           .spec = spec_of(b, value),
                           .whole = whole,
                           .program = whole ? -1 : micro_program(b, true)};
    }
    mesh->loss_buffer = -1;
    if (mw_has_value(graph_of(b)->train.loss))
        mesh->loss_buffer = buffer_of(b, graph_of(b)->train.loss);
}

static MwInit init_of(const char *name)
{
    static const char *const names[] = {[MW_INIT_ZEROS] = "zeros",
                                        [MW_INIT_ONES] = "ones",
                                        [MW_INIT_NORMAL] = "normal",
                                        [MW_INIT_UNIFORM] = "uniform",
                                        [MW_INIT_CONSTANT] = "constant"};
    for (int i = 0; i < MW_COUNT(names); i++)
        if (strcmp(name, names[i]) == 0)
            return (MwInit)i;
    MW_UNREACHABLE();
}

static bool accumulates(const MwGraph *graph, MwValueId target)
{
    for (int i = 0; i < graph->assigns.count; i++)
        if (mw_value_equal(graph->assigns.at[i].target, target))
            return mw_assign_accumulates(graph, &graph->assigns.at[i]);
    return false;
}

static void build_weights(Builder *b)
{
    const MwGraph *graph = b->local->graph;
    b->mesh->weights = MW_NEW(b->arena, MwPlanWeight, graph->nodes.count);
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        if (node->op != MW_OP_WEIGHT && node->op != MW_OP_STATE)
            continue;
        MwValueId value = mw_node_result(graph, (MwNodeId){n}, 0);
        b->mesh->weights[b->mesh->weight_count++] =
            (MwPlanWeight){.name = mw_value(graph, value)->name,
                           .buffer = buffer_of(b, b->legal->form[value.index]),
                           .global = *global_tensor(b, value),
                           .spec = spec_of(b, value),
                           .init = init_of(mw_node_text(node, MW_ATTR_INIT)),
                           .init_value = mw_node_float(node, MW_ATTR_VALUE),
                           .is_state = node->op == MW_OP_STATE,
                           .reset_each_step = accumulates(graph, value)};
    }
}

/* ---- The plan ---- */

static double program_s(const MwPlanProgram *program)
{
    double time_s = 0;
    for (int i = 0; i < program->instr_count; i++)
        time_s += program->instrs[i].time_s;
    return time_s;
}

static void build_costs(Builder *b)
{
    b->mesh->costs.step_s = 0;
    for (int t = 0; t < b->mesh->task_count; t++)
        b->mesh->costs.step_s += program_s(&b->mesh->programs[b->mesh->tasks[t].program]);
}

static MwPlan *build_plan(Builder *b, const char *source)
{
    const MwCompilation *c = b->compilation;
    MwPlan *plan = MW_NEW(b->arena, MwPlan, 1);
    *plan = (MwPlan){.model = c->graph->name,
                     .source = source,
                     .cluster = c->cluster->name,
                     .backend = c->cluster->backend,
                     .rank_count = mw_mesh_devices(&b->local->mesh),
                     .micro_batches = c->staging.micro_batches,
                     .schedule = "none",
                     .kernels = b->emitter.kernels.at,
                     .kernel_count = b->emitter.kernels.count,
                     .kernel_source = mw_instr_source(&b->emitter),
                     .meshes = b->mesh,
                     .mesh_count = 1};
    return plan;
}

static bool fits_memory(const Builder *b, MwDiags *diags)
{
    const MwCompilation *c = b->compilation;
    int64_t limit =
        c->options.memory_bytes ? c->options.memory_bytes : c->cluster->device.memory_bytes;
    if (!limit || b->mesh->arena_bytes <= limit)
        return true;
    mw_diag_error(diags, mw_span_none(), "a device needs %s of memory: %s more than the %s it has",
                  mw_bytes_text(b->arena, (double)b->mesh->arena_bytes),
                  mw_bytes_text(b->arena, (double)(b->mesh->arena_bytes - limit)),
                  mw_bytes_text(b->arena, (double)limit));
    mw_diag_note(diags, mw_span_none(),
                 "more devices, or more micro-batches than %d, would make it fit",
                 c->staging.micro_batches);
    return false;
}

MwPlan *mw_plan_build(const MwCompilation *compilation, const char *source, MwDiags *diags)
{
    Builder b = {.arena = compilation->arena,
                 .compilation = compilation,
                 .stage = &compilation->stages[0],
                 .local = compilation->stages[0].local,
                 .legal = mw_legalize(compilation->stages[0].local->graph)};
    b.units = mw_units_form(b.legal);
    b.order = mw_order_units(b.legal, b.units);
    b.storage = mw_storage_plan(b.legal, b.units, &b.order);
    b.emitter = mw_instr_begin(b.local, b.legal, b.units, &b.storage, compilation->cluster);
    b.mesh = MW_NEW(b.arena, MwPlanMesh, 1);
    b.mesh->shape = b.local->mesh;
    build_buffers(&b);
    build_programs(&b);
    build_inputs(&b);
    build_outputs(&b);
    build_weights(&b);
    mw_plan_report_fill(b.arena, b.stage, b.mesh);
    build_costs(&b);
    return fits_memory(&b, diags) ? build_plan(&b, source) : NULL;
}
