/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/expand/eval.h"

#include "frontend/expand/index.h"
#include "frontend/functions/functions.h"
#include "frontend/terms/fold.h"
#include "frontend/terms/matmul.h"
#include "frontend/terms/names.h"

#include <math.h>
#include <string.h>

static MwTerm unknown_name(MwExpander *ex, const MwExpr *expr)
{
    const char *name = expr->text;
    if (mw_name_map_get(&ex->blocks, name) || mw_function_exists(name)) {
        mw_expand_error(ex, expr->span, "'%s' is called with arguments, as in %s(x)", name, name);
        return mw_term_none();
    }
    MwKnown known = {0};
    if (ex->frame)
        for (int i = 0; i < ex->frame->names.entries.count; i++)
            mw_vec_push(ex->arena, &known, ex->frame->names.entries.at[i].name);
    for (int i = 0; i < ex->sizes.entries.count; i++)
        mw_vec_push(ex->arena, &known, ex->sizes.entries.at[i].name);
    mw_names_predefined(ex, &known);
    const char *text = mw_foreign_text(MW_FOREIGN_VALUE, name);
    if (!strchr(name, '.') && mw_foreign_spelling(name, &known))
        text = NULL;
    if (ex->frame && mw_name_map_find(&ex->frame->ended, name))
        text = mw_arena_printf(ex->arena,
                               "it ends with each step of the scan; 'collect all_%s = %s' there "
                               "keeps those of all steps",
                               name, name);
    if (text)
        mw_expand_note(ex, mw_span_none(), "%s", text);
    mw_expand_error(ex, expr->span, "unknown name '%s'%s", name,
                    text ? "" : mw_expand_hint(ex, name, &known));
    return mw_term_none();
}

static MwTerm eval_name(MwExpander *ex, const MwExpr *expr)
{
    MwTerm term;
    return mw_name_find(ex, expr->text, &term) ? term : unknown_name(ex, expr);
}

static MwTerm eval_list(MwExpander *ex, const MwExpr *expr)
{
    MwTerm *at = MW_NEW(ex->arena, MwTerm, expr->list.count);
    bool whole = true;
    for (int i = 0; i < expr->list.count; i++) {
        at[i] = mw_eval(ex, expr->list.at[i], mw_one_value());
        whole &= at[i].kind != MW_TERM_NONE;
    }
    return whole ? mw_term_list(at, expr->list.count) : mw_term_none();
}

/* The elements of a list; those of a whole number n are 0 to n - 1. */
static bool read_elements(MwExpander *ex, const MwExpr *expr, MwTerm *list)
{
    MwTerm over = mw_eval(ex, expr, mw_one_value());
    *list = over;
    if (over.kind == MW_TERM_LIST || over.kind == MW_TERM_NONE)
        return over.kind == MW_TERM_LIST;
    if (over.kind != MW_TERM_INT || over.i < 0) {
        if (over.kind == MW_TERM_TENSOR)
            mw_expand_note(ex, mw_span_none(), "unstack(x) makes a list of a tensor");
        mw_expand_error(ex, expr->span, "'for' runs over a list or a count, not over %s",
                        mw_term_describe(ex, over));
        return false;
    }
    if (!mw_expand_charge(ex, expr->span, over.i))
        return false;
    *list = mw_term_list(MW_NEW(ex->arena, MwTerm, over.i), (int)over.i);
    for (int i = 0; i < list->list.count; i++)
        list->list.at[i] = mw_term_int(i);
    return true;
}

/* `[for name in over: value]`: the value with each element of `over` as `name`. */
static MwTerm eval_each(MwExpander *ex, const MwExpr *expr)
{
    MwTerm over;
    if (!mw_name_check(ex, expr->each.name) || !read_elements(ex, expr->each.over, &over))
        return mw_term_none();
    MwLocal local = {.outer = ex->local, .name = expr->each.name.text};
    MwTerm *at = MW_NEW(ex->arena, MwTerm, over.list.count);
    bool whole = true;
    ex->local = &local;
    for (int i = 0; i < over.list.count && whole; i++) {
        local.term = over.list.at[i];
        at[i] = mw_eval(ex, expr->each.value, mw_one_value());
        whole = at[i].kind != MW_TERM_NONE;
    }
    ex->local = local.outer;
    return whole ? mw_term_list(at, over.list.count) : mw_term_none();
}

/* The meaning of an expression in `[ ]`, which may be NULL. False after an error. */
static bool eval_in_place(MwExpander *ex, const MwExpr *expr, MwTerm *term)
{
    *term = expr ? mw_eval(ex, expr, mw_one_value()) : mw_term_none();
    return !expr || term->kind != MW_TERM_NONE;
}

