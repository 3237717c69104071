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
 * multiplied by the factors at the end. Where the batch is to be cut, each term of the loss that
 * has such factors is differentiated apart from the others.
 *
 * The gradient by a float of 16 bits that is the same for the whole batch (a weight or its cast)
 * is f32 from where it is summed over the batch on (passes/graph/gradients.h). */
#include "cost/model_work.h"
#include "ir/build.h"
#include "ir/optimizer.h"
#include "passes/graph/backpropagate.h"
#include "passes/graph/loss_scale.h"
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

/* ---- Terms of the loss ---- */

/* A factor, or with DIV a divisor, inside of others; NULL: there is none. */
typedef struct Factor Factor;
struct Factor {
    MwOp op;
    MwValueId value;
    const Factor *outer;
};

/* What is differentiated, and the factors beside it. */
typedef struct {
    MwValueId base;
    bool is_negative;
    const Factor *factors;
    bool varies; /* the batch affects a factor */
} Term;

typedef MW_VEC(Term) Terms;

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

/* Takes factors from a term until something else makes its base. */
static Term without_factors(const MwDifferentiator *d, Term term)
{
    int k;
    while ((k = beside_factor(d, mw_value_node(d->graph, term.base))) >= 0) {
        const MwNode *node = mw_value_node(d->graph, term.base);
        Factor *factor = MW_NEW(d->graph->arena, Factor, 1);
        *factor = (Factor){node->op, node->operands[1 - k], term.factors};
        term.factors = factor;
        term.varies |= d->varies[factor->value.index];
        term.base = node->operands[k];
    }
    return term;
}

/* The loss as a sum of terms. */
static Terms find_terms(const MwDifferentiator *d)
{
    MwArena *arena = d->graph->arena;
    Terms terms = {0}, open = {0};
    mw_vec_push(arena, &open, ((Term){.base = d->y}));
    while (open.count) {
        const Term term = without_factors(d, open.at[--open.count]);
        const MwNode *node = mw_value_node(d->graph, term.base);
        const bool is_sum = node->op == MW_OP_ADD || node->op == MW_OP_SUB;
        if (!is_sum && node->op != MW_OP_NEG) {
            mw_vec_push(arena, &terms, term);
            continue;
        }
        for (int k = node->operand_count - 1; k >= 0; k--) {
            Term part = term;
            part.base = node->operands[k];
            part.is_negative ^= node->op == MW_OP_NEG || (node->op == MW_OP_SUB && k == 1);
            if (d->active[part.base.index])
                mw_vec_push(arena, &open, part);
        }
    }
    return terms;
}

