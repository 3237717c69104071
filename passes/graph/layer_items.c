/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What there is to cut into layers, and what a cut costs.
 *
 * In:  the graph of a model; only its forward phase counts.
 * Out: items in the order of the nodes, each with its FLOPs, and the bytes that flow over a cut
 *      before it: those of every value made before and used after. A value that is used several
 *      layers on so counts at each border on its way.
 *
 * Some values need not flow. What is made from inputs or from weights alone, by cheap operators,
 * can be made again where it is used: a mask, a cast of a weight. What comes from both, or from a
 * contraction, or is pinned to a stage, is the model's own work and flows.
 *
 * Between two operators that compute there may be some that do not. The cut between them is where a
 * repeat begins or ends its iteration, if it does, else where the fewest bytes flow. */
#include "passes/graph/layer_items.h"

#include "cost/cost.h"

#include <math.h>

enum { FROM_INPUTS = 1, FROM_WEIGHTS = 2, FLOWS = FROM_INPUTS | FROM_WEIGHTS };

typedef struct {
    MwArena *arena;
    const MwGraph *graph;
    int *first_use, *last_use; /* [values] nodes of the forward phase; -1: none */
    double *flops;             /* [nodes] */
    int64_t *crossed;          /* [nodes + 1] bytes that flow over a cut before the node */
    int *stage;                /* [nodes] that a result is pinned to; -1: none */
} Survey;

/* An iteration of an outermost repeat; repeat -1: of none. */
typedef struct {
    int repeat, iteration;
} Place;

/* A repeat of one iteration repeats nothing. */
static Place place_of(const MwGraph *graph, const MwNode *node)
{
    Place place = {-1, 0};
    int iteration = node->origin.iteration;
    for (int r = node->origin.repeat; r >= 0; r = graph->repeats.at[r].parent) {
        if (graph->repeats.at[r].count > 1)
            place = (Place){r, iteration};
        iteration = graph->repeats.at[r].parent_iteration;
    }
    return place;
}

static bool is_same_place(Place a, Place b)
{
    return a.repeat == b.repeat && (a.repeat < 0 || a.iteration == b.iteration);
}

static bool is_cheap(const MwNode *node)
{
    MwLowering lowering = mw_op_info(node->op)->lowering;
    return lowering != MW_LOWER_CONTRACT && lowering != MW_LOWER_LIBRARY;
}

/* What the results of `node` are made from, given that of all values before. */
static unsigned made_from(const MwNode *node, const unsigned *from)
{
    if (node->op == MW_OP_INPUT)
        return FROM_INPUTS;
    if (node->op == MW_OP_WEIGHT || node->op == MW_OP_STATE)
        return FROM_WEIGHTS;
    if (!is_cheap(node))
        return FLOWS;
    unsigned made = 0;
    for (int k = 0; k < node->operand_count; k++)
        made |= from[node->operands[k].index];
    return made;
}

/* [values] the first and the last node of the forward phase that use the value; -1: none. */
static void find_uses(Survey *survey)
{
    const MwGraph *graph = survey->graph;
    survey->first_use = MW_NEW(survey->arena, int, graph->values.count);
    survey->last_use = MW_NEW(survey->arena, int, graph->values.count);
    for (int v = 0; v < graph->values.count; v++)
        survey->first_use[v] = survey->last_use[v] = -1;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        for (int k = 0; node->phase == MW_PHASE_FORWARD && k < node->operand_count; k++) {
            int v = node->operands[k].index;
            if (survey->first_use[v] < 0)
                survey->first_use[v] = n;
            survey->last_use[v] = n;
        }
    }
}

/* A source is where its first user is. */
static void survey_pins(Survey *survey)
{
    const MwGraph *graph = survey->graph;
    survey->stage = MW_NEW(survey->arena, int, graph->nodes.count);
    for (int n = 0; n < graph->nodes.count; n++)
        survey->stage[n] = -1;
    for (int i = 0; i < graph->pins.count; i++) {
        const MwPin *pin = &graph->pins.at[i];
        bool is_source = mw_value_node(graph, pin->value)->operand_count == 0;
        int node = is_source ? survey->first_use[pin->value.index]
                             : mw_value(graph, pin->value)->node.index;
        if (pin->stage >= 0 && node >= 0)
            survey->stage[node] = pin->stage;
    }
}

