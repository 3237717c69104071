/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/terms/want.h"

#include "base/text.h"

#include <string.h>

/* A float that happens to be whole is shown with a point, by which it differs from an int. */
static const char *describe_number(MwExpander *ex, double value)
{
    MwText text = {.arena = ex->arena};
    mw_text_add(&text, "the number ");
    mw_text_add_double(&text, value);
    if (!strpbrk(text.at + strlen("the number "), ".einf"))
        mw_text_add(&text, ".0");
    return text.at;
}

const char *mw_term_describe(MwExpander *ex, MwTerm term)
{
    switch (term.kind) {
    case MW_TERM_INT:
        return mw_arena_printf(ex->arena, "the number %lld", (long long)term.i);
    case MW_TERM_FLOAT:
        return describe_number(ex, term.f);
    case MW_TERM_BOOL:
        return term.b ? "true" : "false";
    case MW_TERM_TEXT:
        return mw_arena_printf(ex->arena, "the text \"%s\"", term.text);
    case MW_TERM_TYPE:
        return mw_arena_printf(ex->arena, "the type %s", mw_type_name(term.type));
    case MW_TERM_LIST:
        return mw_arena_printf(ex->arena, "a list of %d", term.list.count);
    case MW_TERM_TENSOR:
        return mw_tensor_text(mw_value_tensor(ex->graph, term.value),
                              mw_arena_alloc(ex->arena, MW_TENSOR_TEXT_BYTES));
    case MW_TERM_NONE:
        break;
    }
    MW_UNREACHABLE();
}

static bool unwanted(MwExpander *ex, MwTerm term, MwWant want, const char *kind)
{
    if (term.kind != MW_TERM_NONE)
        mw_expand_error(ex, want.span, "%s must be %s, not %s", want.what, kind,
                        mw_term_describe(ex, term));
    return false;
}

bool mw_want_int(MwExpander *ex, MwTerm term, MwWant want, int64_t *value)
{
    if (term.kind != MW_TERM_INT)
        return unwanted(ex, term, want, "a whole number");
    *value = term.i;
    return true;
}

bool mw_want_number(MwExpander *ex, MwTerm term, MwWant want, double *value)
{
    if (!mw_term_is_number(term))
        return unwanted(ex, term, want, "a number");
    *value = mw_term_number(term);
    return true;
}

bool mw_want_bool(MwExpander *ex, MwTerm term, MwWant want, bool *value)
{
    if (term.kind != MW_TERM_BOOL)
        return unwanted(ex, term, want, "true or false");
    *value = term.b;
    return true;
}

bool mw_want_text(MwExpander *ex, MwTerm term, MwWant want, const char **value)
{
    if (term.kind != MW_TERM_TEXT)
        return unwanted(ex, term, want, "a text in quotes");
    *value = term.text;
    return true;
}

bool mw_want_type(MwExpander *ex, MwTerm term, MwWant want, MwType *value)
{
    if (term.kind != MW_TERM_TYPE)
        return unwanted(ex, term, want, mw_arena_printf(ex->arena, "a type (%s)", mw_type_names()));
    *value = term.type;
    return true;
}

bool mw_want_tensor(MwExpander *ex, MwTerm term, MwWant want, MwValueId *value)
{
    if (term.kind != MW_TERM_TENSOR)
        return unwanted(ex, term, want, "a tensor");
    *value = term.value;
    return true;
}

bool mw_want_ints(MwExpander *ex, MwTerm term, MwWant want, int64_t **at, int *count)
{
    const MwTerm *from = &term;
    *count = 1;
    if (term.kind == MW_TERM_LIST) {
        from = term.list.at;
        *count = term.list.count;
    }
    *at = MW_NEW(ex->arena, int64_t, *count);
    for (int i = 0; i < *count; i++) {
        if (from[i].kind == MW_TERM_NONE)
            return false;
        if (from[i].kind != MW_TERM_INT)
            return unwanted(ex, from[i], want, "a whole number or a list of them");
        (*at)[i] = from[i].i;
    }
    return true;
}

/* A spec stands in quotes: its words mean nothing as names. */
static bool want_spec(MwExpander *ex, MwTerm term, MwWant want, MwAttr *attr)
{
    bool is_spec =
        term.kind == MW_TERM_TEXT && mw_spec_parse(term.text, &attr->spec, &attr->spec_rank);
    return is_spec || unwanted(ex, term, want, "a sharding spec in quotes, such as \"[S0, R]\"");
}

bool mw_want_attr(MwExpander *ex, MwTerm term, MwWant want, MwAttrKey key, MwAttr *attr)
{
    *attr = (MwAttr){.key = key};
    bool flag;
    MwType type;
    int64_t *ints;
    switch (mw_attr_kind(key)) {
    case MW_KIND_INT:
        return mw_want_int(ex, term, want, &attr->i);
    case MW_KIND_BOOL:
        return mw_want_bool(ex, term, want, &flag) && ((attr->i = flag), true);
    case MW_KIND_FLOAT:
        return mw_want_number(ex, term, want, &attr->f);
    case MW_KIND_TEXT:
        return mw_want_text(ex, term, want, &attr->text);
    case MW_KIND_INTS:
        return mw_want_ints(ex, term, want, &ints, &attr->ints.count) &&
               ((attr->ints.at = ints), true);
    case MW_KIND_TYPE:
        return mw_want_type(ex, term, want, &type) && ((attr->i = type), true);
    case MW_KIND_SPEC:
        return want_spec(ex, term, want, attr);
    }
    MW_UNREACHABLE();
}
