/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Differentiate: reverse mode, graph to graph.
 *
 * In:  a model with `train` statements. A model for inference stays as it is.
 * Out: the same graph with nodes of the backward phase after it, and compilation->gradient.
 *
 * Each loss is differentiated by itself, by the weights that its train statements move.
 *
 * Nodes are visited from last to first, those of a loop one after another. When a node is visited,
 * all users of its results have been, so the gradients by its results are complete. Contributions
 * to a gradient are added in the order in which they come, last user first, in the layer of the
 * user, so that a value used twice by one layer gets one sum from there. The nodes of a gradient
 * have the origin of the node that is differentiated. The gradient of the loss by x is named
 * grad.x; other nodes of the differentiation of y are named y.grad, y.grad.1 and so on.
 *
 * A loss may be a scalar times factors, or over divisors, that no weight affects but the batch
 * does: the number of targets that are not ignored, for instance. Such a factor is known when all
 * micro-batches are done, so the scalar alone is differentiated, and the gradients by weights are
 * multiplied by the factors at the end.
 *
 * The gradient by a float of 16 bits that is the same for the whole batch (a weight or its cast)
 * is f32 from where it is summed over the batch on (passes/graph/gradients.h).
 *
 * Source: Griewank and Walther, "Evaluating Derivatives", 2nd edition, 2008, section 3.2. */
#include "ir/build.h"
#include "ir/optimizer.h"
#include "passes/graph/differentiate_loop.h"
#include "passes/graph/gradients.h"
#include "passes/graph/precision.h"
#include "passes/pass.h"

#include <string.h>

static void (*const gradients[MW_OP_COUNT])(MwGradient *) = {
#define OP(id, name, operands, results, attrs, shape, sharding, combine, linear, padding,          \
           gradient, ...)                                                                          \
    [MW_OP_##id] = mw_gradient_##gradient,
#include "ir/ops.def"
};

void mw_gradient_none(MwGradient *g)
{
    mw_diag_error(g->diags, g->node.origin.span, "%s is not differentiable",
                  mw_op_info(g->node.op)->name);
}

static bool is_float(const MwGraph *graph, MwValueId value)
{
    return mw_type_is_float(mw_value_tensor(graph, value)->type);
}

/* Whether `node` is a weight that a train statement of the loss moves. The gradient by others is
 * not made. */
static bool is_trained(const MwDifferentiator *d, const MwNode *node)
{
    const MwGraph *graph = d->graph;
    if (node->op != MW_OP_WEIGHT)
        return false;
    const MwTrain *train = mw_train_of(graph, graph->values.at[node->first_result].name);
    return train && train->loss == d->loss->name;
}

/* [values] whether a value is a function of a trained weight, through floating-point values
 * alone. */
static bool *find_dependent(const MwDifferentiator *d)
{
    const MwGraph *graph = d->graph;
    bool *dependent = MW_NEW(graph->arena, bool, d->values);
    do {
        for (int n = 0; n < d->nodes; n++) {
            const MwNode *node = &graph->nodes.at[n];
            bool any = is_trained(d, node);
            for (int k = 0; k < node->operand_count; k++)
                any |= dependent[node->operands[k].index];
            for (int k = 0; k < node->result_count; k++) {
                MwValueId result = {node->first_result + k};
                dependent[result.index] |= any && is_float(graph, result);
            }
        }
    } while (mw_loops_carry_on(&d->loops, graph, dependent));
    return dependent;
}

/* Whether the gradient rule of `node` does no arithmetic on numbers (sources, casts, moves), so
 * that a result of 16 bits that is the same for the whole batch may have a gradient in f32. */
static bool only_moves_gradient(const MwNode *node)
{
    MwLowering lowering = mw_op_info(node->op)->lowering;
    return lowering == MW_LOWER_SOURCE || lowering == MW_LOWER_VIEW || lowering == MW_LOWER_MOVE ||
           node->op == MW_OP_CAST || node->op == MW_OP_BROADCAST;
}

