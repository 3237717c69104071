/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the graph of the whole model to one for each stage.
 *
 * In:  compilation->graph and staging.
 * Out: compilation->stages, each with the nodes of its layers, forward, backward and update; and
 *      compilation->crossings. A value that one stage makes and another uses is sent by the one as
 *      soon as it is made and received by the other, in the same phase; or in the update, if the other
 *      uses it only there.
 *
 * Some nodes run in every stage that uses them instead: sources (an input is fed to each, a weight
 * that two stages use is kept by both), and what is made of constants alone or, element by element,
 * of inputs alone or of weights alone; and of the update phase what leads, element by element, to the new value of a
 * weight that several stages keep. So the copies of a weight stay equal, and its gradient crosses
 * rather than its new value. A node that the user pins to a stage runs there alone.
 *
 * A pin of a spec is in the graphs of the stages that make the value, not where it is received.
 *
 * Invariant: sends and receives stand in the order of the whole graph in every stage's. */
#include "passes/stages/split.h"

#include "ir/build.h"
#include "ir/rewrite.h"
#include "passes/pass.h"

enum { ALL = -1, NONE = -2 };

typedef struct {
    const MwCompilation *compilation;
    const MwGraph *graph;
    int stages, words;     /* words of a set of stages */
    int only;              /* stage that gets a graph, or ALL, or NONE */
    uint64_t *runs;        /* [nodes] sets of the stages that run each */
    uint64_t *takers;      /* [values] sets of the stages that use each, */
    uint64_t *early;       /* and of those that do before the update */
    const bool *is_staged; /* [nodes] held to one stage by a pin */
    const bool *is_free;   /* [nodes] made of constants and the step number alone */
    bool *is_light;        /* [nodes] or, before the update, element by element of weights */
    bool *is_fed;          /* [nodes] an input, or element by element of such and constants */
    MwRewrite *rewrites;
    MW_VEC(MwCrossing) crossings;
} Split;

static uint64_t *runs_of(const Split *s, int node)
{
    return &s->runs[(int64_t)node * s->words];
}

static uint64_t *takers_of(const Split *s, int value)
{
    return &s->takers[(int64_t)value * s->words];
}

static uint64_t *early_of(const Split *s, int value)
{
    return &s->early[(int64_t)value * s->words];
}

static bool has(const uint64_t *set, int stage)
{
    return set[stage / 64] >> (stage % 64) & 1;
}

static void add(uint64_t *set, int stage)
{
    set[stage / 64] |= UINT64_C(1) << (stage % 64);
}

static void add_all(const Split *s, uint64_t *set, const uint64_t *more)
{
    for (int w = 0; w < s->words; w++)
        set[w] |= more[w];
}

static bool is_empty(const Split *s, const uint64_t *set)
{
    for (int w = 0; w < s->words; w++)
        if (set[w])
            return false;
    return true;
}

static int first_of(const Split *s, const uint64_t *set)
{
    for (int stage = 0; stage < s->stages; stage++)
        if (has(set, stage))
            return stage;
    MW_UNREACHABLE();
}

static int home_of(const Split *s, const MwNode *node)
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

/* [nodes] Which are to run in the stage of their layer alone: those whose result is pinned to a stage,
 * and the users of a pinned source in its own layer. */
static bool *find_staged(MwArena *arena, const MwGraph *graph)
{
    bool *is_staged = MW_NEW(arena, bool, graph->nodes.count);
    bool *is_pinned = MW_NEW(arena, bool, graph->values.count);
    for (int i = 0; i < graph->pins.count; i++)
        if (graph->pins.at[i].stage >= 0)
            is_pinned[graph->pins.at[i].value.index] = true;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        for (int v = node->first_result; v < node->first_result + node->result_count; v++)
            is_staged[n] |= is_pinned[v] && node->operand_count > 0;
        for (int k = 0; k < node->operand_count && node->phase == MW_PHASE_FORWARD; k++) {
            const MwNode *maker = mw_value_node(graph, node->operands[k]);
            is_staged[n] |= is_pinned[node->operands[k].index] && maker->operand_count == 0 &&
                            maker->origin.layer == node->origin.layer;
        }
    }
    return is_staged;
}

