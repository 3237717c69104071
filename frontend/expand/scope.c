/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/expand/scope.h"

#include "frontend/expand/eval.h"
#include "frontend/syntax/parse.h"
#include "frontend/terms/names.h"

#include <ctype.h>
#include <string.h>

/* Whether `path` is words of letters, digits and '_', joined by dots. */
static bool is_path(const char *path)
{
    bool in_word = false;
    for (; *path; path++) {
        const bool is_letter = isalnum((unsigned char)*path) || *path == '_';
        if (!is_letter && (*path != '.' || !in_word))
            return false;
        in_word = is_letter;
    }
    return in_word;
}

/* In the model itself a path begins the names of weights, and so begins as they do. */
static bool begins_as_name(const MwExpander *ex, const char *path)
{
    return *ex->frame->scope || !isdigit((unsigned char)*path);
}

const char *mw_scope_read(MwExpander *ex, const MwArg *annotation)
{
    const MwExpr *value = annotation->value;
    const char *path = NULL;
    if (value->kind == MW_EXPR_NAME || value->kind == MW_EXPR_TEXT)
        path = value->text;
    else if (value->kind == MW_EXPR_INT)
        path = mw_intern_printf(ex->interner, "%lld", (long long)value->i);
    if (path && is_path(path) && begins_as_name(ex, path))
        return path;
    mw_expand_error(ex, value->span, "'scope' is a path, such as layers.0.mlp%s",
                    path && is_path(path) ? ", which begins with a letter in the model itself"
                                          : "");
    return NULL;
}

static int count_calls(MwExpander *ex, const MwExpr *expr);

static int count_calls_of_list(MwExpander *ex, const MwExprs *exprs)
{
    int count = 0;
    for (int i = 0; i < exprs->count; i++)
        count += count_calls(ex, exprs->at[i]);
    return count;
}

static int count_calls_of_index(MwExpander *ex, const MwExpr *expr)
{
    int count = count_calls(ex, expr->index.of);
    for (int i = 0; i < expr->index.items.count; i++) {
        const MwIndexItem *item = &expr->index.items.at[i];
        count += count_calls(ex, item->at) + count_calls(ex, item->begin) +
                 count_calls(ex, item->end) + count_calls(ex, item->stride);
    }
    return count;
}

static int count_calls_of_call(MwExpander *ex, const MwExpr *expr)
{
    int count = mw_calls_block(ex, expr);
    for (int i = 0; i < expr->call.args.count; i++)
        count += count_calls(ex, expr->call.args.at[i].value);
    return count;
}

static int count_calls_inside(MwExpander *ex, const MwExpr *expr)
{
    switch (expr->kind) {
    case MW_EXPR_INT:
    case MW_EXPR_FLOAT:
    case MW_EXPR_TEXT:
    case MW_EXPR_BOOL:
    case MW_EXPR_NAME:
        return 0;
    case MW_EXPR_LIST:
        return count_calls_of_list(ex, &expr->list);
    case MW_EXPR_EACH:
        return count_calls(ex, expr->each.over) + count_calls(ex, expr->each.value);
    case MW_EXPR_INDEX:
        return count_calls_of_index(ex, expr);
    case MW_EXPR_UNARY:
        return count_calls(ex, expr->unary.operand);
    case MW_EXPR_BINARY:
        return count_calls(ex, expr->binary.left) + count_calls(ex, expr->binary.right);
    case MW_EXPR_CALL:
        return count_calls_of_call(ex, expr);
    }
    MW_UNREACHABLE();
}

/* How many calls of blocks stand in the expression, which may be NULL. */
static int count_calls(MwExpander *ex, const MwExpr *expr)
{
    if (!expr || !mw_expand_enter(ex, expr->span))
        return 0;
    int count = count_calls_inside(ex, expr);
    mw_expand_leave(ex);
    return count;
}

/* The annotation `scope`; NULL: there is none. */
static const MwArg *find_scope(const MwArgs *annotations)
{
    for (int i = 0; i < annotations->count; i++)
        if (strcmp(annotations->at[i].key.text, "scope") == 0)
            return &annotations->at[i];
    return NULL;
}

bool mw_scope_begin(MwExpander *ex, const MwArgs *annotations, MwExpr *const *exprs, int count)
{
    const MwArg *annotation = find_scope(annotations);
    if (!annotation)
        return true;
    const MwExprs all = {.at = (MwExpr **)exprs, .count = count};
    const int calls = count_calls_of_list(ex, &all);
    if (calls == 0)
        return true;
    if (calls > 1) {
        mw_expand_error(ex, annotation->key.span,
                        "'scope' is that of one call, and this statement calls %d blocks", calls);
        return false;
    }
    const char *path = mw_scope_read(ex, annotation);
    if (path && !*ex->frame->scope && !mw_text_is_name(path)) {
        mw_expand_error(ex, annotation->value->span,
                        "a call in the model itself cannot have the scope '%s', which is a word of "
                        "the language",
                        path);
        path = NULL;
    }
    ex->graph->origin.scope = ex->frame->scope;
    ex->call_scope = path;
    return path != NULL;
}

void mw_scope_end(MwExpander *ex)
{
    ex->call_scope = NULL;
}