static MwTerm eval_index(MwExpander *ex, const MwExpr *expr, MwTargets targets)
{
    const MwTerm of = mw_eval(ex, expr->index.of, mw_one_value());
    MwPlaces places = {0};
    bool whole = of.kind != MW_TERM_NONE;
    for (int i = 0; i < expr->index.items.count; i++) {
        const MwIndexItem *item = &expr->index.items.at[i];
        MwPlace place = {.item = item};
        whole &= eval_in_place(ex, item->at, &place.at) &&
                 eval_in_place(ex, item->begin, &place.begin) &&
                 eval_in_place(ex, item->end, &place.end) &&
                 eval_in_place(ex, item->stride, &place.stride);
        mw_vec_push(ex->arena, &places, place);
    }
    const MwSite site = {expr->span, targets, "'[ ]'"};
    return whole ? mw_index(ex, site, of, &places) : mw_term_none();
}

/* x ** 2, x ** 0.5 and x ** -0.5 have cheaper operators than the general power. */
static MwTerm eval_power(MwExpander *ex, MwSite site, const MwTerm *terms)
{
    double exponent = mw_term_is_number(terms[1]) ? mw_term_number(terms[1]) : NAN;
    if (terms[0].kind == MW_TERM_TENSOR && exponent == 2)
        return mw_apply(ex, site, MW_OP_MUL, (MwTerm[]){terms[0], terms[0]}, 2);
    if (terms[0].kind == MW_TERM_TENSOR && exponent == 0.5)
        return mw_apply(ex, site, MW_OP_SQRT, terms, 1);
    if (terms[0].kind == MW_TERM_TENSOR && exponent == -0.5)
        return mw_apply(ex, site, MW_OP_RSQRT, terms, 1);
    return mw_apply(ex, site, MW_OP_POW, terms, 2);
}

static MwTerm eval_matmul(MwExpander *ex, const MwExpr *expr, MwSite site, const MwTerm *terms)
{
    MwValueId a, b;
    bool ok = mw_want_tensor(ex, terms[0], (MwWant){"the left of @", expr->binary.left->span}, &a);
    ok &= mw_want_tensor(ex, terms[1], (MwWant){"the right of @", expr->binary.right->span}, &b);
    return ok ? mw_term_tensor(mw_emit_matmul(ex, site, a, b)) : mw_term_none();
}

/* What each binary operator is, and what messages call it. */
static const struct {
    const char *text;
    MwOp op; /* of those that are no more than an operator of the graph */
} binaries[] = {
    [MW_BINARY_ADD] = {"'+'", MW_OP_ADD},
    [MW_BINARY_SUB] = {"'-'", MW_OP_SUB},
    [MW_BINARY_MUL] = {"'*'", MW_OP_MUL},
    [MW_BINARY_DIV] = {"'/'", MW_OP_DIV},
    [MW_BINARY_FLOOR_DIV] = {"'//'", MW_OP_FLOOR_DIV},
    [MW_BINARY_MOD] = {"'%'", MW_OP_MOD},
    [MW_BINARY_LT] = {"'<'", MW_OP_LT},
    [MW_BINARY_LE] = {"'<='", MW_OP_LE},
    [MW_BINARY_GT] = {"'>'", MW_OP_GT},
    [MW_BINARY_GE] = {"'>='", MW_OP_GE},
    [MW_BINARY_EQ] = {"'=='", MW_OP_EQ},
    [MW_BINARY_NE] = {"'!='", MW_OP_NE},
    [MW_BINARY_AND] = {"'and'", MW_OP_AND},
    [MW_BINARY_OR] = {"'or'", MW_OP_OR},
    [MW_BINARY_MATMUL] = {.text = "'@'"},
    [MW_BINARY_POW] = {.text = "'**'"},
};

/* Whether the left of `and` or `or` is a constant that decides alone. */
static bool decides(MwBinary op, MwTerm left)
{
    return left.kind == MW_TERM_BOOL &&
           ((op == MW_BINARY_AND && !left.b) || (op == MW_BINARY_OR && left.b));
}