/* [values] floats of 16 bits whose gradients are f32. */
static bool *find_f32_gradients(const MwGraph *graph, const bool *varies)
{
    bool *wide = MW_NEW(graph->arena, bool, graph->values.count);
    for (int v = 0; v < graph->values.count; v++)
        wide[v] = mw_type_is_half(mw_value_tensor(graph, (MwValueId){v})->type) && !varies[v] &&
                  only_moves_gradient(mw_value_node(graph, (MwValueId){v}));
    return wide;
}

MwType mw_differentiator_type(const MwDifferentiator *d, MwValueId value)
{
    return d->has_f32_gradient[value.index] ? MW_F32 : mw_value_tensor(d->graph, value)->type;
}

/* [values] whether a value depends on a trained weight and affects the loss. */
static bool *find_active(const MwDifferentiator *d)
{
    const MwGraph *graph = d->graph;
    const bool *dependent = find_dependent(d);
    bool *active = MW_NEW(graph->arena, bool, d->values);
    bool *affects = MW_NEW(graph->arena, bool, d->nodes);
    active[d->loss->value.index] = dependent[d->loss->value.index];
    for (int from = d->nodes - 1; from >= 0; from = mw_loops_need_next(&d->loops, affects))
        for (int n = from; n >= 0; n--) {
            const MwNode *node = &graph->nodes.at[n];
            for (int k = 0; k < node->result_count; k++)
                affects[n] |= active[node->first_result + k];
            for (int k = 0; affects[n] && k < node->operand_count; k++)
                active[node->operands[k].index] |= dependent[node->operands[k].index];
        }
    return active;
}

void mw_differentiator_add(MwDifferentiator *d, MwValueId value, MwValueId contribution)
{
    MwValueId *sum = &d->gradient[value.index];
    MW_ASSERT(mw_tensor_same_shape(mw_value_tensor(d->graph, value),
                                   mw_value_tensor(d->graph, contribution)));
    contribution = mw_build_cast(d->graph, contribution, mw_differentiator_type(d, value));
    *sum = mw_has_value(*sum) ? mw_build_binary(d->graph, MW_OP_ADD, *sum, contribution)
                              : contribution;
}

/* Names a complete gradient after its value, unless it is also the gradient of another value;
 * the gradient by the cast of a weight becomes that of the weight. */
static void name_gradient(MwDifferentiator *d, MwValueId value)
{
    MwValueId gradient = d->gradient[value.index];
    if (!mw_has_value(gradient) || mw_value(d->graph, gradient)->name[0] != '_')
        return;
    if (d->has_f32_gradient[value.index] && mw_value_node(d->graph, value)->op == MW_OP_CAST)
        return;
    const char *name = mw_value(d->graph, value)->name;
    mw_graph_rename(d->graph, gradient, mw_arena_printf(d->graph->arena, "grad.%s", name));
}

/* Names the unnamed nodes of the differentiation of each node. value_counts: [nodes + 1] the
 * number of values after the node of that place in the order was differentiated; the last element
 * is the number before the first one was. */
static void name_rest(const MwDifferentiator *d, const int *value_counts)
{
    MwGraph *graph = d->graph;
    for (int i = d->nodes - 1; i >= 0; i--) {
        MwValueId result = mw_node_result(graph, (MwNodeId){d->order[i]}, 0);
        const char *name = mw_value(graph, result)->name;
        mw_build_name_temporaries(graph, value_counts[i + 1], value_counts[i],
                                  mw_arena_printf(graph->arena, "%s.grad", name));
    }
}

