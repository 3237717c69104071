/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Items and statements: sizes are computed in order, then the model's body is run, each statement
 * adding its nodes. A call of a block runs its body in a new frame and scope; a repeat runs its
 * body once an iteration in the frame around it, each time in a new scope. */
#include "frontend/expand.h"

#include <string.h>

static void run_body(MwExpander *ex, const MwBody *body);

/* ---- names ---- */

void mw_name_bind(MwExpander *ex, MwName name, MwTerm term)
{
    if (mw_name_is_predefined(name.text)) {
        mw_expand_error(ex, name.span, "'%s' has a meaning of its own and cannot be defined",
                        name.text);
        return;
    }
    void **slot = mw_name_map_add(&ex->frame->names, name.text);
    if (!*slot)
        *slot = MW_NEW(ex->arena, MwTerm, 1);
    *(MwTerm *)*slot = term;
}

/* What `name` means in the current frame, which must be a tensor. */
static bool name_tensor(MwExpander *ex, MwName name, MwValueId *value)
{
    MwExpr expr = {.kind = MW_EXPR_NAME, .span = name.span, .text = name.text};
    MwTerm term = mw_eval(ex, &expr, mw_one_value());
    const char *what = mw_arena_printf(ex->arena, "'%s'", name.text);
    return mw_want_tensor(ex, term, (MwWant){what, name.span}, value);
}

/* Keeps the names that the statements of a body declare, when its scope begins. */
static void reserve_body(MwExpander *ex, const MwBody *body)
{
    for (int i = 0; i < body->count; i++) {
        MwStatementKind kind = body->at[i]->kind;
        if (kind == MW_STATEMENT_WEIGHT || kind == MW_STATEMENT_INPUT || kind == MW_STATEMENT_STATE)
            mw_name_reserve(ex, body->at[i]->declare.name.text);
    }
}

/* ---- blocks ---- */

static void run_block(MwExpander *ex, MwBlockState *state, MwFrame *frame)
{
    int errors = mw_diags_error_count(ex->diags);
    MwOrigin origin = ex->graph->origin;
    state->active = true;
    ex->frame = frame;
    ex->graph->origin.scope = frame->scope;
    reserve_body(ex, &state->block->body);
    run_body(ex, &state->block->body);
    ex->frame = frame->parent;
    ex->graph->origin = origin;
    state->active = false;
    if (mw_diags_error_count(ex->diags) != errors) {
        state->broken = true;
        frame->result = mw_term_none();
    }
}

/* Parameters that the call left out take their default, computed where sizes are visible but not
 * the caller's names. */
static bool bind_params(MwExpander *ex, const MwBlock *block, const MwCall *call, MwFrame *frame)
{
    MwFrame *caller = ex->frame;
    bool ok = true;
    ex->frame = frame;
    for (int k = 0; k < block->params.count; k++) {
        const MwParam *param = &block->params.at[k];
        MwTerm term = call->given[k].term;
        if (term.kind == MW_TERM_NONE)
            term = mw_eval(ex, param->fallback, mw_one_value());
        ok &= term.kind != MW_TERM_NONE;
        mw_name_bind(ex, param->name, term);
    }
    ex->frame = caller;
    return ok;
}

MwTerm mw_block_call(MwExpander *ex, MwBlockState *state, const MwExpr *expr)
{
    const MwBlock *block = state->block;
    MwFormal *formals = MW_NEW(ex->arena, MwFormal, block->params.count);
    for (int k = 0; k < block->params.count; k++)
        formals[k] = (MwFormal){.name = block->params.at[k].name.text,
                                .required = !block->params.at[k].fallback};
    MwCall call = {.site = {expr->span, mw_one_value()},
                   .callee = block->name.text,
                   .formals = formals,
                   .formal_count = block->params.count};
    if (!mw_call_bind(ex, &call, &expr->call.args) || state->broken)
        return mw_term_none();
    if (state->active) {
        mw_expand_error(ex, expr->span, "block '%s' calls itself", block->name.text);
        return mw_term_none();
    }
    if (!ex->frame) {
        mw_expand_error(ex, expr->span, "a size cannot be computed by a block");
        return mw_term_none();
    }
    MwFrame *frame = MW_NEW(ex->arena, MwFrame, 1);
    *frame = (MwFrame){.parent = ex->frame,
                       .block = block,
                       .call = expr->span,
                       .scope = mw_scope_enter_block(ex, block->name.text),
                       .names = {.arena = ex->arena}};
    if (bind_params(ex, block, &call, frame))
        run_block(ex, state, frame);
    return frame->result;
}

