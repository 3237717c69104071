/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the items that layers are cut from, and the bytes that cross each cut.
 *
 * In:  the graph of a model; only its forward phase counts.
 * Out: items in the order of the nodes, each with its FLOPs and the bytes that cross a cut
 *      before it. A value crosses every cut between its producer and its last user.
 *
 * Some values need not cross. A value that depends on inputs alone or on weights alone, by cheap
 * operators, can be computed again where it is used: a mask, a cast of a weight. A value that
 * depends on both, or comes from a contraction, or is pinned to a stage, crosses.
 *
 * A loop (ir/loops.h) is one item, and so is an operator that looks rows up in a large table.
 * Between two operators that compute there may be some that do not. The cut between them is at
 * the border of a segment if there is one, else where the fewest bytes cross. */
#include "passes/graph/layer_items.h"

#include "cost/cost.h"
#include "ir/loops.h"
#include "passes/graph/layer_repeats.h"

#include <math.h>

enum { FROM_INPUTS = 1, FROM_WEIGHTS = 2, CROSSES = FROM_INPUTS | FROM_WEIGHTS };

typedef struct {
    MwArena *arena;
    const MwGraph *graph;
    int *first_use, *last_use; /* [values] nodes of the forward phase; -1: none */
    double *flops;             /* [nodes] */
    int64_t *crossing_bytes;   /* [nodes + 1] bytes that cross a cut before the node */
    int *stage;                /* [nodes] stage that a result is pinned to; -1: none */
    bool *is_table;            /* [nodes] as of MwLayerItems */
    MwLayerRepeats repeats;
    MwLoops loops;
} ItemFacts;

static MwLayerPart part_of(const ItemFacts *facts, int n)
{
    return mw_layer_part(&facts->repeats, &facts->graph->nodes.at[n]);
}

/* Whether the operator may be computed again instead of its result crossing a cut. */
static bool is_cheap(const MwNode *node)
{
    MwLowering lowering = mw_op_info(node->op)->lowering;
    return lowering != MW_LOWER_CONTRACT && lowering != MW_LOWER_LIBRARY;
}

/* Whether the results of `node` depend on inputs, weights or both, given `from` for all earlier
 * values. */
static unsigned sources_of(const MwNode *node, const unsigned *from)
{
    if (node->op == MW_OP_INPUT)
        return FROM_INPUTS;
    if (node->op == MW_OP_WEIGHT || node->op == MW_OP_STATE)
        return FROM_WEIGHTS;
    if (!is_cheap(node))
        return CROSSES;
    unsigned made = 0;
    for (int k = 0; k < node->operand_count; k++)
        made |= from[node->operands[k].index];
    return made;
}

/* Finds the first and the last node of the forward phase that use each value; -1: none. */
static void find_uses(ItemFacts *facts)
{
    const MwGraph *graph = facts->graph;
    facts->first_use = MW_NEW(facts->arena, int, graph->values.count);
    facts->last_use = MW_NEW(facts->arena, int, graph->values.count);
    for (int v = 0; v < graph->values.count; v++)
        facts->first_use[v] = facts->last_use[v] = -1;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        for (int k = 0; node->phase == MW_PHASE_FORWARD && k < node->operand_count; k++) {
            int v = node->operands[k].index;
            if (facts->first_use[v] < 0)
                facts->first_use[v] = n;
            facts->last_use[v] = n;
        }
    }
}

/* Finds the stage that a node is pinned to. A pin of a source holds for its first user. */
static void find_stages(ItemFacts *facts)
{
    const MwGraph *graph = facts->graph;
    facts->stage = MW_NEW(facts->arena, int, graph->nodes.count);
    for (int n = 0; n < graph->nodes.count; n++)
        facts->stage[n] = -1;
    for (int i = 0; i < graph->pins.count; i++) {
        const MwPin *pin = &graph->pins.at[i];
        bool is_source = mw_value_node(graph, pin->value)->operand_count == 0;
        int node = is_source ? facts->first_use[pin->value.index]
                             : mw_value(graph, pin->value)->node.index;
        if (pin->stage >= 0 && node >= 0)
            facts->stage[node] = pin->stage;
    }
}

