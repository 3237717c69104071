/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints a graph; ir/print.h describes the syntax. */
#include "ir/print.h"

#include "ir/optimizer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *const phase_names[MW_PHASE_COUNT] = {[MW_PHASE_FORWARD] = "forward",
                                                        [MW_PHASE_BACKWARD] = "backward",
                                                        [MW_PHASE_BACKWARD_WEIGHT] =
                                                            "backward_weight",
                                                        [MW_PHASE_UPDATE] = "update"};
static const char *const schedule_names[] = {[MW_SCHEDULE_CONSTANT] = "constant",
                                             [MW_SCHEDULE_LINEAR] = "linear",
                                             [MW_SCHEDULE_COSINE] = "cosine"};
static const char *const offload_names[] = {
    [MW_OFFLOAD_NONE] = "none", [MW_OFFLOAD_STATES] = "states", [MW_OFFLOAD_WEIGHTS] = "weights"};

/* Index of `name`; -1 if it is not in `names`. */
static int find_name(const char *const *names, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

const char *mw_phase_name(MwPhase phase)
{
    return phase_names[phase];
}

bool mw_phase_parse(const char *name, MwPhase *phase)
{
    int i = find_name(phase_names, MW_COUNT(phase_names), name);
    if (i >= 0)
        *phase = (MwPhase)i;
    return i >= 0;
}

const char *mw_offload_name(MwOffload offload)
{
    return offload_names[offload];
}

bool mw_offload_parse(const char *name, MwOffload *offload)
{
    int i = find_name(offload_names, MW_COUNT(offload_names), name);
    if (i >= 0)
        *offload = (MwOffload)i;
    return i >= 0;
}

const char *mw_schedule_name(MwRateSchedule schedule)
{
    return schedule_names[schedule];
}

bool mw_schedule_parse(const char *name, MwRateSchedule *schedule)
{
    int i = find_name(schedule_names, MW_COUNT(schedule_names), name);
    if (i >= 0)
        *schedule = (MwRateSchedule)i;
    return i >= 0;
}

static void print_quoted(MwText *text, const char *string)
{
    mw_text_add(text, "\"");
    for (const char *c = string; *c; c++) {
        if (*c == '"' || *c == '\\')
            mw_text_add(text, "\\");
        mw_text_add_n(text, c, 1);
    }
    mw_text_add(text, "\"");
}

static void print_ints(MwText *text, const int64_t *at, int count)
{
    mw_text_add(text, "[");
    for (int i = 0; i < count; i++)
        mw_text_printf(text, "%s%" PRId64, i ? ", " : "", at[i]);
    mw_text_add(text, "]");
}

/* Negative zero needs a point to read back: -0 is the whole number 0. */
static void print_float(MwText *text, double value)
{
    mw_text_add_double(text, value);
    if (value == 0 && signbit(value))
        mw_text_add(text, ".0");
}

static void print_attr_value(MwText *text, const MwAttr *attr)
{
    char spec[MW_SPEC_TEXT_BYTES];
    switch (mw_attr_kind(attr->key)) {
    case MW_KIND_INT:
        mw_text_printf(text, "%" PRId64, attr->i);
        break;
    case MW_KIND_BOOL:
        mw_text_add(text, attr->i ? "true" : "false");
        break;
    case MW_KIND_FLOAT:
        print_float(text, attr->f);
        break;
    case MW_KIND_TEXT:
        print_quoted(text, attr->text);
        break;
    case MW_KIND_INTS:
        print_ints(text, attr->ints.at, attr->ints.count);
        break;
    case MW_KIND_TYPE:
        mw_text_add(text, mw_type_name((MwType)attr->i));
        break;
    case MW_KIND_SPEC:
        print_quoted(text, mw_spec_text(attr->spec, attr->spec_rank, spec));
        break;
    }
}

static bool is_left_out(const MwAttr *attr)
{
    switch (mw_attr_kind(attr->key)) {
    case MW_KIND_BOOL:
        return !attr->i;
    case MW_KIND_TEXT:
        return !*attr->text;
    case MW_KIND_INTS:
        return !attr->ints.count;
    case MW_KIND_TYPE:
        return attr->i == MW_TYPE_NOT_GIVEN;
    case MW_KIND_SPEC:
        return attr->spec_rank == MW_SPEC_NOT_GIVEN;
    case MW_KIND_INT:
    case MW_KIND_FLOAT:
        return false;
    }
    MW_UNREACHABLE();
}

static void print_results(MwText *text, const MwGraph *graph, const MwNode *node)
{
    for (int k = 0; k < node->result_count; k++)
        mw_text_printf(text, "%s%s", k ? ", " : "", graph->values.at[node->first_result + k].name);
}

static void print_call(MwText *text, const MwGraph *graph, const MwNode *node)
{
    print_results(text, graph, node);
    mw_text_printf(text, " = %s(", mw_op_info(node->op)->name);
    const char *separator = "";
    for (int i = 0; i < node->operand_count; i++, separator = ", ")
        mw_text_printf(text, "%s%s", separator, mw_value(graph, node->operands[i])->name);
    for (int i = 0; i < node->attr_count; i++) {
        if (is_left_out(&node->attrs[i]))
            continue;
        mw_text_printf(text, "%s%s = ", separator, mw_attr_name(node->attrs[i].key));
        print_attr_value(text, &node->attrs[i]);
        separator = ", ";
    }
    mw_text_add(text, ")");
}

/* Prints an input, or a weight or state with its initialiser. */
static void print_declaration(MwText *text, const MwGraph *graph, const MwNode *node)
{
    char type[MW_TENSOR_TEXT_BYTES];
    const MwValue *value = &graph->values.at[node->first_result];
    mw_text_printf(text, "%s %s: %s", mw_op_info(node->op)->name, value->name,
                   mw_tensor_text(&value->tensor, type));
    if (!mw_node_attr(node, MW_ATTR_INIT))
        return;
    double init_value = mw_node_float(node, MW_ATTR_VALUE);
    const char *init = mw_node_text(node, MW_ATTR_INIT);
    mw_text_printf(text, " = %s", init);
    if (strcmp(init, "zeros") == 0 || strcmp(init, "ones") == 0)
        return;
    mw_text_add(text, "(");
    print_float(text, init_value);
    mw_text_add(text, ")");
}

/* Prints "with " before the first annotation and ", " before the others. */
static void begin_annotation(MwText *text, bool *any)
{
    mw_text_add(text, *any ? ", " : " with ");
    *any = true;
}

static void print_repeat_place(MwText *text, int repeat, int iteration, bool *any)
{
    if (repeat < 0)
        return;
    begin_annotation(text, any);
    mw_text_printf(text, "repeat = [%d, %d]", repeat, iteration);
}

static void begin_pin(MwText *text, const char *key, const MwNode *node, int k, bool *any)
{
    begin_annotation(text, any);
    if (node->result_count > 1)
        mw_text_printf(text, "%s.%d = ", key, k);
    else
        mw_text_printf(text, "%s = ", key);
}

static void print_pin(MwText *text, const MwGraph *graph, const MwPin *pin, bool *any)
{
    const MwNode *node = mw_value_node(graph, pin->value);
    int k = pin->value.index - node->first_result;
    if (pin->has_spec) {
        char spec[MW_SPEC_TEXT_BYTES];
        begin_pin(text, "spec", node, k, any);
        mw_text_add(text, mw_spec_text(pin->spec, mw_value_tensor(graph, pin->value)->rank, spec));
    }
    if (pin->ring >= 0) {
        begin_pin(text, "ring", node, k, any);
        mw_text_add(text, pin->ring ? "true" : "false");
    }
    if (pin->stage >= 0) {
        begin_pin(text, "stage", node, k, any);
        mw_text_printf(text, "%d", pin->stage);
    }
    if (pin->remat >= 0) {
        begin_pin(text, "remat", node, k, any);
        mw_text_add(text, pin->remat ? "true" : "false");
    }
}

/* [values] the pin of each value; NULL: none. */
static const MwPin **pins_by_value(MwArena *arena, const MwGraph *graph)
{
    const MwPin **pins = MW_NEW(arena, const MwPin *, graph->values.count);
    for (int i = 0; i < graph->pins.count; i++)
        pins[graph->pins.at[i].value.index] = &graph->pins.at[i];
    return pins;
}

static void print_node(MwText *text, const MwGraph *graph, const MwNode *node,
                       const MwPin *const *pins)
{
    bool any = false;
    mw_text_add(text, "  ");
    if (mw_op_is_data(node->op))
        print_declaration(text, graph, node);
    else
        print_call(text, graph, node);
    if (node->op == MW_OP_INPUT && mw_node_int(node, MW_ATTR_WHOLE)) {
        begin_annotation(text, &any);
        mw_text_add(text, "batch = false");
    }
    if (node->phase != MW_PHASE_FORWARD) {
        begin_annotation(text, &any);
        mw_text_printf(text, "phase = %s", mw_phase_name(node->phase));
    }
    if (*node->origin.scope) {
        begin_annotation(text, &any);
        mw_text_printf(text, "scope = %s", node->origin.scope);
    }
    print_repeat_place(text, node->origin.repeat, node->origin.iteration, &any);
    if (node->origin.layer) {
        begin_annotation(text, &any);
        mw_text_printf(text, "layer = %d", node->origin.layer);
    }
    for (int k = 0; k < node->result_count; k++)
        if (pins[node->first_result + k])
            print_pin(text, graph, pins[node->first_result + k], &any);
    mw_text_add(text, "\n");
}

static void print_repeat(MwText *text, const MwRepeat *repeat)
{
    bool any = false;
    mw_text_printf(text, "  repeat %s = %d", repeat->name, repeat->count);
    print_repeat_place(text, repeat->parent, repeat->parent_iteration, &any);
    mw_text_add(text, "\n");
}

/* `word`: the statement that makes the value visible from outside. */
static void print_output(MwText *text, const MwGraph *graph, const char *word,
                         const MwOutput *output)
{
    const char *value = mw_value(graph, output->value)->name;
    if (value == output->name)
        mw_text_printf(text, "  %s %s\n", word, value);
    else
        mw_text_printf(text, "  %s %s = %s\n", word, output->name, value);
}

static void print_number(MwText *text, const char *name, double value)
{
    mw_text_printf(text, ", %s = ", name);
    mw_text_add_double(text, value);
}

static void print_option(MwText *text, const char *name, double value)
{
    if (value != 0)
        print_number(text, name, value);
}

static void print_hyperparameter(MwText *text, const MwTrain *train, const MwHyperparameter *which,
                                 double fallback)
{
    const double value = train->option[which->key];
    switch (which->kind) {
    case MW_HYPERPARAMETER_NUMBER:
        if (value != 0 || fallback != 0)
            print_number(text, which->name, value);
        break;
    case MW_HYPERPARAMETER_FLAG:
        if (value != fallback)
            mw_text_printf(text, ", %s = %s", which->name, value != 0 ? "true" : "false");
        break;
    case MW_HYPERPARAMETER_FIRST:
        mw_text_printf(text, ", %s = [", which->name);
        mw_text_add_double(text, value);
        break;
    case MW_HYPERPARAMETER_SECOND:
        mw_text_add(text, ", ");
        mw_text_add_double(text, value);
        mw_text_add(text, "]");
        break;
    }
}

static void print_rate(MwText *text, const MwGraph *graph, const MwRate *rate)
{
    MwValueId value = mw_outputs_find(&graph->rates, rate->tensor);
    if (mw_has_value(value))
        mw_text_add(text, mw_value(graph, value)->name);
    else
        mw_text_add_double(text, rate->number);
}

static void print_optimizer(MwText *text, const MwGraph *graph, const MwTrain *train)
{
    const MwOptimizerInfo *info = mw_optimizer_info(train->optimizer);
    mw_text_printf(text, "%s(lr = ", info->source);
    print_rate(text, graph, &train->learning_rate);
    for (int i = 0; i < MW_HYPERPARAMETER_COUNT; i++) {
        const MwOptimizerOption *option = mw_optimizer_option(info, &mw_hyperparameters[i]);
        if (option)
            print_hyperparameter(text, train, &mw_hyperparameters[i], option->fallback);
    }
    mw_text_add(text, ")");
}

static void print_patterns(MwText *text, const char *name, const MwPatterns *patterns)
{
    if (patterns->count == 0)
        return;
    mw_text_printf(text, ", %s = [", name);
    for (int i = 0; i < patterns->count; i++) {
        mw_text_add(text, i ? ", " : "");
        print_quoted(text, patterns->at[i]);
    }
    mw_text_add(text, "]");
}

static void print_overrides(MwText *text, const MwGraph *graph, const char *name,
                            const MwOverrides *overrides)
{
    if (overrides->count == 0)
        return;
    mw_text_printf(text, ", %s = [", name);
    for (int i = 0; i < overrides->count; i++) {
        mw_text_add(text, i ? ", [" : "[");
        print_quoted(text, overrides->at[i].pattern);
        mw_text_add(text, ", ");
        print_rate(text, graph, &overrides->at[i].value);
        mw_text_add(text, "]");
    }
    mw_text_add(text, "]");
}

static void print_type(MwText *text, const char *name, MwType type)
{
    if (type != MW_F32)
        mw_text_printf(text, ", %s = %s", name, mw_type_name(type));
}

/* Whether the model, of which this may be a stage, has several losses. */
static bool has_several_losses(const MwGraph *graph)
{
    for (int i = 1; i < graph->trains.count; i++)
        if (graph->trains.at[i].loss != graph->trains.at[0].loss)
            return true;
    return false;
}

static void print_train(MwText *text, const MwGraph *graph, const MwTrain *train)
{
    MwValueId loss = mw_outputs_find(&graph->metrics, train->loss);
    if (!mw_has_value(loss))
        return;
    mw_text_printf(text, "  train %s with ", mw_value(graph, loss)->name);
    print_optimizer(text, graph, train);
    print_overrides(text, graph, "rates", &train->rates);
    print_overrides(text, graph, "decays", &train->decays);
    print_patterns(text, "no_decay", &train->no_decay);
    print_patterns(text, "sparse", &train->sparse);
    print_patterns(text, "only", &train->only);
    print_option(text, "clip_norm", train->clip_norm);
    print_option(text, "ema", train->ema);
    if (train->schedule != MW_SCHEDULE_CONSTANT)
        mw_text_printf(text, ", schedule = %s", mw_schedule_name(train->schedule));
    print_option(text, "warmup_steps", (double)train->warmup_steps);
    print_option(text, "total_steps", (double)train->total_steps);
    print_option(text, "final_rate", train->final_rate);
    print_option(text, "micro_batches", train->micro_batches);
    print_type(text, "states", train->states);
    print_type(text, "accumulate", train->accumulate);
    if (train->offload != MW_OFFLOAD_NONE)
        mw_text_printf(text, ", offload = %s", mw_offload_name(train->offload));
    if (has_several_losses(graph) && strcmp(train->loss, mw_value(graph, loss)->name) != 0) {
        mw_text_add(text, ", name = ");
        print_quoted(text, train->loss);
    }
    mw_text_add(text, "\n");
}

static void print_precision(MwText *text, const MwGraph *graph)
{
    const MwType precision = mw_graph_precision(graph);
    const MwLossScale own = graph->loss_scale, usual = mw_loss_scale_of(precision);
    const MwFp8Scaling fp8 = graph->fp8, usual_fp8 = mw_fp8_scaling_of(precision);
    const bool scales = own.initial != usual.initial || own.growth != usual.growth;
    const bool quantises = fp8.history != usual_fp8.history || fp8.margin != usual_fp8.margin;
    if (precision == MW_F32 && !scales && !quantises)
        return;
    mw_text_printf(text, "  precision %s%s", mw_type_name(precision),
                   scales || quantises ? "(" : "");
    if (scales) {
        mw_text_add(text, "scale = ");
        print_float(text, own.initial);
        mw_text_printf(text, ", growth = %lld", (long long)own.growth);
    }
    if (quantises)
        mw_text_printf(text, "%shistory = %lld, margin = %lld", scales ? ", " : "",
                       (long long)fp8.history, (long long)fp8.margin);
    mw_text_add(text, scales || quantises ? ")\n" : "\n");
}

void mw_graph_print(MwText *text, const MwGraph *graph)
{
    const MwPin **pins = pins_by_value(text->arena, graph);
    mw_text_printf(text, "model %s {\n", graph->name);
    print_precision(text, graph);
    for (int i = 0; i < graph->repeats.count; i++)
        print_repeat(text, &graph->repeats.at[i]);
    for (int i = 0; i < graph->nodes.count; i++)
        print_node(text, graph, &graph->nodes.at[i], pins);
    for (int i = 0; i < graph->outputs.count; i++)
        print_output(text, graph, "output", &graph->outputs.at[i]);
    for (int i = 0; i < graph->metrics.count; i++)
        if (!mw_metric_is_loss(graph, graph->metrics.at[i].name))
            print_output(text, graph, "show", &graph->metrics.at[i]);
    for (int i = 0; i < graph->assigns.count; i++)
        mw_text_printf(text, "  assign %s = %s\n",
                       mw_value(graph, graph->assigns.at[i].target)->name,
                       mw_value(graph, graph->assigns.at[i].value)->name);
    for (int i = 0; i < graph->trains.count; i++)
        print_train(text, graph, &graph->trains.at[i]);
    mw_text_add(text, "}\n");
}
