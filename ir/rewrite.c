/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ir/rewrite.h"

#include "ir/build.h"

#include <string.h>

MwRewrite mw_rewrite_begin(const MwGraph *from)
{
    return mw_rewrite_begin_in(from->arena, from);
}

MwRewrite mw_rewrite_begin_in(MwArena *arena, const MwGraph *from)
{
    MwRewrite rewrite = {.from = from, .to = mw_graph_new_like(arena, from)};
    rewrite.value = MW_NEW(arena, MwValueId, from->values.count);
    memset(rewrite.value, -1, sizeof(MwValueId) * (size_t)from->values.count);
    return rewrite;
}

void mw_rewrite_at(MwRewrite *rewrite, const MwNode *node)
{
    rewrite->to->origin = node->origin;
    rewrite->to->phase = node->phase;
}

static MwValueId form_of(const MwRewrite *rewrite, MwValueId value)
{
    MwValueId form = rewrite->value[value.index];
    MW_ASSERT(mw_has_value(form));
    return form;
}

MwValueId *mw_rewrite_operands(const MwRewrite *rewrite, const MwNode *node)
{
    MwValueId *operands = MW_NEW(rewrite->to->arena, MwValueId, node->operand_count);
    for (int k = 0; k < node->operand_count; k++)
        operands[k] = form_of(rewrite, node->operands[k]);
    return operands;
}

/* Whether operands in the new graph have the types of those of `node`. */
static bool has_same_operands(const MwRewrite *rewrite, const MwNode *node,
                              const MwValueId *operands)
{
    for (int k = 0; k < node->operand_count; k++)
        if (!mw_tensor_equal(mw_value_tensor(rewrite->from, node->operands[k]),
                             mw_value_tensor(rewrite->to, operands[k])))
            return false;
    return true;
}

MwNodeId mw_rewrite_copy_on(MwRewrite *rewrite, const MwNode *node, const MwValueId *operands)
{
    const MwGraph *from = rewrite->from;
    const char **names = MW_NEW(rewrite->to->arena, const char *, node->result_count);
    for (int k = 0; k < node->result_count; k++)
        names[k] = from->values.at[node->first_result + k].name;
    MwNodeSpec spec = {.op = node->op,
                       .operands = operands,
                       .operand_count = node->operand_count,
                       .attrs = node->attrs,
                       .attr_count = node->attr_count,
                       .given = &from->values.at[node->first_result].tensor,
                       .result_names = names};
    if (has_same_operands(rewrite, node, operands)) {
        spec.like = &from->values.at[node->first_result];
        spec.like_count = node->result_count;
    }
    mw_rewrite_at(rewrite, node);
    MwNodeId copy = mw_build_node(rewrite->to, &spec);
    for (int k = 0; k < node->result_count; k++)
        rewrite->value[node->first_result + k] = mw_node_result(rewrite->to, copy, k);
    return copy;
}

MwNodeId mw_rewrite_copy(MwRewrite *rewrite, const MwNode *node)
{
    return mw_rewrite_copy_on(rewrite, node, mw_rewrite_operands(rewrite, node));
}

static MwOutput form_of_output(const MwRewrite *rewrite, const MwOutput *output)
{
    return (MwOutput){output->name, form_of(rewrite, output->value)};
}

void mw_rewrite_finish(MwRewrite *rewrite)
{
    const MwGraph *from = rewrite->from;
    MwGraph *to = rewrite->to;
    for (int i = 0; i < from->outputs.count; i++)
        mw_vec_push(to->arena, &to->outputs, form_of_output(rewrite, &from->outputs.at[i]));
    for (int i = 0; i < from->metrics.count; i++)
        mw_vec_push(to->arena, &to->metrics, form_of_output(rewrite, &from->metrics.at[i]));
    for (int i = 0; i < from->rates.count; i++)
        mw_vec_push(to->arena, &to->rates, form_of_output(rewrite, &from->rates.at[i]));
    for (int i = 0; i < from->assigns.count; i++) {
        MwAssign assign = from->assigns.at[i];
        mw_vec_push(to->arena, &to->assigns,
                    ((MwAssign){form_of(rewrite, assign.target), form_of(rewrite, assign.value)}));
    }
    for (int i = 0; i < from->pins.count; i++) {
        MwPin pin = from->pins.at[i];
        pin.value = rewrite->value[pin.value.index];
        if (mw_has_value(pin.value))
            mw_vec_push(to->arena, &to->pins, pin);
    }
}

/* Makes room for as many nodes, values and names as `like` has. */
static void reserve(MwGraph *graph, const MwGraph *like)
{
    mw_vec_reserve(graph->arena, &graph->nodes, like->nodes.count);
    mw_vec_reserve(graph->arena, &graph->values, like->values.count);
    graph->names->capacity = like->names->capacity;
    graph->names->slots = MW_NEW(graph->arena, MwNameSlot, like->names->capacity);
}

MwGraph *mw_graph_copy(MwArena *arena, const MwGraph *graph)
{
    MwRewrite rewrite = mw_rewrite_begin_in(arena, graph);
    reserve(rewrite.to, graph);
    for (int n = 0; n < graph->nodes.count; n++)
        mw_rewrite_copy(&rewrite, &graph->nodes.at[n]);
    mw_rewrite_finish(&rewrite);
    return rewrite.to;
}
