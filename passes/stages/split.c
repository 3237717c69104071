/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cuts the graph of the whole model into a graph for each stage.
 *
 * In:  compilation->graph and staging.
 * Out: compilation->stages, each with the nodes of its layers, forward, backward and update; and
 *      compilation->crossings. A stage sends a value that another stage uses as soon as it is
 *      made, and the other receives it in the same phase; in the update phase if it uses the
 *      value only there.
 *
 * Some nodes run in every stage that uses them instead of crossing:
 * - sources: an input is fed to each stage, and each stage keeps a weight that it uses, or a state
 *   that no step changes;
 * - nodes that depend on constants alone;
 * - element-wise nodes that depend on inputs alone or on weights alone;
 * - in the update phase, nodes that lead element by element to the new value of a weight that
 *   several stages keep. So the copies of a weight stay equal, and its gradient crosses, not its
 *   new value;
 * - to_host, since values cross from device to device.
 * A node that the user pins to a stage runs in that stage alone, and so does a loop, of which a
 * step needs what another leaves.
 *
 * A pin of a spec holds in the stages that make the value, not where the value is received.
 *
 * Invariant: in the graph of every stage, sends and receives stand in the order of the whole
 * graph. */
#include "passes/stages/split.h"

#include "ir/build.h"
#include "ir/loops.h"
#include "ir/rewrite.h"
#include "passes/pass.h"

enum { ALL_STAGES = -1, NO_STAGE = -2 };

typedef struct {
    const MwCompilation *compilation;
    const MwGraph *graph;
    int stages, words; /* words: 64-bit words in a set of stages */
    int wanted_stage;  /* the stage that gets a graph, ALL_STAGES or NO_STAGE */
    uint64_t *runs;    /* [nodes] set of the stages that run the node */
    uint64_t *users;   /* [values] set of the stages that use the value */
    /* [values] set of the stages that use the value before the update */
    uint64_t *early_users;
    const bool *is_pinned_here; /* [nodes] runs in the stage of its layer alone, because of a pin */
    const bool *is_constant;    /* [nodes] depends on constants and the step number alone */
    /* [nodes] constant, a weight, a state that no step changes, or before the update element-wise
     * of these */
    bool *is_from_weights;
    /* [nodes] constant, an input, or before the update element-wise of these */
    bool *is_from_inputs;
    MwRewrite *rewrites;
    MW_VEC(MwCrossing) crossings;
} StageSplit;

static uint64_t *runs_of(const StageSplit *s, int node)
{
    return &s->runs[(int64_t)node * s->words];
}

static uint64_t *users_of(const StageSplit *s, int value)
{
    return &s->users[(int64_t)value * s->words];
}

static uint64_t *early_users_of(const StageSplit *s, int value)
{
    return &s->early_users[(int64_t)value * s->words];
}

static bool contains(const uint64_t *set, int stage)
{
    return set[stage / 64] >> (stage % 64) & 1;
}

static void add(uint64_t *set, int stage)
{
    set[stage / 64] |= UINT64_C(1) << (stage % 64);
}

static void add_set(const StageSplit *s, uint64_t *set, const uint64_t *more)
{
    for (int w = 0; w < s->words; w++)
        set[w] |= more[w];
}

static bool is_empty(const StageSplit *s, const uint64_t *set)
{
    for (int w = 0; w < s->words; w++)
        if (set[w])
            return false;
    return true;
}

static int first_of(const StageSplit *s, const uint64_t *set)
{
    for (int stage = 0; stage < s->stages; stage++)
        if (contains(set, stage))
            return stage;
    MW_UNREACHABLE();
}

static int home_of(const StageSplit *s, const MwNode *node)
{
    return mw_staging_stage(&s->compilation->staging, node);
}

static bool is_source(const MwNode *node)
{
    return mw_op_info(node->op)->lowering == MW_LOWER_SOURCE;
}

/* ---- Which stages run a node ---- */

static bool is_made_of(const MwGraph *graph, const MwNode *node, const bool *set)
{
    for (int k = 0; k < node->operand_count; k++)
        if (!set[mw_value(graph, node->operands[k])->node.index])
            return false;
    return true;
}

/* [nodes] whether a node runs in the stage of its layer alone: a node with a result pinned to a
 * stage, and a user of a pinned source in the layer of the source. */