static bool *find_free(MwArena *arena, const MwGraph *graph, const bool *is_staged)
{
    bool *is_free = MW_NEW(arena, bool, graph->nodes.count);
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        bool is_data =
            node->op == MW_OP_INPUT || node->op == MW_OP_WEIGHT || node->op == MW_OP_STATE;
        is_free[n] = !is_data && !is_staged[n] && is_made_of(graph, node, is_free);
    }
    return is_free;
}

bool *mw_find_free_nodes(MwArena *arena, const MwGraph *graph)
{
    return find_free(arena, graph, find_staged(arena, graph));
}

static bool is_element_wise(const MwNode *node)
{
    MwLowering lowering = mw_op_info(node->op)->lowering;
    return lowering == MW_LOWER_MAP || lowering == MW_LOWER_VIEW || lowering == MW_LOWER_MOVE;
}

static void find_light(Split *s)
{
    for (int n = 0; n < s->graph->nodes.count; n++) {
        const MwNode *node = &s->graph->nodes.at[n];
        bool is_simple = node->phase != MW_PHASE_UPDATE && node->operand_count > 0 &&
                         !s->is_staged[n] && is_element_wise(node);
        s->is_light[n] = s->is_free[n] || node->op == MW_OP_WEIGHT ||
                         (is_simple && is_made_of(s->graph, node, s->is_light));
        s->is_fed[n] = s->is_free[n] || node->op == MW_OP_INPUT ||
                       (is_simple && is_made_of(s->graph, node, s->is_fed));
    }
}

static void take(Split *s, const MwNode *node, const uint64_t *set)
{
    for (int k = 0; k < node->operand_count; k++) {
        add_all(s, takers_of(s, node->operands[k].index), set);
        if (node->phase != MW_PHASE_UPDATE)
            add_all(s, early_of(s, node->operands[k].index), set);
    }
}

/* The stages that use any result of `node`. */
static void add_takers(Split *s, const MwNode *node, uint64_t *set)
{
    for (int v = node->first_result; v < node->first_result + node->result_count; v++)
        add_all(s, set, takers_of(s, v));
}

static void run_at_home(Split *s, int n)
{
    const MwNode *node = &s->graph->nodes.at[n];
    add(runs_of(s, n), home_of(s, node));
}

/* Forward and backward: what is light, or fed, runs wherever it is used. */
static void place_early(Split *s, int n)
{
    const MwNode *node = &s->graph->nodes.at[n];
    if (s->is_light[n] || s->is_fed[n])
        add_takers(s, node, runs_of(s, n));
    if (is_empty(s, runs_of(s, n)))
        run_at_home(s, n);
    take(s, node, runs_of(s, n));
}

/* Marks what `node`, which goes with a weight, takes element by element in the update phase. */
static void mark_followers(const Split *s, const MwNode *node, bool *follows)
{
    const MwTensor *result = &s->graph->values.at[node->first_result].tensor;
    for (int k = 0; k < node->operand_count; k++) {
        const MwTensor *operand = mw_value_tensor(s->graph, node->operands[k]);
        if (mw_value_node(s->graph, node->operands[k])->phase == MW_PHASE_UPDATE &&
            mw_tensor_elements(operand) == mw_tensor_elements(result))
            follows[node->operands[k].index] = true;
    }
}

/* The stages that keep what the results of `node` are assigned to. */
static void add_keepers(Split *s, const MwNode *node, const int *target_of, uint64_t *set)
{
    for (int v = node->first_result; v < node->first_result + node->result_count; v++)
        if (target_of[v] >= 0)
            add_all(s, set, runs_of(s, s->graph->values.at[target_of[v]].node.index));
}

/* [values] the target that each is assigned to; -1: none. */
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

/* The weights have their places; states, and what makes new values of them, go with them. */
static void place_updates(Split *s)
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
        if (s->is_free[n] || is_source(node) || follows_any(node, follows))
            add_takers(s, node, runs);
        if (is_empty(s, runs))
            run_at_home(s, n);
        else
            mark_followers(s, node, follows);
        take(s, node, runs);
    }
}

