/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An import: the nodes in order, each computed if it is constant, recognised as the end of a
 * pattern, or translated by itself. Where a size that was taken for a symbol turns out to decide
 * something, all is done again with its number. */
#include "frontend/onnx/import.h"

#include "frontend/onnx/names.h"
#include "frontend/onnx/operators.h"
#include "frontend/onnx/print.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- Nodes ---- */

/* The last part of names of values, of an operator: "relu" of Relu, unless it is one of these. */
static const char *local_name(MwOnnxImport *import, const char *op)
{
    static const struct {
        const char *op, *local;
    } others[] = {
        {"MatMul", "linear"},
        {"Gemm", "linear"},
        {"LayerNormalization", "norm"},
        {"RMSNormalization", "norm"},
        {"BatchNormalization", "norm"},
        {"ReduceMean", "mean"},
        {"ReduceSum", "sum"},
        {"ReduceMax", "max"},
        {"GlobalAveragePool", "pool"},
        {"MaxPool", "pool"},
        {"AveragePool", "pool"},
        {"Gather", "lookup"},
        {"HardSwish", "hard_swish"},
        {"HardSigmoid", "hard_sigmoid"},
        {"And", "both"},
        {"Or", "either"},
        {"Not", "inverse"},
    };
    for (int i = 0; i < MW_COUNT(others); i++)
        if (strcmp(others[i].op, op) == 0)
            return others[i].local;
    char name[64];
    size_t i = 0;
    for (; op[i] && i < sizeof name - 1; i++)
        name[i] = (char)tolower((unsigned char)op[i]);
    name[i] = '\0';
    return mw_intern(import->interner, name);
}

/* Whether all operands are known; of one that is not, the node before has said why. */
static bool has_operands(MwOnnxImport *import, const MwOnnxNode *node, const MwOnnxOperator *row)
{
    for (int i = 0; i < row->operands; i++)
        if (!mw_onnx_input(node, i))
            return mw_onnx_refuse(import, node, "operand %d is not there", i);
    for (int i = 0; i < node->input_count; i++)
        if (node->inputs[i] && node->inputs[i]->state != MW_ONNX_KNOWN)
            return false;
    return true;
}

static bool translate(MwOnnxImport *import, const MwOnnxNode *node)
{
    const char *domain = node->proto->domain;
    const bool standard = !domain || !*domain || strcmp(domain, "ai.onnx") == 0;
    const MwOnnxOperator *row = standard ? mw_onnx_operator(node->op) : NULL;
    if (!row)
        return mw_onnx_refuse(import, node, "the operator");
    for (size_t i = 0; i < node->proto->n_attribute; i++) {
        const MwOnnx__AttributeProto *attribute = node->proto->attribute[i];
        if (attribute->ref_attr_name && *attribute->ref_attr_name)
            return mw_onnx_refuse(import, node, "an attribute of a function");
    }
    if (!has_operands(import, node, row))
        return false;
    const int refusals = import->refusals.count;
    if (mw_onnx_fold(import, node, row->fold))
        return true;
    import->refusals.count = refusals; /* of what was only tried */
    if (mw_onnx_match(import, node))
        return true;
    import->local = local_name(import, node->op);
    if (!row->translate(import, node))
        return false;
    mw_onnx_fold_stretched(import, node, row->fold);
    return true;
}

/* A result that the node was not given is bad, and refused if something needs it. */
static void settle(MwOnnxImport *import, const MwOnnxNode *node, int k, bool good)
{
    MwOnnxValue *value = node->outputs[k];
    if (!value || (good && value->state == MW_ONNX_KNOWN))
        return;
    if (good && (value->user || value->is_output))
        mw_onnx_refuse(import, node, "result %d", k);
    value->state = MW_ONNX_BAD;
}

