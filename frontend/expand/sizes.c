/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/expand/sizes.h"

#include "frontend/expand/eval.h"
#include "frontend/syntax/state.h"
#include "frontend/terms/names.h"
#include "frontend/terms/want.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A size that is written with a point stays a fraction when it is overridden by a whole number. */
static bool read_scalar(const char *text, bool as_fraction, MwTerm *term)
{
    char *end;
    errno = 0;
    long long whole = strtoll(text, &end, 10);
    if (*text && !*end && !errno) {
        *term = as_fraction ? mw_term_float((double)whole) : mw_term_int(whole);
        return true;
    }
    double value = strtod(text, &end);
    *term = mw_term_float(value);
    if (*text && !*end && value - value == 0)
        return true;
    *term = mw_term_bool(strcmp(text, "true") == 0);
    return strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
}

/* Reads a number, a truth value, or a list "[64, 128]" of such and of lists, whose nesting is
 * bounded as that of brackets in a file. *text moves behind it. */
static bool read_part(MwExpander *ex, const char **text, bool as_fraction, int depth, MwTerm *term)
{
    MW_VEC(MwTerm) elements = {0};
    *text += strspn(*text, " ");
    if (**text != '[') {
        size_t bytes = strcspn(*text, depth ? ",[] " : "");
        const char *scalar = mw_arena_strndup(ex->arena, *text, bytes);
        *text += bytes;
        return read_scalar(scalar, as_fraction, term);
    }
    do {
        ++*text;
        *text += strspn(*text, " ");
        if (**text == ']' && !elements.count)
            break;
        if (depth == MW_MAX_NESTING ||
            !read_part(ex, text, as_fraction, depth + 1, mw_vec_add(ex->arena, &elements)))
            return false;
        *text += strspn(*text, " ");
    } while (**text == ',');
    *term = mw_term_list(elements.at, elements.count);
    return *(*text)++ == ']';
}

static bool read_define(MwExpander *ex, const char *text, bool as_fraction, MwTerm *term)
{
    return read_part(ex, &text, as_fraction, 0, term) && !text[strspn(text, " ")];
}

static const MwDefine *find_define(const MwDefine *defines, int count, const char *name)
{
    const MwDefine *found = NULL;
    for (int i = 0; i < count; i++)
        if (strcmp(defines[i].name, name) == 0)
            found = &defines[i];
    return found;
}

/* Whether the name can be that of a size; an error if not. */
static bool check_name(MwExpander *ex, const MwItem *item)
{
    const char *name = item->name.text;
    const MwSize *earlier = mw_name_map_get(&ex->sizes, name);
    if (earlier) {
        mw_expand_note(ex, earlier->span, "it is here");
        mw_expand_error(ex, item->name.span, "there already is a size '%s'", name);
    }
    return !earlier && mw_name_check(ex, item->name);
}

/* Whether the term can be a size: a finite number, a truth value, or a list of such. Adds an error
 * if not. The nesting of brackets bounds the recursion. */
static bool check_value(MwExpander *ex, MwSpan span, MwTerm term)
{
    bool is_finite = mw_term_is_number(term) && isfinite(mw_term_number(term));
    if (term.kind == MW_TERM_LIST) {
        for (int i = 0; i < term.list.count; i++)
            if (!check_value(ex, span, term.list.at[i]))
                return false;
        return true;
    }
    if (is_finite || term.kind == MW_TERM_BOOL)
        return true;
    mw_expand_error(ex, span, "a size is a %snumber, not %s",
                    mw_term_is_number(term) ? "finite " : "", mw_term_describe(ex, term));
    return false;
}

/* The value of a size that is not overridden. */
static MwTerm compute_value(MwExpander *ex, const MwExpr *expr)
{
    MwTerm term = mw_eval(ex, expr, mw_one_value());
    bool good = term.kind == MW_TERM_NONE || check_value(ex, expr->span, term);
    return good ? term : mw_term_none();
}

/* Whether the value of a size is written as a number with a point, with or without a sign, or as a
 * list with one. */
static bool is_fraction(const MwExpr *expr)
{
    if (expr->kind == MW_EXPR_LIST)
        for (int i = 0; i < expr->list.count; i++)
            if (is_fraction(expr->list.at[i]))
                return true;
    if (expr->kind == MW_EXPR_UNARY && expr->unary.op == MW_UNARY_MINUS)
        return is_fraction(expr->unary.operand);
    return expr->kind == MW_EXPR_FLOAT;
}

static void compute(MwExpander *ex, const MwItem *item, const MwDefine *define)
{
    if (!check_name(ex, item))
        return;
    MwTerm term = mw_term_none();
    if (!define) {
        term = compute_value(ex, item->value);
    } else if (!read_define(ex, define->value, is_fraction(item->value), &term)) {
        mw_expand_error(ex, mw_span_none(), "-D %s=%s: '%s' is not a number%s", define->name,
                        define->value, define->value,
                        item->value->kind == MW_EXPR_LIST ? " or a list of them" : "");
        term = mw_term_none();
    }
    MwSize *size = MW_NEW(ex->arena, MwSize, 1);
    *size = (MwSize){term, item->name.span};
    *mw_name_map_add(&ex->sizes, item->name.text) = size;
}

static void check_defines(MwExpander *ex, const MwDefine *defines, int count)
{
    MwKnown known = {0};
    for (int i = 0; i < ex->sizes.entries.count; i++)
        mw_vec_push(ex->arena, &known, ex->sizes.entries.at[i].name);
    for (int i = 0; i < count; i++) {
        const char *name = mw_intern(ex->interner, defines[i].name);
        if (!mw_name_map_find(&ex->sizes, name))
            mw_expand_error(ex, mw_span_none(), "-D %s=%s: the model has no size '%s'%s", name,
                            defines[i].value, name, mw_expand_hint(ex, name, &known));
    }
}

void mw_sizes_compute(MwExpander *ex, const MwItems *items, const MwDefine *defines, int count)
{
    for (int i = 0; i < items->count; i++)
        if (items->at[i].kind == MW_ITEM_SIZE)
            compute(ex, &items->at[i], find_define(defines, count, items->at[i].name.text));
    check_defines(ex, defines, count);
}
