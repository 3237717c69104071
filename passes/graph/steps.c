/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The steps of optimizers with an operator of their own (ir/optimizers.def).
 *
 *   new_weight  the operator gives the new weight
 *   change      it gives a change d, and w = w - d * lr |w| / |d|, or w - d if one of the norms is
 *               0 (You et al. 2020) */
#include "passes/graph/steps.h"

#include "ir/build.h"

MwValueId mw_step_scalar(MwGraph *graph, MwOp op, MwValueId a, double b)
{
    return mw_build_binary(graph, op, a, mw_build_scalar(graph, b));
}

MwValueId mw_step_squares(MwGraph *graph, MwValueId tensor)
{
    int first = graph->values.count;
    MwValueId x = mw_build_cast(graph, tensor, MW_F32);
    MwValueId squares = mw_build_binary(graph, MW_OP_MUL, x, x);
    unsigned all = (1u << mw_value_tensor(graph, squares)->rank) - 1;
    MwValueId sum = mw_build_sum(graph, squares, all, false);
    const char *name = mw_value(graph, tensor)->name;
    mw_build_name_temporaries(graph, first, graph->values.count,
                              mw_arena_printf(graph->arena, "%s.squares", name));
    return sum;
}

MwValueId mw_step_state(MwGraph *graph, MwValueId weight, const char *suffix, const char *init,
                        const MwTensor *like)
{
    MwAttr attr = mw_attr_text(MW_ATTR_INIT, mw_intern(graph->interner, init));
    MwNodeSpec spec = {
        .op = MW_OP_STATE,
        .attrs = &attr,
        .attr_count = 1,
        .given = like,
        .name = mw_arena_printf(graph->arena, "%s.%s", mw_value(graph, weight)->name, suffix),
    };
    return mw_node_result(graph, mw_build_node(graph, &spec), 0);
}

static const char *new_name(const MwGraph *graph, MwValueId target)
{
    return mw_arena_printf(graph->arena, "%s.new", mw_value(graph, target)->name);
}

MwValueId mw_step_assign(MwGraph *graph, MwValueId target, MwValueId value)
{
    MwValueId cast = mw_build_cast(graph, value, mw_value_tensor(graph, target)->type);
    mw_graph_rename(graph, cast, new_name(graph, target));
    mw_vec_push(graph->arena, &graph->assigns, ((MwAssign){target, cast}));
    return cast;
}

double mw_step_decay(const MwWeightStep *s)
{
    return mw_train_decay(s->train, mw_value(s->graph, s->weight)->name);
}

/* Fills the attributes of the optimizer's operator from the train statement and this weight's
 * decay; returns their number. */
static int attributes(const MwWeightStep *s, const MwOptimizerInfo *info, MwAttr *attrs)
{
    const double decay = mw_step_decay(s);
    for (int i = 0; i < info->option_count; i++) {
        MwAttrKey key = info->options[i].key;
        double value = key == MW_ATTR_WEIGHT_DECAY ? decay : s->train->option[key];
        attrs[i] = mw_attr_kind(key) == MW_KIND_FLOAT ? mw_attr_float(key, value)
                                                      : mw_attr_int(key, (int64_t)value);
    }
    return info->option_count;
}

/* Adds the operator of the optimizer, and assigns its states. Returns its first result. */
static MwValueId apply_operator(const MwWeightStep *s, const char *first_name)
{
    const MwOptimizerInfo *info = mw_optimizer_info(s->train->optimizer);
    MwGraph *graph = s->graph;
    MwArena *arena = graph->arena;
    const int states = info->state_count;
    const MwTensor tensor = *mw_value_tensor(graph, s->weight);
    MwKeptState *kept = MW_NEW(arena, MwKeptState, states);
    MwValueId *operands = MW_NEW(arena, MwValueId, 4 + states);
    const char **names = MW_NEW(arena, const char *, 1 + states);
    MwAttr attrs[MW_ATTR_COUNT];
    int count = 0;
    operands[count++] = s->weight;
    operands[count++] = s->gradient;
    for (int k = 0; k < states; k++) {
        kept[k] = mw_kept_state(s, mw_optimizer_state(arena, info, k), &tensor);
        operands[count++] = kept[k].value;
    }
    operands[count++] = s->rate;
    if (info->takes_step)
        operands[count++] = s->step;
    names[0] = first_name;
    MwNodeSpec spec = {.op = info->op,
                       .operands = operands,
                       .operand_count = count,
                       .attrs = attrs,
                       .attr_count = attributes(s, info, attrs),
                       .result_names = names};
    MwNodeId node = mw_build_node(graph, &spec);
    for (int k = 0; k < states; k++)
        mw_kept_state_assign(s, &kept[k], mw_node_result(graph, node, 1 + k));
    return mw_node_result(graph, node, 0);
}

static MwValueId step_new_weight(const MwWeightStep *s)
{
    MwValueId weight = apply_operator(s, new_name(s->graph, s->weight));
    mw_vec_push(s->graph->arena, &s->graph->assigns, ((MwAssign){s->weight, weight}));
    return weight;
}

/* The Euclidean norm of all elements of a tensor. */
static MwValueId norm_of(MwGraph *graph, MwValueId tensor)
{
    return mw_build_unary(graph, MW_OP_SQRT, mw_step_squares(graph, tensor));
}

static MwValueId step_change(const MwWeightStep *s)
{
    MwGraph *graph = s->graph;
    const char *name = mw_value(graph, s->weight)->name;
    MwValueId change = apply_operator(s, mw_arena_printf(graph->arena, "%s.change", name));
    MwValueId length = norm_of(graph, change);
    MwValueId wanted = mw_build_binary(graph, MW_OP_MUL, s->rate, norm_of(graph, s->weight));
    MwValueId least = mw_build_binary(graph, MW_OP_MINIMUM, length, wanted);
    MwValueId ratio = mw_build_select(graph, mw_step_scalar(graph, MW_OP_GT, least, 0),
                                      mw_build_binary(graph, MW_OP_DIV, wanted, length),
                                      mw_build_scalar(graph, 1));
    MwValueId move = mw_build_binary(graph, MW_OP_MUL, change, ratio);
    MwValueId old = mw_build_cast(graph, s->weight, MW_F32);
    return mw_step_assign(graph, s->weight, mw_build_binary(graph, MW_OP_SUB, old, move));
}

static MwValueId (*const steps[MW_OPTIMIZER_COUNT])(const MwWeightStep *) = {
#define OPTIMIZER(id, name, source, needs, states, state_names, takes_step, gives, ...)            \
    [MW_OPTIMIZER_##id] = step_##gives,
#define COMPOSED(id, source, options, step) [MW_OPTIMIZER_##id] = mw_step_##step,
#include "ir/optimizers.def"
};

MwValueId mw_step_weight(const MwWeightStep *s)
{
    return steps[s->train->optimizer](s);
}
