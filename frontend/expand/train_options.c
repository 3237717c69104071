/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/expand/train_options.h"

#include "base/text.h"
#include "frontend/expand/eval.h"
#include "ir/build.h"
#include "ir/optimizer.h"
#include "ir/print.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* The options that may follow the optimizer. */
static const char step_options[] =
    "rates? decays? no_decay? sparse? only? clip_norm? ema? "
    "schedule? warmup_steps? total_steps? final_rate? micro_batches? states? accumulate? offload? "
    "name?";

/* The call being read; its arguments are found by the names of their formals. */
typedef struct {
    MwExpander *ex;
    const MwCall *call;
    bool ok;
} Reader;

/* Index of a given argument; -1 if it is not given. */
static int given(const Reader *reader, const char *name)
{
    for (int k = 0; k < reader->call->formal_count; k++)
        if (strcmp(reader->call->formals[k].name, name) == 0)
            return mw_call_has(reader->call, k) ? k : -1;
    return -1;
}

static void read_error(Reader *reader, int k, const char *what)
{
    mw_expand_error(reader->ex, reader->call->given[k].span, "'%s' of %s must be %s",
                    reader->call->formals[k].name, reader->call->callee, what);
    reader->ok = false;
}

/* Argument `name` as a number in [least, most); the fallback if it is not given. */
static double read_number(Reader *reader, const char *name, double fallback, double least,
                          double most)
{
    int k = given(reader, name);
    double value = fallback;
    if (k < 0)
        return fallback;
    MwWant want = mw_call_want(reader->ex, reader->call, k);
    if (!mw_want_number(reader->ex, reader->call->given[k].term, want, &value))
        reader->ok = false;
    else if (!(value >= least && value < most))
        read_error(reader, k,
                   isinf(most) ? mw_arena_printf(reader->ex->arena, "at least %g", least)
                               : mw_arena_printf(reader->ex->arena, "at least %g and less than %g",
                                                 least, most));
    return value;
}

static int64_t read_int(Reader *reader, const char *name, int64_t least)
{
    int k = given(reader, name);
    int64_t value = 0;
    if (k < 0)
        return 0;
    MwWant want = mw_call_want(reader->ex, reader->call, k);
    if (!mw_want_int(reader->ex, reader->call->given[k].term, want, &value))
        reader->ok = false;
    else if (value < least)
        read_error(reader, k,
                   mw_arena_printf(reader->ex->arena, "at least %lld", (long long)least));
    else if (value > INT32_MAX)
        read_error(reader, k, mw_arena_printf(reader->ex->arena, "at most %d", INT32_MAX));
    return value;
}

static bool read_bool(Reader *reader, const char *name, bool fallback)
{
    int k = given(reader, name);
    bool value = fallback;
    if (k >= 0 && !mw_want_bool(reader->ex, reader->call->given[k].term,
                                mw_call_want(reader->ex, reader->call, k), &value))
        reader->ok = false;
    return value;
}

/* Reads a list of two into the attributes of `first` and of the row after it. */
static void read_pair(Reader *reader, const MwHyperparameter *first, MwTrain *train)
{
    int k = given(reader, first->name);
    if (k < 0)
        return;
    MwTerm term = reader->call->given[k].term;
    bool fits = term.kind == MW_TERM_LIST && term.list.count == 2;
    for (int i = 0; i < 2 && fits; i++) {
        fits = mw_term_is_number(term.list.at[i]);
        double value = fits ? mw_term_number(term.list.at[i]) : 0;
        fits = fits && value >= first[i].least && value < first[i].below;
        train->option[first[i].key] = value;
    }
    if (!fits)
        read_error(
            reader, k,
            mw_arena_printf(reader->ex->arena,
                            "two numbers of at least %g and less than %g, as in [0.9, 0.999]",
                            first->least, first->below));
}

