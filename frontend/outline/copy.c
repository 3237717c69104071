/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Expressions of the flat model as expressions of a body. They are copied in the order in which
 * flat.c has read them, so that names and constants are found by their number. */
#include "frontend/outline/pieces.h"

#include "base/text.h"
#include "frontend/outline/name.h"
#include "frontend/syntax/print_line.h"

#include <string.h>

MwExpr *mw_new_name_expr(MwArena *arena, const char *name)
{
    return mw_new_name(arena, MW_EXPR_NAME, (MwName){.text = name});
}

MwExpr *mw_piece_operand(MwLineWriter *writer, MwPiece *piece, int value)
{
    MwOutliner *outliner = writer->outliner;
    const MwPiece *inner = outliner->pending[value];
    if (!inner) {
        MwExpr *name = mw_new_name_expr(outliner->arena, mw_value_word(outliner, value));
        mw_vec_push(outliner->arena, &piece->refs, ((MwValueRef){name, value}));
        return name;
    }
    for (int i = 0; i < inner->refs.count; i++)
        mw_vec_push(outliner->arena, &piece->refs, inner->refs.at[i]);
    piece->scope = piece->scope ? piece->scope : inner->scope;
    piece->calls += inner->calls;
    piece->is_random |= inner->is_random;
    return inner->expr;
}

MwExpr *mw_place_constant(const MwLineWriter *writer, const MwLinePlace *place, int number,
                          const MwFlatConstant *constant)
{
    const int param = place->class->parameter_of[number];
    if (param >= 0)
        return place->args[param];
    return constant->is_batch ? mw_new_name_expr(writer->outliner->arena, writer->outliner->batch)
                              : (MwExpr *)constant->expr;
}

static MwExpr *copy_name(MwExprCopy *copy, const MwExpr *expr)
{
    const int value = copy->op->names.at[copy->name++];
    return value < 0 ? (MwExpr *)expr : mw_piece_operand(copy->writer, copy->piece, value);
}

static MwExpr *copy_constant(MwExprCopy *copy)
{
    const int k = copy->constant++;
    return mw_place_constant(copy->writer, copy->place, copy->place->constant + k,
                             &copy->op->constants.at[k]);
}

void mw_copy_list(MwExprCopy *copy, MwExprs *list)
{
    const MwExprs from = *list;
    *list = (MwExprs){0};
    for (int i = 0; i < from.count; i++)
        mw_vec_push(copy->writer->outliner->arena, list, mw_copy_expr(copy, from.at[i]));
}

void mw_copy_args(MwExprCopy *copy, MwArgs *args)
{
    const MwArgs from = *args;
    *args = (MwArgs){0};
    for (int i = 0; i < from.count; i++)
        mw_vec_push(copy->writer->outliner->arena, args,
                    ((MwArg){from.at[i].key, mw_copy_expr(copy, from.at[i].value)}));
}

static void copy_index(MwExprCopy *copy, MwExpr *expr)
{
    const MwIndexItems from = expr->index.items;
    expr->index.of = mw_copy_expr(copy, expr->index.of);
    expr->index.items = (MwIndexItems){0};
    for (int i = 0; i < from.count; i++) {
        MwIndexItem item = from.at[i];
        item.at = mw_copy_expr(copy, item.at);
        item.begin = mw_copy_expr(copy, item.begin);
        item.end = mw_copy_expr(copy, item.end);
        item.stride = mw_copy_expr(copy, item.stride);
        mw_vec_push(copy->writer->outliner->arena, &expr->index.items, item);
    }
}

/* Functions that operators of expressions are. Not `pow`: x ** 2 is a product. */
static const struct {
    const char *function;
    MwBinary op;
} operators[] = {
    {"add", MW_BINARY_ADD}, {"sub", MW_BINARY_SUB}, {"mul", MW_BINARY_MUL}, {"div", MW_BINARY_DIV},
    {"lt", MW_BINARY_LT},   {"le", MW_BINARY_LE},   {"gt", MW_BINARY_GT},   {"ge", MW_BINARY_GE},
    {"eq", MW_BINARY_EQ},   {"ne", MW_BINARY_NE},
};

