/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Streamed activations: what a layer keeps for its backward waits for it in the memory of the host
 * (Rhu et al., "vDNN: Virtualized Deep Neural Networks for Scalable, Memory-Efficient Neural
 * Network Design", MICRO 2016).
 *
 * In:  the graph after remat, and the layers that stream.
 * Out: the same graph in which the backward of such a layer L uses no value V of the forward: a
 *      to_host copies V while the forward of the next layer runs, and a to_device copies it back
 *      while the backward of that layer runs, so that the device has what two layers keep. Views of
 *      V are made again of the copy. The copies are spread over the nodes of the next layer, since
 *      a device does them one after another, with collectives between.
 * Invariant: the numbers do not change.
 *
 * What is the same for all micro-batches stays, as casts of weights, and what other layers need on
 * the device too. So does what has less than MW_TUNED_OFFLOAD_ELEMENTS, and what the last layer
 * keeps: its backward follows its forward. A value that several layers need is copied for each. */
#include "ir/build.h"
#include "ir/invariant.h"
#include "ir/key_map.h"
#include "ir/loops.h"
#include "ir/rewrite.h"
#include "passes/pass.h"
#include "passes/tuning.h"

/* A value that waits on the host for the backward of a layer. */
typedef struct Streamed {
    MwValueId value;  /* of from */
    const MwNode *by; /* the first node of from that needs it */
    int layer;
    MwValueId host, device; /* its copies, of to */
    /* the next one with copies at the same nodes of from; NULL: none */
    struct Streamed *next_there, *next_back;
} Streamed;

typedef struct {
    MwRewrite rewrite;
    const MwStaging *staging;
    bool *stays;   /* [values of from] on the device */
    MwKeyMap used; /* by a value of from and a layer: the Streamed of it, or the view made again */
    MW_VEC(Streamed *) list; /* in order of need */
    /* [nodes of from] what is copied there behind a node, and back before it; NULL: nothing */
    Streamed **there, **back;
    MW_VEC(MwNodeId) again; /* nodes of to that make values of the forward again */
} Stream;

typedef struct {
    int32_t value, layer;
} UseKey;

static bool is_backward(const MwNode *node)
{
    return node->phase == MW_PHASE_BACKWARD || node->phase == MW_PHASE_BACKWARD_WEIGHT;
}

static bool streams(const Stream *s, const MwNode *node)
{
    return is_backward(node) && node->origin.layer < s->staging->layer_count - 1 &&
           mw_staging_remat(s->staging, node) == MW_LAYER_STREAMS;
}

static bool is_view(const MwNode *node)
{
    return node->phase == MW_PHASE_FORWARD && mw_op_info(node->op)->lowering == MW_LOWER_VIEW;
}

/* The value that a value is a view of, or itself. */
static MwValueId root_of(const MwGraph *graph, MwValueId value)
{
    while (is_view(mw_value_node(graph, value)))
        value = mw_value_node(graph, value)->operands[0];
    return value;
}

static void *slot_of(Stream *s, MwValueId value, int layer)
{
    const UseKey key = {value.index, layer};
    return mw_key_map_at(s->rewrite.from->arena, &s->used, &key, sizeof key);
}

/* ---- What is streamed ---- */

static void find_staying(Stream *s)
{
    const MwGraph *graph = s->rewrite.from;
    const MwLoops loops = mw_loops(graph->arena, graph);
    const bool *is_invariant = mw_find_invariant(graph->arena, graph);
    for (int v = 0; v < graph->values.count; v++) {
        const MwNode *node = mw_value_node(graph, (MwValueId){v});
        s->stays[v] = node->phase != MW_PHASE_FORWARD || mw_op_accumulates(node->op) ||
                      is_invariant[v] || mw_op_info(node->op)->lowering == MW_LOWER_SOURCE ||
                      loops.of_value[v] >= 0 ||
                      mw_tensor_elements(&graph->values.at[v].tensor) < MW_TUNED_OFFLOAD_ELEMENTS;
    }
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        for (int k = 0; k < node->operand_count; k++)
            s->stays[root_of(graph, node->operands[k]).index] |=
                node->phase != MW_PHASE_FORWARD && !streams(s, node);
    }
    for (int i = 0; i < graph->outputs.count; i++)
        s->stays[root_of(graph, graph->outputs.at[i].value).index] = true;
    for (int i = 0; i < graph->metrics.count; i++)
        s->stays[root_of(graph, graph->metrics.at[i].value).index] = true;
}

static void find_streamed(Stream *s)
{
    const MwGraph *graph = s->rewrite.from;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        for (int k = 0; k < node->operand_count && streams(s, node); k++) {
            const MwValueId root = root_of(graph, node->operands[k]);
            Streamed **at = slot_of(s, root, node->origin.layer);
            if (s->stays[root.index] || *at)
                continue;
            *at = MW_NEW(graph->arena, Streamed, 1);
            **at = (Streamed){.value = root, .by = node, .layer = node->origin.layer};
            mw_vec_push(graph->arena, &s->list, *at);
        }
    }
}

/* ---- Where it is copied ---- */

/* Nodes of a layer in one phase, from the first to the last. */
typedef struct {
    int first, last; /* last -1: there are none */
} Range;

/* [layers] of a phase. */
static Range *find_ranges(const Stream *s, MwPhase phase)
{
    const MwGraph *graph = s->rewrite.from;
    Range *ranges = MW_NEW(graph->arena, Range, s->staging->layer_count);
    for (int l = 0; l < s->staging->layer_count; l++)
        ranges[l].last = -1;
    for (int n = 0; n < graph->nodes.count; n++) {
        Range *range = &ranges[graph->nodes.at[n].origin.layer];
        if (graph->nodes.at[n].phase != phase || graph->nodes.at[n].operand_count == 0)
            continue;
        range->first = range->last < 0 ? n : range->first;
        range->last = n;
    }
    return ranges;
}