/* Reads argument `name`, a pattern or a list of them; no patterns if it is not given. */
static MwPatterns read_patterns(Reader *reader, const char *name)
{
    MwPatterns patterns = {0};
    int k = given(reader, name);
    if (k < 0)
        return patterns;
    MwTerm term = reader->call->given[k].term;
    const MwTerm *at = term.kind == MW_TERM_LIST ? term.list.at : &term;
    int count = term.kind == MW_TERM_LIST ? term.list.count : 1;
    for (int i = 0; i < count; i++) {
        if (at[i].kind != MW_TERM_TEXT) {
            read_error(reader, k, "patterns of weight names, as in [\"*.bias\"]");
            return patterns;
        }
        mw_vec_push(reader->ex->arena, &patterns, at[i].text);
    }
    return patterns;
}

/* The name of an input, a weight or a state that `value` depends on; NULL: there is none. */
static const char *varying_source(MwExpander *ex, MwValueId value)
{
    const MwGraph *graph = ex->graph;
    bool *needed = MW_NEW(ex->arena, bool, graph->nodes.count);
    needed[mw_value(graph, value)->node.index] = true;
    for (int n = mw_value(graph, value)->node.index; n >= 0; n--) {
        const MwNode *node = &graph->nodes.at[n];
        if (!needed[n])
            continue;
        if (mw_op_is_data(node->op))
            return graph->values.at[node->first_result].name;
        for (int k = 0; k < node->operand_count; k++)
            needed[mw_value(graph, node->operands[k])->node.index] = true;
    }
    return NULL;
}

/* The name of a rate, which is computed in the update phase: in a dump it is already. */
static const char *add_rate(MwExpander *ex, MwValueId value)
{
    MwGraph *graph = ex->graph;
    MwOutput rate = {mw_intern_printf(ex->interner, "rate.%d", graph->rates.count), value};
    if (mw_value_node(graph, value)->phase != MW_PHASE_UPDATE) {
        const int values = graph->values.count;
        const MwPhase phase = graph->phase;
        MwValueId *copy = MW_NEW(ex->arena, MwValueId, values);
        memset(copy, -1, sizeof(MwValueId) * (size_t)values);
        graph->phase = MW_PHASE_UPDATE;
        rate.value = mw_build_copy(graph, value, copy);
        mw_build_name_temporaries(graph, values, graph->values.count, "rate");
        graph->phase = phase;
    }
    mw_vec_push(ex->arena, &graph->rates, rate);
    return rate.name;
}

/* Argument k, or a member of it, which is a tensor, as a rate. */
static MwRate read_tensor_rate(Reader *reader, int k, MwValueId value)
{
    MwExpander *ex = reader->ex;
    const MwTensor scalar = mw_tensor_scalar(MW_F32);
    const char *source = varying_source(ex, value);
    char text[MW_TENSOR_TEXT_BYTES];
    if (!mw_tensor_equal(mw_value_tensor(ex->graph, value), &scalar)) {
        mw_tensor_text(mw_value_tensor(ex->graph, value), text);
        read_error(reader, k,
                   mw_arena_printf(ex->arena, "a number or a tensor f32[], not %s", text));
    } else if (source) {
        read_error(reader, k,
                   mw_arena_printf(ex->arena, "computed from step() alone, not from '%s'", source));
    }
    return (MwRate){.tensor = reader->ok ? add_rate(ex, value) : NULL};
}

static MwRate read_rate(Reader *reader, const char *name)
{
    int k = given(reader, name);
    if (k >= 0 && reader->call->given[k].term.kind == MW_TERM_TENSOR)
        return read_tensor_rate(reader, k, reader->call->given[k].term.value);
    return (MwRate){.number = read_number(reader, name, 0, 0, INFINITY)};
}

/* Reads a member of argument k: a list of a pattern and a number of at least 0 or, with
 * `takes_tensors`, a tensor. False if it is no such list. */
