/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Update: expresses the `train` statements as nodes.
 *
 * In:  a graph with gradients (compilation->gradient).
 * Out: nodes of the update phase that compute new weights and optimizer states, and an
 *      assignment for each. The step of each optimizer and its states are a row of
 *      ir/optimizers.def.
 *
 * An assignment of the model itself takes effect in the next step, so the update phase stores
 * its value, in inference too: forward and backward of every micro-batch see the old value.
 *
 * Formulas, as in PyTorch; t is the step, which starts at 1. lr and the weight decay of a weight
 * are those of the first pattern of `rates` and `decays` that matches its name, or else those of
 * the optimizer.
 *
 *   rate(t)    lr * min(t / warmup_steps, 1) * decay(p), the second factor only with a warm-up;
 *              p = clamp((t - warmup_steps) / (total_steps - warmup_steps), 0, 1) constant:
 *              decay = 1
 *              linear:   decay = 1 - (1 - final_rate) p
 *              cosine:   decay = 1 - (1 - final_rate) (1 - cos(pi p)) / 2
 *   clipping   norm = sqrt(sum of squares of all gradients)
 *              g = g * min(clip_norm / (norm + 1e-6), 1)   (torch.nn.utils.clip_grad_norm_)
 *   averages   e = w after the first step, then e = e + (1 - ema) (w - e)
 *              (torch.optim.swa_utils.get_ema_multi_avg_fn)
 *
 * Where the loss is scaled, gradients are those divided by the scale, and optimizers and averages
 * count only the steps that are not skipped (passes/graph/loss_scale.h). */
#include "ir/build.h"
#include "ir/optimizer.h"
#include "passes/graph/layer_sums.h"
#include "passes/graph/loss_scale.h"
#include "passes/graph/steps.h"
#include "passes/pass.h"

#include <math.h>
#include <string.h>

#define CLIP_EPSILON 1e-6

typedef struct {
    MwGraph *graph;
    const MwTrain *train;
    const MwLossScaling *scaling;
    MwDiags *diags;
    const MwValueId *gradient; /* [values] gradient by a weight that the statement moves */
    int values;
    MwValueId step;             /* i32[] of the run, which schedules follow */
    MwValueId own_step;         /* i32[] without the steps that were skipped */
    MwValueId *copy;            /* [values] of rates and what they depend on */
    MwValueId rate;             /* f32[] learning rate */
    const MwValueId *own_rates; /* [train->rates.count] f32[] the rates that those scale to */
    MwValueId clip;             /* f32[] factor of all gradients; no value: none */
    int64_t *next_key;          /* name of the next random stream of the graph */
    MwValueId nearing;          /* f32[] 1 - ema, but 1 in the first step; no value: no averages */
} Updater;

/* 1 - (1 - final_rate) * `progress` */
static MwValueId decay_factor(const Updater *u, MwValueId progress)
{
    MwValueId decrease = mw_step_scalar(u->graph, MW_OP_MUL, progress, 1 - u->train->final_rate);
    return mw_build_binary(u->graph, MW_OP_SUB, mw_build_scalar(u->graph, 1), decrease);
}

/* (1 - cos(pi p)) / 2 */
static MwValueId raised_cosine(const Updater *u, MwValueId p)
{
    MwValueId wave =
        mw_build_unary(u->graph, MW_OP_COS, mw_step_scalar(u->graph, MW_OP_MUL, p, M_PI));
    MwValueId factor = mw_build_binary(u->graph, MW_OP_SUB, mw_build_scalar(u->graph, 1), wave);
    return mw_step_scalar(u->graph, MW_OP_MUL, factor, 0.5);
}

/* The rate as a scalar, before the schedule. */
static MwValueId full_rate(const Updater *u, const MwRate *rate)
{
    return rate->tensor
               ? mw_build_copy(u->graph, mw_outputs_find(&u->graph->rates, rate->tensor), u->copy)
               : mw_build_scalar(u->graph, rate->number);
}