static bool *find_pinned(MwArena *arena, const MwGraph *graph)
{
    bool *is_pinned_here = MW_NEW(arena, bool, graph->nodes.count);
    bool *is_pinned = MW_NEW(arena, bool, graph->values.count);
    for (int i = 0; i < graph->pins.count; i++)
        if (graph->pins.at[i].stage >= 0)
            is_pinned[graph->pins.at[i].value.index] = true;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        for (int v = node->first_result; v < node->first_result + node->result_count; v++)
            is_pinned_here[n] |= is_pinned[v] && node->operand_count > 0;
        for (int k = 0; k < node->operand_count && node->phase == MW_PHASE_FORWARD; k++) {
            const MwNode *maker = mw_value_node(graph, node->operands[k]);
            is_pinned_here[n] |= is_pinned[node->operands[k].index] && maker->operand_count == 0 &&
                                 maker->origin.layer == node->origin.layer;
        }
    }
    return is_pinned_here;
}

/* [nodes] whether a node depends on constants and the step number alone, and is not pinned. */
static bool *find_constant(MwArena *arena, const MwGraph *graph, const bool *is_pinned_here)
{
    bool *is_constant = MW_NEW(arena, bool, graph->nodes.count);
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        is_constant[n] = !mw_op_is_data(node->op) && !is_pinned_here[n] &&
                         !mw_op_is_scan(node->op) && is_made_of(graph, node, is_constant);
    }
    return is_constant;
}

bool *mw_find_constant_nodes(MwArena *arena, const MwGraph *graph)
{
    return find_constant(arena, graph, find_pinned(arena, graph));
}

static bool is_element_wise(const MwNode *node)
{
    MwLowering lowering = mw_op_info(node->op)->lowering;
    return !mw_op_is_scan(node->op) &&
           (lowering == MW_LOWER_MAP || lowering == MW_LOWER_VIEW || lowering == MW_LOWER_MOVE);
}

/* Whether the node is a weight, or a state that is the same in every step. */
static bool is_kept(const MwNode *node, const bool *is_assigned)
{
    return node->op == MW_OP_WEIGHT ||
           (node->op == MW_OP_STATE && !is_assigned[node->first_result]);
}

/* Finds the nodes that may run in every stage that uses them. */
static void find_replicable(StageSplit *s)
{
    bool *is_assigned = MW_NEW(s->graph->arena, bool, s->graph->values.count);
    for (int i = 0; i < s->graph->assigns.count; i++)
        is_assigned[s->graph->assigns.at[i].target.index] = true;
    for (int n = 0; n < s->graph->nodes.count; n++) {
        const MwNode *node = &s->graph->nodes.at[n];
        bool is_simple = node->phase != MW_PHASE_UPDATE && node->operand_count > 0 &&
                         !s->is_pinned_here[n] && is_element_wise(node);
        s->is_from_weights[n] = s->is_constant[n] || is_kept(node, is_assigned) ||
                                (is_simple && is_made_of(s->graph, node, s->is_from_weights));
        s->is_from_inputs[n] = s->is_constant[n] || node->op == MW_OP_INPUT ||
                               (is_simple && is_made_of(s->graph, node, s->is_from_inputs));
    }
}

/* Adds the stages in `set` to the users of the operands of `node`. */
static void add_operand_users(StageSplit *s, const MwNode *node, const uint64_t *set)
{
    for (int k = 0; k < node->operand_count; k++) {
        add_set(s, users_of(s, node->operands[k].index), set);
        if (node->phase != MW_PHASE_UPDATE)
            add_set(s, early_users_of(s, node->operands[k].index), set);
    }
}

/* Adds the stages that use any result of `node` to `set`. */
static void add_users(StageSplit *s, const MwNode *node, uint64_t *set)
{
    for (int v = node->first_result; v < node->first_result + node->result_count; v++)
        add_set(s, set, users_of(s, v));
}

static void run_at_home(StageSplit *s, int n)
{
    const MwNode *node = &s->graph->nodes.at[n];
    add(runs_of(s, n), home_of(s, node));
}

/* Assigns a node of forward or backward: it runs where it is used if it may, else in the stage
 * of its layer. */