static MwTerm eval_binary(MwExpander *ex, const MwExpr *expr, MwTargets targets)
{
    MwTerm terms[2] = {mw_eval(ex, expr->binary.left, mw_one_value())};
    if (decides(expr->binary.op, terms[0]))
        return terms[0];
    terms[1] = mw_eval(ex, expr->binary.right, mw_one_value());
    if (terms[0].kind == MW_TERM_NONE || terms[1].kind == MW_TERM_NONE)
        return mw_term_none();
    const MwSite site = {expr->span, targets, binaries[expr->binary.op].text};
    switch (expr->binary.op) {
    case MW_BINARY_MATMUL:
        return eval_matmul(ex, expr, site, terms);
    case MW_BINARY_POW:
        return eval_power(ex, site, terms);
    default:
        return mw_apply(ex, site, binaries[expr->binary.op].op, terms, 2);
    }
}

/* Evaluates the arguments that are for formals `first` up to, not including, `end`. */
static bool eval_args(MwExpander *ex, MwCall *call, const MwArgs *args, const int *formal,
                      int first, int end)
{
    bool ok = true;
    for (int i = 0; i < args->count; i++) {
        if (formal[i] < first || formal[i] >= end)
            continue;
        MwTerm term = mw_eval(ex, args->at[i].value, mw_one_value());
        mw_call_give(call, formal[i], &args->at[i], term);
        ok &= term.kind != MW_TERM_NONE;
    }
    return ok;
}

bool mw_eval_call(MwExpander *ex, MwCall *call, const MwArgs *args)
{
    int *formal = MW_NEW(ex->arena, int, args->count);
    bool ok = mw_call_match(ex, call, args, formal);
    int count = call->formal_count, chosen = 1;
    if (!count || !call->formals[0].chooses)
        return eval_args(ex, call, args, formal, 0, count) && ok;
    if (!eval_args(ex, call, args, formal, 0, 1) || !ok)
        return false;
    MwTerm condition = call->given[0].term;
    if (condition.kind != MW_TERM_BOOL)
        return eval_args(ex, call, args, formal, 1, count);
    chosen += !condition.b;
    return eval_args(ex, call, args, formal, chosen, chosen + 1);
}

/* The block that a call in the current frame means; NULL: a function. A block may replace the
 * function of its name, which in its own body is still that function. */
static MwBlockState *find_block(const MwExpander *ex, const char *name)
{
    MwBlockState *block = mw_name_map_get(&ex->blocks, name);
    const bool is_own = block && ex->frame && ex->frame->block == block->block;
    return is_own && mw_function_exists(name) ? NULL : block;
}

bool mw_calls_block(const MwExpander *ex, const MwExpr *expr)
{
    return find_block(ex, expr->call.callee.text) != NULL;
}

static MwTerm eval_call(MwExpander *ex, const MwExpr *expr, MwTargets targets)
{
    MwBlockState *block = find_block(ex, expr->call.callee.text);
    if (block)
        return ex->call_block(ex, block, expr);
    MwFunctionCall function;
    const MwSite site = {expr->span, targets, expr->call.callee.text};
    bool ok = mw_function_begin(ex, site, &expr->call.callee, &function) &&
              mw_eval_call(ex, &function.call, &expr->call.args);
    return ok ? mw_function_expand(ex, &function) : mw_term_none();
}

static MwTerm eval(MwExpander *ex, const MwExpr *expr, MwTargets targets)
{
    switch (expr->kind) {
    case MW_EXPR_INT:
        return mw_term_int(expr->i);
    case MW_EXPR_FLOAT:
        return mw_term_float(expr->f);
    case MW_EXPR_TEXT:
        return mw_term_text(expr->text);
    case MW_EXPR_BOOL:
        return mw_term_bool(expr->b);
    case MW_EXPR_NAME:
        return eval_name(ex, expr);
    case MW_EXPR_LIST:
        return eval_list(ex, expr);
    case MW_EXPR_EACH:
        return eval_each(ex, expr);
    case MW_EXPR_INDEX:
        return eval_index(ex, expr, targets);
    case MW_EXPR_UNARY: {
        MwTerm operand = mw_eval(ex, expr->unary.operand, mw_one_value());
        const bool is_minus = expr->unary.op == MW_UNARY_MINUS;
        const MwSite site = {expr->span, targets, is_minus ? "'-'" : "'not'"};
        return mw_apply(ex, site, is_minus ? MW_OP_NEG : MW_OP_NOT, &operand, 1);
    }
    case MW_EXPR_BINARY:
        return eval_binary(ex, expr, targets);
    case MW_EXPR_CALL:
        return eval_call(ex, expr, targets);
    }
    MW_UNREACHABLE();
}

MwTerm mw_eval(MwExpander *ex, const MwExpr *expr, MwTargets targets)
{
    if (!mw_expand_enter(ex, expr->span))
        return mw_term_none();
    MwTerm term = eval(ex, expr, targets);
    mw_expand_leave(ex);
    return term;
}
