/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Offload: keeps states of optimizers, and weights, in the memory of the host, where the host's
 * processors update them (Ren et al., "ZeRO-Offload: Democratizing Billion-Scale Model Training",
 * USENIX ATC 2021).
 *
 * In:  a graph with its update, and train statements that say `offload = states` or `weights`, or
 *      an option that says so for all of them.
 * Out: the same graph with to_host and to_device. The states of the weights of such a statement are
 *      on the host, and with them the element-wise operators between their old and new values, and
 *      those that these alone take results of (ir/host.h). What else they take is copied there,
 *      such as gradients, weights and rates, and what leaves them is copied back, such as new
 *      weights. Products run on the device, and sums end there.
 *      With `weights` the weights themselves are on the host too, in f32, and the device has a
 *      state W.TYPE for each: a copy in the type that the model casts the weight to, if it does,
 *      which steps set with the weight. So a step copies the gradient there and the new weight
 *      back, in that type. A weight that several layers use stays on the device.
 *      An option restricts that to some quarters of the layers, evenly spread, so that stages have
 *      equal parts of them, and a repetition of few layers stays one.
 * Invariant: values are the same, up to how a compiler rounds what it fuses.
 *
 * Weights none of whose states has MW_TUNED_OFFLOAD_ELEMENTS keep them on the device, since copies
 * of theirs are mostly latency; so do the tables that `sparse` names, of which a step takes only
 * rows (passes/graph/row_steps.c). */
#include "ir/build.h"
#include "ir/host.h"
#include "ir/optimizer.h"
#include "ir/rewrite.h"
#include "passes/pass.h"
#include "passes/tuning.h"

#include <string.h>

/* Values of the new graph for one of the old: itself, a copy there and one back, and of a weight
 * its copy on the device, in another type and back. */
enum { MOST_FORMS = 6 };

typedef struct {
    MwRewrite rewrite;
    int quarters;  /* of the layers, of which states go to the host; 0: of all */
    bool *is_kept; /* [values of from] states and weights that go to the host */
    /* [values of from] the type of the copy that the device has of a weight on the host;
     * MW_TYPE_COUNT: it is none */
    MwType *copy_type;
    MwValueId *copy;         /* [values of from] that copy, of to */
    bool *runs_there;        /* [nodes of from] the processors of the host run it */
    bool *on_host;           /* [values of to] */
    MwValueId *there, *back; /* [values of to] its copy on the host, or on the device; no value */
} Offload;

/* ---- Which states ---- */

/* The trained weight that a state is of, by its name, WEIGHT.SUFFIX; no value: of none. */
static MwValueId weight_of(const MwGraph *graph, const char *state)
{
    char *name = mw_arena_printf(graph->arena, "%s", state);
    for (char *dot = strrchr(name, '.'); dot; dot = strrchr(name, '.')) {
        *dot = '\0';
        const MwValueId value = mw_graph_find(graph, mw_intern(graph->interner, name));
        if (mw_has_value(value) && mw_value_node(graph, value)->op == MW_OP_WEIGHT)
            return value;
    }
    return mw_no_value();
}

/* Whether states of a layer go to the host where those of so many quarters of the layers do. */
static bool has_part(int layer, int quarters)
{
    return quarters == 0 || (layer + 1) * quarters / 4 > layer * quarters / 4;
}

/* The trained weight of which the update alone takes `state`, if its states may go to the host; no
 * value: they may not. */
static MwValueId may_keep(const Offload *o, const MwAssign *assign)
{
    const MwGraph *graph = o->rewrite.from;
    const char *state = mw_value(graph, assign->target)->name;
    if (mw_value_node(graph, assign->target)->op != MW_OP_STATE ||
        mw_assign_accumulates(graph, assign))
        return mw_no_value();
    const MwValueId weight = weight_of(graph, state);
    const char *name = mw_has_value(weight) ? mw_value(graph, weight)->name : NULL;
    const MwTrain *train = name ? mw_train_of(graph, name) : NULL;
    const bool may = train && train->offload != MW_OFFLOAD_NONE &&
                     !mw_patterns_match(&train->sparse, name) &&
                     has_part(mw_value_node(graph, weight)->origin.layer, o->quarters);
    return may ? weight : mw_no_value();
}

