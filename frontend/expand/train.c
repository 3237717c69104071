/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `train LOSS with OPTIMIZER(…), …` and `precision TYPE`: recorded in MwGraph, for passes to lower;
 * and what a run shows, losses among it. */
#include "frontend/expand/eval.h"
#include "frontend/expand/statements.h"
#include "frontend/expand/train_options.h"
#include "ir/optimizer.h"

#include <string.h>

static bool read_loss(MwExpander *ex, const MwExpr *expr, MwValueId *loss)
{
    MwTerm term = mw_eval(ex, expr, mw_one_value());
    MwTensor scalar = mw_tensor_scalar(MW_F32);
    if (!mw_want_tensor(ex, term, (MwWant){"the loss", expr->span}, loss))
        return false;
    if (mw_value_node(ex->graph, *loss)->phase != MW_PHASE_FORWARD) {
        mw_expand_error(ex, expr->span, "the loss must run forward");
        return false;
    }
    if (mw_tensor_equal(mw_value_tensor(ex->graph, *loss), &scalar))
        return true;
    mw_expand_note(ex, mw_span_none(), "mean(x) or sum(x) makes one number of it");
    mw_expand_error(ex, expr->span, "the loss must be f32[], not %s", mw_term_describe(ex, term));
    return false;
}

static const MwTrain *first_with_loss(const MwGraph *graph, const char *loss)
{
    for (int i = 0; i < graph->trains.count; i++)
        if (graph->trains.at[i].loss == loss)
            return &graph->trains.at[i];
    return NULL;
}

/* The name of the loss that the value is of a statement before; NULL: it is a new one. */
static const char *known_loss(const MwGraph *graph, MwValueId value)
{
    for (int i = 0; i < graph->metrics.count; i++)
        if (mw_value_equal(graph->metrics.at[i].value, value))
            return graph->metrics.at[i].name;
    return NULL;
}

/* A free name for a new loss whose statement gives none: that of the expression, if it is one. */
static const char *free_loss_name(MwExpander *ex, const MwExpr *expr)
{
    const char *wanted = expr->kind == MW_EXPR_NAME ? expr->text : MW_ONE_LOSS;
    const char *name = mw_intern(ex->interner, wanted);
    for (int suffix = 1; first_with_loss(ex->graph, name); suffix++)
        name = mw_intern_printf(ex->interner, "%s.%d", wanted, suffix);
    return name;
}

/* Gives the statement the name of its loss, and adds the loss if no statement before has it.
 * train->loss: the name that the statement gives it, or NULL. False after an error. */
static bool name_loss(MwExpander *ex, const MwExpr *expr, MwValueId value, MwTrain *train)
{
    const char *wanted = train->loss ? mw_intern(ex->interner, train->loss) : NULL;
    const char *known = known_loss(ex->graph, value);
    const MwTrain *other = wanted ? first_with_loss(ex->graph, known ? known : wanted) : NULL;
    if (other && wanted != known) {
        mw_expand_note(ex, other->span, "it is here");
        mw_expand_error(ex, train->span,
                        known ? "this loss has the name '%s' already"
                              : "there already is a loss '%s'",
                        other->loss);
        return false;
    }
    train->loss = known ? known : wanted ? wanted : free_loss_name(ex, expr);
    if (!known)
        mw_vec_push(ex->arena, &ex->graph->metrics, ((MwOutput){train->loss, value}));
    return true;
}

/* Checks that the statements agree on what all of a step has once. */
static bool check_alike(MwExpander *ex, const MwTrain *train)
{
    for (int i = 0; i < ex->graph->trains.count; i++) {
        const MwTrain *other = &ex->graph->trains.at[i];
        if (train->accumulate != other->accumulate) {
            mw_expand_note(ex, other->span, "here it is %s", mw_type_name(other->accumulate));
            mw_expand_error(ex, train->span, "one step adds up gradients in one type, not in %s",
                            mw_type_name(train->accumulate));
            return false;
        }
        if (!train->micro_batches || !other->micro_batches ||
            train->micro_batches == other->micro_batches)
            continue;
        mw_expand_note(ex, other->span, "here it is cut into %d", other->micro_batches);
        mw_expand_error(ex, train->span, "one step cuts its batch into %d micro-batches",
                        train->micro_batches);
        return false;
    }
    return true;
}

void mw_statement_train(MwExpander *ex, const MwStatement *statement)
{
    MwTrain train = {.span = statement->span};
    MwValueId loss = mw_no_value();
    bool ok = read_loss(ex, statement->train.loss, &loss);
    ok &= mw_train_options_read(ex, statement, &train);
    if (ok && check_alike(ex, &train) && name_loss(ex, statement->train.loss, loss, &train))
        mw_vec_push(ex->arena, &ex->graph->trains, train);
}

/* Checks that no two statements train the weight. */
static bool check_weight(MwExpander *ex, const char *weight)
{
    const MwGraph *graph = ex->graph;
    const MwTrain *first = mw_train_of(graph, weight);
    for (int i = graph->trains.count - 1; i > 0; i--) {
        const MwTrain *train = &graph->trains.at[i];
        if (train == first || !mw_train_moves(train, weight))
            continue;
        mw_expand_note(ex, first->span, "the first is here; 'only' says which weights each trains");
        mw_expand_error(ex, train->span, "two statements train weight '%s'", weight);
        return false;
    }
    return true;
}

/* The one loss of a model has one name in all models. */
static void name_only_loss(MwExpander *ex)
{
    MwGraph *graph = ex->graph;
    if (graph->metrics.count != 1)
        return;
    const char *name = mw_intern(ex->interner, MW_ONE_LOSS);
    graph->metrics.at[0].name = name;
    for (int i = 0; i < graph->trains.count; i++)
        graph->trains.at[i].loss = name;
}

