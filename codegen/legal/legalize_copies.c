/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Copies of weights in a shorter type that are kept from step to step.
 *
 * A cast of all of a weight, as it is stored, becomes a state, if a kernel of the update makes the
 * new value of the weight: it then stores that in the shorter type, too, so that no step has to
 * read the weight again and cast it. */
#include "codegen/legal/legalize_copies.h"

/* The copy of `weight` in a type, a state; no value: there is none yet. */
static MwValueId find_copy(const MwLegalizer *l, MwValueId weight, MwType type)
{
    for (int i = 0; i < l->legal->copies.count; i++) {
        const MwLegalCopy *copy = &l->legal->copies.at[i];
        if (mw_value_equal(copy->weight, weight) && mw_legal_tensor(l, copy->state)->type == type)
            return copy->state;
    }
    return mw_no_value();
}

/* Adds a copy for `node`, a cast of a weight. */
static MwValueId add_copy(MwLegalizer *l, const MwNode *node)
{
    const MwGraph *local = l->rewrite.from;
    MwGraph *graph = l->legal->graph;
    const MwTensor *tensor = &local->values.at[node->first_result].tensor;
    const char *name =
        mw_arena_printf(graph->arena, "%s.%s", mw_value(local, node->operands[0])->name,
                        mw_type_name(tensor->type));
    const MwAttr init = mw_attr_text(MW_ATTR_INIT, mw_intern(graph->interner, "zeros"));
    const MwNodeSpec spec = {
        .op = MW_OP_STATE, .attrs = &init, .attr_count = 1, .given = tensor, .name = name};
    const MwValueId state = mw_node_result(graph, mw_legal_node(l, spec), 0);
    const int assign = l->kept_assign[l->source];
    mw_vec_push(graph->arena, &l->legal->copies,
                ((MwLegalCopy){.weight = node->operands[0], .state = state, .assign = assign}));
    return state;
}

bool mw_legal_copy_of_weight(MwLegalizer *l, const MwNode *node, MwValueId *results)
{
    if (!l->kept_assign || l->kept_assign[l->source] < 0)
        return false;
    const MwType type = l->rewrite.from->values.at[node->first_result].tensor.type;
    results[0] = find_copy(l, node->operands[0], type);
    if (!mw_has_value(results[0]))
        results[0] = add_copy(l, node);
    return true;
}

void mw_legal_update_copies(MwLegalizer *l)
{
    const MwGraph *local = l->rewrite.from;
    MwGraph *graph = l->legal->graph;
    for (int i = 0; i < l->legal->copies.count; i++) {
        const MwLegalCopy *copy = &l->legal->copies.at[i];
        const MwValueId value = local->assigns.at[copy->assign].value;
        l->source = mw_value(local, value)->node.index;
        l->name = mw_arena_printf(graph->arena, "%s.new", mw_value(graph, copy->state)->name);
        mw_rewrite_at(&l->rewrite, &local->nodes.at[l->source]);
        const MwAttr type = mw_attr_int(MW_ATTR_TYPE, mw_legal_tensor(l, copy->state)->type);
        const MwValueId made =
            mw_legal_add(l, MW_OP_CAST, &l->rewrite.value[value.index], 1, &type, 1);
        mw_vec_push(graph->arena, &graph->assigns, ((MwAssign){copy->state, made}));
    }
}