/* The uses of a weight before the update. */
typedef struct {
    int count, layer; /* -1: they are in several layers */
    MwType type;      /* that all of them cast it to, one of 16 bits; else its own */
} Uses;

static void note_use(const MwGraph *graph, const MwNode *user, MwValueId weight, Uses *uses)
{
    const MwType own = mw_value_tensor(graph, weight)->type;
    const MwType result = graph->values.at[user->first_result].tensor.type;
    const MwType type = user->op == MW_OP_CAST && mw_type_is_half(result) ? result : own;
    const int layer = mw_value_node(graph, weight)->origin.layer;
    uses->type = uses->count == 0 || uses->type == type ? type : own;
    uses->layer = user->origin.layer == (uses->count ? uses->layer : layer) ? layer : -1;
    uses->count++;
}

/* [values] of weights. */
static Uses *find_uses(const MwGraph *graph)
{
    Uses *uses = MW_NEW(graph->arena, Uses, graph->values.count);
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        for (int k = 0; k < node->operand_count && node->phase != MW_PHASE_UPDATE; k++)
            if (mw_value_node(graph, node->operands[k])->op == MW_OP_WEIGHT)
                note_use(graph, node, node->operands[k], &uses[node->operands[k].index]);
    }
    return uses;
}

/* Has the weight of which states are kept go with them, if its statement says so, and it is of one
 * layer: else stages would share the copy on the device, which has one place alone. */
static void keep_weight(Offload *o, const MwAssign *assign, const Uses *uses)
{
    const MwGraph *graph = o->rewrite.from;
    const char *name = mw_value(graph, assign->target)->name;
    const MwTrain *train = mw_train_of(graph, name);
    if (!train || train->offload != MW_OFFLOAD_WEIGHTS)
        return;
    if (uses->count == 0 || uses->layer < 0)
        return;
    o->is_kept[assign->target.index] = true;
    o->copy_type[assign->target.index] = uses->type;
}

/* The states that go to the host, all of a weight or none, and the weights. */
static void find_kept(Offload *o)
{
    const MwGraph *graph = o->rewrite.from;
    bool *is_kept = o->is_kept;
    const Uses *uses = find_uses(graph);
    int64_t *most = MW_NEW(graph->arena, int64_t, graph->values.count); /* elements of a state */
    for (int i = 0; i < graph->assigns.count; i++) {
        const MwValueId weight = may_keep(o, &graph->assigns.at[i]);
        if (mw_has_value(weight))
            most[weight.index] =
                mw_max(most[weight.index],
                       mw_tensor_elements(mw_value_tensor(graph, graph->assigns.at[i].target)));
    }
    for (int i = 0; i < graph->assigns.count; i++) {
        const MwValueId weight = may_keep(o, &graph->assigns.at[i]);
        is_kept[graph->assigns.at[i].target.index] =
            mw_has_value(weight) && most[weight.index] >= MW_TUNED_OFFLOAD_ELEMENTS;
    }
    for (int n = 0; n < graph->nodes.count; n++)
        for (int k = 0; k < graph->nodes.at[n].operand_count; k++)
            if (graph->nodes.at[n].phase != MW_PHASE_UPDATE)
                is_kept[graph->nodes.at[n].operands[k].index] = false;
    for (int i = 0; i < graph->assigns.count; i++)
        if (most[graph->assigns.at[i].target.index] >= MW_TUNED_OFFLOAD_ELEMENTS)
            keep_weight(o, &graph->assigns.at[i], &uses[graph->assigns.at[i].target.index]);
}

/* ---- Which nodes ---- */

/* Whether the processors of the host may run the node: it goes through its operands once. */
static bool is_light(const MwNode *node)
{
    switch (mw_op_info(node->op)->lowering) {
    case MW_LOWER_MAP:
    case MW_LOWER_VIEW:
    case MW_LOWER_REDUCE:
        return node->phase == MW_PHASE_UPDATE;
    default:
        return false;
    }
}