static void run_return(MwExpander *ex, const MwStatement *statement)
{
    const MwExprs *results = &statement->results;
    if (results->count == 1) {
        /* The value that a block computes last is called as its scope. */
        ex->frame->result = mw_eval(ex, results->at[0], (MwTargets){&ex->frame->scope, 1});
        return;
    }
    MwTerm *terms = MW_NEW(ex->arena, MwTerm, results->count);
    bool whole = true;
    for (int i = 0; i < results->count; i++) {
        terms[i] = mw_eval(ex, results->at[i], mw_one_value());
        whole &= terms[i].kind != MW_TERM_NONE;
    }
    if (whole)
        ex->frame->result = mw_term_list(ex, terms, results->count);
}

/* ---- repeats ---- */

/* What the repetition is called in scopes: the name of its count, else of its index. */
static const char *repeat_name(MwExpander *ex, const MwStatement *statement)
{
    if (statement->repeat.count->kind == MW_EXPR_NAME)
        return statement->repeat.count->text;
    if (statement->repeat.index.text)
        return statement->repeat.index.text;
    return mw_intern(ex->interner, "repeat_");
}

static void run_iteration(MwExpander *ex, const MwStatement *statement, const char *scope, int i)
{
    ex->frame->scope = mw_intern_printf(ex->interner, "%s.%d", scope, i);
    ex->graph->origin.scope = ex->frame->scope;
    ex->graph->origin.iteration = i;
    if (statement->repeat.index.text)
        mw_name_bind(ex, statement->repeat.index, mw_term_int(i));
    reserve_body(ex, &statement->repeat.body);
    run_body(ex, &statement->repeat.body);
}

static void run_repeat(MwExpander *ex, const MwStatement *statement)
{
    MwSpan span = statement->repeat.count->span;
    MwTerm term = mw_eval(ex, statement->repeat.count, mw_one_value());
    int64_t count;
    if (!mw_want_int(ex, term, (MwWant){"the count of a repeat", span}, &count))
        return;
    if (count < 0 || count > MW_MAX_STEPS) {
        mw_expand_error(ex, span, "cannot repeat %lld times", (long long)count);
        return;
    }
    MwOrigin origin = ex->graph->origin;
    const char *outer = ex->frame->scope;
    const char *name = repeat_name(ex, statement);
    const char *scope = mw_scope_enter_repeat(ex, name);
    ex->graph->origin.repeat = ex->graph->repeats.count;
    mw_vec_push(
        ex->arena, &ex->graph->repeats,
        ((MwRepeat){name, (int)count, origin.repeat, origin.repeat < 0 ? -1 : origin.iteration}));
    int errors = mw_diags_error_count(ex->diags);
    for (int i = 0; i < count && mw_expand_charge(ex, span, 1); i++) {
        run_iteration(ex, statement, scope, i);
        if (mw_diags_error_count(ex->diags) != errors)
            break;
    }
    ex->frame->scope = outer;
    ex->graph->origin = origin;
}

/* ---- statements ---- */

static void bind_targets(MwExpander *ex, const MwStatement *statement, MwTerm term)
{
    const MwNames *targets = &statement->let.targets;
    if (targets->count == 1) {
        mw_name_bind(ex, targets->at[0], term);
        mw_annotate_values(ex, &statement->annotations, &term, 1);
        return;
    }
    int given = term.kind == MW_TERM_LIST ? term.list.count : 1;
    bool fits = given == targets->count;
    if (!fits && term.kind != MW_TERM_NONE)
        mw_expand_error(ex, statement->span, "%d names for %d %s", targets->count, given,
                        given == 1 ? "value" : "values");
    for (int i = 0; i < targets->count; i++)
        mw_name_bind(ex, targets->at[i],
                     fits && term.kind == MW_TERM_LIST ? term.list.at[i] : mw_term_none());
    if (fits && term.kind == MW_TERM_LIST)
        mw_annotate_values(ex, &statement->annotations, term.list.at, term.list.count);
}

/* The value of a statement, whose nodes are as its annotations say. */
static MwTerm eval_annotated(MwExpander *ex, const MwStatement *statement, MwTargets targets)
{
    MwOrigin origin = ex->graph->origin;
    MwPhase phase = ex->graph->phase;
    MwTerm term = mw_term_none();
    if (mw_annotate_nodes(ex, &statement->annotations))
        term = mw_eval(ex, statement->let.value, targets);
    ex->graph->origin = origin;
    ex->graph->phase = phase;
    return term;
}

static void run_let(MwExpander *ex, const MwStatement *statement)
{
    const MwNames *targets = &statement->let.targets;
    const char **names = MW_NEW(ex->arena, const char *, targets->count);
    for (int i = 0; i < targets->count; i++)
        names[i] = mw_name_in_scope(ex, targets->at[i].text);
    MwTerm term = eval_annotated(ex, statement, (MwTargets){names, targets->count});
    bind_targets(ex, statement, term);
}

