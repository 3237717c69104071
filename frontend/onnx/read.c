/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An ONNX file to a graph: values by name, nodes in order, what is no graph refused. */
#include "frontend/onnx/names.h"

#include <math.h>
#include <string.h>

enum { LEAST_OPSET = 13, LATEST_OPSET = 26 };
/* The largest of sizes, and of nodes, that are believed. */
static const int64_t MAX_SIZE = (int64_t)1 << 31;
enum { MAX_NODES = 1 << 20, SYMBOL_DEFAULT = 16 };

static void *arena_alloc(void *arena, size_t bytes)
{
    return mw_arena_alloc(arena, bytes);
}

static void arena_keep(void *arena, void *data)
{
    (void)arena;
    (void)data;
}

const MwOnnx__ModelProto *mw_onnx_unpack(MwArena *arena, const void *data, size_t bytes,
                                         const char *path, MwDiags *diags)
{
    ProtobufCAllocator allocator = {arena_alloc, arena_keep, arena};
    const MwOnnx__ModelProto *model = mw_onnx__model_proto__unpack(&allocator, bytes, data);
    if (!model || !model->graph) {
        mw_diag_error(diags, mw_span_none(), "%s is no ONNX model, or not all of one", path);
        return NULL;
    }
    return model;
}

static bool check_opset(MwOnnxGraph *graph, const MwOnnx__ModelProto *model)
{
    for (size_t i = 0; i < model->n_opset_import; i++) {
        const MwOnnx__OperatorSet *set = model->opset_import[i];
        if (!set->domain || !*set->domain || strcmp(set->domain, "ai.onnx") == 0)
            graph->opset = set->version;
    }
    if (graph->opset >= LEAST_OPSET && graph->opset <= LATEST_OPSET)
        return true;
    mw_diag_error(graph->diags, mw_span_none(),
                  "%s has operators of version %lld; versions %d to %d are read", graph->path,
                  (long long)graph->opset, LEAST_OPSET, LATEST_OPSET);
    return false;
}

/* The value of a name, new if there is none yet. */
static MwOnnxValue *value_named(MwOnnxGraph *graph, const char *name)
{
    void **slot = mw_name_map_add(&graph->values, mw_intern(graph->interner, name));
    if (!*slot) {
        MwOnnxValue *value = MW_NEW(graph->arena, MwOnnxValue, 1);
        value->name = mw_intern(graph->interner, name);
        *slot = value;
    }
    return *slot;
}

static bool fail(MwOnnxGraph *graph, const char *what, const char *name)
{
    mw_diag_error(graph->diags, mw_span_none(), "%s: %s '%s'", graph->path, what, name);
    return false;
}

/* Masks have infinite elements, which nothing could train. */
static bool is_finite(const MwOnnxTensor *tensor)
{
    for (int64_t i = 0; i < tensor->count; i++)
        if (!isfinite(mw_onnx_number(tensor, i)))
            return false;
    return true;
}

static bool read_initializer(MwOnnxGraph *graph, const MwOnnx__TensorProto *proto)
{
    if (!proto->name || !*proto->name)
        return fail(graph, "an initializer has no name", "");
    MwOnnxValue *value = value_named(graph, proto->name);
    if (value->state != MW_ONNX_UNKNOWN)
        return fail(graph, "two initializers have the name", value->name);
    const char *what =
        mw_arena_printf(graph->arena, "%s: initializer '%s'", graph->path, value->name);
    value->constant = mw_onnx_tensor_read(graph->arena, proto, graph->path, what, graph->diags);
    value->state = value->constant ? MW_ONNX_KNOWN : MW_ONNX_BAD;
    if (!value->constant)
        return false;
    value->shape.type = value->constant->type;
    value->shape.rank = value->constant->rank;
    for (int i = 0; i < value->shape.rank; i++)
        value->shape.dim[i] = mw_onnx_dim(value->constant->dim[i]);
    value->is_weight = mw_type_is_float(value->shape.type) && mw_onnx_is_given_name(value->name) &&
                       (value->shape.rank > 0 || strchr(value->name, '.')) &&
                       is_finite(value->constant);
    mw_vec_push(graph->arena, &graph->initializers, value);
    return true;
}

/* ---- Inputs ---- */

MwOnnxSymbol *mw_onnx_symbol(const MwOnnxSymbols *symbols, const char *name)
{
    for (int i = 0; i < symbols->count; i++)
        if (strcmp(symbols->at[i].name, name) == 0)
            return &symbols->at[i];
    return NULL;
}

