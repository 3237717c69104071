/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/legal/legalizer.h"

#include "ir/shape/shape.h"

#include <string.h>

const MwTensor *mw_legal_tensor(const MwLegalizer *l, MwValueId x)
{
    return mw_value_tensor(l->legal->graph, x);
}

const MwView *mw_legal_view(const MwLegalizer *l, MwValueId x)
{
    return &l->legal->views.at[x.index];
}

/* ---- Views ---- */

/* The view of a value that has storage of its own, or of a generator, whose layout gives its
 * number. */
static MwView own_view(const MwGraph *graph, const MwNode *node, MwValueId value)
{
    const MwTensor *tensor = mw_value_tensor(graph, value);
    MwLayout layout = mw_layout_dense(tensor);
    if (mw_op_is_generator(node->op)) {
        int64_t axis = node->op == MW_OP_IOTA ? mw_node_int(node, MW_ATTR_AXIS) : -1;
        for (int d = 0, at = 0; d < tensor->rank; d++)
            if (tensor->dim[d] > 1)
                layout.stride[at++] = d == axis;
    }
    return (MwView){.root = value, .layout = layout};
}

/* Turns the layout of an operand of type `from` into that of result k of the view operator
 * `spec`. False if strides cannot express it. */
static bool view_layout(const MwNodeSpec *spec, const MwTensor *from, const MwTensor *to, int k,
                        MwLayout *layout)
{
    const MwAttr *attrs = spec->attrs;
    int count = spec->attr_count;
    switch (spec->op) {
    case MW_OP_IDENTITY:
        return true;
    case MW_OP_RESHAPE:
        return mw_layout_cut_shape(layout, to);
    case MW_OP_BROADCAST:
        *layout = mw_layout_broadcast(layout, from, to);
        return true;
    case MW_OP_TRANSPOSE:
        *layout =
            mw_layout_transpose(layout, from, mw_attrs_find(attrs, count, MW_ATTR_PERM)->ints.at);
        return true;
    case MW_OP_SLICE:
    case MW_OP_SPLIT: {
        int axis = (int)mw_attrs_find(attrs, count, MW_ATTR_AXIS)->i;
        const MwAttr *begin = mw_attrs_find(attrs, count, MW_ATTR_BEGIN);
        int64_t first = begin ? begin->i : 0;
        for (int i = 0; i < k; i++)
            first += mw_attrs_find(attrs, count, MW_ATTR_SIZES)->ints.at[i];
        return mw_layout_slice(layout, from, axis, first, to->dim[axis]);
    }
    case MW_OP_SCAN_IN:
        return mw_layout_scan(layout, from, (int)mw_attrs_find(attrs, count, MW_ATTR_AXIS)->i,
                              mw_attrs_find(attrs, count, MW_ATTR_REVERSE)->i);
    case MW_OP_SHARD:
        return mw_layout_shard(layout, from, (int)mw_attrs_find(attrs, count, MW_ATTR_AXIS)->i,
                               (int)mw_attrs_find(attrs, count, MW_ATTR_WAYS)->i,
                               (int)mw_attrs_find(attrs, count, MW_ATTR_MESH_AXIS)->i);
    default:
        MW_UNREACHABLE();
    }
}

static bool op_is_view(MwOp op)
{
    return op == MW_OP_IDENTITY || op == MW_OP_RESHAPE || op == MW_OP_BROADCAST ||
           op == MW_OP_TRANSPOSE || op == MW_OP_SLICE || op == MW_OP_SPLIT || op == MW_OP_SHARD ||
           op == MW_OP_SCAN_IN;
}

/* ---- Adding nodes ---- */

static void note_result(MwLegalizer *l, const MwView *view)
{
    mw_vec_push(l->legal->graph->arena, &l->legal->views, *view);
    memset(mw_vec_add(l->scratch, &l->forms), -1, sizeof(MwLegalForms));
}

/* Finds the views that the results of the view operator `spec` are. False if strides cannot
 * express one. */
static bool find_views(const MwLegalizer *l, const MwNodeSpec *spec, MwView **views, int *count)
{
    MwArena *arena = l->scratch;
    const MwTensor *from = mw_legal_tensor(l, spec->operands[0]);
    MwShapeQuery query = {.op = spec->op,
                          .operands = from,
                          .operand_count = 1,
                          .attrs = spec->attrs,
                          .attr_count = spec->attr_count};
    MwTensor *results;
    MW_ASSERT(mw_shape_infer(arena, &query, &results, count, mw_diags_new(arena)));
    *views = MW_NEW(arena, MwView, *count);
    for (int k = 0; k < *count; k++) {
        (*views)[k] = *mw_legal_view(l, spec->operands[0]);
        if (!view_layout(spec, from, &results[k], k, &(*views)[k].layout))
            return false;
    }
    return true;
}

static MwNodeId add_view(MwLegalizer *l, MwNodeSpec spec)
{
    MwView *views;
    int count;
    if (!find_views(l, &spec, &views, &count)) {
        MwValueId *dense = MW_NEW(l->legal->graph->arena, MwValueId, 1);
        *dense = mw_legal_dense(l, spec.operands[0], mw_legal_tensor(l, spec.operands[0])->type);
        spec.operands = dense;
        MW_ASSERT(find_views(l, &spec, &views, &count));
    }
    MwNodeId id = mw_build_node(l->legal->graph, &spec);
    mw_vec_push(l->legal->graph->arena, &l->legal->source, l->source);
    for (int k = 0; k < count; k++)
        note_result(l, &views[k]);
    return id;
}