static void add_output(MwExpander *ex, MwName name, MwValueId value)
{
    if (mw_expand_once(ex, &ex->outputs, name.text, name.span, "an output"))
        mw_vec_push(ex->arena, &ex->graph->outputs, ((MwOutput){name.text, value}));
}

/* `output NAME = EXPRESSION` */
static void run_output_value(MwExpander *ex, const MwStatement *statement)
{
    MwName name = statement->let.targets.at[0];
    MwWant want = {mw_arena_printf(ex->arena, "output '%s'", name.text), name.span};
    const char *full = mw_name_in_scope(ex, name.text);
    MwTerm term = eval_annotated(ex, statement, (MwTargets){&full, 1});
    MwValueId value;
    if (!mw_want_tensor(ex, term, want, &value))
        return;
    add_output(ex, name, value);
    mw_annotate_values(ex, &statement->annotations, &term, 1);
}

/* `output NAME, …`: its annotations pin values that stand already. */
static void run_output_names(MwExpander *ex, const MwStatement *statement)
{
    const MwNames *names = &statement->let.targets;
    MwTerm *terms = MW_NEW(ex->arena, MwTerm, names->count);
    for (int i = 0; i < names->count; i++) {
        MwValueId value;
        if (!name_tensor(ex, names->at[i], &value))
            continue;
        add_output(ex, names->at[i], value);
        terms[i] = mw_term_tensor(value);
    }
    if (mw_annotate_check_pins(ex, &statement->annotations))
        mw_annotate_values(ex, &statement->annotations, terms, names->count);
}

static void run_output(MwExpander *ex, const MwStatement *statement)
{
    if (statement->let.value)
        run_output_value(ex, statement);
    else
        run_output_names(ex, statement);
}

static void run_assign(MwExpander *ex, const MwStatement *statement)
{
    MwName name = statement->assign.target;
    MwValueId target, value;
    MwTerm term = mw_eval(ex, statement->assign.value, mw_one_value());
    MwWant want = {"what is assigned", statement->assign.value->span};
    if (!name_tensor(ex, name, &target) || !mw_want_tensor(ex, term, want, &value))
        return;
    MwOp op = mw_value_node(ex->graph, target)->op;
    if (op != MW_OP_WEIGHT && op != MW_OP_STATE)
        mw_expand_error(ex, name.span, "only a weight or a state can be assigned, and '%s' is none",
                        name.text);
    else if (!mw_tensor_equal(mw_value_tensor(ex->graph, target),
                              mw_value_tensor(ex->graph, value)))
        mw_expand_error(ex, statement->span, "cannot assign %s to '%s', which is %s",
                        mw_term_describe(ex, term), name.text,
                        mw_term_describe(ex, mw_term_tensor(target)));
    else if (mw_expand_once(ex, &ex->assigned, mw_value(ex->graph, target)->name, name.span,
                            "an assignment to"))
        mw_vec_push(ex->arena, &ex->graph->assigns, ((MwAssign){target, value}));
}

/* An entry of MwGraph.repeats, as a dump has them: its nodes refer to it. */
static void run_repeated(MwExpander *ex, const MwStatement *statement)
{
    MwRepeat repeat = {.name = statement->repeated.name.text, .parent = -1, .parent_iteration = -1};
    MwWant want = {"the count of a repeat", statement->repeated.count->span};
    int64_t count;
    if (!mw_want_int(ex, mw_eval(ex, statement->repeated.count, mw_one_value()), want, &count))
        return;
    if (count < 0 || count > MW_MAX_STEPS) {
        mw_expand_error(ex, want.span, "cannot repeat %lld times", (long long)count);
        return;
    }
    repeat.count = (int)count;
    if (statement->repeated.parent && !mw_annotate_repeat(ex, statement->repeated.parent,
                                                          &repeat.parent, &repeat.parent_iteration))
        return;
    mw_vec_push(ex->arena, &ex->graph->repeats, repeat);
}

static void run_precision(MwExpander *ex, const MwStatement *statement)
{
    MwType type = MW_I32;
    if (ex->precision.source) {
        mw_expand_note(ex, ex->precision, "the first is here");
        mw_expand_error(ex, statement->span, "a model has one precision");
    } else if (!mw_type_parse(statement->precision.text, &type) || !mw_type_is_float(type)) {
        mw_expand_error(ex, statement->span, "a precision is f32 or bf16, not '%s'",
                        statement->precision.text);
    } else {
        ex->precision = statement->span;
        ex->graph->precision = type;
    }
}