/* Fills crossing_bytes, from the first cut to the last: the bytes of a value are added after its
 * producer and subtracted after its last use. */
static void find_crossing_bytes(ItemFacts *facts)
{
    const MwGraph *graph = facts->graph;
    unsigned *from = MW_NEW(facts->arena, unsigned, graph->values.count);
    int64_t *change = MW_NEW(facts->arena, int64_t, graph->nodes.count + 2);
    for (int v = 0; v < graph->values.count; v++) {
        int maker = graph->values.at[v].node.index;
        from[v] = facts->stage[maker] >= 0 ? CROSSES : sources_of(&graph->nodes.at[maker], from);
        if (from[v] != CROSSES || facts->last_use[v] < 0)
            continue;
        change[maker + 1] += mw_tensor_bytes(&graph->values.at[v].tensor);
        change[facts->last_use[v] + 1] -= mw_tensor_bytes(&graph->values.at[v].tensor);
    }
    facts->crossing_bytes = MW_NEW(facts->arena, int64_t, graph->nodes.count + 1);
    for (int n = 0; n < graph->nodes.count; n++)
        facts->crossing_bytes[n + 1] = facts->crossing_bytes[n] + change[n + 1];
}

/* Fills `flops`, for the nodes that items may contain. */
static void find_flops(ItemFacts *facts)
{
    int ways[MW_MAX_FACTORS];
    for (int f = 0; f < MW_MAX_FACTORS; f++)
        ways[f] = 1;
    facts->flops = MW_NEW(facts->arena, double, facts->graph->nodes.count);
    for (int n = 0; n < facts->graph->nodes.count; n++) {
        if (!mw_layer_has_node(&facts->graph->nodes.at[n]))
            continue;
        MwShardingRule rule = mw_sharding_rule(facts->arena, facts->graph, (MwNodeId){n});
        facts->flops[n] = (double)mw_loop_runs(&facts->loops, (MwNodeId){n}) *
                          mw_cost_node_work(facts->graph, (MwNodeId){n}, &rule, ways).flops;
    }
}

/* ---- Tables ---- */

/* Elements of the table of weights that the node looks rows up in, outside of what repeats; 0: it
 * is no such node. from: [values] as of sources_of */
static double table_elements(const ItemFacts *facts, const unsigned *from, int n)
{
    const MwNode *node = &facts->graph->nodes.at[n];
    if (node->op != MW_OP_EMBEDDING || !mw_layer_has_node(node) || facts->loops.of_node[n] >= 0 ||
        part_of(facts, n).repeat >= 0 || from[node->operands[1].index] != FROM_WEIGHTS)
        return 0;
    return (double)mw_tensor_elements(mw_value_tensor(facts->graph, node->operands[1]));
}

/* Fills is_table. The weights of a layer are those besides tables, per unit of work. */
static void find_tables(ItemFacts *facts)
{
    const MwGraph *graph = facts->graph;
    unsigned *from = MW_NEW(facts->arena, unsigned, graph->values.count);
    double others = 0, flops = 0;
    facts->is_table = MW_NEW(facts->arena, bool, graph->nodes.count);
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        for (int v = node->first_result; v < node->first_result + node->result_count; v++)
            from[v] = sources_of(node, from);
        flops += facts->flops[n];
        others -= table_elements(facts, from, n);
        if (node->op == MW_OP_WEIGHT)
            others +=
                (double)mw_tensor_elements(mw_value_tensor(graph, (MwValueId){node->first_result}));
    }
    for (int n = 0; n < graph->nodes.count && flops > 0; n++) {
        const double elements = table_elements(facts, from, n);
        facts->is_table[n] = elements > 0 && elements > others * facts->repeats.unit / flops;
    }
}

/* Begins an item whose first node is `n`. `computing` is the operator of the item that computes;
 * the item has its stage. */
static void begin_item(MwLayerItems *items, int n, const ItemFacts *facts, int computing)
{
    int i = items->count++;
    items->begin[i] = i == 0 ? 0 : n;
    items->border_bytes[i] = i == 0 ? 0 : facts->crossing_bytes[n];
    items->group[i] = facts->stage[computing];
    items->is_table[i] = facts->is_table[computing];
    items->segment[i] = items->segment_count;
}

