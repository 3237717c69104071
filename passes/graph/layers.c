/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Layers: groups of operators that stay together, of which stages are made.
 *
 * In:  the graph of a model, before differentiation.
 * Out: origin.layer of every node of the forward phase, from 0. A source has the layer of its
 *      first user. Nodes that later passes derive from a node inherit its layer, so that
 *      gradients and updates lie with their operators and weights. A dump with layers, or one
 *      that was differentiated without them, stays as it is.
 * Invariant: along an edge from an operator to an operator the layer never decreases.
 *
 * The nodes, in their order, are cut in two steps; both use the dynamic program of
 * solver/stages/clustering.c.
 *
 * 1. Each segment of the model (one or some iterations of a repeat, or what stands between
 *    repeats) is cut into sections of about a unit of work, which layer_repeats.c finds: usually
 *    the work of an iteration. So an iteration is one section, and identical iterations stay
 *    identical. A segment lighter than half a unit (an embedding) is no reason for a layer, unless
 *    it has a table that is larger than the weights of a layer: the memory of such a table, and
 *    the time of the product with it at the end of a pipeline that comes back to the first mesh,
 *    may leave no room for other layers beside it. A heavier segment (the product with a large
 *    vocabulary) is a layer of its own, because no pipeline could be balanced if it shared one. A
 *    section without such a table has at least half a unit of work: in a smaller one recomputation
 *    would save nothing. If the user wants more layers than that, the unit shrinks until there are
 *    enough sections.
 * 2. Sections are joined to layers. The default number of layers is the number of sections with
 *    at least half a unit, but no less than the number of stages that the user wants. The user may
 *    want no more than MW_TUNED_WANTED_LAYERS: the tables of passes/stages/ and solver/stages/ have
 *    entries for each interval of layers.
 *
 * Source: Zheng et al., "Alpa", OSDI 2022, section 5.2. The use of repeats, and with it the
 * default number of layers, is specific to this compiler. */
#include "passes/graph/layers.h"

#include "ir/loops.h"
#include "passes/graph/layer_items.h"
#include "passes/pass.h"
#include "passes/tuning.h"

typedef struct {
    MwArena *arena; /* scratch, freed after the pass */
    MwLayerItems items;
    int *segment_begin; /* [segment_count + 1] first item of each segment */
} Clusterer;

static MwClustering clustering_of(const MwLayerItems *items, int begin, int end)
{
    return (MwClustering){.count = end - begin,
                          .work = &items->work[begin],
                          .border_bytes = &items->border_bytes[begin],
                          .group = &items->group[begin]};
}

static MwClustering segment_clustering(const Clusterer *c, int segment)
{
    return clustering_of(&c->items, c->segment_begin[segment], c->segment_begin[segment + 1]);
}

static int64_t segment_work(const Clusterer *c, int segment)
{
    int64_t work = 0;
    for (int i = c->segment_begin[segment]; i < c->segment_begin[segment + 1]; i++)
        work += c->items.work[i];
    return work;
}

/* [segment_count + 1] the first item of each segment. */
static int *find_segments(MwArena *arena, const MwLayerItems *items)
{
    int *begin = MW_NEW(arena, int, items->segment_count + 1);
    for (int i = items->count - 1; i >= 0; i--)
        begin[items->segment[i]] = i;
    begin[items->segment_count] = items->count;
    return begin;
}

/* Counts how many times the items of the segment accumulate half a unit of work. */
static int count_half_units(const Clusterer *c, int segment, int64_t unit)
{
    int64_t gathered = 0;
    int count = 0;
    for (int i = c->segment_begin[segment]; i < c->segment_begin[segment + 1]; i++) {
        gathered += c->items.work[i];
        if (2 * gathered < unit)
            continue;
        gathered = 0;
        count++;
    }
    return count;
}

static bool has_table(const Clusterer *c, int segment)
{
    bool found = false;
    for (int i = c->segment_begin[segment]; i < c->segment_begin[segment + 1]; i++)
        found |= c->items.is_table[i];
    return found;
}

/* Returns the number of layers of about `unit` work that the segment makes; may be 0. */
static int segment_layers(const Clusterer *c, int segment, int64_t unit)
{
    int64_t units = (2 * segment_work(c, segment) + unit) / (2 * unit);
    return (int)mw_max(mw_min(units, count_half_units(c, segment, unit)), has_table(c, segment));
}