static void assign_early(StageSplit *s, int n)
{
    const MwNode *node = &s->graph->nodes.at[n];
    if (s->is_from_weights[n] || s->is_from_inputs[n])
        add_users(s, node, runs_of(s, n));
    if (is_empty(s, runs_of(s, n)))
        run_at_home(s, n);
    add_operand_users(s, node, runs_of(s, n));
}

/* `node` runs wherever a weight is kept: marks the operands in the update phase that it uses
 * element by element, which run there too. */
static void mark_followers(const StageSplit *s, const MwNode *node, bool *follows)
{
    const MwTensor *result = &s->graph->values.at[node->first_result].tensor;
    for (int k = 0; k < node->operand_count; k++) {
        const MwTensor *operand = mw_value_tensor(s->graph, node->operands[k]);
        if (mw_value_node(s->graph, node->operands[k])->phase == MW_PHASE_UPDATE &&
            mw_tensor_elements(operand) == mw_tensor_elements(result))
            follows[node->operands[k].index] = true;
    }
}

/* Adds the stages that keep the weights or states to which results of `node` are assigned. */
static void add_keepers(StageSplit *s, const MwNode *node, const int *target_of, uint64_t *set)
{
    for (int v = node->first_result; v < node->first_result + node->result_count; v++)
        if (target_of[v] >= 0)
            add_set(s, set, runs_of(s, s->graph->values.at[target_of[v]].node.index));
}

/* [values] the target that a value is assigned to; -1: none. */
static int *targets(const MwGraph *graph)
{
    int *target = MW_NEW(graph->arena, int, graph->values.count);
    for (int v = 0; v < graph->values.count; v++)
        target[v] = -1;
    for (int i = 0; i < graph->assigns.count; i++)
        target[graph->assigns.at[i].value.index] = graph->assigns.at[i].target.index;
    return target;
}

static bool follows_any(const MwNode *node, const bool *follows)
{
    for (int v = node->first_result; v < node->first_result + node->result_count; v++)
        if (follows[v])
            return true;
    return false;
}

/* Assigns the nodes of the update phase. Weights have their stages already; states, and the
 * nodes that compute new values of both, follow them. */
static void assign_updates(StageSplit *s)
{
    const MwGraph *graph = s->graph;
    const int *target_of = targets(graph);
    bool *follows = MW_NEW(graph->arena, bool, graph->values.count);
    for (int n = graph->nodes.count - 1; n >= 0; n--) {
        const MwNode *node = &graph->nodes.at[n];
        uint64_t *runs = runs_of(s, n);
        if (node->phase != MW_PHASE_UPDATE)
            continue;
        add_keepers(s, node, target_of, runs);
        if (s->is_constant[n] || is_source(node) || node->op == MW_OP_TO_HOST ||
            follows_any(node, follows))
            add_users(s, node, runs);
        if (is_empty(s, runs))
            run_at_home(s, n);
        else
            mark_followers(s, node, follows);
        add_operand_users(s, node, runs);
    }
}

/* Whether each stage that keeps a weight or state runs what computes its new value. */
static bool keepers_update(const StageSplit *s)
{
    for (int i = 0; i < s->graph->assigns.count; i++) {
        const MwAssign *assign = &s->graph->assigns.at[i];
        const uint64_t *keeps = runs_of(s, mw_value(s->graph, assign->target)->node.index);
        const uint64_t *runs = runs_of(s, mw_value(s->graph, assign->value)->node.index);
        for (int w = 0; w < s->words; w++)
            if (keeps[w] & ~runs[w])
                return false;
    }
    return true;
}

static void assign_all_early(StageSplit *s)
{
    for (int n = s->graph->nodes.count - 1; n >= 0; n--)
        if (s->graph->nodes.at[n].phase != MW_PHASE_UPDATE)
            assign_early(s, n);
}

/* The nodes before the update are assigned twice, because the update adds users of nodes that
 * run wherever they are used. A state follows its users, so that what computes its new value may be
 * assigned before it is known which stages keep it: then the update is assigned again. */
static void assign_nodes(StageSplit *s)
{
    find_replicable(s);
    assign_all_early(s);
    do
        assign_updates(s);
    while (!keepers_update(s));
    assign_all_early(s);
}

/* ---- The graphs ---- */

static bool is_wanted(const StageSplit *s, int stage)
{
    return s->wanted_stage == ALL_STAGES || s->wanted_stage == stage;
}

