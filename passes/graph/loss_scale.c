/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loss scaling (Micikevicius et al., "Mixed Precision Training", ICLR 2018, section 3.2). The
 * gradient of the loss by itself is the scale s, so that all gradients are s times what they are.
 * The update divides those by weights by s, before anything else uses them.
 *
 * A step whose gradients are not all finite is skipped: weights, and states of the update, keep
 * their values, and optimizers do not count it. The scale follows, as in torch.amp.GradScaler:
 *
 *   skipped    s = s / 2, good = 0
 *   else       good = good + 1; and if that is `growth`, s = 2 s, good = 0
 *
 * States: loss_scale, loss_scale.good_steps and loss_scale.skipped_steps. All gradients of a step
 * share one scale, whatever loss they are of.
 *
 * Whether all are finite: a gradient times 0 is 0, or NaN if it is not finite, and so is a sum of
 * these; so it is summed up over weights, devices and stages as the squares of clipping are. The
 * limits of s leave partial sums of gradients, each of which is finite, room below the end of f32.
 */
#include "passes/graph/loss_scale.h"

#include "ir/build.h"
#include "passes/graph/layer_sums.h"
#include "passes/graph/steps.h"

#include <math.h>
#include <string.h>

#define NAME "loss_scale"

static MwValueId add_state(MwGraph *graph, const char *name, MwType type, double value)
{
    const MwTensor scalar = mw_tensor_scalar(type);
    const MwAttr attrs[] = {mw_attr_text(MW_ATTR_INIT, mw_intern(graph->interner, "constant")),
                            mw_attr_float(MW_ATTR_VALUE, value)};
    const MwNodeSpec spec = {.op = MW_OP_STATE,
                             .attrs = attrs,
                             .attr_count = MW_COUNT(attrs),
                             .given = &scalar,
                             .name = name};
    return mw_node_result(graph, mw_build_node(graph, &spec), 0);
}

MwLossStates mw_loss_scale_add(MwGraph *graph)
{
    const MwLossStates none = {mw_no_value(), mw_no_value(), mw_no_value()};
    if (graph->loss_scale.initial == 0)
        return none;
    return (MwLossStates){add_state(graph, NAME, MW_F32, graph->loss_scale.initial),
                          add_state(graph, NAME ".good_steps", MW_I32, 0),
                          add_state(graph, NAME ".skipped_steps", MW_I32, 0)};
}

/* f32[] 0, or NaN if an element is not finite. */
static MwValueId zero_of(MwGraph *graph, MwValueId tensor)
{
    int first = graph->values.count;
    MwValueId zeros = mw_step_scalar(graph, MW_OP_MUL, tensor, 0);
    unsigned all = (1u << mw_value_tensor(graph, zeros)->rank) - 1;
    MwValueId sum = mw_build_sum(graph, zeros, all, false);
    const char *name = mw_value(graph, tensor)->name;
    mw_build_name_temporaries(graph, first, graph->values.count,
                              mw_arena_printf(graph->arena, "%s.finite", name));
    return sum;
}

/* [values] the gradients divided by the scale, in f32. */
static const MwValueId *unscale(const MwLossScaling *s, const MwValueId *gradient, int values)
{
    MwGraph *graph = s->graph;
    graph->origin = mw_value_node(graph, s->states.scale)->origin;
    MwValueId inverse =
        mw_build(graph, NAME ".inverse", MW_OP_DIV,
                 (MwValueId[]){mw_build_scalar(graph, 1), s->states.scale}, 2, NULL, 0);
    MwValueId *unscaled = mw_arena_dup(graph->arena, gradient, sizeof *gradient * (size_t)values);
    for (int v = 0; v < values; v++) {
        if (!mw_has_value(gradient[v]))
            continue;
        int first = graph->values.count;
        graph->origin = mw_value_node(graph, (MwValueId){v})->origin;
        unscaled[v] =
            mw_build_binary(graph, MW_OP_MUL, mw_build_cast(graph, gradient[v], MW_F32), inverse);
        const char *name = mw_arena_printf(graph->arena, "grad.%s.unscaled",
                                           mw_value(graph, (MwValueId){v})->name);
        mw_graph_rename(graph, unscaled[v], name);
        mw_build_name_temporaries(graph, first, graph->values.count, name);
    }
    return unscaled;
}