static bool is_inside_loop(const ItemFacts *facts, int n)
{
    const int loop = facts->loops.of_node[n];
    return loop >= 0 && facts->loops.at[loop].first < n;
}

/* Returns the first node after the cut between `earlier` and `later`, which are neighbouring nodes
 * that compute. */
static int find_cut(const ItemFacts *facts, int earlier, int later)
{
    const MwGraph *graph = facts->graph;
    MwLayerPart part = part_of(facts, earlier);
    int cut = -1;
    bool cut_is_border = false;
    for (int n = earlier + 1; n <= later; n++) {
        if (!mw_layer_has_node(&graph->nodes.at[n]) || is_inside_loop(facts, n))
            continue;
        MwLayerPart own = part_of(facts, n);
        bool is_border = !mw_layer_part_equal(own, part);
        if (cut < 0 || is_border > cut_is_border ||
            (is_border == cut_is_border && facts->crossing_bytes[n] < facts->crossing_bytes[cut])) {
            cut = n;
            cut_is_border = is_border;
        }
        part = own;
    }
    return cut;
}

/* Scales the FLOPs of the items to MW_CLUSTERING_WORK in total, and the unit with them. */
static void fill_work(MwLayerItems *items, const ItemFacts *facts)
{
    double total = 0;
    for (int n = 0; n < facts->graph->nodes.count; n++)
        total += facts->flops[n];
    items->unit = 1;
    if (total > 0)
        items->unit =
            mw_max(1, (int64_t)(facts->repeats.unit / total * (double)MW_CLUSTERING_WORK));
    double left = (double)MW_CLUSTERING_WORK;
    for (int i = 0, n = 0; i < items->count && total > 0; i++) {
        int end = i + 1 < items->count ? items->begin[i + 1] : facts->graph->nodes.count;
        double flops = 0;
        for (; n < end; n++)
            flops += facts->flops[n];
        double share = fmin(round(flops / total * (double)MW_CLUSTERING_WORK), left);
        items->work[i] = (int64_t)share;
        left -= share;
    }
}

static MwLayerItems new_items(MwArena *arena, int most)
{
    return (MwLayerItems){.work = MW_NEW(arena, int64_t, most),
                          .border_bytes = MW_NEW(arena, int64_t, most),
                          .group = MW_NEW(arena, int, most),
                          .begin = MW_NEW(arena, int, most),
                          .is_table = MW_NEW(arena, bool, most),
                          .segment = MW_NEW(arena, int, most)};
}

/* A node that computes joins the item of the loop that it runs in. */
static void join_item(MwLayerItems *items, const ItemFacts *facts, int n)
{
    if (facts->stage[n] >= 0)
        items->group[items->count - 1] = facts->stage[n];
}

MwLayerItems mw_layer_items(MwArena *arena, const MwGraph *graph, int devices)
{
    ItemFacts facts = {.arena = arena, .graph = graph};
    facts.loops = mw_loops(arena, graph);
    find_uses(&facts);
    find_stages(&facts);
    find_crossing_bytes(&facts);
    find_flops(&facts);
    facts.repeats = mw_layer_repeats(arena, graph, facts.flops, devices);
    find_tables(&facts);
    MwLayerItems items = new_items(arena, graph->nodes.count + 1);
    int last = -1;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        if (!mw_layer_has_node(node) ||
            (facts.flops[n] == 0 && facts.stage[n] < 0 && !facts.is_table[n]))
            continue;
        if (last >= 0 && is_inside_loop(&facts, n)) {
            join_item(&items, &facts, n);
            last = n;
            continue;
        }
        if (last >= 0 && !mw_layer_part_equal(part_of(&facts, n), part_of(&facts, last)))
            items.segment_count++;
        begin_item(&items, last < 0 ? 0 : find_cut(&facts, last, n), &facts, n);
        last = n;
    }
    items.segment_count++;
    if (items.count == 0)
        items.group[items.count++] = -1;
    fill_work(&items, &facts);
    return items;
}