/* New nodes take the origin of `node`, but run in `phase`. */
static void set_origin(MwRewrite *rewrite, const MwNode *node, MwPhase phase)
{
    mw_rewrite_at(rewrite, node);
    rewrite->to->phase = phase;
}

static void add_send(StageSplit *s, MwValueId v, int from, int to, MwPhase phase)
{
    MwRewrite *sender = &s->rewrites[from];
    const MwValue *value = mw_value(s->graph, v);
    MwAttr transfer = mw_attr_int(MW_ATTR_TRANSFER, s->crossings.count);
    const char *name = mw_arena_printf(s->graph->arena, "%s.to_%d", value->name, to);
    set_origin(sender, mw_node(s->graph, value->node), phase);
    mw_build(sender->to, name, MW_OP_SEND, &sender->value[v.index], 1, &transfer, 1);
}

static void add_receive(StageSplit *s, MwValueId v, int to, MwPhase phase)
{
    MwRewrite *receiver = &s->rewrites[to];
    const MwValue *value = mw_value(s->graph, v);
    MwAttr attrs[] = {mw_attr_int(MW_ATTR_TYPE, value->tensor.type),
                      mw_attr_shape(s->graph->arena, &value->tensor),
                      mw_attr_int(MW_ATTR_TRANSFER, s->crossings.count)};
    set_origin(receiver, mw_node(s->graph, value->node), phase);
    receiver->value[v.index] =
        mw_build(receiver->to, value->name, MW_OP_RECEIVE, NULL, 0, attrs, MW_COUNT(attrs));
}

/* Sends value `v` from stage `from` to stage `to`, which is on another mesh. */
static void send_directly(StageSplit *s, MwValueId v, int from, int to, MwPhase phase)
{
    const MwValue *value = mw_value(s->graph, v);
    if (is_wanted(s, from))
        add_send(s, v, from, to, phase);
    if (is_wanted(s, to))
        add_receive(s, v, to, phase);
    mw_vec_push(s->graph->arena, &s->crossings,
                ((MwCrossing){value->name, value->tensor, phase, from, to}));
}

/* The phase in which `v` reaches `stage`: the phase that makes it, or the update if the stage
 * uses it only there. */
static MwPhase crossing_phase(const StageSplit *s, MwValueId v, int stage)
{
    return contains(early_users_of(s, v.index), stage) ? mw_value_node(s->graph, v)->phase
                                                       : MW_PHASE_UPDATE;
}

/* Sends a value from one stage to another. Between stages of one mesh it passes through the
 * stage next to `from`. */
static void send_value(StageSplit *s, MwValueId v, int from, int to)
{
    const MwStaging *staging = &s->compilation->staging;
    if (mw_staging_mesh(staging, from) == mw_staging_mesh(staging, to)) {
        int between = from < to ? from + 1 : from - 1;
        if (contains(early_users_of(s, v.index), to))
            add(early_users_of(s, v.index), between);
        if (!mw_has_value(s->rewrites[between].value[v.index]))
            send_directly(s, v, from, between, crossing_phase(s, v, between));
        from = between;
    }
    send_directly(s, v, from, to, crossing_phase(s, v, to));
}

/* Copies a node to the stages that run it, and sends its results to the other stages that use
 * them. */
static void emit_node(StageSplit *s, int n)
{
    const MwNode *node = &s->graph->nodes.at[n];
    const uint64_t *runs = runs_of(s, n);
    for (int stage = 0; stage < s->stages; stage++)
        if (contains(runs, stage) && is_wanted(s, stage))
            mw_rewrite_copy(&s->rewrites[stage], node);
    int home = first_of(s, runs);
    for (int v = node->first_result; v < node->first_result + node->result_count; v++)
        for (int stage = 0; stage < s->stages; stage++)
            if (contains(users_of(s, v), stage) && !contains(runs, stage) &&
                !mw_has_value(s->rewrites[stage].value[v]))
                send_value(s, (MwValueId){v}, home, stage);
}

static int maker_of(const StageSplit *s, MwValueId value)
{
    return mw_value(s->graph, value)->node.index;
}

/* Whether `stage` is the first stage that makes `value`. */
static bool is_first_maker(const StageSplit *s, int stage, MwValueId value)
{
    return first_of(s, runs_of(s, maker_of(s, value))) == stage;
}

