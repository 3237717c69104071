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

static bool has_grad(const MwGraph *graph)
{
    for (int n = 0; n < graph->nodes.count; n++)
        if (graph->nodes.at[n].op == MW_OP_GRAD)
            return true;
    return false;
}

/* What a step of a scan computes has no gradient of its own. */
static bool is_in_loop(const MwDifferentiator *d, MwValueId y, MwValueId x, MwDiags *diags,
                       MwSpan span)
{
    if (d->loops.of_value[y.index] < 0 && d->loops.of_value[x.index] < 0)
        return false;
    mw_diag_error(diags, span, "grad cannot stand in a scan, of what its steps compute");
    return true;
}

/* The gradient of y by x, as nodes at the end of the graph, after an error zeros. */
static MwValueId add_gradient(MwGraph *graph, MwValueId y, MwValueId x, MwDiags *diags)
{
    const MwOrigin origin = graph->origin;
    bool *by = MW_NEW(graph->arena, bool, graph->values.count);
    const bool *none = MW_NEW(graph->arena, bool, graph->values.count);
    MwDifferentiator d = {
        .graph = graph, .origin = &origin, .has_f32_gradient = none, .diags = diags};
    by[x.index] = true;
    mw_differentiator_begin(&d);
    const bool is_wrong = is_in_loop(&d, y, x, diags, origin.span);
    mw_differentiator_set(&d, y, by);
    d.gradient[y.index] = mw_build_scalar(graph, 1);
    if (!is_wrong)
        mw_backpropagate(&d);
    graph->origin = origin;
    if (mw_has_value(d.gradient[x.index]) && d.active[x.index])
        return d.gradient[x.index];
    if (!is_wrong)
        mw_diag_warning(diags, origin.span,
                        "'%s' does not depend on '%s', so that this gradient is 0",
                        mw_value(graph, y)->name, mw_value(graph, x)->name);
    const MwTensor like = *mw_value_tensor(graph, x);
    return mw_build_constant(graph, &like, 0);
}

static void replace(MwRewrite *rewrite, const MwNode *node, MwDiags *diags)
{
    const MwValueId *operands = mw_rewrite_operands(rewrite, node);
    const char *name = mw_value(rewrite->from, (MwValueId){node->first_result})->name;
    const int first = rewrite->to->values.count;
    mw_rewrite_at(rewrite, node);
    const MwValueId gradient = add_gradient(rewrite->to, operands[0], operands[1], diags);
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
    const MwGraph *graph = compilation->graph;
    if (!has_grad(graph))
        return true;
    MwRewrite rewrite = mw_rewrite_begin(graph);
    for (int n = 0; n < graph->nodes.count; n++)
        if (graph->nodes.at[n].op == MW_OP_GRAD)
            replace(&rewrite, &graph->nodes.at[n], diags);
        else
            copy(&rewrite, &graph->nodes.at[n]);
    mw_rewrite_finish(&rewrite);
    compilation->graph = rewrite.to;
    return mw_diags_error_count(diags) == 0;
}