/* The node of a range at a fraction k / parts; `otherwise` if the range is empty. */
static int node_at(const Range *range, int k, int parts, int otherwise)
{
    return range->last < 0 ? otherwise : range->first + (range->last - range->first) * k / parts;
}

/* Spreads the copies of each layer over the forward and the backward of the next one, in the order
 * of need: what the backward needs last, the forward mostly makes first. */
static void place_copies(Stream *s)
{
    const MwGraph *graph = s->rewrite.from;
    const Range *forward = find_ranges(s, MW_PHASE_FORWARD);
    const Range *backward = find_ranges(s, MW_PHASE_BACKWARD);
    int *count = MW_NEW(graph->arena, int, s->staging->layer_count);
    int *left = MW_NEW(graph->arena, int, s->staging->layer_count);
    for (int i = 0; i < s->list.count; i++)
        left[s->list.at[i]->layer] = ++count[s->list.at[i]->layer];
    for (int i = s->list.count - 1; i >= 0; i--) {
        Streamed *streamed = s->list.at[i];
        const int l = streamed->layer, parts = count[l], k = --left[l];
        const int made = mw_value(graph, streamed->value)->node.index;
        const int need = (int)(streamed->by - graph->nodes.at);
        int there = (int)mw_max(node_at(&forward[l + 1], parts - k, parts, made), made);
        int back = (int)mw_min(node_at(&backward[l + 1], k, parts, need), need);
        there = there < back ? there : made;
        back = (int)mw_max(back, there + 1);
        streamed->next_there = s->there[there];
        streamed->next_back = s->back[back];
        s->there[there] = s->back[back] = streamed;
    }
}

/* ---- The graph ---- */

static MwValueId copied(const Stream *s, const Streamed *streamed, MwOp op, MwPhase phase,
                        MwValueId operand)
{
    MwGraph *to = s->rewrite.to;
    const char *value = mw_value(s->rewrite.from, streamed->value)->name;
    const char *place = op == MW_OP_TO_HOST ? "host" : "device";
    to->origin = streamed->by->origin;
    to->phase = phase;
    return mw_build(to, mw_arena_printf(to->arena, "%s.%s.%d", value, place, streamed->layer), op,
                    &operand, 1, NULL, 0);
}

/* The form of a value that the backward of a layer uses. */
static MwValueId value_for(Stream *s, MwValueId value, const MwNode *user)
{
    const MwGraph *from = s->rewrite.from;
    const MwValueId root = root_of(from, value);
    const Streamed *streamed = *(Streamed **)slot_of(s, root, user->origin.layer);
    if (!streamed)
        return s->rewrite.value[value.index];
    if (mw_value_equal(root, value))
        return streamed->device;
    MwValueId **view = slot_of(s, value, user->origin.layer);
    if (!*view) {
        const MwNode *node = mw_value_node(from, value);
        MwValueId operand = value_for(s, node->operands[0], user);
        MwGraph *to = s->rewrite.to;
        to->origin = user->origin;
        to->phase = MW_PHASE_BACKWARD;
        const char *name = mw_arena_printf(to->arena, "%s.device.%d", mw_value(from, value)->name,
                                           user->origin.layer);
        *view = MW_NEW(to->arena, MwValueId, 1);
        **view = mw_build(to, name, node->op, &operand, 1, node->attrs, node->attr_count);
    }
    return **view;
}

static void add_node(Stream *s, const MwNode *node, bool is_again)
{
    MwValueId *operands = mw_rewrite_operands(&s->rewrite, node);
    for (int k = 0; k < node->operand_count && streams(s, node); k++)
        operands[k] = value_for(s, node->operands[k], node);
    const MwNodeId id = mw_rewrite_copy_on(&s->rewrite, node, operands);
    if (is_again)
        mw_vec_push(s->rewrite.from->arena, &s->again, id);
}

static void add_nodes(Stream *s, const bool *is_again)
{
    const MwGraph *from = s->rewrite.from;
    for (int n = 0; n < from->nodes.count; n++) {
        for (Streamed *at = s->back[n]; at; at = at->next_back)
            at->device = copied(s, at, MW_OP_TO_DEVICE, MW_PHASE_BACKWARD, at->host);
        add_node(s, &from->nodes.at[n], is_again[n]);
        for (Streamed *at = s->there[n]; at; at = at->next_there)
            at->host =
                copied(s, at, MW_OP_TO_HOST, MW_PHASE_FORWARD, s->rewrite.value[at->value.index]);
    }
    mw_rewrite_finish(&s->rewrite);
}

bool mw_pass_stream(MwCompilation *compilation, MwDiags *diags)
{
    const MwGraph *graph = compilation->graph;
    (void)diags;
    Stream s = {.rewrite = mw_rewrite_begin(graph),
                .staging = &compilation->staging,
                .stays = MW_NEW(graph->arena, bool, graph->values.count),
                .there = MW_NEW(graph->arena, Streamed *, graph->nodes.count),
                .back = MW_NEW(graph->arena, Streamed *, graph->nodes.count + 1)};
    bool any = false;
    for (int n = 0; n < graph->nodes.count; n++)
        any |= streams(&s, &graph->nodes.at[n]);
    if (!any)
        return true;
    find_staying(&s);
    find_streamed(&s);
    place_copies(&s);
    add_nodes(&s, compilation->is_again);
    bool *is_again = MW_NEW(compilation->arena, bool, s.rewrite.to->nodes.count);
    for (int i = 0; i < s.again.count; i++)
        is_again[s.again.at[i].index] = true;
    compilation->is_again = is_again;
    compilation->graph = s.rewrite.to;
    return true;
}