/* The symbol of a size, new if there is none yet. */
static const MwOnnxSymbol *symbol_named(MwOnnxGraph *graph, const char *name, bool is_batch)
{
    const MwOnnxSymbol *symbol = mw_onnx_symbol(&graph->symbols, name);
    if (symbol)
        return symbol;
    const MwOnnxSymbol *given = mw_onnx_symbol(graph->given, name);
    const int64_t value = given ? given->value : is_batch ? 1 : SYMBOL_DEFAULT;
    mw_vec_push(graph->arena, &graph->symbols, ((MwOnnxSymbol){.name = name, .value = value}));
    return &mw_vec_last(&graph->symbols);
}

/* The size that a name stands for. */
static MwOnnxDim symbol_dim(MwOnnxGraph *graph, const char *param, bool is_batch)
{
    const char *name = mw_onnx_clean_name(graph->interner, param);
    const MwOnnxSymbol *symbol = symbol_named(graph, name, is_batch);
    const int index = (int)(symbol - graph->symbols.at);
    if (!symbol->is_fixed && index < MW_ONNX_MAX_SYMBOLS)
        return mw_onnx_dim_symbol(index, symbol->value);
    graph->has_fixed_batch |= is_batch;
    return mw_onnx_dim(symbol->value);
}

static bool read_dim(MwOnnxGraph *graph, MwOnnxValue *value, int i, const MwOnnx__Dimension *dim)
{
    if (dim->has_dim_value) {
        if (dim->dim_value < 1 || dim->dim_value > MAX_SIZE)
            return fail(graph, "no size is possible of a dimension of input", value->name);
        value->shape.dim[i] = mw_onnx_dim(dim->dim_value);
        return true;
    }
    const char *param = dim->dim_param && *dim->dim_param
                            ? dim->dim_param
                            : mw_arena_printf(graph->arena, "%s_dim_%d", value->name, i);
    value->shape.dim[i] = symbol_dim(graph, param, i == 0);
    return true;
}

static bool read_input(MwOnnxGraph *graph, const MwOnnx__ValueInfo *info)
{
    if (!info->name || !*info->name)
        return fail(graph, "an input has no name", "");
    MwOnnxValue *value = value_named(graph, info->name);
    if (value->state == MW_ONNX_KNOWN && value->constant)
        return true; /* an initializer, which older files list among the inputs */
    if (value->state != MW_ONNX_UNKNOWN)
        return fail(graph, "two inputs have the name", value->name);
    const MwOnnx__TensorType *type = info->type ? info->type->tensor_type : NULL;
    if (!type || !type->shape)
        return fail(graph, "no type and shape of a tensor are given for input", value->name);
    if (!mw_onnx_type(type->elem_type, &value->shape.type) || type->shape->n_dim > MW_MAX_RANK)
        return fail(graph, "the type or the number of dimensions is not possible of input",
                    value->name);
    value->shape.rank = (int)type->shape->n_dim;
    for (int i = 0; i < value->shape.rank; i++) {
        value->order[i] = (int8_t)i;
        if (!read_dim(graph, value, i, type->shape->dim[i]))
            return false;
    }
    value->state = MW_ONNX_KNOWN;
    mw_vec_push(graph->arena, &graph->inputs, value);
    return true;
}

/* ---- Nodes ---- */

static bool read_operands(MwOnnxGraph *graph, MwOnnxNode *node)
{
    const MwOnnx__NodeProto *proto = node->proto;
    bool good = true;
    node->inputs = MW_NEW(graph->arena, MwOnnxValue *, proto->n_input);
    node->input_count = (int)proto->n_input;
    for (int i = 0; i < node->input_count; i++) {
        if (!*proto->input[i])
            continue;
        MwOnnxValue *value = value_named(graph, proto->input[i]);
        if (value->state == MW_ONNX_UNKNOWN && !value->producer)
            good = fail(
                graph,
                mw_arena_printf(graph->arena, "node '%s' reads before it is made", node->label),
                value->name);
        node->inputs[i] = value;
        if (!value->user)
            value->user = node;
    }
    return good;
}

static bool read_results(MwOnnxGraph *graph, MwOnnxNode *node)
{
    const MwOnnx__NodeProto *proto = node->proto;
    node->outputs = MW_NEW(graph->arena, MwOnnxValue *, proto->n_output);
    node->output_count = (int)proto->n_output;
    for (int i = 0; i < node->output_count; i++) {
        if (!*proto->output[i])
            continue;
        MwOnnxValue *value = value_named(graph, proto->output[i]);
        if (value->producer || value->state != MW_ONNX_UNKNOWN)
            return fail(graph, "two things make", value->name);
        value->producer = node;
        value->result = i;
        node->outputs[i] = value;
    }
    return true;
}