MwNodeId mw_legal_node(MwLegalizer *l, MwNodeSpec spec)
{
    if (!spec.name && !spec.result_names)
        spec.name = l->name;
    if (op_is_view(spec.op))
        return add_view(l, spec);
    MwGraph *graph = l->legal->graph;
    MwNodeId id = mw_build_node(graph, &spec);
    mw_vec_push(graph->arena, &l->legal->source, l->source);
    for (int k = 0; k < mw_node(graph, id)->result_count; k++) {
        MwView view = own_view(graph, mw_node(graph, id), mw_node_result(graph, id, k));
        note_result(l, &view);
    }
    return id;
}

MwValueId mw_legal_add(MwLegalizer *l, MwOp op, const MwValueId *operands, int count,
                       const MwAttr *attrs, int attr_count)
{
    MwNodeId id = mw_legal_node(l, (MwNodeSpec){.op = op,
                                                .operands = operands,
                                                .operand_count = count,
                                                .attrs = attrs,
                                                .attr_count = attr_count});
    return mw_node_result(l->legal->graph, id, 0);
}

MwValueId mw_legal_reshape(MwLegalizer *l, MwValueId x, int rank, const int64_t *dim)
{
    MwAttr shape = mw_attr_ints(MW_ATTR_SHAPE, dim, rank);
    return mw_legal_add(l, MW_OP_RESHAPE, &x, 1, &shape, 1);
}

MwValueId mw_legal_transpose(MwLegalizer *l, MwValueId x, const int64_t *perm)
{
    MwAttr attr = mw_attr_ints(MW_ATTR_PERM, perm, mw_legal_tensor(l, x)->rank);
    return mw_legal_add(l, MW_OP_TRANSPOSE, &x, 1, &attr, 1);
}

/* A cast whose result is stored; cached, because several contractions often need the same one. */
static MwValueId stored_form(MwLegalizer *l, MwValueId x, MwType type)
{
    MwPhase phase = l->legal->graph->phase;
    const MwLegalForms *forms = &l->forms.at[x.index];
    if (mw_has_value(forms->value[type]) && forms->phase[type] == phase)
        return forms->value[type];
    MwAttr attr = mw_attr_int(MW_ATTR_TYPE, type);
    MwValueId form = mw_legal_add(l, MW_OP_CAST, &x, 1, &attr, 1);
    l->forms.at[x.index].value[type] = form;
    l->forms.at[x.index].phase[type] = phase;
    return form;
}

static bool is_stored_dense(const MwLegalizer *l, MwValueId x)
{
    const MwView *view = mw_legal_view(l, x);
    const MwGraph *graph = l->legal->graph;
    return !mw_op_is_generator(mw_value_node(graph, view->root)->op) &&
           mw_layout_is_dense(&view->layout) &&
           mw_layout_elements(&view->layout) ==
               mw_tensor_elements(mw_value_tensor(graph, view->root));
}

MwValueId mw_legal_dense(MwLegalizer *l, MwValueId x, MwType type)
{
    bool fits = mw_legal_tensor(l, x)->type == type && is_stored_dense(l, x);
    return fits ? x : stored_form(l, x, type);
}

MwValueId mw_legal_cast(MwLegalizer *l, MwValueId x, MwType type)
{
    const MwNode *root = mw_value_node(l->legal->graph, mw_legal_view(l, x)->root);
    bool fits = mw_legal_tensor(l, x)->type == type && !mw_op_is_generator(root->op);
    return fits ? x : stored_form(l, x, type);
}

void mw_legal_copy(MwLegalizer *l, const MwNode *node, const MwValueId *operands,
                   MwValueId *results)
{
    const MwGraph *from = l->rewrite.from;
    const char **names = MW_NEW(from->arena, const char *, node->result_count);
    for (int k = 0; k < node->result_count; k++)
        names[k] = from->values.at[node->first_result + k].name;
    MwNodeId id =
        mw_legal_node(l, (MwNodeSpec){.op = node->op,
                                      .operands = operands,
                                      .operand_count = node->operand_count,
                                      .attrs = node->attrs,
                                      .attr_count = node->attr_count,
                                      .given = &from->values.at[node->first_result].tensor,
                                      .result_names = names});
    for (int k = 0; k < node->result_count; k++)
        results[k] = mw_node_result(l->legal->graph, id, k);
}

/* Gives a legal node what the local node waits for as operands after those of its operator. */
static void add_waits(MwLegalizer *l, const MwNode *node, MwNodeId id)
{
    MwGraph *graph = l->legal->graph;
    MwNode *legal = &graph->nodes.at[id.index];
    MwValueId *operands = MW_NEW(graph->arena, MwValueId, 2 * legal->operand_count);
    memcpy(operands, legal->operands, sizeof *operands * (size_t)legal->operand_count);
    for (int k = 0; k < node->operand_count; k++) {
        const MwNode *after = mw_value_node(l->rewrite.from, node->operands[k]);
        if (after->op == MW_OP_RUN_AFTER)
            operands[legal->operand_count++] = l->rewrite.value[after->operands[1].index];
    }
    legal->operands = operands;
}

void mw_legal_call(MwLegalizer *l, const MwNode *node, const MwValueId *taken, MwValueId *results)
{
    MwNodeId id = mw_legal_node(l, (MwNodeSpec){.op = node->op,
                                                .operands = taken,
                                                .operand_count = node->operand_count,
                                                .attrs = node->attrs,
                                                .attr_count = node->attr_count});
    add_waits(l, node, id);
    for (int k = 0; k < node->result_count; k++) {
        MwType type = l->rewrite.from->values.at[node->first_result + k].tensor.type;
        results[k] = mw_legal_cast(l, mw_node_result(l->legal->graph, id, k), type);
    }
}