/* Adds what `show` statements name. A loss that one names is shown already. */
static void add_shown(MwExpander *ex)
{
    MwOutputs *metrics = &ex->graph->metrics;
    for (int i = 0; i < ex->metrics.count; i++) {
        const MwOutput shown = ex->metrics.at[i];
        const MwSpan *span = mw_name_map_get(&ex->shown, shown.name);
        const MwValueId loss = mw_outputs_find(metrics, shown.name);
        if (!mw_has_value(loss))
            mw_vec_push(ex->arena, metrics, shown);
        else if (!mw_value_equal(loss, shown.value))
            mw_expand_error(ex, *span, "a run shows the loss under the name '%s' already",
                            shown.name);
    }
}

/* A log has columns for these beside those of the metrics. */
static void check_columns(MwExpander *ex)
{
    static const char *const columns[] = {"step", "seconds"};
    for (int i = 0; i < ex->graph->metrics.count; i++) {
        const char *name = ex->graph->metrics.at[i].name;
        const MwTrain *train = first_with_loss(ex->graph, name);
        for (int k = 0; k < MW_COUNT(columns); k++)
            if (strcmp(name, columns[k]) == 0)
                mw_expand_error(
                    ex, train ? train->span : *(const MwSpan *)mw_name_map_get(&ex->shown, name),
                    "what a run shows cannot have the name '%s', which a column of its "
                    "log has",
                    name);
    }
}

void mw_trains_finish(MwExpander *ex)
{
    const MwGraph *graph = ex->graph;
    name_only_loss(ex);
    add_shown(ex);
    check_columns(ex);
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        if (node->op == MW_OP_WEIGHT &&
            !check_weight(ex, graph->values.at[node->first_result].name))
            return;
    }
}

/* ---- Precision ---- */

static void scale_error(MwExpander *ex, const MwCall *call, int k, const char *what)
{
    mw_expand_error(ex, call->given[k].span, "'%s' of %s must be %s", call->formals[k].name,
                    call->callee, what);
}

static void read_loss_scale(MwExpander *ex, MwCall *call, int first, MwLossScale *scale)
{
    const int initial = first, growth = first + 1;
    if (mw_call_has(call, initial) &&
        mw_want_number(ex, call->given[initial].term, mw_call_want(ex, call, initial),
                       &scale->initial) &&
        scale->initial != 0 &&
        !(scale->initial >= 1 / MW_LOSS_SCALE_MOST && scale->initial <= MW_LOSS_SCALE_MOST))
        scale_error(ex, call, initial, "0, or from 2 ** -64 to 2 ** 64");
    if (mw_call_has(call, growth) &&
        mw_want_int(ex, call->given[growth].term, mw_call_want(ex, call, growth), &scale->growth) &&
        (scale->growth < 0 || scale->growth > INT32_MAX))
        scale_error(ex, call, growth, "a number of steps");
}

static void read_fp8_scaling(MwExpander *ex, MwCall *call, int first, MwFp8Scaling *fp8)
{
    const int history = first, margin = first + 1;
    if (mw_call_has(call, history) &&
        mw_want_int(ex, call->given[history].term, mw_call_want(ex, call, history),
                    &fp8->history) &&
        (fp8->history < 1 || fp8->history > MW_FP8_MOST_HISTORY))
        scale_error(ex, call, history, "a number of steps, from 1 to 1048576");
    if (mw_call_has(call, margin) &&
        mw_want_int(ex, call->given[margin].term, mw_call_want(ex, call, margin), &fp8->margin) &&
        (fp8->margin < 0 || fp8->margin > MW_FP8_MOST_MARGIN))
        scale_error(ex, call, margin, "from 0 to 32");
}

/* Reads what the brackets after a precision say. */
static void read_scales(MwExpander *ex, const MwExpr *expr)
{
    enum { SCALE, GROWTH, HISTORY, MARGIN };
    MwFormal formals[MW_MAX_FORMALS];
    MwCall call = {.site = {expr->span, mw_one_value()},
                   .callee = expr->call.callee.text,
                   .formals = formals,
                   .formal_count =
                       mw_signature_parse(ex, "scale? growth? history? margin?", formals)};
    if (!mw_eval_call(ex, &call, &expr->call.args))
        return;
    read_loss_scale(ex, &call, SCALE, &ex->graph->loss_scale);
    read_fp8_scaling(ex, &call, HISTORY, &ex->graph->fp8);
    for (int k = HISTORY; k <= MARGIN && ex->graph->precision == MW_F16; k++)
        if (mw_call_has(&call, k))
            mw_expand_error(ex, call.given[k].span, "'%s' is of fp8, not of f16",
                            call.formals[k].name);
}

void mw_statement_precision(MwExpander *ex, const MwStatement *statement)
{
    const MwExpr *expr = statement->precision;
    const char *name = expr->kind == MW_EXPR_NAME   ? expr->text
                       : expr->kind == MW_EXPR_CALL ? expr->call.callee.text
                                                    : "";
    MwType type = MW_F32;
    if (ex->precision.source) {
        mw_expand_note(ex, ex->precision, "the first is here");
        mw_expand_error(ex, statement->span, "a model has one precision");
    } else if (!mw_product_parse(name, &type)) {
        mw_expand_error(ex, statement->span, "a precision is f32, tf32, bf16, f16 or fp8%s%s%s",
                        *name ? ", not '" : "", name, *name ? "'" : "");
    } else {
        ex->precision = statement->span;
        mw_graph_set_precision(ex->graph, type);
        if (expr->kind == MW_EXPR_CALL)
            read_scales(ex, expr);
    }
}