static void run_statement(MwExpander *ex, const MwStatement *statement)
{
    switch (statement->kind) {
    case MW_STATEMENT_INPUT:
    case MW_STATEMENT_WEIGHT:
    case MW_STATEMENT_STATE:
        mw_statement_declare(ex, statement);
        break;
    case MW_STATEMENT_LET:
        run_let(ex, statement);
        break;
    case MW_STATEMENT_REPEAT:
        run_repeat(ex, statement);
        break;
    case MW_STATEMENT_REPEATED:
        run_repeated(ex, statement);
        break;
    case MW_STATEMENT_RETURN:
        run_return(ex, statement);
        break;
    case MW_STATEMENT_OUTPUT:
        run_output(ex, statement);
        break;
    case MW_STATEMENT_ASSIGN:
        run_assign(ex, statement);
        break;
    case MW_STATEMENT_PRECISION:
        run_precision(ex, statement);
        break;
    case MW_STATEMENT_TRAIN:
        mw_statement_train(ex, statement);
        break;
    }
}

static void run_body(MwExpander *ex, const MwBody *body)
{
    for (int i = 0; i < body->count; i++) {
        if (!mw_expand_enter(ex, body->at[i]->span))
            return;
        run_statement(ex, body->at[i]);
        mw_expand_leave(ex);
    }
}

/* ---- the file ---- */

static void run_model(MwExpander *ex, const MwItem *item)
{
    ex->graph->name = item->name.text;
    MwFrame frame = {
        .block = item->block, .scope = mw_intern(ex->interner, ""), .names = {.arena = ex->arena}};
    ex->frame = &frame;
    reserve_body(ex, &item->block->body);
    run_body(ex, &item->block->body);
    ex->frame = NULL;
    const MwGraph *graph = ex->graph;
    bool any = graph->outputs.count || graph->assigns.count || mw_has_value(graph->train.loss);
    if (!any && mw_diags_error_count(ex->diags) == ex->first_errors)
        mw_expand_error(ex, item->span,
                        "model '%s' computes nothing: it has neither 'train' nor "
                        "'output'",
                        item->name.text);
}

static void add_block(MwExpander *ex, const MwItem *item)
{
    const char *name = item->name.text;
    if (mw_function_exists(name)) {
        mw_expand_error(ex, item->span, "'%s' is a function of the language; choose another name",
                        name);
        return;
    }
    void **slot = mw_name_map_add(&ex->blocks, name);
    if (*slot) {
        mw_expand_note(ex, ((MwBlockState *)*slot)->span, "it is here");
        mw_expand_error(ex, item->span, "there already is a block '%s'", name);
        return;
    }
    MwBlockState *state = MW_NEW(ex->arena, MwBlockState, 1);
    *state = (MwBlockState){.block = item->block, .span = item->span};
    *slot = state;
}

/* The one model among the items. */
static const MwItem *find_model(MwExpander *ex, const char *name, const MwItems *items)
{
    const MwItem *model = NULL;
    for (int i = 0; i < items->count; i++) {
        const MwItem *item = &items->at[i];
        if (item->kind != MW_ITEM_MODEL)
            continue;
        if (model) {
            mw_expand_note(ex, model->span, "the first is here");
            mw_expand_error(ex, item->span, "a file has one model");
        }
        model = model ? model : item;
    }
    if (!model)
        mw_expand_error(ex, mw_span_none(), "%s has no model", name);
    return model;
}

MwGraph *mw_expand(MwArena *arena, MwInterner *interner, const char *name, const MwItems *items,
                   const MwDefine *defines, int define_count, MwDiags *diags)
{
    MwExpander ex = {.arena = arena,
                     .interner = interner,
                     .diags = diags,
                     .graph = mw_graph_new(arena, interner, ""),
                     .sizes = {.arena = arena},
                     .blocks = {.arena = arena},
                     .values = {.arena = arena},
                     .scopes = {.arena = arena},
                     .outputs = {.arena = arena},
                     .assigned = {.arena = arena},
                     .pinned = {.arena = arena},
                     .first_errors = mw_diags_error_count(diags)};
    for (int i = 0; i < items->count; i++)
        if (items->at[i].kind == MW_ITEM_BLOCK)
            add_block(&ex, &items->at[i]);
    const MwItem *model = find_model(&ex, name, items);
    bool placed = mw_placement_check(items, diags);
    mw_sizes_compute(&ex, items, defines, define_count);
    if (model && placed && mw_diags_error_count(diags) == ex.first_errors)
        run_model(&ex, model);
    return mw_diags_error_count(diags) == ex.first_errors ? ex.graph : NULL;
}