static void translate_all(MwOnnxImport *import)
{
    MwOnnxGraph *graph = import->graph;
    for (int i = 0; i < graph->nodes.count; i++) {
        const MwOnnxNode *node = graph->nodes.at[i];
        import->node = node;
        const bool good = translate(import, node);
        for (int k = 0; k < node->output_count; k++)
            settle(import, node, k, good);
    }
    import->node = NULL;
    import->local = NULL;
}

/* ---- Inputs and outputs ---- */

/* The batch is dimension 0 of the first input that has one. */
static void add_inputs(MwOnnxImport *import)
{
    const MwOnnxGraph *graph = import->graph;
    const MwOnnxDim *batch = NULL;
    for (int i = 0; i < graph->inputs.count; i++) {
        MwOnnxValue *value = graph->inputs.at[i];
        MwOnnxTerm *term = MW_NEW(import->arena, MwOnnxTerm, 1);
        if (!batch && value->shape.rank > 0)
            batch = &value->shape.dim[0];
        *term = (MwOnnxTerm){.kind = MW_ONNX_TERM_INPUT, .shape = value->shape};
        term->name = mw_onnx_unique_name(import, mw_onnx_clean_name(import->interner, value->name));
        term->whole = value->shape.rank > 0 && !mw_onnx_dim_equal(&value->shape.dim[0], batch);
        mw_vec_push(import->arena, &import->terms, term);
        value->term = term;
    }
    for (int i = 0; i < graph->symbols.count; i++)
        *mw_name_map_add(&import->names, graph->symbols.at[i].name) = import;
}

static MwOnnxTerm **output_terms(MwOnnxImport *import)
{
    const MwOnnxGraph *graph = import->graph;
    MwOnnxTerm **terms = MW_NEW(import->arena, MwOnnxTerm *, graph->outputs.count);
    for (int i = 0; i < graph->outputs.count; i++) {
        MwOnnxValue *value = graph->outputs.at[i];
        if (value->state != MW_ONNX_KNOWN)
            return NULL;
        import->node = value->producer;
        import->local = "output";
        terms[i] = mw_onnx_term(import, value);
    }
    return terms;
}

/* ---- Errors ---- */

/* One error, with a note for each operator or attribute: of each operator once, with how many nodes
 * are alike. */
static void report(const MwOnnxImport *import)
{
    if (!import->refusals.count)
        return;
    mw_diag_error(import->diags, mw_span_none(), "%s: what the language has no equal of",
                  import->graph->path);
    for (int i = 0; i < import->refusals.count; i++) {
        const MwOnnxRefusal *refusal = &import->refusals.at[i];
        int alike = 0;
        bool first = true;
        for (int k = 0; k < import->refusals.count; k++) {
            const MwOnnxRefusal *other = &import->refusals.at[k];
            if (other->node->op != refusal->node->op || strcmp(other->why, refusal->why) != 0)
                continue;
            first &= k >= i;
            alike++;
        }
        const char *domain = refusal->node->proto->domain;
        if (first && alike > 1)
            mw_diag_note(import->diags, mw_span_none(), "%s%s%s '%s', and %d more: %s",
                         domain ? domain : "", domain && *domain ? "." : "", refusal->node->op,
                         refusal->node->label, alike - 1, refusal->why);
        else if (first)
            mw_diag_note(import->diags, mw_span_none(), "%s%s%s '%s': %s", domain ? domain : "",
                         domain && *domain ? "." : "", refusal->node->op, refusal->node->label,
                         refusal->why);
    }
}

/* ---- The whole ---- */

static void collect_weights(MwOnnxImport *import, MwOnnxModel *model)
{
    model->weights = MW_NEW(import->arena, MwOnnxWeight, import->terms.count);
    for (int kind = MW_ONNX_TERM_WEIGHT; kind <= MW_ONNX_TERM_STATE; kind++)
        for (int i = 0; i < import->terms.count; i++) {
            const MwOnnxTerm *term = import->terms.at[i];
            if ((int)term->kind != kind || !term->uses)
                continue;
            MwOnnxWeight *weight = &model->weights[model->weight_count++];
            weight->name = term->name;
            weight->type = mw_tensor(term->tensor->type, term->tensor->rank, term->tensor->dim);
            weight->data = term->tensor->data;
        }
}

