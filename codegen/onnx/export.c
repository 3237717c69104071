/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An export: the nodes that outputs depend on, in an order in which those of a scan follow each
 * other, each by its rule. */
#include "codegen/onnx/export.h"

#include "codegen/onnx/rules.h"

#include <string.h>

static const struct {
    MwWriteRule *rule;
    const char *op;
} rules[MW_OP_COUNT] = {
#define RULE(id, rule, op, note) [MW_OP_##id] = {mw_write_##rule, op},
#include "codegen/onnx/rules.def"
};

/* ---- What is needed ---- */

static void need_operands(MwWriter *writer, int from)
{
    for (int n = from; n >= 0; n--) {
        const MwNode *node = &writer->graph->nodes.at[n];
        for (int k = 0; writer->needed[n] && k < node->operand_count; k++)
            writer->needed[mw_value(writer->graph, node->operands[k])->node.index] = true;
    }
}

/* Marks what the results depend on. */
static void need_results(MwWriter *writer)
{
    for (int i = 0; i < writer->results.count; i++)
        writer->needed[mw_value(writer->graph, writer->results.at[i].value)->node.index] = true;
    for (int from = writer->graph->nodes.count - 1; from >= 0;
         from = mw_loops_need_next(&writer->loops, writer->needed))
        need_operands(writer, from);
}

/* A state that is needed, and that the model assigns, is given and gives what comes next. Returns
 * whether there was one that was not given yet. */
static bool give_states(MwWriter *writer)
{
    const MwGraph *graph = writer->graph;
    bool any = false;
    for (int i = 0; i < graph->assigns.count; i++) {
        const MwAssign *assign = &graph->assigns.at[i];
        if (!writer->needed[mw_value(graph, assign->target)->node.index] ||
            writer->is_given[assign->target.index])
            continue;
        any = writer->is_given[assign->target.index] = true;
        const char *name = mw_value(graph, assign->target)->name;
        mw_vec_push(writer->arena, &writer->results,
                    ((MwOutput){mw_arena_printf(writer->arena, "%s.next", name), assign->value}));
    }
    return any;
}

static void find_needed(MwWriter *writer)
{
    const MwGraph *graph = writer->graph;
    writer->needed = MW_NEW(writer->arena, bool, graph->nodes.count);
    writer->is_given = MW_NEW(writer->arena, bool, graph->values.count);
    for (int i = 0; i < graph->outputs.count; i++)
        mw_vec_push(writer->arena, &writer->results, graph->outputs.at[i]);
    do
        need_results(writer);
    while (give_states(writer));
}

static bool is_filter(const MwNode *node, int k)
{
    return (node->op == MW_OP_CONV || node->op == MW_OP_CONV_TRANSPOSE) && k == 1;
}

static void find_users(MwWriter *writer)
{
    const MwGraph *graph = writer->graph;
    writer->uses = MW_NEW(writer->arena, int, graph->values.count);
    writer->user = MW_NEW(writer->arena, int, graph->values.count);
    writer->filters = MW_NEW(writer->arena, int, graph->values.count);
    for (int i = 0; i < graph->values.count; i++)
        writer->user[i] = -1;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        for (int k = 0; writer->needed[n] && k < node->operand_count; k++) {
            writer->uses[node->operands[k].index]++;
            writer->user[node->operands[k].index] = n;
            writer->filters[node->operands[k].index] += is_filter(node, k);
        }
    }
    for (int i = 0; i < writer->results.count; i++)
        writer->uses[writer->results.at[i].value.index]++;
}

/* ---- Inputs and outputs ---- */

/* An output has the name that the model gives it: nothing else has it but its value. */
static void reserve_outputs(MwWriter *writer)
{
    writer->is_named = MW_NEW(writer->arena, bool, writer->graph->values.count);
    for (int i = 0; i < writer->results.count; i++) {
        MwOutput *output = &writer->results.at[i];
        const bool is_own = strcmp(mw_value(writer->graph, output->value)->name, output->name) == 0;
        output->name = mw_writer_name(writer, output->name);
        writer->is_named[output->value.index] |= is_own;
    }
}

static void add_inputs(MwWriter *writer)
{
    for (int n = 0; n < writer->graph->nodes.count; n++) {
        const MwNode *node = &writer->graph->nodes.at[n];
        const MwValueId value = {node->first_result};
        if (!writer->needed[n] || (node->op != MW_OP_INPUT && !writer->is_given[value.index]))
            continue;
        const char *name = mw_writer_value_name(writer, value);
        writer->name[value.index][MW_ORDER_OWN] = name;
        mw_vec_push(writer->arena, &writer->inputs, mw_writer_info(writer, name, value, -1));
    }
}

