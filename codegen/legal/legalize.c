/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/legal/legalize.h"

#include "codegen/legal/legalize_copies.h"
#include "codegen/legal/legalize_onto.h"
#include "codegen/legal/library.h"
#include "ir/kept_casts.h"

/* The node whose operands the legal form of `node` takes. */
static const MwNode *node_of_operands(const MwGraph *local, const MwNode *node)
{
    const MwNode *concat = mw_legal_added_elements(local, node);
    return concat ? concat : node;
}

/* The result is the first operand; what takes it looks up the second (mw_legal_call). */
static void legal_after(MwLegalizer *l, const MwNode *node, const MwValueId *operands,
                        MwValueId *results)
{
    (void)l, (void)node;
    results[0] = operands[0];
}

static MwLegalRule *rule_of(const MwNode *node)
{
    if (node->op == MW_OP_RUN_AFTER)
        return legal_after;
    switch (mw_op_info(node->op)->lowering) {
    case MW_LOWER_CONTRACT:
        return mw_legal_einsum;
    case MW_LOWER_LIBRARY:
        return mw_library_rule(node->op);
    case MW_LOWER_COLLECTIVE:
        return mw_legal_collective;
    case MW_LOWER_TRANSFER:
        return mw_legal_transfer;
    case MW_LOWER_SOURCE:
    case MW_LOWER_VIEW:
    case MW_LOWER_MAP:
    case MW_LOWER_REDUCE:
    case MW_LOWER_ROWS:
    case MW_LOWER_MOVE:
    case MW_LOWER_GATHER:
        return mw_legal_points;
    case MW_LOWER_DERIVED:
        break;
    }
    MW_UNREACHABLE();
}

static void legalize_node(MwLegalizer *l, const MwNode *node)
{
    const MwNode *taker = node_of_operands(l->rewrite.from, node);
    MwValueId *results = &l->rewrite.value[node->first_result];
    mw_rewrite_at(&l->rewrite, node);
    l->name = l->rewrite.from->values.at[node->first_result].name;
    if (mw_legal_onto(l, node, results) || mw_legal_copy_of_weight(l, node, results))
        return;
    MwValueId *operands = mw_rewrite_operands(&l->rewrite, taker);
    if (taker != node) {
        mw_legal_add_elements(l, node, operands, taker->operand_count, results);
        return;
    }
    rule_of(node)(l, node, operands, results);
}

/* Stores every value that leaves the program dense, save the update of a target by itself (`x =
 * x`). */
static void store_ends(MwLegalizer *l)
{
    MwGraph *graph = l->legal->graph;
    graph->phase = MW_PHASE_FORWARD;
    for (int i = 0; i < graph->outputs.count; i++) {
        MwValueId *value = &graph->outputs.at[i].value;
        graph->phase = mw_value_node(graph, *value)->phase;
        *value = mw_legal_dense(l, *value, mw_legal_tensor(l, *value)->type);
    }
    for (int i = 0; i < graph->assigns.count; i++) {
        MwValueId *value = &graph->assigns.at[i].value;
        graph->phase = mw_value_node(graph, *value)->phase;
        *value = mw_legal_dense(l, *value, mw_legal_tensor(l, *value)->type);
    }
    for (int i = 0; i < graph->metrics.count; i++) {
        MwValueId *value = &graph->metrics.at[i].value;
        graph->phase = mw_value_node(graph, *value)->phase;
        *value = mw_legal_dense(l, *value, MW_F32);
    }
}

static void need(const MwGraph *graph, bool *needed, MwValueId value)
{
    needed[mw_value(graph, value)->node.index] = true;
}

/* What one mesh sends, the other receives, even where nothing there needs it any more. */
static bool is_message(MwOp op)
{
    return op == MW_OP_SEND || op == MW_OP_RECEIVE;
}

/* [nodes] whether a result of the program depends on the node, or another mesh does. */
static bool *find_needed(MwArena *arena, const MwGraph *graph)
{
    bool *needed = MW_NEW(arena, bool, graph->nodes.count);
    for (int i = 0; i < graph->metrics.count; i++)
        need(graph, needed, graph->metrics.at[i].value);
    for (int i = 0; i < graph->outputs.count; i++)
        need(graph, needed, graph->outputs.at[i].value);
    for (int i = 0; i < graph->assigns.count; i++)
        need(graph, needed, graph->assigns.at[i].value);
    const MwLoops loops = mw_loops(arena, graph);
    for (int from = graph->nodes.count - 1; from >= 0; from = mw_loops_need_next(&loops, needed))
        for (int n = from; n >= 0; n--) {
            const MwNode *taker = node_of_operands(graph, &graph->nodes.at[n]);
            needed[n] = needed[n] || is_message(graph->nodes.at[n].op);
            for (int k = 0; k < taker->operand_count && needed[n]; k++)
                need(graph, needed, taker->operands[k]);
        }
    return needed;
}

/* The tables grow with the values of the legal graph. Their entries are large, and the copies and
 * casts of most graphs add less than a quarter to the values. */
static void make_room(MwLegalizer *l, int values)
{
    const int room = values + values / 4;
    mw_vec_reserve(l->legal->graph->arena, &l->legal->views, room);
    mw_vec_reserve(l->scratch, &l->forms, room);
}

MwLegal *mw_legalize(MwArena *arena, const MwGraph *local, const MwCostModel *model,
                     bool spends_memory)
{
    MwLegalizer l = {.rewrite = mw_rewrite_begin_in(arena, local),
                     .model = model,
                     .spends_memory = spends_memory,
                     .scratch = mw_arena_new()};
    bool *needed = find_needed(l.scratch, local);
    const MwOnto onto = mw_legal_find_onto(l.scratch, local);
    l.onto = &onto;
    l.kept_assign = spends_memory ? mw_find_kept_casts(l.scratch, local) : NULL;
    l.legal = MW_NEW(arena, MwLegal, 1);
    l.legal->graph = l.rewrite.to;
    l.legal->backend = mw_backend_named(model->cluster->backend);
    make_room(&l, local->values.count);
    for (int i = 0; i < local->nodes.count; i++) {
        l.source = i;
        bool is_source = mw_op_info(local->nodes.at[i].op)->lowering == MW_LOWER_SOURCE;
        if ((needed[i] && !onto.is_taken[i]) || is_source)
            legalize_node(&l, &local->nodes.at[i]);
    }
    l.name = NULL;
    mw_rewrite_finish(&l.rewrite);
    mw_legal_update_copies(&l);
    l.name = NULL;
    store_ends(&l);
    l.legal->form = l.rewrite.value;
    l.legal->form_count = local->values.count;
    l.legal->loops = mw_loops(arena, l.legal->graph);
    l.legal->on_host = mw_on_host(arena, l.legal->graph);
    mw_arena_free(&l.scratch);
    return l.legal;
}