/* Whether the map has an initializer: it is a weight or a state of the model. */
static bool is_mapped(const MwOnnxValue *value)
{
    const MwOnnxTerm *term = value->term;
    return term && term->uses &&
           (term->kind == MW_ONNX_TERM_WEIGHT || term->kind == MW_ONNX_TERM_STATE);
}

/* Whether the map calls an initializer as the file does: a person has given it its name, and a map
 * can have that. */
static bool keeps_name(const MwOnnxValue *value)
{
    return *value->name && !value->name[strcspn(value->name, " \t\n=[](),*{}#")] &&
           mw_onnx_is_given_name(value->name);
}

/* A line of the map: an initializer is a weight, with the order of dimensions that it has there. */
static void map_weight(MwText *map, const MwOnnxValue *value, const char *name)
{
    const int rank = value->shape.rank;
    bool moves = false;
    mw_text_printf(map, "%s = %s", name, value->term->name);
    for (int d = 0; d < rank; d++)
        moves |= value->order[d] != d;
    if (moves) {
        mw_text_add(map, " [");
        for (int d = 0; d < rank; d++) /* dimension d of the file is called by letter d */
            mw_text_printf(map, "%c ", 'a' + value->order[d]);
        mw_text_add(map, "->");
        for (int d = 0; d < rank; d++)
            mw_text_printf(map, " %c", 'a' + d);
        mw_text_add(map, "]");
    }
    mw_text_add(map, "\n");
}

/* Initializers whose names the exporter made up, and weights that are computed from initializers,
 * have the names of the model, as far as no initializer has them. */
static void collect_map(MwOnnxImport *import, MwOnnxModel *model)
{
    const MwOnnxGraph *graph = import->graph;
    MwText map = {.arena = import->arena};
    MwNameMap mapped = {.arena = import->arena}, names = mapped;
    mw_text_printf(&map, "# Initializers of the ONNX file as weights of %s.\n",
                   mw_onnx_clean_name(import->interner, graph->name));
    for (int i = 0; i < graph->initializers.count; i++)
        if (is_mapped(graph->initializers.at[i]) && keeps_name(graph->initializers.at[i]))
            mw_onnx_unique_among(import, &names, graph->initializers.at[i]->name);
    for (int i = 0; i < graph->initializers.count; i++) {
        const MwOnnxValue *value = graph->initializers.at[i];
        if (!is_mapped(value))
            continue;
        map_weight(&map, value,
                   keeps_name(value) ? value->name
                                     : mw_onnx_unique_among(import, &names, value->term->name));
        *mw_name_map_add(&mapped, value->term->name) = import;
    }
    for (int i = 0; i < model->weight_count; i++) {
        const char *name = model->weights[i].name;
        if (!mw_name_map_find(&mapped, name))
            mw_text_printf(&map, "%s = %s\n", mw_onnx_unique_among(import, &names, name), name);
    }
    model->map = map.at;
    model->map_bytes = map.bytes;
}

static void collect_outputs(MwOnnxImport *import, const char **names, MwOnnxModel *model)
{
    const MwOnnxGraph *graph = import->graph;
    model->output_count = graph->outputs.count;
    model->has_fixed_batch = graph->has_fixed_batch;
    model->outputs = MW_NEW(import->arena, MwOnnxOutput, graph->outputs.count);
    for (int i = 0; i < graph->outputs.count; i++) {
        const MwOnnxShape *shape = &graph->outputs.at[i]->shape;
        MwOnnxOutput *output = &model->outputs[i];
        output->name = names[i];
        output->type = shape->type;
        output->rank = shape->rank;
        for (int d = 0; d < shape->rank; d++)
            output->dims[d] = mw_onnx_dim_text(import, &shape->dim[d]);
    }
}