static void survey_crossings(Survey *survey)
{
    const MwGraph *graph = survey->graph;
    unsigned *from = MW_NEW(survey->arena, unsigned, graph->values.count);
    int64_t *change = MW_NEW(survey->arena, int64_t, graph->nodes.count + 2);
    for (int v = 0; v < graph->values.count; v++) {
        int maker = graph->values.at[v].node.index;
        from[v] = survey->stage[maker] >= 0 ? FLOWS : made_from(&graph->nodes.at[maker], from);
        if (from[v] != FLOWS || survey->last_use[v] < 0)
            continue;
        change[maker + 1] += mw_tensor_bytes(&graph->values.at[v].tensor);
        change[survey->last_use[v] + 1] -= mw_tensor_bytes(&graph->values.at[v].tensor);
    }
    survey->crossed = MW_NEW(survey->arena, int64_t, graph->nodes.count + 1);
    for (int n = 0; n < graph->nodes.count; n++)
        survey->crossed[n + 1] = survey->crossed[n] + change[n + 1];
}

static void survey_flops(Survey *survey)
{
    int ways[MW_MAX_FACTORS];
    for (int f = 0; f < MW_MAX_FACTORS; f++)
        ways[f] = 1;
    survey->flops = MW_NEW(survey->arena, double, survey->graph->nodes.count);
    for (int n = 0; n < survey->graph->nodes.count; n++) {
        if (!mw_layer_is_laid(&survey->graph->nodes.at[n]))
            continue;
        MwShardingRule rule = mw_sharding_rule(survey->arena, survey->graph, (MwNodeId){n});
        survey->flops[n] = mw_cost_node_work(survey->graph, (MwNodeId){n}, &rule, ways).flops;
    }
}

/* Begins an item just before node `n`, in the place of the node that it is for. */
static void begin_item(MwLayerItems *items, int n, const Survey *survey, int computing)
{
    const MwGraph *graph = survey->graph;
    Place place = place_of(graph, &graph->nodes.at[computing]);
    int i = items->count++;
    items->begin[i] = i == 0 ? 0 : n;
    items->border_bytes[i] = i == 0 ? 0 : survey->crossed[n];
    items->group[i] = survey->stage[computing];
    items->segment[i] = items->segment_count;
    items->repeat[items->segment_count] = place.repeat;
}

/* The node between `earlier` and `later`, two that compute, before which to cut. */
static int find_cut(const Survey *survey, int earlier, int later)
{
    const MwGraph *graph = survey->graph;
    Place place = place_of(graph, &graph->nodes.at[earlier]);
    int cut = -1;
    bool on_border = false;
    for (int n = earlier + 1; n <= later; n++) {
        if (!mw_layer_is_laid(&graph->nodes.at[n]))
            continue;
        Place own = place_of(graph, &graph->nodes.at[n]);
        bool is_border = !is_same_place(own, place);
        if (cut < 0 || is_border > on_border ||
            (is_border == on_border && survey->crossed[n] < survey->crossed[cut])) {
            cut = n;
            on_border = is_border;
        }
        place = own;
    }
    return cut;
}

static void fill_work(MwLayerItems *items, const Survey *survey)
{
    double total = 0;
    for (int n = 0; n < survey->graph->nodes.count; n++)
        total += survey->flops[n];
    double left = (double)MW_CLUSTERING_WORK;
    for (int i = 0, n = 0; i < items->count && total > 0; i++) {
        int end = i + 1 < items->count ? items->begin[i + 1] : survey->graph->nodes.count;
        double flops = 0;
        for (; n < end; n++)
            flops += survey->flops[n];
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
                          .segment = MW_NEW(arena, int, most),
                          .repeat = MW_NEW(arena, int, most)};
}

MwLayerItems mw_layer_items(MwArena *arena, const MwGraph *graph)
{
    Survey survey = {.arena = arena, .graph = graph};
    find_uses(&survey);
    survey_pins(&survey);
    survey_crossings(&survey);
    survey_flops(&survey);
    MwLayerItems items = new_items(arena, graph->nodes.count + 1);
    int last = -1;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        if (!mw_layer_is_laid(node) || (survey.flops[n] == 0 && survey.stage[n] < 0))
            continue;
        if (last >= 0 &&
            !is_same_place(place_of(graph, node), place_of(graph, &graph->nodes.at[last])))
            items.segment_count++;
        begin_item(&items, last < 0 ? 0 : find_cut(&survey, last, n), &survey, n);
        last = n;
    }
    items.segment_count++;
    if (items.count == 0) {
        items.group[items.count++] = -1;
        items.repeat[0] = -1;
    }
    fill_work(&items, &survey);
    return items;
}