/* The name of a result: that of its value, or of the node that gives it in its own order, which is
 * added here; or of a copy, as where it is an input. */
static const char *name_result(MwWriter *writer, const MwOutput *result)
{
    const int before = writer->nodes.count;
    const char *name = mw_writer_in(writer, result->value, MW_ORDER_OWN);
    if (strcmp(name, result->name) == 0)
        return name;
    if (writer->nodes.count == before)
        mw_writer_put1(writer, "Identity", name);
    else
        writer->name[result->value.index][MW_ORDER_OWN] = result->name;
    return mw_vec_last(writer->target)->output[0] = (char *)result->name;
}

static void add_outputs(MwWriter *writer)
{
    writer->node = NULL;
    for (int i = 0; i < writer->results.count; i++) {
        const MwOutput *result = &writer->results.at[i];
        mw_vec_push(writer->arena, &writer->outputs,
                    mw_writer_info(writer, name_result(writer, result), result->value, -1));
    }
}

/* ---- Nodes ---- */

/* What is written where it is asked for. */
static bool is_made_later(MwOp op)
{
    return mw_op_is_data(op) || op == MW_OP_CONSTANT || op == MW_OP_IOTA || op == MW_OP_BROADCAST;
}

/* Whether the operands of a node have been written; where one was refused, this one is passed
 * over. */
static bool has_operands(const MwWriter *writer, const MwNode *node)
{
    bool has = true;
    for (int k = 0; k < node->operand_count; k++) {
        const MwValueId operand = node->operands[k];
        const MwNode *maker = mw_value_node(writer->graph, operand);
        const int n = (int)(maker - writer->graph->nodes.at);
        const char *const *name = writer->name[operand.index];
        if (maker->op == MW_OP_BROADCAST)
            has &= has_operands(writer, maker);
        else
            has &= name[0] || name[1] || writer->is_merged[n] || is_made_later(maker->op);
    }
    return has;
}

/* Whether what says how a node computes is the same for all sizes. Rules ask for the numbers that
 * need not be as numbers of the open sizes. */
static bool has_fixed_attrs(MwWriter *writer)
{
    static const bool may_differ[MW_ATTR_COUNT] = {
        [MW_ATTR_BEGIN] = true,  [MW_ATTR_END] = true,    [MW_ATTR_SIZES] = true,
        [MW_ATTR_SHAPE] = true,  [MW_ATTR_K] = true,      [MW_ATTR_STEPS] = true,
        [MW_ATTR_OFFSET] = true, [MW_ATTR_WINDOW] = true, [MW_ATTR_KEY] = true,
        [MW_ATTR_PADDING] = true};
    for (int i = 0; i < writer->node->attr_count; i++) {
        const MwAttr *attr = &writer->node->attrs[i];
        for (int point = 1; point < mw_open_point_count(writer->open); point++)
            if (!may_differ[attr->key] &&
                !mw_attr_equal(attr, &mw_writer_node_at(writer, point)->attrs[i]))
                return mw_writer_refuse(writer, mw_arena_printf(writer->arena,
                                                                "its '%s' depends on an open size",
                                                                mw_attr_name(attr->key)));
    }
    return true;
}

static void write_node(MwWriter *writer, int n)
{
    const MwNode *node = &writer->graph->nodes.at[n];
    if (is_made_later(node->op) || !has_operands(writer, node))
        return;
    writer->node = node;
    if (!has_fixed_attrs(writer))
        return;
    if (rules[node->op].rule)
        rules[node->op].rule(writer, rules[node->op].op);
    else
        mw_writer_refuse(writer, NULL);
}

static void write_nodes(MwWriter *writer)
{
    const int32_t *order = mw_loops_order(writer->arena, writer->graph, &writer->loops);
    int loop = -1;
    for (int i = 0; i < writer->graph->nodes.count; i++) {
        if (!writer->needed[order[i]])
            continue;
        const int next = writer->loops.of_node[order[i]];
        if (loop >= 0 && next != loop && !writer->refused.count)
            mw_writer_scan(writer, loop);
        loop = next;
        writer->target = loop >= 0 ? &writer->scans[loop].body : &writer->nodes;
        write_node(writer, order[i]);
    }
    if (loop >= 0 && !writer->refused.count)
        mw_writer_scan(writer, loop);
    writer->target = &writer->nodes;
}

/* ---- Errors ---- */

enum { MOST_PLACES = 10 };