static void place_all_early(Split *s)
{
    for (int n = s->graph->nodes.count - 1; n >= 0; n--)
        if (s->graph->nodes.at[n].phase != MW_PHASE_UPDATE)
            place_early(s, n);
}

/* What the update takes that is light comes to it, so the early nodes are placed once more. */
static void place_nodes(Split *s)
{
    find_light(s);
    place_all_early(s);
    place_updates(s);
    place_all_early(s);
}

/* ---- The graphs ---- */

static bool is_wanted(const Split *s, int stage)
{
    return s->only == ALL || s->only == stage;
}

/* New nodes are where `node` is, but in `phase`. */
static void place_at(MwRewrite *rewrite, const MwNode *node, MwPhase phase)
{
    mw_rewrite_at(rewrite, node);
    rewrite->to->phase = phase;
}

static void send(Split *s, MwValueId v, int from, int to, MwPhase phase)
{
    MwRewrite *sender = &s->rewrites[from];
    const MwValue *value = mw_value(s->graph, v);
    MwAttr transfer = mw_attr_int(MW_ATTR_TRANSFER, s->crossings.count);
    const char *name = mw_arena_printf(s->graph->arena, "%s.to_%d", value->name, to);
    place_at(sender, mw_node(s->graph, value->node), phase);
    mw_build(sender->to, name, MW_OP_SEND, &sender->value[v.index], 1, &transfer, 1);
}

static void receive(Split *s, MwValueId v, int to, MwPhase phase)
{
    MwRewrite *receiver = &s->rewrites[to];
    const MwValue *value = mw_value(s->graph, v);
    MwAttr attrs[] = {mw_attr_int(MW_ATTR_TYPE, value->tensor.type),
                      mw_attr_shape(s->graph->arena, &value->tensor),
                      mw_attr_int(MW_ATTR_TRANSFER, s->crossings.count)};
    place_at(receiver, mw_node(s->graph, value->node), phase);
    receiver->value[v.index] =
        mw_build(receiver->to, value->name, MW_OP_RECEIVE, NULL, 0, attrs, MW_COUNT(attrs));
}

/* Sends value `v` from stage `from` to stage `to`, which is on another mesh. */
static void cross_directly(Split *s, MwValueId v, int from, int to, MwPhase phase)
{
    const MwValue *value = mw_value(s->graph, v);
    if (is_wanted(s, from))
        send(s, v, from, to, phase);
    if (is_wanted(s, to))
        receive(s, v, to, phase);
    mw_vec_push(s->graph->arena, &s->crossings,
                ((MwCrossing){value->name, value->tensor, phase, from, to}));
}

/* The phase in which `v` reaches `stage`: that which makes it, or where only the update wants it
 * there, the update. */
static MwPhase crossing_phase(const Split *s, MwValueId v, int stage)
{
    return has(early_of(s, v.index), stage) ? mw_value_node(s->graph, v)->phase : MW_PHASE_UPDATE;
}

/* Between stages on one mesh by way of the stage next to the first. */
static void cross(Split *s, MwValueId v, int from, int to)
{
    const MwStaging *staging = &s->compilation->staging;
    if (mw_staging_mesh(staging, from) == mw_staging_mesh(staging, to)) {
        int between = from < to ? from + 1 : from - 1;
        if (has(early_of(s, v.index), to))
            add(early_of(s, v.index), between);
        if (!mw_has_value(s->rewrites[between].value[v.index]))
            cross_directly(s, v, from, between, crossing_phase(s, v, between));
        from = between;
    }
    cross_directly(s, v, from, to, crossing_phase(s, v, to));
}