/* Weights have elements. */
static bool check_weights(MwOnnxImport *import)
{
    for (int i = 0; i < import->terms.count; i++) {
        const MwOnnxTerm *term = import->terms.at[i];
        if (term->tensor && term->tensor->count == 0) {
            mw_diag_error(import->diags, mw_span_none(), "%s: '%s' has no elements",
                          import->graph->path, term->name);
            return false;
        }
    }
    return true;
}

static bool finish(MwOnnxImport *import, MwOnnxModel *model)
{
    report(import);
    if (mw_diags_error_count(import->diags))
        return false;
    MwOnnxTerm **outputs = output_terms(import);
    if (import->fixes_symbol || !check_weights(import))
        return false;
    MW_ASSERT(outputs); /* what made them bad was reported */
    MwText text = {.arena = import->arena};
    const char **names = mw_onnx_print(&text, import, outputs);
    model->text = text.at;
    model->bytes = text.bytes;
    collect_weights(import, model);
    collect_map(import, model);
    collect_outputs(import, names, model);
    return true;
}

/* The sizes that the command line gives, of which the last of a name counts. */
static bool read_defines(MwArena *arena, const MwOnnxFile *file, MwDiags *diags,
                         MwOnnxSymbols *given)
{
    for (int i = file->define_count - 1; i >= 0; i--) {
        char *end;
        const long long value = strtoll(file->defines[i].value, &end, 10);
        if (*end || value < 1 || value > (long long)1 << 31) {
            mw_diag_error(diags, mw_span_none(), "size %s is a whole number from 1 on, not '%s'",
                          file->defines[i].name, file->defines[i].value);
            return false;
        }
        mw_vec_push(arena, given, ((MwOnnxSymbol){.name = file->defines[i].name, .value = value}));
    }
    return true;
}

/* Sizes that are given are of the graph. */
static bool check_given(const MwOnnxGraph *graph)
{
    for (int i = 0; i < graph->given->count; i++)
        if (!mw_onnx_symbol(&graph->symbols, graph->given->at[i].name))
            mw_diag_error(graph->diags, mw_span_none(), "%s leaves no size '%s' open", graph->path,
                          graph->given->at[i].name);
    if (!mw_diags_error_count(graph->diags))
        return true;
    for (int i = 0; i < graph->symbols.count; i++)
        mw_diag_note(graph->diags, mw_span_none(), "it leaves '%s' open",
                     graph->symbols.at[i].name);
    return false;
}

bool mw_onnx_import(MwArena *arena, const MwOnnxFile *file, MwDiags *diags, MwOnnxModel *model)
{
    *model = (MwOnnxModel){0};
    const MwOnnx__ModelProto *proto =
        mw_onnx_unpack(arena, file->data, file->bytes, file->path, diags);
    MwOnnxSymbols symbols = {0}, given = {0};
    if (!proto || !read_defines(arena, file, diags, &given))
        return false;
    for (int round = 0; round <= MW_ONNX_MAX_SYMBOLS + 1; round++) {
        MwOnnxGraph graph = {.arena = arena,
                             .interner = mw_interner_new(arena),
                             .diags = diags,
                             .path = file->path,
                             .symbols = symbols,
                             .given = &given};
        MwDiags *found = mw_diags_new(arena);
        graph.diags = found;
        const bool good = mw_onnx_graph_read(&graph, proto) && check_given(&graph);
        MwOnnxImport import = {.graph = &graph,
                               .arena = arena,
                               .interner = graph.interner,
                               .diags = found,
                               .names = {.arena = arena}};
        if (good) {
            add_inputs(&import);
            translate_all(&import);
            const bool done = !import.fixes_symbol && finish(&import, model);
            symbols = graph.symbols;
            if (import.fixes_symbol)
                continue;
            if (done) {
                mw_diags_append(diags, found);
                return true;
            }
        }
        mw_diags_append(diags, found);
        return false;
    }
    MW_UNREACHABLE();
}