static bool read_node(MwOnnxGraph *graph, const MwOnnx__NodeProto *proto, int index)
{
    MwOnnxNode *node = MW_NEW(graph->arena, MwOnnxNode, 1);
    node->proto = proto;
    node->op = mw_intern(graph->interner, proto->op_type ? proto->op_type : "");
    node->label =
        proto->name && *proto->name ? proto->name : mw_arena_printf(graph->arena, "node %d", index);
    mw_vec_push(graph->arena, &graph->nodes, node);
    if (!read_operands(graph, node) || !read_results(graph, node))
        return false;
    node->module = mw_onnx_module(graph->interner, node);
    for (int i = 0; i < node->input_count; i++)
        if (node->inputs[i])
            node->inputs[i]->module =
                mw_onnx_common_module(graph->interner, node->inputs[i]->module, node->module);
    return true;
}

static bool read_outputs(MwOnnxGraph *graph, const MwOnnx__GraphProto *proto)
{
    for (size_t i = 0; i < proto->n_output; i++) {
        const char *name = proto->output[i]->name;
        MwOnnxValue *value = value_named(graph, name ? name : "");
        if (!value->producer && value->state == MW_ONNX_UNKNOWN)
            return fail(graph, "nothing makes output", value->name);
        value->is_output = true;
        mw_vec_push(graph->arena, &graph->outputs, value);
    }
    if (!graph->outputs.count)
        return fail(graph, "no value is an output of the graph", graph->name);
    return true;
}

/* ---- Weights that exporters rename ---- */

/* Whether the node multiplies by the value, or adds it to such a product: it is trained then, even
 * if its name was made up. */
static bool trains(const MwOnnxNode *node, const MwOnnxValue *value)
{
    static const char *const products[] = {"MatMul", "Gemm", "Conv", "ConvTranspose"};
    for (int i = 0; i < MW_COUNT(products); i++)
        if (strcmp(node->op, products[i]) == 0)
            return node->input_count > 1 && node->inputs[0] != value && value->shape.rank > 0;
    return false;
}

static bool is_transposed(const MwOnnxTensor *a, const MwOnnxTensor *b)
{
    if (a->rank != 2 || b->rank != 2 || a->type != b->type || a->dim[0] != b->dim[1] ||
        a->dim[1] != b->dim[0])
        return false;
    for (int64_t i = 0; i < a->count; i++) {
        const int64_t row = i / a->dim[1], column = i % a->dim[1];
        if (mw_onnx_number(a, i) != mw_onnx_number(b, column * a->dim[0] + row))
            return false;
    }
    return true;
}

/* Weights whose names were made up are trained if something is multiplied by them. One that is
 * another with its dimensions exchanged is that one: a layer may have the weights of an embedding.
 */
static void find_weights(MwOnnxGraph *graph)
{
    for (int i = 0; i < graph->initializers.count; i++) {
        MwOnnxValue *value = graph->initializers.at[i];
        if (value->is_weight || !mw_type_is_float(value->shape.type) || !value->user ||
            !trains(value->user, value))
            continue;
        value->is_weight = true;
        for (int k = 0; k < graph->initializers.count && !value->same; k++) {
            MwOnnxValue *other = graph->initializers.at[k];
            if (other != value && mw_onnx_is_given_name(other->name) && other->is_weight &&
                is_transposed(value->constant, other->constant))
                value->same = other;
        }
    }
}

bool mw_onnx_graph_read(MwOnnxGraph *graph, const MwOnnx__ModelProto *model)
{
    const MwOnnx__GraphProto *proto = model->graph;
    if (!check_opset(graph, model))
        return false;
    graph->name = proto->name && *proto->name ? proto->name : "model";
    graph->values.arena = graph->arena;
    if (model->n_functions)
        return fail(graph, "functions of the file itself are not read, in", graph->name);
    if (proto->n_sparse_initializer)
        return fail(graph, "sparse initializers are not read, in", graph->name);
    if (proto->n_node > MAX_NODES)
        return fail(graph, "too many nodes are in", graph->name);
    bool good = true;
    for (size_t i = 0; i < proto->n_initializer; i++)
        good &= read_initializer(graph, proto->initializer[i]);
    for (size_t i = 0; i < proto->n_input; i++)
        good &= read_input(graph, proto->input[i]);
    for (size_t i = 0; good && i < proto->n_node; i++)
        good &= read_node(graph, proto->node[i], (int)i);
    if (good)
        find_weights(graph);
    return good && read_outputs(graph, proto);
}
