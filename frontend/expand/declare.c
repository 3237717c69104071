/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inputs, weights and states: their types and initialisers. */
#include "base/init.h"
#include "base/text.h"
#include "frontend/expand/annotate.h"
#include "frontend/expand/eval.h"
#include "frontend/expand/statements.h"
#include "frontend/terms/names.h"

#include <string.h>

static bool eval_type_name(MwExpander *ex, MwName name, MwType *type)
{
    if (mw_type_parse(name.text, type))
        return true;
    MwKnown known = {0};
    for (int i = 0; i < MW_TYPE_COUNT; i++)
        mw_vec_push(ex->arena, &known, mw_type_name(mw_type_stored((MwType)i)));
    const char *text = mw_foreign_text(MW_FOREIGN_VALUE, name.text);
    if (text)
        mw_expand_note(ex, mw_span_none(), "%s", text);
    else
        mw_expand_note(ex, mw_span_none(), "types are %s", mw_type_names());
    mw_expand_error(ex, name.span, "unknown type '%s'%s", name.text,
                    text ? "" : mw_expand_hint(ex, name.text, &known));
    return false;
}

static bool eval_type(MwExpander *ex, const MwTypeExpr *expr, MwTensor *tensor)
{
    MwType type;
    int64_t dims[MW_MAX_RANK];
    if (!eval_type_name(ex, expr->name, &type))
        return false;
    if (expr->dims.count > MW_MAX_RANK) {
        mw_expand_error(ex, expr->span, "a tensor has at most %d dimensions, not %d", MW_MAX_RANK,
                        expr->dims.count);
        return false;
    }
    bool ok = true;
    for (int d = 0; d < expr->dims.count; d++) {
        MwSpan span = expr->dims.at[d]->span;
        MwTerm term = mw_eval(ex, expr->dims.at[d], mw_one_value());
        bool is_int = mw_want_int(ex, term, (MwWant){"the size of a dimension", span}, &dims[d]);
        if (is_int && dims[d] < 1)
            mw_expand_error(ex, span, "the size of a dimension must be at least 1, not %lld",
                            (long long)dims[d]);
        ok &= is_int && dims[d] >= 1;
    }
    if (ok)
        *tensor = mw_tensor(type, expr->dims.count, dims);
    return ok;
}

/* "zeros, ones, normal(deviation), uniform(limit) and constant(value)" */
static const char *list_inits(MwExpander *ex)
{
    MwText text = {.arena = ex->arena};
    for (int i = 0; i < MW_INIT_COUNT; i++) {
        const MwInitInfo *info = mw_init_info((MwInit)i);
        mw_text_printf(&text, "%s%s",
                       i == 0                  ? ""
                       : i + 1 < MW_INIT_COUNT ? ", "
                                               : " and ",
                       info->name);
        if (info->number)
            mw_text_printf(&text, "(%s)", info->number);
    }
    return text.at;
}

/* The name of an initialiser, which stands alone or with a number. */
static bool find_init(MwExpander *ex, const MwExpr *expr, MwInit *init)
{
    const bool is_call = expr->kind == MW_EXPR_CALL;
    const char *name = is_call                      ? expr->call.callee.text
                       : expr->kind == MW_EXPR_NAME ? expr->text
                                                    : NULL;
    const MwSpan span = is_call ? expr->call.callee.span : expr->span;
    MwKnown known = {0};
    for (int i = 0; i < MW_INIT_COUNT; i++)
        mw_vec_push(ex->arena, &known, mw_init_info((MwInit)i)->name);
    if (name && mw_init_parse(name, init)) {
        const char *number = mw_init_info(*init)->number;
        if (is_call == (number != NULL))
            return true;
        mw_expand_error(ex, span, "'%s' is written %s%s%s%s", name, name, number ? "(" : "",
                        number ? number : "", number ? ")" : ", without a number");
        return false;
    }
    const char *text = name ? mw_foreign_text(MW_FOREIGN_CALL, name) : NULL;
    if (!text || mw_foreign_spelling(name, &known))
        text = mw_arena_printf(ex->arena, "initialisers are %s", list_inits(ex));
    mw_expand_note(ex, mw_span_none(), "%s", text);
    if (name)
        mw_expand_error(ex, span, "a weight or state begins with an initialiser, not '%s'%s", name,
                        mw_expand_hint(ex, name, &known));
    else
        mw_expand_error(ex, span, "a weight or state begins with an initialiser");
    return false;
}

