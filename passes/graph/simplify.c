/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simplify: a graph that computes the same numbers with fewer nodes.
 *
 * In:  any graph.
 * Out: the graph without nodes that are unused, repeat another node, or can be simplified by the
 *      rules of simplify_constant.c, simplify_identity.c, simplify_loop.c and
 *      simplify_sums.c. Operators on constants are computed in double precision; no other
 *      number changes but by the order of sums.
 *
 * Some nodes always stay: inputs and weights, because the user names them; pinned nodes, because
 * the pin is on that very value; and values that are assigned or output in the update, because
 * their phase matters. Other outputs and the loss stay, but another node may compute them.
 *
 * Source: value numbering as in Cocke and Schwartz, "Programming Languages and Their Compilers",
 * 1970. A graph without branches needs one table. */
#include "passes/graph/simplify.h"

#include "base/hash.h"
#include "ir/loops.h"
#include "passes/graph/simplify_rules.h"
#include "passes/pass.h"

#include <string.h>

/* A hash table of the nodes of rewrite.to by what they compute: open addressing, at most half
 * full. */
typedef struct {
    int32_t *slots; /* node index, or -1 */
    size_t capacity, count;
} NodeTable;

typedef struct {
    MwRewrite rewrite;
    MwLoops loops; /* of rewrite.from */
    NodeTable table;
    bool *is_kept;      /* [values of from] this very value must stay */
    bool *is_used_once; /* [values of from] by one node, and by nothing else */
    bool *is_part;      /* [values of from] mw_simplify_find_parts */
} Simplifier;

static bool is_commutative(MwOp op)
{
    switch (op) {
    case MW_OP_ADD:
    case MW_OP_MUL:
    case MW_OP_MAXIMUM:
    case MW_OP_MINIMUM:
    case MW_OP_AND:
    case MW_OP_OR:
    case MW_OP_EQ:
    case MW_OP_NE:
        return true;
    default:
        return false;
    }
}

static uint64_t attr_hash(const MwAttr *attr)
{
    switch (mw_attr_kind(attr->key)) {
    case MW_KIND_INT:
    case MW_KIND_BOOL:
    case MW_KIND_TYPE:
        return (uint64_t)attr->i;
    case MW_KIND_FLOAT:
        return mw_hash_bytes(&attr->f, sizeof attr->f);
    case MW_KIND_TEXT:
        return (uint64_t)(uintptr_t)attr->text;
    case MW_KIND_INTS:
        return mw_hash_bytes(attr->ints.at, sizeof(int64_t) * (size_t)attr->ints.count);
    case MW_KIND_SPEC:
        return mw_hash_mix((uint64_t)attr->spec_rank, attr->spec.bits);
    }
    MW_UNREACHABLE();
}

/* Operand `k` in an order that is the same for both ways of writing a commutative operator. */
static MwValueId ordered_operand(MwOp op, const MwValueId *operands, int k)
{
    if (is_commutative(op) && operands[0].index > operands[1].index)
        return operands[1 - k];
    return operands[k];
}

static uint64_t node_hash(const MwNode *node, const MwValueId *operands)
{
    uint64_t hash = (uint64_t)node->op;
    for (int k = 0; k < node->operand_count; k++)
        hash = mw_hash_mix(hash, (uint64_t)ordered_operand(node->op, operands, k).index);
    for (int i = 0; i < node->attr_count; i++)
        hash = mw_hash_mix(hash, attr_hash(&node->attrs[i]));
    return hash;
}

static bool node_equal(const MwNode *node, const MwValueId *operands, const MwNode *other)
{
    if (node->op != other->op || node->operand_count != other->operand_count)
        return false;
    for (int k = 0; k < node->operand_count; k++)
        if (!mw_value_equal(ordered_operand(node->op, operands, k),
                            ordered_operand(node->op, other->operands, k)))
            return false;
    for (int i = 0; i < node->attr_count; i++)
        if (!mw_attr_equal(&node->attrs[i], &other->attrs[i]))
            return false;
    return true;
}