static void emit_node(Split *s, int n)
{
    const MwNode *node = &s->graph->nodes.at[n];
    const uint64_t *runs = runs_of(s, n);
    for (int stage = 0; stage < s->stages; stage++)
        if (has(runs, stage) && is_wanted(s, stage))
            mw_rewrite_copy(&s->rewrites[stage], node);
    int home = first_of(s, runs);
    for (int v = node->first_result; v < node->first_result + node->result_count; v++)
        for (int stage = 0; stage < s->stages; stage++)
            if (has(takers_of(s, v), stage) && !has(runs, stage) &&
                !mw_has_value(s->rewrites[stage].value[v]))
                cross(s, (MwValueId){v}, home, stage);
}

static int maker_of(const Split *s, MwValueId value)
{
    return mw_value(s->graph, value)->node.index;
}

static bool makes(const Split *s, int stage, MwValueId value)
{
    return first_of(s, runs_of(s, maker_of(s, value))) == stage;
}

/* What leaves the model, from one stage each; what is kept, in all that keep it. */
static MwGraph *finish_stage(Split *s, int stage)
{
    const MwGraph *from = s->graph;
    const MwRewrite *rewrite = &s->rewrites[stage];
    MwGraph *to = rewrite->to;
    for (int i = 0; i < from->outputs.count; i++) {
        MwOutput output = from->outputs.at[i];
        bool made = makes(s, stage, output.value);
        output.value = rewrite->value[output.value.index];
        if (made)
            mw_vec_push(to->arena, &to->outputs, output);
    }
    for (int i = 0; i < from->assigns.count; i++) {
        const MwAssign *assign = &from->assigns.at[i];
        if (has(runs_of(s, maker_of(s, assign->target)), stage))
            mw_vec_push(to->arena, &to->assigns,
                        ((MwAssign){rewrite->value[assign->target.index],
                                    rewrite->value[assign->value.index]}));
    }
    for (int i = 0; i < from->pins.count; i++) {
        MwPin pin = from->pins.at[i];
        bool is_made = has(runs_of(s, maker_of(s, pin.value)), stage);
        pin.value = rewrite->value[pin.value.index];
        if (is_made && mw_has_value(pin.value))
            mw_vec_push(to->arena, &to->pins, pin);
    }
    if (mw_has_value(from->train.loss) && makes(s, stage, from->train.loss))
        to->train.loss = rewrite->value[from->train.loss.index];
    return to;
}

/* Places all nodes, and makes the graphs of `only` those stages. */
static Split split(const MwCompilation *compilation, int only)
{
    const MwGraph *graph = compilation->graph;
    Split s = {.compilation = compilation,
               .graph = graph,
               .stages = compilation->staging.stage_count,
               .words = (compilation->staging.stage_count + 63) / 64,
               .only = only};
    s.runs = MW_NEW(graph->arena, uint64_t, (int64_t)graph->nodes.count * s.words);
    s.takers = MW_NEW(graph->arena, uint64_t, (int64_t)graph->values.count * s.words);
    s.early = MW_NEW(graph->arena, uint64_t, (int64_t)graph->values.count * s.words);
    s.is_staged = find_staged(graph->arena, graph);
    s.is_free = find_free(graph->arena, graph, s.is_staged);
    s.is_light = MW_NEW(graph->arena, bool, graph->nodes.count);
    s.is_fed = MW_NEW(graph->arena, bool, graph->nodes.count);
    s.rewrites = MW_NEW(graph->arena, MwRewrite, s.stages);
    for (int stage = 0; stage < s.stages; stage++)
        s.rewrites[stage] = mw_rewrite_begin(graph);
    place_nodes(&s);
    for (int n = 0; n < graph->nodes.count; n++)
        emit_node(&s, n);
    return s;
}

MwGraph *mw_split_stage(const MwCompilation *compilation, int stage)
{
    Split s = split(compilation, stage);
    return finish_stage(&s, stage);
}

MwCrossing *mw_split_crossings(const MwCompilation *compilation, int *count)
{
    Split s = split(compilation, NONE);
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
    Split s = split(compilation, ALL);
    for (int stage = 0; stage < stages; stage++)
        compilation->stages[stage].graph = finish_stage(&s, stage);
    compilation->crossings = s.crossings.at;
    compilation->crossing_count = s.crossings.count;
    return true;
}