/* Applies the gradient rule of a node and adds its results to the gradients by the operands. */
static void apply_rule(MwDifferentiator *d, MwNodeId id)
{
    MwGraph *graph = d->graph;
    MwNode node = *mw_node(graph, id);
    bool *wanted = MW_NEW(graph->arena, bool, node.operand_count);
    MwType *types = MW_NEW(graph->arena, MwType, node.operand_count);
    bool any_result = false, any_wanted = false;
    for (int k = 0; k < node.result_count; k++) {
        name_gradient(d, (MwValueId){node.first_result + k});
        any_result |= mw_has_value(d->gradient[node.first_result + k]);
    }
    for (int k = 0; k < node.operand_count; k++) {
        any_wanted |= wanted[k] = d->active[node.operands[k].index];
        types[k] = mw_differentiator_type(d, node.operands[k]);
    }
    if (!any_result || !any_wanted)
        return;
    const MwValueId *operands = node.operands;
    graph->origin = node.origin;
    node.operands = mw_loop_images(d, id, operands, node.operand_count);
    MwGradient g = {.graph = graph,
                    .node = node,
                    .values = mw_loop_result_images(d, id),
                    .results = &d->gradient[node.first_result],
                    .wanted = wanted,
                    .types = types,
                    .operands = MW_NEW(graph->arena, MwValueId, node.operand_count),
                    .diags = d->diags};
    memset(g.operands, -1, sizeof(MwValueId) * (size_t)node.operand_count);
    gradients[node.op](&g);
    for (int k = 0; k < node.operand_count; k++)
        if (wanted[k] && mw_has_value(g.operands[k]))
            mw_differentiator_add(d, operands[k], mw_loop_sum(d, id, operands[k], g.operands[k]));
}

static void differentiate_node(MwDifferentiator *d, MwNodeId id)
{
    if (!mw_loop_differentiate(d, id))
        apply_rule(d, id);
}

/* ---- Factors of the loss ---- */

/* A loss as a product: of what is differentiated, and of a scalar that multiplies the gradients; no
 * value for 1. */
typedef struct {
    MwValueId base, scale;
} Product;

/* A factor, or with DIV a divisor. */
typedef struct {
    MwOp op;
    MwValueId value;
} Factor;

/* The operand of `node` that a scalar factor, or divisor, of it stands beside; -1 if there is
 * none. */
static int beside_factor(const MwDifferentiator *d, const MwNode *node)
{
    if (node->op != MW_OP_MUL && node->op != MW_OP_DIV)
        return -1;
    for (int k = 0; k < (node->op == MW_OP_MUL ? 2 : 1); k++)
        if (d->active[node->operands[k].index] && !d->active[node->operands[1 - k].index] &&
            mw_value_tensor(d->graph, node->operands[1 - k])->rank == 0)
            return k;
    return -1;
}

/* Takes the loss apart if the batch affects one of its factors. */
static Product factor_loss(const MwDifferentiator *d, MwValueId loss)
{
    MwGraph *graph = d->graph;
    MW_VEC(Factor) factors = {0};
    MwValueId base = loss;
    bool any = false;
    int k;
    while ((k = beside_factor(d, mw_value_node(graph, base))) >= 0) {
        const MwNode *node = mw_value_node(graph, base);
        any |= d->varies[node->operands[1 - k].index];
        mw_vec_push(graph->arena, &factors, ((Factor){node->op, node->operands[1 - k]}));
        base = node->operands[k];
    }
    if (!any)
        return (Product){loss, mw_no_value()};
    MwValueId scale = mw_build_scalar(graph, 1);
    for (int i = 0; i < factors.count; i++)
        scale = mw_build_binary(graph, factors.at[i].op, scale, factors.at[i].value);
    return (Product){base, scale};
}

static bool is_trained_float(const MwDifferentiator *d, MwValueId value)
{
    return is_trained(d, mw_value_node(d->graph, value)) && is_float(d->graph, value);
}

/* Multiplies the gradients by weights by the scale of the loss, each in the layer that it is
 * from. */
static void scale_gradients(MwDifferentiator *d, MwValueId scale)
{
    MwGraph *graph = d->graph;
    for (int v = 0; v < d->values; v++) {
        MwValueId gradient = d->gradient[v];
        if (!is_trained_float(d, (MwValueId){v}) || !mw_has_value(gradient))
            continue;
        graph->origin = mw_value_node(graph, gradient)->origin;
        const char *name =
            mw_arena_printf(graph->arena, "grad.%s.scaled", graph->values.at[v].name);
        MwValueId factor = mw_build_cast(graph, scale, mw_value_tensor(graph, gradient)->type);
        d->gradient[v] =
            mw_build(graph, name, MW_OP_MUL, (MwValueId[]){gradient, factor}, 2, NULL, 0);
    }
}