static bool eval_init(MwExpander *ex, const MwExpr *expr, MwAttr attrs[2])
{
    double value = 0;
    MwInit init;
    if (!find_init(ex, expr, &init))
        return false;
    const MwInitInfo *info = mw_init_info(init);
    if (info->number) {
        MwFormal formal = {.name = mw_intern(ex->interner, info->number), .required = true};
        MwCall call = {.site = {.span = expr->span, .targets = mw_one_value()},
                       .callee = info->name,
                       .formals = &formal,
                       .formal_count = 1};
        if (!mw_eval_call(ex, &call, &expr->call.args) ||
            !mw_want_number(ex, call.given[0].term, mw_call_want(ex, &call, 0), &value))
            return false;
    }
    attrs[0] = mw_attr_text(MW_ATTR_INIT, mw_intern(ex->interner, info->name));
    attrs[1] = mw_attr_float(MW_ATTR_VALUE, value);
    return true;
}

static MwOp source_op(MwStatementKind kind)
{
    return kind == MW_STATEMENT_INPUT    ? MW_OP_INPUT
           : kind == MW_STATEMENT_WEIGHT ? MW_OP_WEIGHT
                                         : MW_OP_STATE;
}

/* What an earlier step of a scan in a scan has declared by this statement; NULL: nothing. */
static const MwDeclared *find_declared(const MwExpander *ex, const MwStatement *statement,
                                       const char *full)
{
    const MwDeclared *declared = ex->declared ? mw_name_map_get(ex->declared, full) : NULL;
    return declared && declared->statement == statement ? declared : NULL;
}

static void note_declared(MwExpander *ex, const MwStatement *statement, const char *full,
                          MwTerm term)
{
    MwDeclared *declared = MW_NEW(ex->arena, MwDeclared, 1);
    *declared = (MwDeclared){statement, term};
    if (ex->declared)
        *mw_name_map_add(ex->declared, full) = declared;
}

void mw_statement_declare(MwExpander *ex, const MwStatement *statement)
{
    const char *full = mw_name_in_scope(ex, statement->declare.name.text);
    const MwDeclared *declared = find_declared(ex, statement, full);
    if (declared) {
        mw_name_bind(ex, statement->declare.name, declared->term);
        return;
    }
    const MwExpr *init = statement->declare.init;
    MwOrigin origin = ex->graph->origin;
    MwPhase phase = ex->graph->phase;
    MwName name = statement->declare.name;
    MwTensor type;
    MwAttr attrs[2];
    MwArgs annotations = statement->annotations;
    MwValueId value = mw_no_value();
    bool ok = eval_type(ex, &statement->declare.type, &type), whole;
    ok &= !init || eval_init(ex, init, attrs);
    if (!init) {
        ok &= mw_annotate_input(ex, &statement->annotations, &annotations, &whole);
        attrs[0] = mw_attr_int(MW_ATTR_WHOLE, whole);
    }
    ok &= mw_annotate_nodes(ex, &annotations);
    if (ok) {
        value = mw_emit_source(ex, statement->span, full, source_op(statement->kind), &type, attrs,
                               init ? 2 : 1);
    }
    ex->graph->origin = origin;
    ex->graph->phase = phase;
    MwTerm term = mw_term_tensor(value);
    mw_name_bind(ex, name, term);
    note_declared(ex, statement, full, term);
    mw_annotate_values(ex, &annotations, &term, 1);
}