/* The number of layers if the user does not give one. */
static int default_layers(const Clusterer *c)
{
    int layers = 0;
    for (int s = 0; s < c->items.segment_count; s++)
        layers += segment_layers(c, s, c->items.unit);
    MwClustering all = clustering_of(&c->items, 0, c->items.count);
    return (int)mw_max(mw_max(layers, 1), mw_clustering_least(&all));
}

/* Fills sections[segment] for a unit and returns the sum. */
static int count_sections(const Clusterer *c, int64_t unit, int *sections)
{
    int sum = 0;
    for (int s = 0; s < c->items.segment_count; s++) {
        MwClustering segment = segment_clustering(c, s);
        int least = mw_clustering_least(&segment);
        sections[s] = unit > 0 ? (int)mw_max(segment_layers(c, s, unit), least) : segment.count;
        sum += sections[s];
    }
    return sum;
}

/* Finds the first items of the sections, at least `layers` of them; returns their number. */
static int cut_segments(const Clusterer *c, int layers, int *begins)
{
    int *sections = MW_NEW(c->arena, int, c->items.segment_count), count = 0;
    int64_t divisor = 1;
    while (count_sections(c, c->items.unit / divisor, sections) < layers)
        divisor += mw_max(1, 2 * divisor / MW_TUNED_GRANULARITY);
    if (c->items.segment_count == 1)
        sections[0] = layers;
    for (int s = 0; s < c->items.segment_count; s++) {
        MwClustering segment = segment_clustering(c, s);
        mw_clustering_cut(&segment, sections[s], &begins[count]);
        for (int p = 0; p < sections[s]; p++)
            begins[count++] += c->segment_begin[s];
    }
    return count;
}

/* The sections as items of a clustering problem. */
static MwClustering section_clustering(const Clusterer *c, const int *begins, int sections)
{
    const MwLayerItems *items = &c->items;
    int64_t *work = MW_NEW(c->arena, int64_t, sections);
    int64_t *border_bytes = MW_NEW(c->arena, int64_t, sections);
    int *group = MW_NEW(c->arena, int, sections);
    for (int p = 0; p < sections; p++) {
        int end = p + 1 < sections ? begins[p + 1] : items->count;
        border_bytes[p] = items->border_bytes[begins[p]];
        group[p] = -1;
        for (int i = begins[p]; i < end; i++) {
            work[p] += items->work[i];
            group[p] = (int)mw_max(group[p], items->group[i]);
        }
    }
    return (MwClustering){
        .count = sections, .work = work, .border_bytes = border_bytes, .group = group};
}

/* Fills layer_begin[layer] with the first node of each layer. */
static void cut_layers(const Clusterer *c, int layers, int *layer_begin)
{
    int *section_begin = MW_NEW(c->arena, int, c->items.count);
    int sections = cut_segments(c, layers, section_begin);
    MwClustering clustering = section_clustering(c, section_begin, sections);
    mw_clustering_cut(&clustering, layers, layer_begin);
    for (int l = 0; l < layers; l++)
        layer_begin[l] = c->items.begin[section_begin[layer_begin[l]]];
}

/* The layer that node n is in by its place. */
static int layer_at(const int *layer_begin, int layers, int n)
{
    int layer = 0, end = layers;
    while (end - layer > 1) {
        const int middle = (layer + end) / 2;
        *(n >= layer_begin[middle] ? &layer : &end) = middle;
    }
    return layer;
}

/* The node whose place says which layer node n is in. What begins a loop is in the layer of the
 * loop, which none cuts: gradients of the one run in the loop of the gradients of the other. */
static int place_of(const MwGraph *graph, const MwLoops *loops, int n)
{
    const MwNode *node = &graph->nodes.at[n];
    return node->op == MW_OP_SCAN_CARRY ? loops->at[mw_node_int(node, MW_ATTR_LOOP)].first : n;
}