/* Whether the node gives a sum over dimensions, which devices add up. */
static bool sums(const MwNode *node)
{
    return mw_op_info(node->op)->lowering == MW_LOWER_REDUCE && !mw_node_int(node, MW_ATTR_KEEP);
}

/* Whether the node takes what the device computes in the update by other than light nodes. */
static bool takes_heavy(const MwGraph *graph, const MwNode *node)
{
    for (int k = 0; k < node->operand_count; k++) {
        const MwNode *maker = mw_value_node(graph, node->operands[k]);
        if (maker->phase == MW_PHASE_UPDATE && maker->operand_count > 0 && !is_light(maker))
            return true;
    }
    return false;
}

/* [nodes] from which new values of kept states depend, through nodes that may run on the host. */
static bool *find_leading(const Offload *o)
{
    const MwGraph *graph = o->rewrite.from;
    bool *leads = MW_NEW(graph->arena, bool, graph->nodes.count);
    for (int i = 0; i < graph->assigns.count; i++)
        if (o->is_kept[graph->assigns.at[i].target.index])
            leads[mw_value(graph, graph->assigns.at[i].value)->node.index] = true;
    for (int n = graph->nodes.count - 1; n >= 0; n--) {
        const MwNode *node = &graph->nodes.at[n];
        leads[n] &= is_light(node) && !takes_heavy(graph, node);
        for (int k = 0; k < node->operand_count && leads[n]; k++)
            leads[mw_value(graph, node->operands[k])->node.index] = true;
    }
    return leads;
}

/* Nodes between the old values of kept states and the new ones, from the first to the last. */
static void follow_states(Offload *o)
{
    const MwGraph *graph = o->rewrite.from;
    const bool *leads = find_leading(o);
    bool *on_host = MW_NEW(graph->arena, bool, graph->values.count);
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        for (int k = 0; k < node->operand_count && leads[n]; k++)
            o->runs_there[n] |= on_host[node->operands[k].index];
        for (int k = 0; k < node->result_count; k++)
            on_host[node->first_result + k] =
                o->is_kept[node->first_result + k] || (o->runs_there[n] && !sums(node));
    }
}

/* Whether copies of what the node takes are hardly more than one of its result, which is no number.
 */
static bool is_alike(const MwGraph *graph, const MwNode *node)
{
    const MwTensor *result = &graph->values.at[node->first_result].tensor;
    int64_t bytes = 0;
    for (int k = 0; k < node->operand_count; k++)
        if (!mw_host_ignores(graph, node->operands[k]))
            bytes += mw_tensor_bytes(mw_value_tensor(graph, node->operands[k]));
    return result->rank > 0 && bytes > 0 && bytes < 2 * mw_tensor_bytes(result);
}

/* Element-wise nodes of which only such nodes take the results, from the last to the first: what
 * they take is copied instead, as a gradient of 16 bits that is cast. */
static void lead_to_states(Offload *o)
{
    const MwGraph *graph = o->rewrite.from;
    bool *elsewhere = MW_NEW(graph->arena, bool, graph->values.count); /* wanted on the device */
    bool *there = MW_NEW(graph->arena, bool, graph->values.count);     /* wanted on the host */
    for (int i = 0; i < graph->assigns.count; i++)
        elsewhere[graph->assigns.at[i].value.index] = true;
    for (int i = 0; i < graph->outputs.count; i++)
        elsewhere[graph->outputs.at[i].value.index] = true;
    for (int i = 0; i < graph->metrics.count; i++)
        elsewhere[graph->metrics.at[i].value.index] = true;
    for (int n = graph->nodes.count - 1; n >= 0; n--) {
        const MwNode *node = &graph->nodes.at[n];
        const MwValueId result = {node->first_result};
        if (is_light(node) && mw_op_info(node->op)->lowering == MW_LOWER_MAP &&
            there[result.index] && !elsewhere[result.index] && is_alike(graph, node))
            o->runs_there[n] = true;
        for (int k = 0; k < node->operand_count; k++)
            (o->runs_there[n] ? there : elsewhere)[node->operands[k].index] = true;
    }
}

/* ---- The graph ---- */

