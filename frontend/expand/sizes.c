/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/expand/sizes.h"

#include "frontend/expand/eval.h"
#include "frontend/terms/names.h"
#include "frontend/terms/want.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A size that is written with a point stays a fraction when it is overridden by a whole number. */
static bool read_define(const char *text, bool as_fraction, MwTerm *term)
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
    } else if (mw_name_is_predefined(name)) {
        mw_expand_error(ex, item->name.span, "'%s' has a meaning of its own and cannot be defined",
                        name);
    } else {
        return true;
    }
    return false;
}

/* The value of a size that is not overridden. */
static MwTerm compute_value(MwExpander *ex, const MwExpr *expr)
{
    MwTerm term = mw_eval(ex, expr, mw_one_value());
    bool is_finite = mw_term_is_number(term) && isfinite(mw_term_number(term));
    if (term.kind == MW_TERM_NONE || is_finite || term.kind == MW_TERM_BOOL)
        return term;
    mw_expand_error(ex, expr->span, "a size is a %snumber, not %s",
                    mw_term_is_number(term) ? "finite " : "", mw_term_describe(ex, term));
    return mw_term_none();
}

/* Whether the value of a size is written as a number with a point, with or without a sign. */
static bool is_fraction(const MwExpr *expr)
{
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
    } else if (!read_define(define->value, is_fraction(item->value), &term)) {
        mw_expand_error(ex, mw_span_none(), "-D %s=%s: '%s' is not a number", define->name,
                        define->value, define->value);
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
