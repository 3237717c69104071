/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bodies: the statements of the model and of blocks, each adding its nodes. A call of a block runs
 * its body in a new frame and scope; a repeat runs its body once an iteration in the frame around
 * it, each time in a new scope. */
#include "frontend/expand/body.h"

#include "frontend/expand/annotate.h"
#include "frontend/expand/eval.h"
#include "frontend/expand/scan.h"
#include "frontend/expand/scope.h"
#include "frontend/expand/statements.h"
#include "frontend/terms/names.h"

/* ---- blocks ---- */

static void run_block(MwExpander *ex, MwBlockState *state, MwFrame *frame)
{
    int errors = mw_diags_error_count(ex->diags);
    MwOrigin origin = ex->graph->origin;
    state->active = true;
    ex->frame = frame;
    ex->graph->origin.scope = frame->scope;
    mw_body_run(ex, &state->block->body);
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
    if (!mw_eval_call(ex, &call, &expr->call.args) || state->broken)
        return mw_term_none();
    if (state->active) {
        mw_expand_error(ex, expr->span, "block '%s' calls itself", block->name.text);
        return mw_term_none();
    }
    if (!ex->frame) {
        mw_expand_error(ex, expr->span, "a size cannot be computed by a block");
        return mw_term_none();
    }
    const char *path = ex->call_scope;
    MwFrame *frame = MW_NEW(ex->arena, MwFrame, 1);
    *frame = (MwFrame){.parent = ex->frame,
                       .block = block,
                       .call = expr->span,
                       .scope = mw_scope_enter_block(ex, path ? path : block->name.text),
                       .names = {.arena = ex->arena},
                       .ended = {.arena = ex->arena}};
    const MwLocal *local = ex->local;
    ex->local = NULL; /* the names of comprehensions are the caller's */
    ex->call_scope = NULL;
    if (bind_params(ex, block, &call, frame))
        run_block(ex, state, frame);
    ex->local = local;
    ex->call_scope = path;
    return frame->result;
}

