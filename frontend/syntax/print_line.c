/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/syntax/print_line.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- expressions ---- */

/* How tightly expressions bind, as in the table of parser.y. */
enum {
    BINDS_ANY,
    BINDS_OR,
    BINDS_AND,
    BINDS_NOT,
    BINDS_COMPARISON,
    BINDS_SUM,
    BINDS_PRODUCT,
    BINDS_MINUS,
    BINDS_POWER,
    BINDS_INDEX,
    BINDS_ATOM
};

/* How tightly operands must bind to stand without parentheses differs for operators that group from
 * the right, and for those that do not chain. */
static const struct {
    const char *text;
    int binds, left, right;
} binaries[] = {
    [MW_BINARY_OR] = {"or", BINDS_OR, BINDS_OR, BINDS_OR + 1},
    [MW_BINARY_AND] = {"and", BINDS_AND, BINDS_AND, BINDS_AND + 1},
    [MW_BINARY_LT] = {"<", BINDS_COMPARISON, BINDS_SUM, BINDS_SUM},
    [MW_BINARY_LE] = {"<=", BINDS_COMPARISON, BINDS_SUM, BINDS_SUM},
    [MW_BINARY_GT] = {">", BINDS_COMPARISON, BINDS_SUM, BINDS_SUM},
    [MW_BINARY_GE] = {">=", BINDS_COMPARISON, BINDS_SUM, BINDS_SUM},
    [MW_BINARY_EQ] = {"==", BINDS_COMPARISON, BINDS_SUM, BINDS_SUM},
    [MW_BINARY_NE] = {"!=", BINDS_COMPARISON, BINDS_SUM, BINDS_SUM},
    [MW_BINARY_ADD] = {"+", BINDS_SUM, BINDS_SUM, BINDS_PRODUCT},
    [MW_BINARY_SUB] = {"-", BINDS_SUM, BINDS_SUM, BINDS_PRODUCT},
    [MW_BINARY_MUL] = {"*", BINDS_PRODUCT, BINDS_PRODUCT, BINDS_MINUS},
    [MW_BINARY_DIV] = {"/", BINDS_PRODUCT, BINDS_PRODUCT, BINDS_MINUS},
    [MW_BINARY_FLOOR_DIV] = {"//", BINDS_PRODUCT, BINDS_PRODUCT, BINDS_MINUS},
    [MW_BINARY_MOD] = {"%", BINDS_PRODUCT, BINDS_PRODUCT, BINDS_MINUS},
    [MW_BINARY_MATMUL] = {"@", BINDS_PRODUCT, BINDS_PRODUCT, BINDS_MINUS},
    [MW_BINARY_POW] = {"**", BINDS_POWER, BINDS_INDEX, BINDS_POWER},
};

static int binds(const MwExpr *expr)
{
    switch (expr->kind) {
    case MW_EXPR_UNARY:
        return expr->unary.op == MW_UNARY_MINUS ? BINDS_MINUS : BINDS_NOT;
    case MW_EXPR_BINARY:
        return binaries[expr->binary.op].binds;
    case MW_EXPR_INDEX:
        return BINDS_INDEX;
    default:
        return BINDS_ATOM;
    }
}

/* `x ** -1` needs no parentheses, since nothing else can be meant. */
static bool is_negative_number(const MwExpr *expr)
{
    return expr->kind == MW_EXPR_UNARY && expr->unary.op == MW_UNARY_MINUS &&
           (expr->unary.operand->kind == MW_EXPR_INT || expr->unary.operand->kind == MW_EXPR_FLOAT);
}

static void open_bracket(MwLine *line, const char *bracket)
{
    mw_text_add(&line->text, bracket);
    line->depth++;
}

static void close_bracket(MwLine *line, const char *bracket)
{
    mw_text_add(&line->text, bracket);
    line->depth--;
}

/* An operand, in parentheses where it binds less tightly than `least`. */
static void add_operand(MwLine *line, const MwExpr *expr, int least)
{
    const bool inside = binds(expr) < least;
    if (inside)
        open_bracket(line, "(");
    mw_line_add_expr(line, expr);
    if (inside)
        close_bracket(line, ")");
}

/* A small number of one or two digits with an exponent: 3e-04. False for other numbers. */
static bool add_small(MwText *digits, double value)
{
    char shown[32];
    for (int precision = 0; precision < 2 && value > 0 && value < 0.01; precision++) {
        snprintf(shown, sizeof shown, "%.*e", precision, value);
        if (strtod(shown, NULL) != value)
            continue;
        mw_text_add(digits, shown);
        return true;
    }
    return false;
}