/* One error with the first place of each operator, and why it cannot be exported. */
static void report_refused(MwWriter *writer)
{
    bool said[MW_OP_COUNT] = {false};
    int count = 0;
    mw_diag_error(writer->diags, mw_span_none(), "the model has operators that cannot be exported");
    for (int i = 0; i < writer->refused.count; i++) {
        const MwNode *node = &writer->graph->nodes.at[writer->refused.at[i]];
        const char *reason = writer->reasons.at[i];
        if (said[node->op] || count == MOST_PLACES)
            continue;
        said[node->op] = true;
        count++;
        mw_diag_note(writer->diags, node->origin.span, "%s, which makes '%s'%s%s",
                     mw_op_info(node->op)->name, writer->graph->values.at[node->first_result].name,
                     reason ? ": " : "", reason ? reason : "");
    }
}

/* ---- The model ---- */

static void note_operands(MwKeyMap *used, const MwWriter *writer, const MwWrittenNodes *nodes)
{
    for (int i = 0; i < nodes->count; i++)
        for (size_t k = 0; k < nodes->at[i]->n_input; k++) {
            const char *name = nodes->at[i]->input[k];
            *mw_key_map_at(writer->arena, used, name, strlen(name)) = nodes->at[i];
        }
}

/* Drops constants that a rule made and did not use. */
static void drop_unused(MwWriter *writer)
{
    MwKeyMap used = {0};
    int kept = 0;
    note_operands(&used, writer, &writer->nodes);
    for (int i = 0; i < writer->loops.count; i++)
        note_operands(&used, writer, &writer->scans[i].body);
    for (int i = 0; i < writer->initializers.count; i++) {
        MwOnnx__TensorProto *tensor = writer->initializers.at[i];
        if (!tensor->has_raw_data ||
            *mw_key_map_at(writer->arena, &used, tensor->name, strlen(tensor->name)))
            writer->initializers.at[kept++] = tensor;
    }
    writer->initializers.count = kept;
}

static void fill_model(MwWriter *writer, MwOnnxExport *export)
{
    MwOnnx__ModelProto *model = MW_NEW(writer->arena, MwOnnx__ModelProto, 1);
    MwOnnx__GraphProto *graph = MW_NEW(writer->arena, MwOnnx__GraphProto, 1);
    MwOnnx__OperatorSet *set = MW_NEW(writer->arena, MwOnnx__OperatorSet, 1);
    mw_onnx__model_proto__init(model);
    mw_onnx__graph_proto__init(graph);
    mw_onnx__operator_set__init(set);
    set->domain = "";
    set->has_version = true;
    set->version = MW_ONNX_VERSION;
    model->has_ir_version = true;
    model->ir_version = MW_ONNX_IR_VERSION;
    model->producer_name = "meshwright";
    model->graph = graph;
    model->n_opset_import = 1;
    model->opset_import = mw_arena_dup(writer->arena, &set, sizeof set);
    graph->name = mw_arena_strdup(writer->arena, writer->graph->name);
    graph->n_node = (size_t)writer->nodes.count;
    graph->node = writer->nodes.at;
    graph->n_initializer = (size_t)writer->initializers.count;
    graph->initializer = writer->initializers.at;
    graph->n_input = (size_t)writer->inputs.count;
    graph->input = writer->inputs.at;
    graph->n_output = (size_t)writer->outputs.count;
    graph->output = writer->outputs.at;
    export->model = model;
}

bool mw_onnx_export(MwArena *arena, const MwOpenSizes *open, MwDiags *diags, MwOnnxExport *export)
{
    const MwGraph *graph = open->graphs[0];
    MwWriter writer = {.arena = arena,
                       .graph = graph,
                       .open = open,
                       .diags = diags,
                       .loops = mw_loops(arena, graph),
                       .export = export};
    *export = (MwOnnxExport){0};
    writer.is_merged = MW_NEW(arena, bool, graph->nodes.count);
    writer.name = mw_arena_alloc(arena, sizeof *writer.name * (size_t)graph->values.count);
    writer.filter_name = MW_NEW(arena, const char *, graph->values.count);
    writer.scans = MW_NEW(arena, MwWrittenScan, writer.loops.count);
    writer.target = &writer.nodes;
    find_needed(&writer);
    find_users(&writer);
    reserve_outputs(&writer);
    add_inputs(&writer);
    write_nodes(&writer);
    if (!writer.refused.count)
        add_outputs(&writer);
    if (writer.refused.count)
        report_refused(&writer);
    drop_unused(&writer);
    fill_model(&writer, export);
    return mw_diags_error_count(diags) == 0;
}