static void eval_results(MwExpander *ex, const MwExprs *results)
{
    if (results->count == 1) {
        /* The value that the block computes last gets the name of its scope. */
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
        ex->frame->result = mw_term_list(terms, results->count);
}

static void run_return(MwExpander *ex, const MwStatement *statement)
{
    const MwExprs *results = &statement->results;
    const MwOrigin origin = ex->graph->origin;
    ex->frame->has_returned = true;
    if (mw_annotate_nodes(ex, &statement->annotations) &&
        mw_scope_begin(ex, &statement->annotations, results->at, results->count))
        eval_results(ex, results);
    mw_scope_end(ex);
    ex->graph->origin = origin;
}

/* ---- repeats ---- */

/* How often to repeat. */
static bool read_count(MwExpander *ex, const MwExpr *expr, int *count)
{
    MwTerm term = mw_eval(ex, expr, mw_one_value());
    int64_t given;
    if (!mw_want_int(ex, term, (MwWant){"the count of a repeat", expr->span}, &given))
        return false;
    *count = (int)given;
    if (given >= 0 && given <= MW_MAX_STEPS)
        return true;
    mw_expand_error(ex, expr->span, "cannot repeat %lld times", (long long)given);
    return false;
}

/* The name of the repetition is that of its count, or else of its index. */
static const char *repeat_name(MwExpander *ex, const MwStatement *statement)
{
    if (statement->repeat.count->kind == MW_EXPR_NAME)
        return statement->repeat.count->text;
    if (statement->repeat.index.text)
        return statement->repeat.index.text;
    return mw_intern(ex->interner, "repeat_");
}

/* The scope of the iteration of that number. Where the repeat says a path, several may say the same
 * one for iterations of their own. */
static const char *iteration_scope(MwExpander *ex, const char *name, const char *path,
                                   long long number)
{
    if (!path)
        return mw_intern_printf(ex->interner, "%s.%lld", name, number);
    return mw_scope_enter_block(
        ex, mw_intern_printf(ex->interner, "%s%s%lld", path, *path ? "." : "", number));
}

/* Iteration i. Its number as the index is `number`. */
static void run_iteration(MwExpander *ex, const MwStatement *statement, const char *scope, int i,
                          int64_t number)
{
    ex->frame->scope = scope;
    ex->graph->origin.scope = ex->frame->scope;
    ex->graph->origin.iteration = i;
    if (statement->repeat.index.text)
        mw_name_bind(ex, statement->repeat.index, mw_term_int(number));
    mw_body_run(ex, &statement->repeat.body);
}

static void run_repeat(MwExpander *ex, const MwStatement *statement)
{
    MwSpan span = statement->repeat.count->span;
    MwRepeatScope given = {0};
    int count;
    if (!read_count(ex, statement->repeat.count, &count) ||
        !mw_annotate_repeat_scope(ex, &statement->annotations, &given))
        return;
    MwOrigin origin = ex->graph->origin;
    const char *outer = ex->frame->scope;
    const char *name = repeat_name(ex, statement);
    const char *scope = given.path ? NULL : mw_scope_enter_repeat(ex, name);
    ex->graph->origin.repeat = ex->graph->repeats.count;
    mw_vec_push(
        ex->arena, &ex->graph->repeats,
        ((MwRepeat){name, count, origin.repeat, origin.repeat < 0 ? -1 : origin.iteration}));
    int errors = mw_diags_error_count(ex->diags);
    for (int i = 0; i < count && mw_expand_charge(ex, span, 1); i++) {
        const int64_t number = (int64_t)given.first + i;
        ex->frame->scope = outer;
        run_iteration(ex, statement, iteration_scope(ex, scope, given.path, number), i, number);
        if (mw_diags_error_count(ex->diags) != errors)
            break;
    }
    ex->frame->scope = outer;
    ex->graph->origin = origin;
}

/* An entry of MwGraph.repeats, as a dump has them: its nodes refer to it. */
static void run_repeated(MwExpander *ex, const MwStatement *statement)
{
    MwRepeat repeat = {.name = statement->repeated.name.text, .parent = -1, .parent_iteration = -1};
    if (!read_count(ex, statement->repeated.count, &repeat.count))
        return;
    if (statement->repeated.parent && !mw_annotate_repeat(ex, statement->repeated.parent,
                                                          &repeat.parent, &repeat.parent_iteration))
        return;
    mw_vec_push(ex->arena, &ex->graph->repeats, repeat);
}

/* ---- choices ---- */

/* Gives the names that a body defines no meaning, after an error. */
static void bind_nothing(MwExpander *ex, const MwBody *body)
{
    for (int i = 0; i < body->count; i++) {
        const MwStatement *statement = body->at[i];
        if (mw_statement_names(statement))
            for (int k = 0; k < statement->let.targets.count; k++)
                mw_name_bind(ex, statement->let.targets.at[k], mw_term_none());
    }
}

/* Runs the branch that the condition chooses, in the frame and scope around it. */
static void run_choice(MwExpander *ex, const MwStatement *statement)
{
    const MwExpr *condition = statement->choice.condition;
    MwTerm term = mw_eval(ex, condition, mw_one_value());
    bool yes;
    if (term.kind == MW_TERM_TENSOR)
        mw_expand_note(ex, mw_span_none(), "where(condition, a, b) chooses between elements");
    if (mw_want_bool(ex, term, (MwWant){"the condition of 'if'", condition->span}, &yes)) {
        mw_body_run(ex, yes ? &statement->choice.yes : &statement->choice.no);
    } else {
        bind_nothing(ex, &statement->choice.yes);
        bind_nothing(ex, &statement->choice.no);
    }
}

/* ---- statements ---- */

static void run_statement(MwExpander *ex, const MwStatement *statement)
{
    switch (statement->kind) {
    case MW_STATEMENT_INPUT:
    case MW_STATEMENT_WEIGHT:
    case MW_STATEMENT_STATE:
        mw_statement_declare(ex, statement);
        break;
    case MW_STATEMENT_LET:
        mw_statement_let(ex, statement);
        break;
    case MW_STATEMENT_REPEAT:
        run_repeat(ex, statement);
        break;
    case MW_STATEMENT_REPEATED:
        run_repeated(ex, statement);
        break;
    case MW_STATEMENT_SCAN:
        mw_scan_run(ex, statement, mw_body_run);
        break;
    case MW_STATEMENT_COLLECT:
        mw_statement_collect(ex, statement);
        break;
    case MW_STATEMENT_IF:
        run_choice(ex, statement);
        break;
    case MW_STATEMENT_RETURN:
        run_return(ex, statement);
        break;
    case MW_STATEMENT_OUTPUT:
        mw_statement_output(ex, statement);
        break;
    case MW_STATEMENT_SHOW:
        mw_statement_show(ex, statement);
        break;
    case MW_STATEMENT_ASSIGN:
        mw_statement_assign(ex, statement);
        break;
    case MW_STATEMENT_PRECISION:
        mw_statement_precision(ex, statement);
        break;
    case MW_STATEMENT_TRAIN:
        mw_statement_train(ex, statement);
        break;
    }
}

/* Keeps the names that the statements of a body declare, whose scope begins. Those of both branches
 * of a choice are kept, so that names do not depend on which is taken. The nesting of brackets and
 * the grammar's stack bound the recursion. */
static void reserve_names(MwExpander *ex, const MwBody *body)
{
    for (int i = 0; i < body->count; i++) {
        const MwStatement *statement = body->at[i];
        MwStatementKind kind = statement->kind;
        if (kind == MW_STATEMENT_WEIGHT || kind == MW_STATEMENT_INPUT || kind == MW_STATEMENT_STATE)
            mw_name_reserve(ex, statement->declare.name.text);
        if (kind != MW_STATEMENT_IF)
            continue;
        reserve_names(ex, &statement->choice.yes);
        reserve_names(ex, &statement->choice.no);
    }
}

void mw_body_run(MwExpander *ex, const MwBody *body)
{
    reserve_names(ex, body);
    for (int i = 0; i < body->count; i++) {
        if (!mw_expand_enter(ex, body->at[i]->span))
            return;
        run_statement(ex, body->at[i]);
        mw_expand_leave(ex);
        if (ex->frame->has_returned)
            return;
    }
}
