/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Derivatives: the gradients that a model asks for by `grad`.
 *
 * In:  a model, before any other pass, so that y is the function of x that its text says.
 * Out: the model with the nodes of those gradients in the place of the operators `grad`. They are
 *      operators like all else, which a loss may depend on, and then they are differentiated once
 *      more: a penalty on the gradient of a critic, or a step of gradient descent within the step.
 *
 * The nodes have origin and phase of the `grad`, and its name. Time and nodes grow with the number
 * of `grad`s times the nodes before each. */
#include "ir/build.h"
#include "ir/rewrite.h"
#include "passes/graph/backpropagate.h"
#include "passes/pass.h"

#include <string.h>

static bool has_grad(const MwGraph *graph)
{
    for (int n = 0; n < graph->nodes.count; n++)
        if (graph->nodes.at[n].op == MW_OP_GRAD)
            return true;
    return false;
}

typedef struct {
    MwGraph *model;
    MwRewrite rewrite;
    int next_loop; /* the number of the next loop of gradients */
    MwDiags *diags;
} Derivation;

/* A gradient that a model asks for, of values of one of its graphs. */
typedef struct {
    MwValueId y, x;
    int loop; /* that gives y anew at every step; -1: none */
} Wanted;

/* Sets what is differentiated, where `graph` is the model or what there is of the new graph. */
static void begin(MwDifferentiator *d, const Wanted *wanted)
{
    bool *by = MW_NEW(d->graph->arena, bool, d->graph->values.count);
    by[wanted->x.index] = true;
    mw_differentiator_begin(d);
    mw_differentiator_set(d, wanted->y, by);
}

/* ---- Gradients in a scan ---- */

/* The value by which a step begins that carries x, from outside of the loop, to y: one that it
 * takes over, or an element of x. No value: there is none. */
static MwValueId find_way_in(const Derivation *derivation, const Wanted *wanted)
{
    MwGraph *model = derivation->model;
    MwDifferentiator d = {.graph = model, .stops = true, .diags = derivation->diags};
    begin(&d, wanted);
    for (int n = 0; n < model->nodes.count && d.loops.of_value[wanted->x.index] < 0; n++) {
        const MwNode *node = &model->nodes.at[n];
        if ((node->op == MW_OP_SCAN_CARRY || node->op == MW_OP_SCAN_IN) &&
            mw_node_int(node, MW_ATTR_LOOP) == wanted->loop && d.active[node->first_result])
            return mw_node_result(model, (MwNodeId){n}, 0);
    }
    return mw_no_value();
}

/* Whether y depends on x within its step alone; an error if not. */
static bool is_of_one_step(const Derivation *derivation, const Wanted *wanted, MwSpan span)
{
    const MwGraph *model = derivation->model;
    const MwValueId way = find_way_in(derivation, wanted);
    if (!mw_has_value(way))
        return true;
    const char *name = mw_value(model, way)->name, *of_step = strrchr(name, '.');
    mw_diag_error(derivation->diags, span,
                  "in a scan, grad is of what one step computes: '%s' depends on '%s' through "
                  "'%s', with which the step begins (stop_gradient leaves that out)",
                  mw_value(model, wanted->y)->name, mw_value(model, wanted->x)->name,
                  of_step ? of_step + 1 : name);
    return false;
}

/* Takes the nodes of a step as those of no loop, so that all that is added for them is of that
 * step. The steps before are not looked into, and the new graph does not have the end of the loop
 * yet. False after an error, where y depends on x through another loop. */
static bool take_step(MwDifferentiator *d, int loop)
{
    for (int n = 0; n < d->nodes; n++) {
        const MwNode *node = &d->graph->nodes.at[n];
        for (int k = 0; k < node->result_count; k++) {
            int *of_value = &d->loops.of_value[node->first_result + k];
            if (*of_value == loop)
                *of_value = -1;
            else if (*of_value >= 0 && d->active[node->first_result + k]) {
                mw_diag_error(d->diags, d->origin->span,
                              "in a scan, grad cannot go through another one, as it does by '%s'",
                              mw_value(d->graph, (MwValueId){node->first_result + k})->name);
                return false;
            }
        }
        if (d->loops.of_node[n] == loop)
            d->loops.of_node[n] = -1;
    }
    return true;
}