/* A number that reads back as a fraction: 2.0, 1e-5. */
static void add_float(MwText *text, double value)
{
    MwText digits = {.arena = text->arena};
    if (!add_small(&digits, value))
        mw_text_add_double(&digits, value);
    const char *exponent = strpbrk(digits.at, "eE");
    if (!exponent) {
        const bool is_plain = isfinite(value) && !strchr(digits.at, '.');
        mw_text_printf(text, "%s%s", digits.at, is_plain ? ".0" : "");
        return;
    }
    const char *number = exponent + 1 + (exponent[1] == '-' || exponent[1] == '+');
    mw_text_add_n(text, digits.at, (size_t)(exponent - digits.at));
    mw_text_printf(text, "e%s%s", exponent[1] == '-' ? "-" : "", number + strspn(number, "0"));
}

static void add_string(MwText *text, const char *string)
{
    mw_text_add(text, "\"");
    for (; *string; string++) {
        if (*string == '"' || *string == '\\')
            mw_text_add(text, "\\");
        mw_text_add_n(text, string, 1);
    }
    mw_text_add(text, "\"");
}

static void add_places(MwLine *line, const MwIndexItems *items)
{
    for (int i = 0; i < items->count; i++) {
        const MwIndexItem *item = &items->at[i];
        if (i)
            mw_line_may_break(line);
        if (item->kind == MW_INDEX_REST)
            mw_text_add(&line->text, "...");
        if (item->at)
            mw_line_add_expr(line, item->at);
        if (item->begin)
            mw_line_add_expr(line, item->begin);
        if (item->kind == MW_INDEX_RANGE)
            mw_text_add(&line->text, ":");
        if (item->end)
            mw_line_add_expr(line, item->end);
        if (item->stride) {
            mw_text_add(&line->text, ":");
            mw_line_add_expr(line, item->stride);
        }
        if (i + 1 < items->count)
            mw_text_add(&line->text, ",");
    }
}

static void add_each(MwLine *line, const MwExpr *expr)
{
    open_bracket(line, "[");
    mw_text_printf(&line->text, "for %s in ", expr->each.name.text);
    mw_line_add_expr(line, expr->each.over);
    mw_text_add(&line->text, ":");
    mw_line_may_break(line);
    mw_line_add_expr(line, expr->each.value);
    close_bracket(line, "]");
}

/* An expression that has no expression on its left. */
static void add_leftmost(MwLine *line, const MwExpr *expr)
{
    MwText *text = &line->text;
    switch (expr->kind) {
    case MW_EXPR_INT:
        mw_text_printf(text, "%lld", (long long)expr->i);
        break;
    case MW_EXPR_FLOAT:
        add_float(text, expr->f);
        break;
    case MW_EXPR_TEXT:
        add_string(text, expr->text);
        break;
    case MW_EXPR_BOOL:
        mw_text_add(text, expr->b ? "true" : "false");
        break;
    case MW_EXPR_NAME:
        mw_text_add(text, expr->text);
        break;
    case MW_EXPR_LIST:
        open_bracket(line, "[");
        mw_line_add_exprs(line, &expr->list);
        close_bracket(line, "]");
        break;
    case MW_EXPR_EACH:
        add_each(line, expr);
        break;
    case MW_EXPR_UNARY:
        mw_text_add(text, expr->unary.op == MW_UNARY_MINUS ? "-" : "not ");
        add_operand(line, expr->unary.operand, binds(expr));
        break;
    case MW_EXPR_CALL:
        mw_text_add(text, expr->call.callee.text);
        open_bracket(line, "(");
        mw_line_add_args(line, &expr->call.args);
        close_bracket(line, ")");
        break;
    case MW_EXPR_INDEX:
    case MW_EXPR_BINARY:
        MW_UNREACHABLE();
    }
}

/* The expression on the left of an INDEX or BINARY, with how tightly it must bind; NULL: there is
 * none. */
static const MwExpr *left_of(const MwExpr *expr, int *least)
{
    *least = expr->kind == MW_EXPR_BINARY ? binaries[expr->binary.op].left : BINDS_INDEX;
    return expr->kind == MW_EXPR_BINARY  ? expr->binary.left
           : expr->kind == MW_EXPR_INDEX ? expr->index.of
                                         : NULL;
}