/* The product of the factors of a term, with its sign. */
static MwValueId build_scale(MwGraph *graph, const Term *term)
{
    MwValueId scale = mw_build_scalar(graph, term->is_negative ? -1 : 1);
    MW_VEC(const Factor *) factors = {0};
    for (const Factor *factor = term->factors; factor; factor = factor->outer)
        mw_vec_push(graph->arena, &factors, factor);
    for (int i = factors.count - 1; i >= 0; i--)
        scale = mw_build_binary(graph, factors.at[i]->op, scale, factors.at[i]->value);
    return scale;
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

/* `factor`, by which gradients are multiplied from the start, times the scale of the loss. */
static MwValueId scaled(const MwDifferentiator *d, MwValueId factor)
{
    return mw_has_value(d->loss_scale) ? mw_build_binary(d->graph, MW_OP_MUL, factor, d->loss_scale)
                                       : factor;
}

/* Differentiates what has a gradient so far, back to the weights. */
static bool differentiate_nodes(MwDifferentiator *d)
{
    if (!mw_backpropagate(d))
        return false;
    name_nodes(d);
    return true;
}

static void set_origin(const MwDifferentiator *d)
{
    d->graph->origin = mw_value_node(d->graph, d->y)->origin;
}

/* Adds the scale of the losses, in the layer of the last of them. */
static MwLossStates add_loss_scale(MwGraph *graph)
{
    graph->phase = MW_PHASE_FORWARD;
    for (int i = 0; i < graph->metrics.count; i++)
        if (mw_metric_is_loss(graph, graph->metrics.at[i].name))
            graph->origin = mw_value_node(graph, graph->metrics.at[i].value)->origin;
    return mw_loss_scale_add(graph);
}

/* Differentiates one term, whose factors come last. */
static bool differentiate_term(MwDifferentiator *d, const Term *term)
{
    set_origin(d);
    const MwValueId scale = build_scale(d->graph, term);
    d->gradient[term->base.index] = scaled(d, mw_build_scalar(d->graph, 1));
    if (!differentiate_nodes(d))
        return false;
    scale_gradients(d, scale);
    return true;
}

/* Differentiates all terms together that the batch affects no factor of. */
static bool differentiate_whole_terms(MwDifferentiator *d, const Terms *terms)
{
    bool any = false;
    set_origin(d);
    for (int i = 0; i < terms->count; i++) {
        const Term *term = &terms->at[i];
        if (term->varies)
            continue;
        any = true;
        mw_differentiator_add(d, term->base, scaled(d, build_scale(d->graph, term)));
    }
    return !any || differentiate_nodes(d);
}

/* Adds the gradients by weights to `total` [values]. */
static void add_up(MwDifferentiator *d, MwValueId *total)
{
    MwGraph *graph = d->graph;
    for (int v = 0; v < d->values; v++) {
        const MwValueId gradient = d->gradient[v];
        if (!is_trained_float(d, (MwValueId){v}) || !mw_has_value(gradient))
            continue;
        graph->origin = mw_value_node(graph, gradient)->origin;
        const char *name = mw_arena_printf(graph->arena, "grad.%s.sum", graph->values.at[v].name);
        total[v] = mw_has_value(total[v]) ? mw_build(graph, name, MW_OP_ADD,
                                                     (MwValueId[]){total[v], gradient}, 2, NULL, 0)
                                          : gradient;
    }
}

/* Differentiates the terms that have factors of their own apart from the others. */
static bool differentiate_apart(MwDifferentiator *d, const Terms *terms)
{
    MwValueId *total = no_values(d->graph->arena, d->values);
    if (!differentiate_whole_terms(d, terms))
        return false;
    add_up(d, total);
    for (int i = 0; i < terms->count; i++) {
        if (!terms->at[i].varies)
            continue;
        d->gradient = no_values(d->graph->arena, d->values);
        if (!differentiate_term(d, &terms->at[i]))
            return false;
        add_up(d, total);
    }
    d->gradient = total;
    return true;
}

/* Adds the gradient of a loss, and writes the gradients by weights. `is_cut`: the batch is to be
 * cut into micro-batches. */
static bool differentiate_loss(MwDifferentiator *d, const MwOutput *loss, bool is_cut,
                               MwValueId *gradient)
{
    mw_differentiator_set(d, loss->value, find_trained(d->graph, loss));
    if (!check_active(d, loss))
        return false;
    const Terms terms = find_terms(d);
    bool any_varies = false, ok;
    for (int i = 0; i < terms.count; i++)
        any_varies |= terms.at[i].varies;
    Term whole = {.base = loss->value};
    const Terms one = {.at = &whole, .count = 1};
    if (any_varies && terms.count == 1)
        ok = differentiate_term(d, &terms.at[0]);
    else if (any_varies && is_cut)
        ok = differentiate_apart(d, &terms);
    else
        ok = differentiate_whole_terms(d, &one);
    if (ok)
        store_gradients(d, gradient);
    return ok;
}

static bool differentiate_model(MwCompilation *compilation, MwDiags *diags)
{
    MwGraph *graph = compilation->graph;
    if (!mw_trains(compilation) || mw_graph_has_phase(graph, MW_PHASE_BACKWARD))
        return true; /* inference, or a dump after this pass */
    const bool *varies = mw_find_varying(graph->arena, graph);
    MwDifferentiator d = {.graph = graph,
                          .varies = varies,
                          .has_f32_gradient = find_f32_gradients(graph, varies),
                          .diags = diags};
    const bool is_cut = mw_wanted_micro_batches(compilation) > 1;
    mw_differentiator_begin(&d);
    compilation->loss_states = add_loss_scale(graph);
    d.loss_scale = compilation->loss_states.scale;
    MwValueId *by_weight = no_values(graph->arena, d.values);
    graph->phase = MW_PHASE_BACKWARD;
    for (int i = 0; i < graph->metrics.count; i++) {
        const MwOutput *loss = &graph->metrics.at[i];
        if (mw_metric_is_loss(graph, loss->name) &&
            !differentiate_loss(&d, loss, is_cut, by_weight))
            return false;
    }
    MwValueId *gradient = no_values(graph->arena, graph->values.count);
    memcpy(gradient, by_weight, sizeof(MwValueId) * (size_t)d.values);
    compilation->gradient = gradient;
    return true;
}

bool mw_pass_differentiate(MwCompilation *compilation, MwDiags *diags)
{
    if (!differentiate_model(compilation, diags))
        return false;
    if (compilation->cluster) {
        const MwModelWork work = mw_cost_model_work(compilation->graph, compilation->cluster);
        compilation->model_flops = work.flops;
        compilation->model_peak_s = work.peak_s;
    }
    return true;
}