/* The slot of the node that computes what `node` computes from `operands`, or a free slot. */
static int32_t *table_slot(const NodeTable *table, const MwGraph *graph, const MwNode *node,
                           const MwValueId *operands)
{
    size_t mask = table->capacity - 1;
    for (size_t i = node_hash(node, operands) & mask;; i = (i + 1) & mask) {
        int32_t *slot = &table->slots[i];
        if (*slot < 0 || node_equal(node, operands, &graph->nodes.at[*slot]))
            return slot;
    }
}

static void table_grow(MwArena *arena, NodeTable *table, const MwGraph *graph)
{
    NodeTable old = *table;
    table->capacity = old.capacity ? old.capacity * 2 : 256;
    table->slots = MW_NEW(arena, int32_t, table->capacity);
    memset(table->slots, -1, sizeof(int32_t) * table->capacity);
    for (size_t i = 0; i < old.capacity; i++) {
        if (old.slots[i] < 0)
            continue;
        const MwNode *node = &graph->nodes.at[old.slots[i]];
        *table_slot(table, graph, node, node->operands) = old.slots[i];
    }
}

/* The first node that computes what node `id` computes. If there is none, `id` is added and
 * returned. */
static MwNodeId table_add(NodeTable *table, const MwGraph *graph, MwNodeId id)
{
    if ((table->count + 1) * 2 > table->capacity)
        table_grow(graph->arena, table, graph);
    const MwNode *node = mw_node(graph, id);
    int32_t *slot = table_slot(table, graph, node, node->operands);
    if (*slot < 0) {
        *slot = id.index;
        table->count++;
    }
    return (MwNodeId){*slot};
}

static bool is_kept(const Simplifier *simplifier, const MwNode *node)
{
    for (int k = 0; k < node->result_count; k++)
        if (simplifier->is_kept[node->first_result + k])
            return true;
    return false;
}

/* Whether the node stands for something outside of the graph, so that no two such nodes are the
 * same. */
static bool is_outside(const MwNode *node)
{
    return mw_op_info(node->op)->lowering == MW_LOWER_SOURCE && node->op != MW_OP_STEP;
}

/* If an earlier node computes what `node` would, uses its results for those of `node`; false if
 * there is none. */
static bool reuse(Simplifier *simplifier, const MwNode *node, const MwValueId *operands)
{
    MwRewrite *rewrite = &simplifier->rewrite;
    if (!simplifier->table.capacity)
        return false;
    int32_t same = *table_slot(&simplifier->table, rewrite->to, node, operands);
    if (same < 0)
        return false;
    for (int k = 0; k < node->result_count; k++)
        rewrite->value[node->first_result + k] = mw_node_result(rewrite->to, (MwNodeId){same}, k);
    return true;
}

/* Adds the simplest equivalent of a node to the new graph. */
static void simplify_node(Simplifier *simplifier, const MwNode *node)
{
    MwRewrite *rewrite = &simplifier->rewrite;
    if (is_outside(node) || is_kept(simplifier, node)) {
        mw_rewrite_copy(rewrite, node);
        return;
    }
    MwSimplifyContext context = {rewrite,
                                 &simplifier->loops,
                                 simplifier->is_used_once,
                                 simplifier->is_part,
                                 node,
                                 mw_rewrite_operands(rewrite, node)};
    if (reuse(simplifier, node, context.operands))
        return;
    int before = rewrite->to->nodes.count;
    MwValueId same = mw_simplify_constant(&context);
    if (!mw_has_value(same))
        same = mw_simplify_sums(&context);
    if (!mw_has_value(same))
        same = mw_simplify_identity(&context);
    if (!mw_has_value(same))
        same = mw_simplify_loop(&context);
    if (!mw_has_value(same)) {
        table_add(&simplifier->table, rewrite->to, mw_rewrite_copy(rewrite, node));
        return;
    }
    if (rewrite->to->nodes.count > before) {
        MwNodeId first =
            table_add(&simplifier->table, rewrite->to, mw_value(rewrite->to, same)->node);
        same = mw_node_result(rewrite->to, first, 0);
    }
    rewrite->value[node->first_result] = same;
}

static void mark(bool *live, const MwGraph *graph, MwValueId value)
{
    live[mw_value(graph, value)->node.index] = true;
}