/* ---- Gradients ---- */

/* The gradient of y by x, as nodes at the end of the new graph; no value: it is 0. */
static MwValueId add_gradient(Derivation *derivation, const Wanted *wanted)
{
    MwGraph *graph = derivation->rewrite.to;
    const MwOrigin origin = graph->origin;
    const bool *none = MW_NEW(graph->arena, bool, graph->values.count);
    MwDifferentiator d = {
        .graph = graph, .origin = &origin, .has_f32_gradient = none, .diags = derivation->diags};
    begin(&d, wanted);
    if (wanted->loop >= 0 && !take_step(&d, wanted->loop))
        return mw_no_value();
    d.next_loop = derivation->next_loop;
    d.gradient[wanted->y.index] = mw_build_scalar(graph, 1);
    mw_backpropagate(&d);
    derivation->next_loop = d.next_loop;
    graph->origin = origin;
    return d.active[wanted->x.index] ? d.gradient[wanted->x.index] : mw_no_value();
}

static MwValueId add_zeros(Derivation *derivation, const Wanted *wanted)
{
    MwGraph *graph = derivation->rewrite.to;
    const MwTensor like = *mw_value_tensor(graph, wanted->x);
    if (!mw_diags_error_count(derivation->diags))
        mw_diag_warning(derivation->diags, graph->origin.span,
                        "'%s' does not depend on '%s', so that this gradient is 0",
                        mw_value(graph, wanted->y)->name, mw_value(graph, wanted->x)->name);
    return mw_build_constant(graph, &like, 0);
}

static void replace(Derivation *derivation, const MwLoops *loops, const MwNode *node)
{
    MwRewrite *rewrite = &derivation->rewrite;
    const MwValueId *operands = mw_rewrite_operands(rewrite, node);
    const int loop = loops->of_value[node->operands[0].index];
    const Wanted given = {node->operands[0], node->operands[1], loop};
    const Wanted wanted = {operands[0], operands[1], loop};
    const char *name = mw_value(rewrite->from, (MwValueId){node->first_result})->name;
    const int first = rewrite->to->values.count;
    mw_rewrite_at(rewrite, node);
    MwValueId gradient = mw_no_value();
    if (loop < 0 || is_of_one_step(derivation, &given, node->origin.span))
        gradient = add_gradient(derivation, &wanted);
    if (!mw_has_value(gradient))
        gradient = add_zeros(derivation, &wanted);
    rewrite->value[node->first_result] = gradient;
    if (gradient.index >= first)
        mw_graph_rename(rewrite->to, gradient, name);
    mw_build_name_temporaries(rewrite->to, first, rewrite->to->values.count,
                              mw_arena_printf(rewrite->to->arena, "%s.by", name));
}

/* Copies a node, save one that no gradient of the second order may lack. */
static void copy(MwRewrite *rewrite, const MwNode *node)
{
    if (node->op == MW_OP_STOP_GRADIENT && mw_node_int(node, MW_ATTR_ONCE))
        rewrite->value[node->first_result] = mw_rewrite_operands(rewrite, node)[0];
    else
        mw_rewrite_copy(rewrite, node);
}

bool mw_pass_derivatives(MwCompilation *compilation, MwDiags *diags)
{
    MwGraph *graph = compilation->graph;
    if (!has_grad(graph))
        return true;
    const MwLoops loops = mw_loops(graph->arena, graph);
    Derivation derivation = {.model = graph,
                             .rewrite = mw_rewrite_begin(graph),
                             .next_loop = loops.count,
                             .diags = diags};
    for (int n = 0; n < graph->nodes.count; n++)
        if (graph->nodes.at[n].op == MW_OP_GRAD)
            replace(&derivation, &loops, &graph->nodes.at[n]);
        else
            copy(&derivation.rewrite, &graph->nodes.at[n]);
    mw_rewrite_finish(&derivation.rewrite);
    compilation->graph = derivation.rewrite.to;
    return mw_diags_error_count(diags) == 0;
}
