/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/syntax/make.h"

MwExpr *mw_new_expr(MwArena *arena, MwExprKind kind, MwSpan span)
{
    MwExpr *expr = MW_NEW(arena, MwExpr, 1);
    expr->kind = kind;
    expr->span = span;
    return expr;
}

MwExpr *mw_new_unary(MwArena *arena, MwUnary op, MwExpr *operand, MwSpan span)
{
    MwExpr *expr = mw_new_expr(arena, MW_EXPR_UNARY, span);
    expr->unary.op = op;
    expr->unary.operand = operand;
    return expr;
}

MwExpr *mw_new_binary(MwArena *arena, MwBinary op, MwExpr *left, MwExpr *right)
{
    MwExpr *expr = mw_new_expr(arena, MW_EXPR_BINARY, mw_span_join(left->span, right->span));
    expr->binary.op = op;
    expr->binary.left = left;
    expr->binary.right = right;
    return expr;
}

MwExpr *mw_new_name(MwArena *arena, MwExprKind kind, MwName name)
{
    MwExpr *expr = mw_new_expr(arena, kind, name.span);
    expr->text = name.text;
    return expr;
}

MwExpr *mw_new_each(MwArena *arena, MwName name, MwExpr *over, MwExpr *value, MwSpan span)
{
    MwExpr *expr = mw_new_expr(arena, MW_EXPR_EACH, span);
    expr->each.name = name;
    expr->each.over = over;
    expr->each.value = value;
    return expr;
}

MwExpr *mw_new_index(MwArena *arena, MwExpr *of, const MwIndexItems *items, MwSpan span)
{
    MwExpr *expr = mw_new_expr(arena, MW_EXPR_INDEX, span);
    expr->index.of = of;
    expr->index.items = *items;
    return expr;
}

MwExpr *mw_new_call(MwArena *arena, MwName callee, const MwArgs *args, MwSpan span)
{
    MwExpr *expr = mw_new_expr(arena, MW_EXPR_CALL, span);
    expr->call.callee = callee;
    expr->call.args = *args;
    return expr;
}

MwStatement *mw_new_statement(MwArena *arena, MwStatementKind kind, MwSpan span)
{
    MwStatement *statement = MW_NEW(arena, MwStatement, 1);
    statement->kind = kind;
    statement->span = span;
    return statement;
}

MwStatement *mw_new_declare(MwArena *arena, MwStatementKind kind, MwName name, MwTypeExpr type,
                            MwExpr *init)
{
    MwSpan end = init ? init->span : type.span;
    MwStatement *statement = mw_new_statement(arena, kind, mw_span_join(name.span, end));
    statement->declare.name = name;
    statement->declare.type = type;
    statement->declare.init = init;
    return statement;
}

MwStatement *mw_new_choice(MwArena *arena, MwExpr *condition, const MwBody *yes, const MwBody *no)
{
    MwStatement *statement = mw_new_statement(arena, MW_STATEMENT_IF, condition->span);
    statement->choice.condition = condition;
    statement->choice.yes = *yes;
    statement->choice.no = *no;
    return statement;
}
