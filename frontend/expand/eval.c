/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/expand/eval.h"

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
    mw_expand_error(ex, expr->span, "unknown name '%s'%s", name, mw_expand_hint(ex, name, &known));
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

static MwOp binary_op(MwBinary op)
{
    static const MwOp ops[] = {[MW_BINARY_ADD] = MW_OP_ADD, [MW_BINARY_SUB] = MW_OP_SUB,
                               [MW_BINARY_MUL] = MW_OP_MUL, [MW_BINARY_DIV] = MW_OP_DIV,
                               [MW_BINARY_LT] = MW_OP_LT,   [MW_BINARY_LE] = MW_OP_LE,
                               [MW_BINARY_GT] = MW_OP_GT,   [MW_BINARY_GE] = MW_OP_GE,
                               [MW_BINARY_EQ] = MW_OP_EQ,   [MW_BINARY_FLOOR_DIV] = MW_OP_FLOOR_DIV,
                               [MW_BINARY_MOD] = MW_OP_MOD, [MW_BINARY_NE] = MW_OP_NE,
                               [MW_BINARY_AND] = MW_OP_AND, [MW_BINARY_OR] = MW_OP_OR};
    return ops[op];
}

static MwTerm eval_binary(MwExpander *ex, const MwExpr *expr, MwTargets targets)
{
    MwTerm terms[] = {mw_eval(ex, expr->binary.left, mw_one_value()),
                      mw_eval(ex, expr->binary.right, mw_one_value())};
    if (terms[0].kind == MW_TERM_NONE || terms[1].kind == MW_TERM_NONE)
        return mw_term_none();
    MwSite site = {expr->span, targets};
    switch (expr->binary.op) {
    case MW_BINARY_MATMUL:
        return eval_matmul(ex, expr, site, terms);
    case MW_BINARY_POW:
        return eval_power(ex, site, terms);
    default:
        return mw_apply(ex, site, binary_op(expr->binary.op), terms, 2);
    }
}

bool mw_eval_call(MwExpander *ex, MwCall *call, const MwArgs *args)
{
    int *formal = MW_NEW(ex->arena, int, args->count);
    bool ok = mw_call_match(ex, call, args, formal);
    for (int i = 0; i < args->count; i++) {
        if (formal[i] < 0)
            continue;
        MwTerm term = mw_eval(ex, args->at[i].value, mw_one_value());
        mw_call_give(call, formal[i], &args->at[i], term);
        ok &= term.kind != MW_TERM_NONE;
    }
    return ok;
}

static MwTerm eval_call(MwExpander *ex, const MwExpr *expr, MwTargets targets)
{
    MwBlockState *block = mw_name_map_get(&ex->blocks, expr->call.callee.text);
    if (block)
        return ex->call_block(ex, block, expr);
    MwFunctionCall function;
    bool ok = mw_function_begin(ex, (MwSite){expr->span, targets}, &expr->call.callee, &function) &&
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
    case MW_EXPR_UNARY: {
        MwTerm operand = mw_eval(ex, expr->unary.operand, mw_one_value());
        MwOp op = expr->unary.op == MW_UNARY_MINUS ? MW_OP_NEG : MW_OP_NOT;
        return mw_apply(ex, (MwSite){expr->span, targets}, op, &operand, 1);
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