/* The copy of a value of the new graph, once for all that take it. */
static MwValueId copied(Offload *o, MwOp op, MwValueId *copies, MwValueId value)
{
    MwGraph *to = o->rewrite.to;
    if (mw_has_value(copies[value.index]))
        return copies[value.index];
    const char *name = mw_arena_printf(to->arena, "%s.%s", mw_value(to, value)->name,
                                       op == MW_OP_TO_HOST ? "host" : "device");
    copies[value.index] = mw_build(to, name, op, &value, 1, NULL, 0);
    o->on_host[copies[value.index].index] = op == MW_OP_TO_HOST;
    return copies[value.index];
}

static MwValueId on_host(Offload *o, MwValueId value)
{
    if (o->on_host[value.index] || mw_host_ignores(o->rewrite.to, value))
        return value;
    return copied(o, MW_OP_TO_HOST, o->there, value);
}

static MwValueId on_device(Offload *o, MwValueId value)
{
    return o->on_host[value.index] ? copied(o, MW_OP_TO_DEVICE, o->back, value) : value;
}

/* Adds the copy that the device has of a weight on the host: a state of its type, which steps set
 * with the weight. */
static void add_copy(Offload *o, MwValueId weight)
{
    MwGraph *to = o->rewrite.to;
    const MwValueId value = o->rewrite.value[weight.index];
    MwTensor tensor = *mw_value_tensor(to, value);
    const MwNode *node = mw_value_node(to, value);
    tensor.type = o->copy_type[weight.index];
    const MwNodeSpec spec = {.op = MW_OP_STATE,
                             .attrs = node->attrs,
                             .attr_count = node->attr_count,
                             .given = &tensor,
                             .name = mw_arena_printf(to->arena, "%s.%s", mw_value(to, value)->name,
                                                     mw_type_name(tensor.type))};
    o->copy[weight.index] = mw_node_result(to, mw_build_node(to, &spec), 0);
    if (tensor.type == mw_value_tensor(to, value)->type)
        o->back[value.index] = o->copy[weight.index];
}

/* The copy on the device that the node casts a weight on the host to; no value: it does not. */
static MwValueId cast_copy(const Offload *o, const MwNode *node)
{
    const MwGraph *graph = o->rewrite.from;
    if (node->op != MW_OP_CAST || node->phase == MW_PHASE_UPDATE)
        return mw_no_value();
    const MwValueId copy = o->copy[node->operands[0].index];
    const MwType type = graph->values.at[node->first_result].tensor.type;
    const bool is_it = mw_has_value(copy) && mw_value_tensor(o->rewrite.to, copy)->type == type;
    return is_it ? copy : mw_no_value();
}

static void add_node(Offload *o, const MwNode *node)
{
    const MwValueId cast = cast_copy(o, node);
    if (mw_has_value(cast)) {
        o->rewrite.value[node->first_result] = cast;
        return;
    }
    const bool there = o->runs_there[node - o->rewrite.from->nodes.at];
    mw_rewrite_at(&o->rewrite, node);
    MwValueId *operands = mw_rewrite_operands(&o->rewrite, node);
    for (int k = 0; k < node->operand_count; k++)
        operands[k] = there ? on_host(o, operands[k]) : on_device(o, operands[k]);
    mw_rewrite_copy_on(&o->rewrite, node, operands);
    for (int k = 0; k < node->result_count; k++) {
        MwValueId *result = &o->rewrite.value[node->first_result + k];
        o->on_host[result->index] = there || o->is_kept[node->first_result + k];
        if (there && sums(node))
            *result = on_device(o, *result);
        if (o->copy_type[node->first_result + k] != MW_TYPE_COUNT)
            add_copy(o, (MwValueId){node->first_result + k});
    }
}

/* The copy on the device of a weight follows it. */
static void assign_copies(Offload *o)
{
    MwGraph *to = o->rewrite.to;
    const MwGraph *from = o->rewrite.from;
    for (int i = 0; i < from->assigns.count; i++) {
        const MwValueId copy = o->copy[from->assigns.at[i].target.index];
        if (!mw_has_value(copy))
            continue;
        const MwValueId value = to->assigns.at[i].value;
        mw_rewrite_at(&o->rewrite, mw_value_node(to, value));
        const MwValueId cast = mw_build_cast(to, value, mw_value_tensor(to, copy)->type);
        o->on_host[cast.index] = true;
        mw_vec_push(to->arena, &to->assigns, ((MwAssign){copy, on_device(o, cast)}));
    }
}