static MwOutput form_of(const MwRewrite *rewrite, const MwOutput *output)
{
    return (MwOutput){output->name, rewrite->value[output->value.index]};
}

/* Adds outputs, metrics, assigns and pins to the graph of a stage. An output leaves from one stage;
 * an assign stands in every stage that keeps its target. */
static MwGraph *finish_stage(StageSplit *s, int stage)
{
    const MwGraph *from = s->graph;
    const MwRewrite *rewrite = &s->rewrites[stage];
    MwGraph *to = rewrite->to;
    for (int i = 0; i < from->outputs.count; i++)
        if (is_first_maker(s, stage, from->outputs.at[i].value))
            mw_vec_push(to->arena, &to->outputs, form_of(rewrite, &from->outputs.at[i]));
    for (int i = 0; i < from->metrics.count; i++)
        if (is_first_maker(s, stage, from->metrics.at[i].value))
            mw_vec_push(to->arena, &to->metrics, form_of(rewrite, &from->metrics.at[i]));
    for (int i = 0; i < from->assigns.count; i++) {
        const MwAssign *assign = &from->assigns.at[i];
        if (contains(runs_of(s, maker_of(s, assign->target)), stage))
            mw_vec_push(to->arena, &to->assigns,
                        ((MwAssign){rewrite->value[assign->target.index],
                                    rewrite->value[assign->value.index]}));
    }
    for (int i = 0; i < from->pins.count; i++) {
        MwPin pin = from->pins.at[i];
        bool is_made = contains(runs_of(s, maker_of(s, pin.value)), stage);
        pin.value = rewrite->value[pin.value.index];
        if (is_made && mw_has_value(pin.value))
            mw_vec_push(to->arena, &to->pins, pin);
    }
    return to;
}

/* Assigns all nodes to stages, and makes the graphs that `wanted_stage` asks for. */
static StageSplit split(const MwCompilation *compilation, int wanted_stage)
{
    const MwGraph *graph = compilation->graph;
    StageSplit s = {.compilation = compilation,
                    .graph = graph,
                    .stages = compilation->staging.stage_count,
                    .words = (compilation->staging.stage_count + 63) / 64,
                    .wanted_stage = wanted_stage};
    s.runs = MW_NEW(graph->arena, uint64_t, (int64_t)graph->nodes.count * s.words);
    s.users = MW_NEW(graph->arena, uint64_t, (int64_t)graph->values.count * s.words);
    s.early_users = MW_NEW(graph->arena, uint64_t, (int64_t)graph->values.count * s.words);
    s.is_pinned_here = find_pinned(graph->arena, graph);
    s.is_constant = find_constant(graph->arena, graph, s.is_pinned_here);
    s.is_from_weights = MW_NEW(graph->arena, bool, graph->nodes.count);
    s.is_from_inputs = MW_NEW(graph->arena, bool, graph->nodes.count);
    s.rewrites = MW_NEW(graph->arena, MwRewrite, s.stages);
    for (int stage = 0; stage < s.stages; stage++)
        s.rewrites[stage] = mw_rewrite_begin(graph);
    assign_nodes(&s);
    for (int n = 0; n < graph->nodes.count; n++)
        emit_node(&s, n);
    return s;
}

MwGraph *mw_split_stage(const MwCompilation *compilation, int stage)
{
    StageSplit s = split(compilation, stage);
    return finish_stage(&s, stage);
}

MwCrossing *mw_split_crossings(const MwCompilation *compilation, int *count)
{
    StageSplit s = split(compilation, NO_STAGE);
    *count = s.crossings.count;
    return s.crossings.at;
}

bool mw_pass_split(MwCompilation *compilation, MwDiags *diags)
{
    (void)diags;
    int stages = compilation->staging.stage_count;
    compilation->stages = MW_NEW(compilation->arena, MwStage, stages);
    if (stages == 1) {
        compilation->stages[0].graph = compilation->graph;
        return true;
    }
    StageSplit s = split(compilation, ALL_STAGES);
    for (int stage = 0; stage < stages; stage++)
        compilation->stages[stage].graph = finish_stage(&s, stage);
    compilation->crossings = s.crossings.at;
    compilation->crossing_count = s.crossings.count;
    return true;
}