static bool read_override(Reader *reader, int k, MwTerm term, bool takes_tensors,
                          MwOverride *override)
{
    if (term.kind != MW_TERM_LIST || term.list.count != 2 || term.list.at[0].kind != MW_TERM_TEXT)
        return false;
    const MwTerm value = term.list.at[1];
    override->pattern = term.list.at[0].text;
    if (takes_tensors && value.kind == MW_TERM_TENSOR) {
        override->value = read_tensor_rate(reader, k, value.value);
        return true;
    }
    override->value = (MwRate){.number = mw_term_is_number(value) ? mw_term_number(value) : -1};
    return override->value.number >= 0 && isfinite(override->value.number);
}

/* Reads argument `name`, a list of pairs; no overrides if it is not given. */
static MwOverrides read_overrides(Reader *reader, const char *name, bool takes_tensors)
{
    MwOverrides overrides = {0};
    int k = given(reader, name);
    if (k < 0)
        return overrides;
    MwTerm term = reader->call->given[k].term;
    int count = term.kind == MW_TERM_LIST ? term.list.count : 0;
    bool ok = term.kind == MW_TERM_LIST;
    for (int i = 0; i < count && ok; i++)
        ok = read_override(reader, k, term.list.at[i], takes_tensors,
                           mw_vec_add(reader->ex->arena, &overrides));
    if (!ok)
        read_error(reader, k,
                   "pairs of a pattern of weight names and a number of at least 0, as in "
                   "[[\"embed.*\", 1e-4]]");
    return overrides;
}

static MwPatterns read_only(Reader *reader)
{
    MwPatterns only = read_patterns(reader, "only");
    int k = given(reader, "only");
    if (reader->ok && k >= 0 && only.count == 0)
        read_error(reader, k, "at least one pattern");
    return only;
}

static MwRateSchedule read_schedule(Reader *reader)
{
    MwRateSchedule schedule = MW_SCHEDULE_CONSTANT;
    int k = given(reader, "schedule");
    if (k < 0)
        return schedule;
    MwTerm term = reader->call->given[k].term;
    if (term.kind != MW_TERM_TEXT || !mw_schedule_parse(term.text, &schedule))
        read_error(reader, k, "constant, linear or cosine");
    return schedule;
}

/* Argument `name`, a type of floats; f32 if it is not given. `takes_fp8`: it may be FP8. */
static MwType read_type(Reader *reader, const char *name, bool takes_fp8)
{
    MwType type = MW_F32;
    int k = given(reader, name);
    if (k < 0)
        return type;
    MwTerm term = reader->call->given[k].term;
    if (term.kind != MW_TERM_TEXT || !mw_product_parse(term.text, &type) ||
        (type != MW_F32 && type != MW_BF16 && !(takes_fp8 && type == MW_FP8)))
        read_error(reader, k, takes_fp8 ? "f32, bf16 or fp8" : "f32 or bf16");
    return type;
}

static MwOffload read_offload(Reader *reader)
{
    MwOffload offload = MW_OFFLOAD_NONE;
    int k = given(reader, "offload");
    if (k < 0)
        return offload;
    MwTerm term = reader->call->given[k].term;
    if (term.kind != MW_TERM_TEXT || !mw_offload_parse(term.text, &offload))
        read_error(reader, k, "none, states or weights");
    return offload;
}

static void check_schedule(Reader *reader, const MwTrain *train)
{
    int k = given(reader, "schedule");
    if (!reader->ok || k < 0 || train->schedule == MW_SCHEDULE_CONSTANT ||
        train->total_steps > train->warmup_steps)
        return;
    mw_expand_error(reader->ex, reader->call->given[k].span,
                    "a %s schedule needs 'total_steps', the step at which it ends, after the "
                    "warm-up",
                    mw_schedule_name(train->schedule));
    reader->ok = false;
}