/* The learning rate at the current step, where the schedule scales `full`. */
static MwValueId scale_rate(const Updater *u, const MwRate *full)
{
    const MwTrain *train = u->train;
    MwValueId rate = full_rate(u, full);
    MwValueId t = mw_build_cast(u->graph, u->step, MW_F32);
    double warmup = (double)train->warmup_steps;
    if (train->warmup_steps > 0) {
        MwValueId factor = mw_step_scalar(u->graph, MW_OP_MINIMUM,
                                          mw_step_scalar(u->graph, MW_OP_DIV, t, warmup), 1);
        rate = mw_build_binary(u->graph, MW_OP_MUL, rate, factor);
    }
    if (train->schedule == MW_SCHEDULE_CONSTANT)
        return rate;
    MW_ASSERT(train->total_steps > train->warmup_steps);
    MwValueId p =
        mw_step_scalar(u->graph, MW_OP_DIV, mw_step_scalar(u->graph, MW_OP_SUB, t, warmup),
                       (double)train->total_steps - warmup);
    p = mw_step_scalar(u->graph, MW_OP_MINIMUM, mw_step_scalar(u->graph, MW_OP_MAXIMUM, p, 0), 1);
    if (train->schedule == MW_SCHEDULE_COSINE)
        p = raised_cosine(u, p);
    return mw_build_binary(u->graph, MW_OP_MUL, rate, decay_factor(u, p));
}

static MwValueId build_rate(const Updater *u, const MwRate *full)
{
    int first = u->graph->values.count;
    MwValueId rate = scale_rate(u, full);
    mw_graph_rename(u->graph, rate, "learning_rate");
    mw_build_name_temporaries(u->graph, first, u->graph->values.count, "learning_rate");
    return rate;
}

/* [train->rates.count] What they repeat of the schedule is removed later (passes/graph/clean.c). */
static const MwValueId *build_own_rates(const Updater *u)
{
    const MwOverrides *rates = &u->train->rates;
    MwValueId *own = MW_NEW(u->graph->arena, MwValueId, rates->count);
    for (int i = 0; i < rates->count; i++)
        own[i] = build_rate(u, &rates->at[i].value);
    return own;
}

static MwValueId rate_of(const Updater *u, const char *weight)
{
    int i = mw_override_find(&u->train->rates, weight);
    return i < 0 ? u->rate : u->own_rates[i];
}

/* The factor that clips the norm of all gradients to clip_norm. */
static MwValueId build_clip(const Updater *u)
{
    int first = u->graph->values.count;
    MwValueId sum = mw_sum_by_layer(u->graph, u->gradient, u->values, mw_step_squares, "squares");
    MwValueId norm = mw_build_unary(u->graph, MW_OP_SQRT, sum);
    MwValueId clip = mw_build_scalar(u->graph, u->train->clip_norm);
    MwValueId scale = mw_build_binary(u->graph, MW_OP_DIV, clip,
                                      mw_step_scalar(u->graph, MW_OP_ADD, norm, CLIP_EPSILON));
    scale = mw_step_scalar(u->graph, MW_OP_MINIMUM, scale, 1);
    mw_graph_rename(u->graph, scale, "clip");
    mw_build_name_temporaries(u->graph, first, u->graph->values.count, "clip");
    return scale;
}

static MwValueId clipped(const Updater *u, MwValueId gradient)
{
    if (!mw_has_value(u->clip))
        return mw_loss_scale_held(u->scaling, gradient);
    MwValueId scale = mw_build_cast(u->graph, u->clip, mw_value_tensor(u->graph, gradient)->type);
    return mw_build_binary(u->graph, MW_OP_MUL, gradient, scale);
}

/* How far an average moves to the new weight in this step. */
static MwValueId build_nearing(const Updater *u)
{
    MwGraph *graph = u->graph;
    int first = graph->values.count;
    MwValueId t = mw_build_cast(graph, u->own_step, MW_F32);
    MwValueId is_first = mw_step_scalar(u->graph, MW_OP_EQ, t, 1);
    MwValueId nearing = mw_build_select(graph, is_first, mw_build_scalar(graph, 1),
                                        mw_build_scalar(graph, 1 - u->train->ema));
    mw_graph_rename(graph, nearing, "ema");
    mw_build_name_temporaries(graph, first, graph->values.count, "ema");
    return nearing;
}