bool mw_function_is_operator(const char *name)
{
    for (int i = 0; i < MW_COUNT(operators); i++)
        if (strcmp(name, operators[i].function) == 0)
            return true;
    return false;
}

/* A call as the operator that means the same, `x + y` for `add(x, y)`; itself if there is none. */
static MwExpr *as_operator(const MwExprCopy *copy, MwExpr *call)
{
    const MwArgs *args = &call->call.args;
    const bool has_two = args->count == 2 && !args->at[0].key.text && !args->at[1].key.text;
    for (int i = 0; i < MW_COUNT(operators) && has_two; i++)
        if (strcmp(call->call.callee.text, operators[i].function) == 0)
            return mw_new_binary(copy->writer->outliner->arena, operators[i].op, args->at[0].value,
                                 args->at[1].value);
    return call;
}

MwExpr *mw_copy_expr(MwExprCopy *copy, const MwExpr *from)
{
    if (!from)
        return NULL;
    if (from->kind == MW_EXPR_NAME)
        return copy_name(copy, from);
    if (from->kind == MW_EXPR_INT || from->kind == MW_EXPR_FLOAT || from->kind == MW_EXPR_BOOL)
        return copy_constant(copy);
    MwExpr *expr = mw_arena_dup(copy->writer->outliner->arena, from, sizeof *from);
    switch (from->kind) {
    case MW_EXPR_LIST:
        mw_copy_list(copy, &expr->list);
        break;
    case MW_EXPR_EACH:
        expr->each.over = mw_copy_expr(copy, from->each.over);
        expr->each.value = mw_copy_expr(copy, from->each.value);
        break;
    case MW_EXPR_INDEX:
        copy_index(copy, expr);
        break;
    case MW_EXPR_UNARY:
        expr->unary.operand = mw_copy_expr(copy, from->unary.operand);
        break;
    case MW_EXPR_BINARY:
        expr->binary.left = mw_copy_expr(copy, from->binary.left);
        expr->binary.right = mw_copy_expr(copy, from->binary.right);
        break;
    case MW_EXPR_CALL:
        mw_copy_args(copy, &expr->call.args);
        return as_operator(copy, expr);
    case MW_EXPR_TEXT:
    case MW_EXPR_NAME:
    case MW_EXPR_INT:
    case MW_EXPR_FLOAT:
    case MW_EXPR_BOOL:
        break;
    }
    return expr;
}

int mw_expr_nesting(const MwExpr *expr)
{
    int most = 0;
    switch (expr->kind) {
    case MW_EXPR_UNARY:
        return mw_expr_nesting(expr->unary.operand);
    case MW_EXPR_BINARY:
        return (int)mw_max(mw_expr_nesting(expr->binary.left), mw_expr_nesting(expr->binary.right));
    case MW_EXPR_INDEX:
        return mw_expr_nesting(expr->index.of);
    case MW_EXPR_LIST:
        for (int i = 0; i < expr->list.count; i++)
            most = (int)mw_max(most, mw_expr_nesting(expr->list.at[i]));
        return most;
    case MW_EXPR_CALL:
        for (int i = 0; i < expr->call.args.count; i++)
            most = (int)mw_max(most, mw_expr_nesting(expr->call.args.at[i].value));
        return most + 1;
    case MW_EXPR_EACH:
        return mw_expr_nesting(expr->each.value);
    case MW_EXPR_TEXT:
    case MW_EXPR_NAME:
    case MW_EXPR_INT:
    case MW_EXPR_FLOAT:
    case MW_EXPR_BOOL:
        return 0;
    }
    MW_UNREACHABLE();
}

int mw_expr_columns(MwArena *arena, const MwExpr *expr)
{
    MwText text = {.arena = arena};
    mw_expr_print(&text, expr);
    return (int)text.bytes;
}