static void read_hyperparameter(Reader *reader, const MwHyperparameter *which, double fallback,
                                MwTrain *train)
{
    double *value = &train->option[which->key];
    *value = fallback;
    switch (which->kind) {
    case MW_HYPERPARAMETER_NUMBER:
        *value = read_number(reader, which->name, fallback, which->least, which->below);
        break;
    case MW_HYPERPARAMETER_FLAG:
        *value = read_bool(reader, which->name, fallback != 0);
        break;
    case MW_HYPERPARAMETER_FIRST:
        break; /* read with the second, once both have their fallbacks */
    case MW_HYPERPARAMETER_SECOND:
        read_pair(reader, which - 1, train);
        break;
    }
}

static void read_optimizer(Reader *reader, MwTrain *train)
{
    const MwOptimizerInfo *info = mw_optimizer_info(train->optimizer);
    train->learning_rate = read_rate(reader, "lr");
    for (int i = 0; i < MW_HYPERPARAMETER_COUNT; i++) {
        const MwOptimizerOption *option = mw_optimizer_option(info, &mw_hyperparameters[i]);
        if (option)
            read_hyperparameter(reader, &mw_hyperparameters[i], option->fallback, train);
    }
}

/* The name under which runs show the loss; NULL if it is not given. */
static const char *read_name(Reader *reader)
{
    int k = given(reader, "name");
    if (k < 0)
        return NULL;
    MwTerm term = reader->call->given[k].term;
    bool is_name = term.kind == MW_TERM_TEXT && term.text[0];
    for (const char *at = is_name ? term.text : ""; *at; at++)
        is_name &= isalnum((unsigned char)*at) || *at == '_' || *at == '.';
    if (is_name)
        return term.text;
    read_error(reader, k, "a name of letters, digits, points and '_'");
    return NULL;
}

static void read_step_options(Reader *reader, MwTrain *train)
{
    train->rates = read_overrides(reader, "rates", true);
    train->decays = read_overrides(reader, "decays", false);
    train->no_decay = read_patterns(reader, "no_decay");
    train->sparse = read_patterns(reader, "sparse");
    train->only = read_only(reader);
    train->clip_norm = read_number(reader, "clip_norm", 0, 0, INFINITY);
    train->ema = read_number(reader, "ema", 0, 0, 1);
    train->schedule = read_schedule(reader);
    train->warmup_steps = read_int(reader, "warmup_steps", 0);
    train->total_steps = read_int(reader, "total_steps", 1);
    train->final_rate = read_number(reader, "final_rate", 0, 0, INFINITY);
    train->micro_batches = (int)read_int(reader, "micro_batches", 1);
    train->states = read_type(reader, "states", true);
    train->accumulate = read_type(reader, "accumulate", false);
    train->offload = read_offload(reader);
    train->loss = read_name(reader);
    check_schedule(reader, train);
}

/* Arguments, as the source gives them, for the parameters of a signature. */
typedef struct {
    MwSpan span;
    const char *callee, *signature;
    const MwArgs *args;
} Given;

/* Binds the arguments and has `read` read them into `train`. */
static bool read_call(MwExpander *ex, const Given *from, void (*read)(Reader *, MwTrain *),
                      MwTrain *train)
{
    MwFormal formals[MW_MAX_FORMALS];
    MwCall call = {.site = {from->span, mw_one_value()},
                   .callee = from->callee,
                   .formals = formals,
                   .formal_count = mw_signature_parse(ex, from->signature, formals)};
    if (!mw_eval_call(ex, &call, from->args))
        return false;
    Reader reader = {ex, &call, true};
    read(&reader, train);
    return reader.ok;
}

/* The names that a train statement may give, each once. */
static MwKnown optimizer_names(MwExpander *ex)
{
    MwKnown known = {0};
    for (int i = 0; i < MW_OPTIMIZER_COUNT; i++) {
        const char *name = mw_optimizer_info((MwOptimizer)i)->source;
        if (known.count == 0 || strcmp(mw_vec_last(&known), name) != 0)
            mw_vec_push(ex->arena, &known, name);
    }
    return known;
}