/* [nodes] whether something outside of the graph depends on the node. */
static bool *find_live(const MwGraph *graph, const MwLoops *loops)
{
    bool *live = MW_NEW(graph->arena, bool, graph->nodes.count);
    for (int i = 0; i < graph->metrics.count; i++)
        mark(live, graph, graph->metrics.at[i].value);
    for (int i = 0; i < graph->rates.count; i++)
        mark(live, graph, graph->rates.at[i].value);
    for (int i = 0; i < graph->outputs.count; i++)
        mark(live, graph, graph->outputs.at[i].value);
    for (int i = 0; i < graph->assigns.count; i++) {
        mark(live, graph, graph->assigns.at[i].target);
        mark(live, graph, graph->assigns.at[i].value);
    }
    for (int from = graph->nodes.count - 1; from >= 0; from = mw_loops_need_next(loops, live))
        for (int i = from; i >= 0; i--) {
            const MwNode *node = &graph->nodes.at[i];
            live[i] |= node->op == MW_OP_INPUT || node->op == MW_OP_WEIGHT;
            for (int k = 0; live[i] && k < node->operand_count; k++)
                mark(live, graph, node->operands[k]);
        }
    return live;
}

/* Copies the graph without nodes on which nothing outside of it depends. The nodes of a loop come
 * to stand side by side. */
static MwGraph *without_dead_nodes(const MwGraph *graph)
{
    const MwLoops loops = mw_loops(graph->arena, graph);
    const bool *live = find_live(graph, &loops);
    const int32_t *order = mw_loops_order(graph->arena, graph, &loops);
    MwRewrite rewrite = mw_rewrite_begin(graph);
    for (int i = 0; i < graph->nodes.count; i++)
        if (live[order[i]])
            mw_rewrite_copy(&rewrite, &graph->nodes.at[order[i]]);
    mw_rewrite_finish(&rewrite);
    return rewrite.to;
}

/* [values] whether one node takes the value, as one operand, and nothing else does. */
static bool *find_used_once(const MwGraph *graph, const bool *is_kept)
{
    int *uses = MW_NEW(graph->arena, int, graph->values.count);
    bool *once = MW_NEW(graph->arena, bool, graph->values.count);
    for (int n = 0; n < graph->nodes.count; n++)
        for (int k = 0; k < graph->nodes.at[n].operand_count; k++)
            uses[graph->nodes.at[n].operands[k].index]++;
    for (int i = 0; i < graph->outputs.count; i++)
        uses[graph->outputs.at[i].value.index]++;
    for (int i = 0; i < graph->metrics.count; i++)
        uses[graph->metrics.at[i].value.index]++;
    for (int i = 0; i < graph->rates.count; i++)
        uses[graph->rates.at[i].value.index]++;
    for (int v = 0; v < graph->values.count; v++)
        once[v] = uses[v] == 1 && !is_kept[v];
    return once;
}

MwGraph *mw_simplify(const MwGraph *all)
{
    /* Otherwise a node that nothing uses would stand for a later one that computes the same. */
    const MwGraph *graph = without_dead_nodes(all);
    Simplifier simplifier = {.rewrite = mw_rewrite_begin(graph),
                             .loops = mw_loops(graph->arena, graph)};
    simplifier.is_kept = MW_NEW(graph->arena, bool, graph->values.count);
    for (int i = 0; i < graph->pins.count; i++)
        simplifier.is_kept[graph->pins.at[i].value.index] = true;
    for (int i = 0; i < graph->assigns.count; i++)
        simplifier.is_kept[graph->assigns.at[i].value.index] = true;
    for (int i = 0; i < graph->outputs.count; i++)
        simplifier.is_kept[graph->outputs.at[i].value.index] |=
            mw_value_node(graph, graph->outputs.at[i].value)->phase == MW_PHASE_UPDATE;
    simplifier.is_used_once = find_used_once(graph, simplifier.is_kept);
    simplifier.is_part = mw_simplify_find_parts(graph, simplifier.is_used_once);
    for (int i = 0; i < graph->nodes.count; i++)
        simplify_node(&simplifier, &graph->nodes.at[i]);
    mw_rewrite_finish(&simplifier.rewrite);
    return without_dead_nodes(simplifier.rewrite.to);
}

bool mw_pass_simplify(MwCompilation *compilation, MwDiags *diags)
{
    (void)diags;
    compilation->graph = mw_simplify(compilation->graph);
    return true;
}