/* What follows the left of an INDEX or BINARY. */
static void add_right(MwLine *line, const MwExpr *expr)
{
    if (expr->kind == MW_EXPR_INDEX) {
        open_bracket(line, "[");
        add_places(line, &expr->index.items);
        close_bracket(line, "]");
        return;
    }
    const MwExpr *right = expr->binary.right;
    const int least = binaries[expr->binary.op].right;
    mw_text_printf(&line->text, " %s", binaries[expr->binary.op].text);
    mw_line_may_break(line);
    mw_vec_last(&line->breaks).is_inside = true;
    add_operand(line, right, is_negative_number(right) ? BINDS_ANY : least);
}

/* Sums have as many levels as terms, all on the left, and any number of them: a loop goes down and
 * up again. The grammar's stack bounds the recursion on the right. */
void mw_line_add_expr(MwLine *line, const MwExpr *expr)
{
    MW_VEC(const MwExpr *) spine = {0};
    MwArena *arena = line->text.arena;
    int least = BINDS_ANY, next;
    for (const MwExpr *left; (left = left_of(expr, &next)) != NULL; expr = left, least = next) {
        mw_vec_push(arena, &spine, expr);
        if (binds(expr) < least)
            open_bracket(line, "(");
    }
    const bool inside = binds(expr) < least;
    if (inside)
        open_bracket(line, "(");
    add_leftmost(line, expr);
    if (inside)
        close_bracket(line, ")");
    while (spine.count) {
        expr = spine.at[--spine.count];
        add_right(line, expr);
        if (spine.count && (left_of(spine.at[spine.count - 1], &least), binds(expr) < least))
            close_bracket(line, ")");
    }
}

void mw_line_add_exprs(MwLine *line, const MwExprs *exprs)
{
    for (int i = 0; i < exprs->count; i++) {
        if (i) {
            mw_text_add(&line->text, ",");
            mw_line_may_break(line);
        }
        mw_line_add_expr(line, exprs->at[i]);
    }
}

void mw_line_add_args(MwLine *line, const MwArgs *args)
{
    for (int i = 0; i < args->count; i++) {
        const MwArg *arg = &args->at[i];
        if (i) {
            mw_text_add(&line->text, ",");
            mw_line_may_break(line);
        }
        if (arg->key.text)
            mw_text_printf(&line->text, "%s = ", arg->key.text);
        mw_line_add_expr(line, arg->value);
    }
}

void mw_expr_print(MwText *text, const MwExpr *expr)
{
    MwLine line = {.text.arena = text->arena};
    mw_line_add_expr(&line, expr);
    mw_text_add(text, line.text.at);
}

/* ---- lines ---- */

enum { CONTINUATION = 2 /* columns that what follows a break is indented by */ };

void mw_line_may_break(MwLine *line)
{
    mw_text_add(&line->text, " ");
    mw_vec_push(line->text.arena, &line->breaks,
                ((MwLineBreak){.at = line->text.bytes, .depth = line->depth}));
}

/* How far inside a break lies: a line is broken as far outside as it can be, and rather behind a
 * comma than behind an operator. */
static int level(const MwLineBreak *at)
{
    return 2 * at->depth + at->is_inside;
}

/* The index of the break at which a line from `begin` on ends that has `room` columns; -1: there is
 * none. Of those that leave a line of some length, the outermost and last; else the last. */
static int choose_break(const MwLine *line, int first, size_t begin, size_t room)
{
    int best = -1;
    for (int i = first; i < line->breaks.count; i++) {
        const MwLineBreak *at = &line->breaks.at[i];
        if (at->at - 1 > begin + room)
            return best >= 0 ? best : i;
        const bool is_short = best < 0 || line->breaks.at[best].at < begin + room / 2;
        if (is_short || level(at) <= level(&line->breaks.at[best]))
            best = i;
    }
    return best;
}

void mw_line_end(MwLine *line, MwText *out, int indent)
{
    const char *text = line->text.at;
    size_t begin = 0;
    for (int next = 0;;) {
        const int columns = begin ? indent + CONTINUATION : indent;
        const size_t room = (size_t)mw_max(MW_PRINT_COLUMNS - columns, 20);
        const size_t left = line->text.bytes - begin;
        const int at = left > room ? choose_break(line, next, begin, room) : -1;
        const size_t end = at < 0 ? line->text.bytes : line->breaks.at[at].at - 1;
        mw_text_printf(out, "%*s%.*s\n", columns, "", (int)(end - begin), text + begin);
        if (at < 0)
            break;
        begin = line->breaks.at[at].at;
        next = at + 1;
    }
    line->text.bytes = 0;
    line->breaks.count = 0;
    line->depth = 0;
}