/* Sets origin.layer of every node of the forward phase, and of sources that they use. */
static void mark_nodes(MwArena *arena, MwGraph *graph, const int *layer_begin, int layers)
{
    const MwLoops loops = mw_loops(arena, graph);
    bool *is_marked = MW_NEW(arena, bool, graph->nodes.count);
    for (int n = 0; n < graph->nodes.count; n++) {
        MwNode *node = &graph->nodes.at[n];
        if (!mw_layer_has_node(node))
            continue;
        const int layer = layer_at(layer_begin, layers, place_of(graph, &loops, n));
        node->origin.layer = layer;
        for (int k = 0; k < node->operand_count; k++) {
            MwNodeId maker = mw_value(graph, node->operands[k])->node;
            if (mw_node(graph, maker)->operand_count == 0 && !is_marked[maker.index])
                mw_node(graph, maker)->origin.layer = layer;
            is_marked[maker.index] = true;
        }
    }
}

/* The number of stages that the user wants; 0: any. */
static int wanted_stages(const MwCompileOptions *options)
{
    return options->stages * mw_wanted_chunks(options);
}

/* Whether the layers and stages that the user wants are possible; reports an error if not. */
static bool check_wanted(const MwLayerItems *items, const MwCompileOptions *options, MwDiags *diags)
{
    MwClustering all = clustering_of(items, 0, items->count);
    int layers = options->layers, stages = wanted_stages(options);
    int least = mw_clustering_least(&all);
    if (layers > items->count)
        mw_diag_error(diags, mw_span_none(),
                      "--layers %d: the model has %d operators that compute, and each layer needs "
                      "one",
                      layers, items->count);
    else if (stages > items->count)
        mw_diag_error(diags, mw_span_none(),
                      "--stages %d: the model has %d operators that compute, and each of %d stages "
                      "needs one",
                      options->stages, items->count, stages);
    else if (layers && layers < stages)
        mw_diag_error(diags, mw_span_none(), "--layers %d: %d stages need as many", layers, stages);
    else if (layers > mw_max(MW_TUNED_WANTED_LAYERS, stages))
        mw_diag_error(diags, mw_span_none(),
                      "--layers %d: a model is cut into at most %d layers, because the time of "
                      "planning grows with more than their square",
                      layers, (int)mw_max(MW_TUNED_WANTED_LAYERS, stages));
    else if (layers && layers < least)
        mw_diag_error(diags, mw_span_none(),
                      "--layers %d: the stages that values are pinned to need at least %d", layers,
                      least);
    else
        return true;
    return false;
}

/* Clusters the nodes into layers; false after an error. */
static bool cluster(MwArena *arena, MwCompilation *compilation, MwDiags *diags)
{
    int devices = compilation->cluster ? mw_cluster_devices(compilation->cluster) : 1;
    Clusterer c = {.arena = arena, .items = mw_layer_items(arena, compilation->graph, devices)};
    const MwCompileOptions *options = &compilation->options;
    if (!check_wanted(&c.items, options, diags))
        return false;
    c.segment_begin = find_segments(arena, &c.items);
    int layers =
        options->layers ? options->layers : (int)mw_max(default_layers(&c), wanted_stages(options));
    int *layer_begin = MW_NEW(arena, int, layers);
    cut_layers(&c, layers, layer_begin);
    mark_nodes(arena, compilation->graph, layer_begin, layers);
    return true;
}

int mw_layer_count(const MwGraph *graph)
{
    int layers = 1;
    for (int n = 0; n < graph->nodes.count; n++)
        layers = (int)mw_max(layers, graph->nodes.at[n].origin.layer + 1);
    return layers;
}

/* Whether the graph is a dump after this pass. */
static bool is_clustered(const MwGraph *graph)
{
    return mw_layer_count(graph) > 1 || mw_graph_has_phase(graph, MW_PHASE_BACKWARD) ||
           mw_is_updated(graph);
}

/* Checks that the user does not want another number of layers than the dump has. */
static bool check_layer_count(const MwCompilation *compilation, MwDiags *diags)
{
    int wanted = compilation->options.layers, layers = mw_layer_count(compilation->graph);
    if (wanted && wanted != layers)
        mw_diag_error(diags, mw_span_none(), "--layers %d: the model is a dump that has %d already",
                      wanted, layers);
    return !wanted || wanted == layers;
}

bool mw_pass_layers(MwCompilation *compilation, MwDiags *diags)
{
    if (is_clustered(compilation->graph))
        return check_layer_count(compilation, diags);
    MwArena *arena = mw_arena_new();
    bool done = cluster(arena, compilation, diags);
    mw_arena_free(&arena);
    return done;
}