/* A new value goes to where the old one is; what a run shows goes to the device. */
static void finish(Offload *o)
{
    MwGraph *to = o->rewrite.to;
    mw_rewrite_finish(&o->rewrite);
    for (int i = 0; i < to->assigns.count; i++) {
        MwAssign *assign = &to->assigns.at[i];
        mw_rewrite_at(&o->rewrite, mw_value_node(to, assign->value));
        assign->value = o->on_host[assign->target.index] ? on_host(o, assign->value)
                                                         : on_device(o, assign->value);
    }
    assign_copies(o);
    for (int i = 0; i < to->outputs.count; i++) {
        mw_rewrite_at(&o->rewrite, mw_value_node(to, to->outputs.at[i].value));
        to->outputs.at[i].value = on_device(o, to->outputs.at[i].value);
    }
    for (int i = 0; i < to->metrics.count; i++) {
        mw_rewrite_at(&o->rewrite, mw_value_node(to, to->metrics.at[i].value));
        to->metrics.at[i].value = on_device(o, to->metrics.at[i].value);
    }
}

/* [count] no values. */
static MwValueId *no_values(MwArena *arena, int count)
{
    MwValueId *values = MW_NEW(arena, MwValueId, count);
    memset(values, -1, sizeof *values * (size_t)count);
    return values;
}

static MwGraph *offloaded(const MwGraph *graph, int quarters)
{
    const int values = graph->values.count, most = MOST_FORMS * values;
    Offload o = {.rewrite = mw_rewrite_begin(graph),
                 .quarters = quarters,
                 .is_kept = MW_NEW(graph->arena, bool, values),
                 .copy_type = MW_NEW(graph->arena, MwType, values),
                 .copy = no_values(graph->arena, values),
                 .runs_there = MW_NEW(graph->arena, bool, graph->nodes.count),
                 .on_host = MW_NEW(graph->arena, bool, most),
                 .there = no_values(graph->arena, most),
                 .back = no_values(graph->arena, most)};
    for (int v = 0; v < values; v++)
        o.copy_type[v] = MW_TYPE_COUNT;
    find_kept(&o);
    follow_states(&o);
    lead_to_states(&o);
    for (int n = 0; n < graph->nodes.count; n++)
        add_node(&o, &graph->nodes.at[n]);
    finish(&o);
    return o.rewrite.to;
}

/* Whether the cluster says what a host is; else `what` cannot be. */
static bool has_host(const MwCompilation *compilation, const char *what, MwDiags *diags)
{
    const MwCluster *cluster = compilation->cluster;
    if (!cluster || cluster->host.memory_bytes > 0)
        return true;
    mw_diag_error(diags, compilation->graph->trains.at[0].span,
                  "%s: the cluster %s says nothing of the host of a node", what, cluster->name);
    mw_diag_note(diags, mw_span_none(), "a section 'host' of the cluster file does");
    return false;
}

bool mw_pass_offload(MwCompilation *compilation, MwDiags *diags)
{
    MwGraph *graph = compilation->graph;
    const MwCompileOptions *options = &compilation->options;
    bool wanted = false;
    for (int i = 0; i < graph->trains.count; i++) {
        MwTrain *train = &graph->trains.at[i];
        train->offload = options->has_offload ? options->offload : train->offload;
        wanted |= train->offload != MW_OFFLOAD_NONE;
    }
    for (int n = 0; n < graph->nodes.count; n++)
        wanted &= graph->nodes.at[n].op != MW_OP_TO_HOST; /* a dump after this pass */
    if (graph->trains.count > 0 && options->remat == MW_REMAT_STREAM &&
        !has_host(compilation, "activations cannot be streamed", diags))
        return false;
    if (!wanted)
        return true;
    if (!has_host(compilation, "states cannot be offloaded", diags))
        return false;
    compilation->graph = offloaded(graph, options->offload_quarters);
    return true;
}
