/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Differentiate: the gradients of the losses.
 *
 * In:  a model with `train` statements. A model for inference stays as it is.
 * Out: the same graph with nodes of the backward phase after it, and compilation->gradient.
 *
 * Each loss is differentiated by itself, by the weights that its train statements move.
 *
 * The nodes of a gradient have the origin of the node that is differentiated, so that they are in
 * its layer. The gradient of the loss by x is named
 * grad.x; other nodes of the differentiation of y are named y.grad, y.grad.1 and so on.
 *
 * A loss may be a scalar times factors, or over divisors, that no weight affects but the batch
 * does: the number of targets that are not ignored, for instance. Such a factor is known when all
 * micro-batches are done, so the scalar alone is differentiated, and the gradients by weights are
 * multiplied by the factors at the end.
 *
 * The gradient by a float of 16 bits that is the same for the whole batch (a weight or its cast)
 * is f32 from where it is summed over the batch on (passes/graph/gradients.h). */
#include "ir/build.h"
#include "ir/optimizer.h"
#include "passes/graph/backpropagate.h"
#include "passes/graph/precision.h"
#include "passes/pass.h"

#include <string.h>

static bool is_float(const MwGraph *graph, MwValueId value)
{
    return mw_type_is_float(mw_value_tensor(graph, value)->type);
}

/* [values] the weights that the train statements of a loss move. The gradient by others is not
 * made. */
static bool *find_trained(const MwGraph *graph, const MwOutput *loss)
{
    bool *trained = MW_NEW(graph->arena, bool, graph->values.count);
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        if (node->op != MW_OP_WEIGHT)
            continue;
        const MwTrain *train = mw_train_of(graph, graph->values.at[node->first_result].name);
        trained[node->first_result] = train && train->loss == loss->name;
    }
    return trained;
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

/* Names the gradients, in the order in which they were completed, and then the other nodes of the
 * differentiation of each node. */
static void name_nodes(MwDifferentiator *d)
{
    MwGraph *graph = d->graph;
    for (int i = d->nodes - 1; i >= 0; i--) {
        const MwNode *node = &graph->nodes.at[d->order[i]];
        for (int k = 0; k < node->result_count && !mw_op_is_scan(node->op); k++)
            name_gradient(d, (MwValueId){node->first_result + k});
    }
    for (int i = d->nodes - 1; i >= 0; i--) {
        MwValueId result = mw_node_result(graph, (MwNodeId){d->order[i]}, 0);
        const char *name = mw_value(graph, result)->name;
        mw_build_name_temporaries(graph, d->value_counts[i + 1], d->value_counts[i],
                                  mw_arena_printf(graph->arena, "%s.grad", name));
    }
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
    return d->by[value.index] && is_float(d->graph, value);
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
static bool check_active(const MwDifferentiator *d, const MwOutput *loss)
{
    const MwGraph *graph = d->graph;
    for (int i = 0; i < graph->trains.count; i++) {
        const MwTrain *train = &graph->trains.at[i];
        bool any = train->loss != loss->name;
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

/* Adds the gradient of a loss, and writes the gradients by weights. */
static bool differentiate_loss(MwDifferentiator *d, const MwOutput *loss, MwValueId *gradient)
{
    MwGraph *graph = d->graph;
    mw_differentiator_set(d, loss->value, find_trained(graph, loss));
    if (!check_active(d, loss))
        return false;
    graph->origin = mw_value_node(graph, loss->value)->origin;
    const Product product = factor_loss(d, loss->value);
    d->gradient[product.base.index] = mw_build_scalar(graph, 1);
    if (!mw_backpropagate(d))
        return false;
    name_nodes(d);
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
                          .varies = varies,
                          .has_f32_gradient = find_f32_gradients(graph, varies),
                          .diags = diags};
    mw_differentiator_begin(&d);
    MwValueId *by_weight = no_values(graph->arena, d.values);
    graph->phase = MW_PHASE_BACKWARD;
    for (int i = 0; i < graph->metrics.count; i++) {
        const MwOutput *loss = &graph->metrics.at[i];
        if (mw_metric_is_loss(graph, loss->name) && !differentiate_loss(&d, loss, by_weight))
            return false;
    }
    MwValueId *gradient = no_values(graph->arena, graph->values.count);
    memcpy(gradient, by_weight, sizeof(MwValueId) * (size_t)d.values);
    compilation->gradient = gradient;
    return true;
}