/* Writes the gradients by the weights that the train statements of the loss move. */
static void store_gradients(const MwDifferentiator *d, MwValueId *gradient)
{
    const MwGraph *graph = d->graph;
    for (int v = 0; v < d->values; v++) {
        if (!is_trained_float(d, (MwValueId){v}))
            continue;
        gradient[v] = d->gradient[v];
        if (!mw_has_value(gradient[v]))
            mw_diag_warning(d->diags, mw_value_node(graph, (MwValueId){v})->origin.span,
                            "the loss does not depend on weight '%s', which stays as it is",
                            graph->values.at[v].name);
    }
}

static MwValueId *no_values(MwArena *arena, int count)
{
    MwValueId *values = MW_NEW(arena, MwValueId, count);
    memset(values, -1, sizeof(MwValueId) * (size_t)count);
    return values;
}

/* Each train statement must move a weight that its loss depends on. */
static bool check_active(const MwDifferentiator *d)
{
    const MwGraph *graph = d->graph;
    for (int i = 0; i < graph->trains.count; i++) {
        const MwTrain *train = &graph->trains.at[i];
        bool any = train->loss != d->loss->name;
        for (int v = 0; v < d->values && !any; v++)
            any = d->active[v] && is_trained_float(d, (MwValueId){v}) &&
                  mw_train_moves(train, graph->values.at[v].name);
        if (any)
            continue;
        mw_diag_error(d->diags, train->span, "the loss does not depend on any weight%s",
                      train->only.count ? " that a pattern of 'only' matches" : "");
        return false;
    }
    return true;
}

/* Adds the gradient of d->loss, and writes the gradients by weights. */
static bool differentiate_loss(MwDifferentiator *d, MwValueId *gradient)
{
    MwGraph *graph = d->graph;
    d->active = find_active(d);
    if (!check_active(d))
        return false;
    d->gradient = no_values(graph->arena, d->values);
    graph->origin = mw_value_node(graph, d->loss->value)->origin;
    const Product product = factor_loss(d, d->loss->value);
    d->gradient[product.base.index] = mw_build_scalar(graph, 1);
    int *value_counts = MW_NEW(graph->arena, int, d->nodes + 1);
    value_counts[d->nodes] = graph->values.count;
    mw_loop_begin(d);
    for (int i = d->nodes - 1; i >= 0; i--) {
        differentiate_node(d, (MwNodeId){d->order[i]});
        value_counts[i] = graph->values.count;
    }
    if (mw_diags_error_count(d->diags) > 0)
        return false;
    name_rest(d, value_counts);
    if (mw_has_value(product.scale))
        scale_gradients(d, product.scale);
    store_gradients(d, gradient);
    return true;
}

bool mw_pass_differentiate(MwCompilation *compilation, MwDiags *diags)
{
    MwGraph *graph = compilation->graph;
    if (!mw_trains(compilation) || mw_graph_has_phase(graph, MW_PHASE_BACKWARD))
        return true; /* inference, or a dump after this pass */
    const bool *varies = mw_find_varying(graph->arena, graph);
    MwDifferentiator d = {.graph = graph,
                          .nodes = graph->nodes.count,
                          .values = graph->values.count,
                          .varies = varies,
                          .has_f32_gradient = find_f32_gradients(graph, varies),
                          .loops = mw_loops(graph->arena, graph),
                          .diags = diags};
    d.order = mw_loops_order(graph->arena, graph, &d.loops);
    d.next_loop = d.loops.count;
    MwValueId *by_weight = no_values(graph->arena, d.values);
    graph->phase = MW_PHASE_BACKWARD;
    for (int i = 0; i < graph->metrics.count; i++) {
        d.loss = &graph->metrics.at[i];
        if (!mw_metric_is_loss(graph, d.loss->name))
            continue;
        if (!differentiate_loss(&d, by_weight))
            return false;
    }
    MwValueId *gradient = no_values(graph->arena, graph->values.count);
    memcpy(gradient, by_weight, sizeof(MwValueId) * (size_t)d.values);
    compilation->gradient = gradient;
    return true;
}