/* Adds the moving average of a weight, and what it becomes with the new weight. */
static void average_weight(const Updater *u, MwValueId weight, MwValueId new_weight)
{
    MwGraph *graph = u->graph;
    MwTensor tensor = *mw_value_tensor(graph, weight);
    tensor.type = MW_F32;
    MwValueId average = mw_step_state(graph, weight, "ema", "zeros", &tensor);
    MwValueId value = mw_build_cast(graph, new_weight, MW_F32);
    MwValueId away = mw_build_binary(graph, MW_OP_SUB, value, average);
    MwValueId move = mw_build_binary(graph, MW_OP_MUL, away, u->nearing);
    mw_step_assign(graph, average, mw_build_binary(graph, MW_OP_ADD, average, move));
}

static void update_weight(const Updater *u, MwValueId weight)
{
    MwGraph *graph = u->graph;
    int first = graph->values.count;
    graph->origin = mw_value_node(graph, weight)->origin;
    const char *name = mw_value(graph, weight)->name;
    MwWeightStep step = {.graph = graph,
                         .train = u->train,
                         .weight = weight,
                         .gradient = clipped(u, u->gradient[weight.index]),
                         .rate = rate_of(u, name),
                         .step = u->own_step,
                         .next_key = u->next_key,
                         .diags = u->diags};
    MwValueId value = mw_step_weight(&step);
    if (mw_has_value(u->nearing))
        average_weight(u, weight, value);
    mw_build_name_temporaries(graph, first, graph->values.count,
                              mw_arena_printf(graph->arena, "%s.update", name));
}

static void warn_unused(const Updater *u, const char *option, const char *pattern)
{
    for (int v = 0; v < u->values; v++)
        if (mw_value_node(u->graph, (MwValueId){v})->op == MW_OP_WEIGHT &&
            mw_pattern_matches(pattern, u->graph->values.at[v].name))
            return;
    mw_diag_warning(u->diags, u->train->span, "%s pattern \"%s\" matches no weight", option,
                    pattern);
}

static void warn_unused_patterns(const Updater *u)
{
    const MwTrain *train = u->train;
    for (int i = 0; i < train->rates.count; i++)
        warn_unused(u, "rates", train->rates.at[i].pattern);
    for (int i = 0; i < train->decays.count; i++)
        warn_unused(u, "decays", train->decays.at[i].pattern);
    for (int i = 0; i < train->no_decay.count; i++)
        warn_unused(u, "no_decay", train->no_decay.at[i]);
    for (int i = 0; i < train->sparse.count; i++)
        warn_unused(u, "sparse", train->sparse.at[i]);
    for (int i = 0; i < train->only.count; i++)
        warn_unused(u, "only", train->only.at[i]);
}

/* Checks that no trained weight is assigned by the model itself. */
static bool check_assigns(const MwGraph *graph, const MwValueId *gradient, MwDiags *diags)
{
    bool ok = true;
    for (int i = 0; i < graph->assigns.count; i++) {
        MwValueId target = graph->assigns.at[i].target;
        if (!mw_has_value(gradient[target.index]))
            continue;
        const char *name = mw_value(graph, target)->name;
        mw_diag_error(diags, mw_train_of(graph, name)->span,
                      "'%s' is trained, but the model assigns it too", name);
        mw_diag_note(diags, mw_value_node(graph, target)->origin.span, "it is this weight");
        ok = false;
    }
    return ok;
}

/* A node of the update phase for the value of an assignment, in the layer of its target. */
static MwValueId build_update_value(MwGraph *graph, const MwAssign *assign)
{
    const MwNode *maker = mw_value_node(graph, assign->value);
    const MwValue *target = mw_value(graph, assign->target);
    MwAttr type = mw_attr_int(MW_ATTR_TYPE, target->tensor.type);
    const char *name = mw_arena_printf(graph->arena, "%s.new", target->name);
    graph->phase = MW_PHASE_UPDATE;
    graph->origin = maker->origin;
    graph->origin.layer = mw_node(graph, target->node)->origin.layer;
    return mw_build(graph, name, MW_OP_CAST, &assign->value, 1, &type, 1);
}

/* Moves the assignments of the model to the update phase. In a dump they are there already, and
 * accumulators must stay. */