MwLossScaling mw_loss_scale_begin(MwGraph *graph, const MwLossStates *states,
                                  const MwValueId *gradient, int values)
{
    MwLossScaling s = {
        .graph = graph, .states = *states, .gradient = gradient, .assigns = graph->assigns.count};
    if (!mw_has_value(states->scale))
        return s;
    s.gradient = unscale(&s, gradient, values);
    graph->origin = mw_value_node(graph, states->scale)->origin;
    int first = graph->values.count;
    MwValueId zero = mw_sum_by_layer(graph, s.gradient, values, zero_of, "finite");
    s.is_finite = mw_step_scalar(graph, MW_OP_EQ, zero, 0);
    mw_graph_rename(graph, s.is_finite, NAME ".is_finite");
    mw_build_name_temporaries(graph, first, graph->values.count, NAME ".is_finite");
    return s;
}

MwValueId mw_loss_scale_step(const MwLossScaling *s, MwValueId step)
{
    if (!mw_has_value(s->states.scale))
        return step;
    return mw_build(s->graph, "own_step", MW_OP_SUB, (MwValueId[]){step, s->states.skipped_steps},
                    2, NULL, 0);
}

MwValueId mw_loss_scale_held(const MwLossScaling *s, MwValueId gradient)
{
    if (!mw_has_value(s->states.scale))
        return gradient;
    return mw_build_select(s->graph, s->is_finite, gradient, mw_build_scalar(s->graph, 0));
}

/* Has each assignment from `first` on keep the old value where the step is skipped. */
static void keep_where_skipped(const MwLossScaling *s, int first)
{
    MwGraph *graph = s->graph;
    for (int i = first; i < graph->assigns.count; i++) {
        MwAssign *assign = &graph->assigns.at[i];
        graph->origin = mw_value_node(graph, assign->value)->origin;
        const char *name =
            mw_arena_printf(graph->arena, "%s.next", mw_value(graph, assign->target)->name);
        assign->value = mw_build_select(graph, s->is_finite, assign->value, assign->target);
        mw_graph_rename(graph, assign->value, name);
    }
}

static MwValueId count_up(MwGraph *graph, MwValueId count)
{
    const MwTensor scalar = mw_tensor_scalar(MW_I32);
    return mw_build_binary(graph, MW_OP_ADD, count, mw_build_constant(graph, &scalar, 1));
}

static void assign_scale(const MwLossScaling *s)
{
    MwGraph *graph = s->graph;
    const MwTensor scalar = mw_tensor_scalar(MW_I32);
    const int64_t growth = graph->loss_scale.growth;
    MwValueId next = count_up(graph, s->states.good_steps), scale = s->states.scale, zero, grows;
    if (growth > 0) {
        zero = mw_build_constant(graph, &scalar, 0);
        grows = mw_build_binary(graph, MW_OP_GE, next,
                                mw_build_constant(graph, &scalar, (double)growth));
        next = mw_build_select(graph, grows, zero, next);
        scale = mw_step_scalar(graph, MW_OP_MINIMUM, mw_step_scalar(graph, MW_OP_MUL, scale, 2),
                               MW_LOSS_SCALE_MOST);
        scale = mw_build_select(graph, grows, scale, s->states.scale);
    }
    MwValueId less =
        mw_step_scalar(graph, MW_OP_MAXIMUM, mw_step_scalar(graph, MW_OP_MUL, s->states.scale, 0.5),
                       1 / MW_LOSS_SCALE_MOST);
    mw_step_assign(graph, s->states.scale, mw_build_select(graph, s->is_finite, scale, less));
    zero = mw_build_constant(graph, &scalar, 0);
    mw_step_assign(graph, s->states.good_steps, mw_build_select(graph, s->is_finite, next, zero));
    mw_step_assign(graph, s->states.skipped_steps,
                   mw_build_select(graph, s->is_finite, s->states.skipped_steps,
                                   count_up(graph, s->states.skipped_steps)));
}

void mw_loss_scale_end(const MwLossScaling *s)
{
    MwGraph *graph = s->graph;
    if (!mw_has_value(s->states.scale))
        return;
    keep_where_skipped(s, s->assigns);
    graph->origin = mw_value_node(graph, s->states.scale)->origin;
    int first = graph->values.count;
    assign_scale(s);
    mw_build_name_temporaries(graph, first, graph->values.count, NAME ".update");
}