static bool find_optimizer(MwExpander *ex, const MwExpr *expr, MwOptimizer *optimizer)
{
    const char *name = expr->kind == MW_EXPR_CALL ? expr->call.callee.text : NULL;
    if (name && mw_optimizer_parse(name, optimizer))
        return true;
    if (expr->kind == MW_EXPR_NAME && mw_optimizer_parse(expr->text, optimizer)) {
        mw_expand_error(ex, expr->span,
                        "an optimizer is written with its options, as in %s(lr = 0.1)", expr->text);
        return false;
    }
    MwKnown known = optimizer_names(ex);
    MwText list = {.arena = ex->arena};
    for (int i = 0; i < known.count; i++)
        mw_text_printf(&list, "%s%s",
                       i == 0                ? ""
                       : i + 1 < known.count ? ", "
                                             : " and ",
                       known.at[i]);
    mw_expand_note(ex, mw_span_none(), "optimizers are %s", list.at);
    mw_expand_error(ex, name ? expr->call.callee.span : expr->span,
                    "expected an optimizer, as in adamw(lr = 3e-4)%s",
                    name ? mw_expand_hint(ex, name, &known) : "");
    return false;
}

/* The parameters of an optimizer as a signature, "lr momentum? weight_decay?". A list of two has
 * one name. */
static const char *signature_of(MwExpander *ex, MwOptimizer optimizer)
{
    MwText text = {.arena = ex->arena};
    mw_text_add(&text, "lr");
    for (int i = 0; i < MW_HYPERPARAMETER_COUNT; i++)
        if (mw_hyperparameters[i].kind != MW_HYPERPARAMETER_SECOND &&
            mw_optimizer_option(mw_optimizer_info(optimizer), &mw_hyperparameters[i]))
            mw_text_printf(&text, " %s?", mw_hyperparameters[i].name);
    return text.at;
}

/* The options with the values of some as texts: in `schedule = cosine` it is a word, not a name to
 * look up. */
static MwArgs quote_words(MwExpander *ex, const MwArgs *options)
{
    static const char *const words[] = {"schedule", "name", "states", "accumulate", "offload"};
    MwArgs quoted = {0};
    for (int i = 0; i < options->count; i++) {
        MwArg option = options->at[i];
        bool is_word = false;
        for (int k = 0; k < MW_COUNT(words); k++)
            is_word |= strcmp(option.key.text, words[k]) == 0;
        if (is_word && option.value->kind == MW_EXPR_NAME) {
            MwExpr *text = MW_NEW(ex->arena, MwExpr, 1);
            *text = *option.value;
            text->kind = MW_EXPR_TEXT;
            option.value = text;
        }
        mw_vec_push(ex->arena, &quoted, option);
    }
    return quoted;
}

/* Leads the first parameter of an optimizer that stands behind it, an error, into its brackets. */
static void note_hyperparameter(MwExpander *ex, const MwArgs *options, const char *optimizer)
{
    for (int i = 0; i < options->count; i++)
        for (int k = 0; k < MW_HYPERPARAMETER_COUNT; k++) {
            if (strcmp(options->at[i].key.text, mw_hyperparameters[k].name) != 0)
                continue;
            mw_expand_note(ex, mw_span_none(), "it belongs to the optimizer: %s(…, %s = …)",
                           optimizer, mw_hyperparameters[k].name);
            return;
        }
}

bool mw_train_options_read(MwExpander *ex, const MwStatement *statement, MwTrain *train)
{
    const MwExpr *optimizer = statement->train.optimizer;
    MwArgs options = quote_words(ex, &statement->annotations);
    if (!find_optimizer(ex, optimizer, &train->optimizer))
        return false;
    Given hyperparameters = {optimizer->span, optimizer->call.callee.text,
                             signature_of(ex, train->optimizer), &optimizer->call.args};
    Given step = {statement->span, "train", step_options, &options};
    bool ok = read_call(ex, &hyperparameters, read_optimizer, train);
    train->optimizer = mw_optimizer_choose(train);
    note_hyperparameter(ex, &options, hyperparameters.callee);
    ok &= read_call(ex, &step, read_step_options, train);
    return ok;
}