static void assign_in_update(MwGraph *graph)
{
    for (int i = 0; i < graph->assigns.count; i++) {
        MwAssign *assign = &graph->assigns.at[i];
        const MwNode *maker = mw_value_node(graph, assign->value);
        if (maker->phase != MW_PHASE_UPDATE && !mw_op_accumulates(maker->op))
            assign->value = build_update_value(graph, assign);
    }
}

static MwValueId *no_values(MwArena *arena, int count)
{
    MwValueId *values = MW_NEW(arena, MwValueId, count);
    memset(values, -1, sizeof(MwValueId) * (size_t)count);
    return values;
}

/* [values] those of `gradient` by weights that the train statement moves. */
static const MwValueId *gradients_of(const MwGraph *graph, const MwTrain *train,
                                     const MwValueId *gradient, int values)
{
    MwValueId *own = MW_NEW(graph->arena, MwValueId, values);
    for (int v = 0; v < values; v++) {
        bool moves = mw_has_value(gradient[v]) && mw_train_moves(train, graph->values.at[v].name);
        own[v] = moves ? gradient[v] : mw_no_value();
    }
    return own;
}

/* The steps of the weights that one train statement moves. */
static void update_weights(Updater *u)
{
    MwGraph *graph = u->graph;
    const MwTrain *train = u->train;
    graph->origin =
        (MwOrigin){.span = train->span, .scope = mw_intern(graph->interner, ""), .repeat = -1};
    u->step = mw_build(graph, "step", MW_OP_STEP, NULL, 0, NULL, 0);
    u->own_step = mw_loss_scale_step(u->scaling, u->step);
    u->rate = build_rate(u, &train->learning_rate);
    u->own_rates = build_own_rates(u);
    if (train->clip_norm > 0)
        u->clip = build_clip(u);
    if (train->ema > 0)
        u->nearing = build_nearing(u);
    for (int v = 0; v < u->values; v++)
        if (mw_has_value(u->gradient[v]))
            update_weight(u, (MwValueId){v});
}

/* A key after those of all random streams. */
static int64_t free_key(const MwGraph *graph)
{
    int64_t key = 0;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwAttr *attr = mw_node_attr(&graph->nodes.at[n], MW_ATTR_KEY);
        key = attr ? mw_max(key, attr->i + 1) : key;
    }
    return key;
}

static bool lower_trains(MwCompilation *compilation, MwDiags *diags)
{
    MwGraph *graph = compilation->graph;
    const MwValueId *gradient = compilation->gradient;
    const int values = graph->values.count;
    if (!gradient) {
        mw_diag_error(diags, graph->trains.at[0].span,
                      "this graph has a backward pass but no update: it is a dump from between the "
                      "two; dump after update instead");
        return false;
    }
    if (!check_assigns(graph, gradient, diags))
        return false;
    int64_t next_key = free_key(graph);
    graph->phase = MW_PHASE_UPDATE;
    const MwLossScaling scaling =
        mw_loss_scale_begin(graph, &compilation->loss_states, gradient, values);
    for (int i = 0; i < graph->trains.count; i++) {
        const MwTrain *train = &graph->trains.at[i];
        Updater u = {.graph = graph,
                     .train = train,
                     .scaling = &scaling,
                     .diags = diags,
                     .gradient = gradients_of(graph, train, scaling.gradient, values),
                     .values = values,
                     .next_key = &next_key,
                     .copy = no_values(graph->arena, values),
                     .clip = mw_no_value(),
                     .nearing = mw_no_value()};
        update_weights(&u);
        warn_unused_patterns(&u);
    }
    mw_loss_scale_end(&scaling);
    graph->rates.count = 0;
    return mw_diags_error_count(diags) == 0;
}

bool mw_pass_update(MwCompilation *compilation, MwDiags *diags)
{
    MwGraph *graph = compilation->graph;
    /* Otherwise the graph is for inference, or is a dump after this pass. */
    bool is_due = mw_trains(compilation) && !mw_is_updated(graph);
    if (is_due && !lower_trains(compilation, diags))
        return false;
    graph->loss_scale = mw_loss_scale_of(MW_F32);
    assign_in_update(graph);
    return true;
}
