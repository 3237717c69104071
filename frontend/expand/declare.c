/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inputs, weights and states: their types and initialisers. */
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
        mw_vec_push(ex->arena, &known, mw_type_name((MwType)i));
    mw_expand_note(ex, mw_span_none(), "types are f32, bf16, i32 and bool");
    mw_expand_error(ex, name.span, "unknown type '%s'%s", name.text,
                    mw_expand_hint(ex, name.text, &known));
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

/* An initialiser is `zeros`, `ones`, or a name with one number: normal(0.02). The shape rule of
 * weights knows which names there are. */
static bool eval_init(MwExpander *ex, const MwExpr *expr, MwAttr attrs[2])
{
    const char *name = expr->text;
    double value = 0;
    if (expr->kind == MW_EXPR_CALL) {
        MwFormal formal = {.name = "value", .required = true};
        MwCall call = {.site = {expr->span, mw_one_value()},
                       .callee = expr->call.callee.text,
                       .formals = &formal,
                       .formal_count = 1};
        name = expr->call.callee.text;
        if (!mw_eval_call(ex, &call, &expr->call.args) ||
            !mw_want_number(ex, call.given[0].term, mw_call_want(ex, &call, 0), &value))
            return false;
    } else if (expr->kind != MW_EXPR_NAME) {
        mw_expand_error(ex, expr->span,
                        "an initialiser is zeros, ones, constant(value), normal(deviation) or "
                        "uniform(limit)");
        return false;
    } else if (strcmp(name, "zeros") != 0 && strcmp(name, "ones") != 0) {
        mw_expand_note(ex, mw_span_none(),
                       "others are constant(value), normal(deviation) and uniform(limit)");
        mw_expand_error(ex, expr->span,
                        "'%s' is no initialiser without a value, as zeros and ones are", name);
        return false;
    }
    attrs[0] = mw_attr_text(MW_ATTR_INIT, mw_intern(ex->interner, name));
    attrs[1] = mw_attr_float(MW_ATTR_VALUE, value);
    return true;
}

static MwOp source_op(MwStatementKind kind)
{
    return kind == MW_STATEMENT_INPUT    ? MW_OP_INPUT
           : kind == MW_STATEMENT_WEIGHT ? MW_OP_WEIGHT
                                         : MW_OP_STATE;
}

void mw_statement_declare(MwExpander *ex, const MwStatement *statement)
{
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
        value = mw_emit_source(ex, statement->span, mw_name_in_scope(ex, name.text),
                               source_op(statement->kind), &type, attrs, init ? 2 : 1);
    }
    ex->graph->origin = origin;
    ex->graph->phase = phase;
    MwTerm term = mw_term_tensor(value);
    mw_name_bind(ex, name, term);
    mw_annotate_values(ex, &annotations, &term, 1);
}
