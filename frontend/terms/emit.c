/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/terms/emit.h"

#include "frontend/terms/fold.h"
#include "frontend/terms/names.h"
#include "frontend/terms/want.h"
#include "ir/arithmetic.h"
#include "ir/print.h"

/* Returns the name of an operator as the base of value names. Appends "_" to words of the language,
 * which no value may be called. */
static const char *operator_name(MwExpander *ex, MwOp op)
{
    const char *name = mw_op_info(op)->name;
    bool is_word = op == MW_OP_AND || op == MW_OP_OR || op == MW_OP_NOT;
    return is_word ? mw_arena_printf(ex->arena, "%s_", name) : name;
}

/* Returns the number of results that the node will have if its attributes are valid. */
static int result_count(const MwNodeSpec *spec)
{
    int count = mw_op_info(spec->op)->results;
    if (count != MW_ANY)
        return count;
    const MwAttr *sizes = mw_attrs_find(spec->attrs, spec->attr_count, MW_ATTR_SIZES);
    return sizes ? sizes->ints.count : 0;
}

/* Names the results after the targets of the site if their numbers agree, otherwise after the
 * operator. */
static void name_results(MwExpander *ex, MwSite site, MwNodeSpec *spec)
{
    int count = result_count(spec);
    if (!site.targets.names || site.targets.count != count) {
        const char *base = mw_name_in_scope(ex, operator_name(ex, spec->op));
        spec->name = mw_name_make_unique(ex, base);
        return;
    }
    const char **names = MW_NEW(ex->arena, const char *, count);
    for (int k = 0; k < count; k++)
        names[k] = mw_name_make_unique(ex, site.targets.names[k]);
    spec->result_names = names;
}

/* Checks that no operand comes from a later phase than the node: a node that runs in every
 * micro-batch cannot use a value that is made after all of them. */
static bool check_phases(MwExpander *ex, MwSite site, const MwNodeSpec *spec)
{
    MwPhase phase = ex->graph->phase;
    for (int i = 0; i < spec->operand_count; i++) {
        MwPhase other = mw_value_node(ex->graph, spec->operands[i])->phase;
        if (other <= phase)
            continue;
        mw_expand_error(ex, site.span, "%s runs %s but uses '%s', which runs %s",
                        mw_site_callee(site, spec->op), mw_phase_name(phase),
                        mw_value(ex->graph, spec->operands[i])->name, mw_phase_name(other));
        return false;
    }
    return true;
}

static MwNodeId add(MwExpander *ex, MwSite site, const MwNodeSpec *spec)
{
    if (!mw_expand_charge(ex, site.span, 1 + spec->operand_count) || !check_phases(ex, site, spec))
        return (MwNodeId){-1};
    if (ex->graph->nodes.count >= MW_MAX_NODES) {
        mw_expand_stop(ex, site.span, "the model has more than %d operators", MW_MAX_NODES);
        return (MwNodeId){-1};
    }
    ex->graph->origin.span = site.span;
    MwNodeId id = mw_graph_add(ex->graph, spec, ex->diags);
    if (id.index < 0)
        mw_expand_context(ex);
    return id;
}

MwTerm mw_emit_all(MwExpander *ex, MwSite site, MwOp op, const MwValueId *operands,
                   int operand_count, const MwAttr *attrs, int attr_count)
{
    for (int i = 0; i < operand_count; i++)
        if (!mw_has_value(operands[i]))
            return mw_term_none();
    MwNodeSpec spec = {.op = op,
                       .operands = operands,
                       .operand_count = operand_count,
                       .attrs = attrs,
                       .attr_count = attr_count,
                       .callee = site.callee};
    if (!ex->stopped)
        name_results(ex, site, &spec);
    MwNodeId id = add(ex, site, &spec);
    if (id.index < 0)
        return mw_term_none();
    int count = mw_node(ex->graph, id)->result_count;
    if (count == 1)
        return mw_term_tensor(mw_node_result(ex->graph, id, 0));
    MwTerm *results = MW_NEW(ex->arena, MwTerm, count);
    for (int k = 0; k < count; k++)
        results[k] = mw_term_tensor(mw_node_result(ex->graph, id, k));
    return mw_term_list(results, count);
}

MwValueId mw_emit(MwExpander *ex, MwSite site, MwOp op, const MwValueId *operands,
                  int operand_count, const MwAttr *attrs, int attr_count)
{
    MwTerm term = mw_emit_all(ex, site, op, operands, operand_count, attrs, attr_count);
    if (term.kind == MW_TERM_LIST)
        term = term.list.at[0];
    return term.kind == MW_TERM_TENSOR ? term.value : mw_no_value();
}

MwValueId mw_emit_unary(MwExpander *ex, MwSite site, MwOp op, MwValueId x)
{
    return mw_emit(ex, site, op, &x, 1, NULL, 0);
}

MwValueId mw_emit_binary(MwExpander *ex, MwSite site, MwOp op, MwValueId a, MwValueId b)
{
    return mw_emit(ex, site, op, (MwValueId[]){a, b}, 2, NULL, 0);
}

MwValueId mw_emit_constant(MwExpander *ex, MwSite site, MwType type, double value)
{
    MwAttr attrs[] = {mw_attr_int(MW_ATTR_TYPE, type), mw_attr_ints(MW_ATTR_SHAPE, NULL, 0),
                      mw_attr_float(MW_ATTR_VALUE, value)};
    return mw_emit(ex, site, MW_OP_CONSTANT, NULL, 0, attrs, MW_COUNT(attrs));
}

MwValueId mw_emit_cast(MwExpander *ex, MwSite site, MwValueId x, MwType type)
{
    MwAttr attr = mw_attr_int(MW_ATTR_TYPE, type);
    return mw_emit(ex, site, MW_OP_CAST, &x, 1, &attr, 1);
}

MwValueId mw_emit_range(MwExpander *ex, MwSite site, MwOp op, MwValueId x, int axis, int64_t begin,
                        int64_t end)
{
    MwAttr attrs[] = {mw_attr_int(MW_ATTR_AXIS, axis), mw_attr_int(MW_ATTR_BEGIN, begin),
                      mw_attr_int(MW_ATTR_END, end)};
    return mw_emit(ex, site, op, &x, 1, attrs, MW_COUNT(attrs));
}

MwValueId mw_emit_scan_in(MwExpander *ex, MwSite site, const MwScanSteps *in, MwValueId x, int axis)
{
    const MwAttr attrs[] = {mw_attr_int(MW_ATTR_AXIS, axis), mw_attr_int(MW_ATTR_LOOP, in->loop),
                            mw_attr_int(MW_ATTR_REVERSE, in->reverse)};
    return mw_emit(ex, site, MW_OP_SCAN_IN, &x, 1, attrs, MW_COUNT(attrs));
}

MwValueId mw_emit_concat(MwExpander *ex, MwSite site, const MwValueId *values, int count, int axis)
{
    MwAttr attr = mw_attr_int(MW_ATTR_AXIS, axis);
    return mw_emit(ex, site, MW_OP_CONCAT, values, count, &attr, 1);
}

MwValueId mw_emit_broadcast(MwExpander *ex, MwSite site, MwValueId x, const MwTensor *shape)
{
    MwAttr attr = mw_attr_ints(MW_ATTR_SHAPE, shape->dim, shape->rank);
    return mw_emit(ex, site, MW_OP_BROADCAST, &x, 1, &attr, 1);
}

MwValueId mw_emit_iota(MwExpander *ex, MwSite site, const MwTensor *tensor, int axis)
{
    MwAttr attrs[] = {mw_attr_int(MW_ATTR_TYPE, tensor->type),
                      mw_attr_ints(MW_ATTR_SHAPE, tensor->dim, tensor->rank),
                      mw_attr_int(MW_ATTR_AXIS, axis)};
    return mw_emit(ex, site, MW_OP_IOTA, NULL, 0, attrs, MW_COUNT(attrs));
}

MwValueId mw_emit_transpose(MwExpander *ex, MwSite site, MwValueId x, const int64_t *perm)
{
    if (!mw_has_value(x))
        return x;
    MwAttr attr = mw_attr_ints(MW_ATTR_PERM, perm, mw_value_tensor(ex->graph, x)->rank);
    return mw_emit(ex, site, MW_OP_TRANSPOSE, &x, 1, &attr, 1);
}

MwValueId mw_emit_reshape(MwExpander *ex, MwSite site, MwValueId x, const MwTensor *shape)
{
    MwAttr attr = mw_attr_ints(MW_ATTR_SHAPE, shape->dim, shape->rank);
    return mw_emit(ex, site, MW_OP_RESHAPE, &x, 1, &attr, 1);
}

MwValueId mw_emit_einsum(MwExpander *ex, MwSite site, const char *equation, MwValueId a,
                         MwValueId b)
{
    MwAttr attr = mw_attr_text(MW_ATTR_EQUATION, mw_intern(ex->interner, equation));
    return mw_emit(ex, site, MW_OP_EINSUM, (MwValueId[]){a, b}, 2, &attr, 1);
}

MwValueId mw_emit_source(MwExpander *ex, MwSpan span, const char *name, MwOp op,
                         const MwTensor *type, const MwAttr *attrs, int attr_count)
{
    if (mw_has_value(mw_graph_find(ex->graph, name))) {
        mw_expand_error(ex, span, "the name '%s' is already in use", name);
        return mw_no_value();
    }
    MwNodeSpec spec = {
        .op = op, .attrs = attrs, .attr_count = attr_count, .given = type, .name = name};
    MwNodeId id = add(ex, (MwSite){.span = span}, &spec);
    return id.index < 0 ? mw_no_value() : mw_node_result(ex->graph, id, 0);
}

/* Gets the number that a constant term stands for. Returns false for other terms. */
static bool term_value(MwTerm term, double *value)
{
    if (term.kind == MW_TERM_BOOL)
        *value = term.b;
    else if (mw_term_is_number(term))
        *value = mw_term_number(term);
    else
        return false;
    return true;
}

/* Turns the constants among `terms` into nodes of a type. */
static bool promote_to(MwExpander *ex, MwSpan span, MwType type, const MwTerm *terms, int count,
                       MwValueId *values)
{
    for (int i = 0; i < count; i++) {
        double value;
        if (terms[i].kind == MW_TERM_TENSOR) {
            values[i] = terms[i].value;
        } else if (term_value(terms[i], &value)) {
            values[i] = mw_emit_constant(ex, (MwSite){span, mw_one_value()}, type, value);
        } else {
            mw_expand_error(ex, span, "expected a tensor or a number, not %s",
                            mw_term_describe(ex, terms[i]));
            return false;
        }
        if (!mw_has_value(values[i]))
            return false;
    }
    return true;
}

bool mw_promote(MwExpander *ex, MwSpan span, const MwTerm *terms, int count, MwValueId *values)
{
    const MwTensor *like = NULL;
    /* The condition of a select, its first operand, has a type of its own, so the last tensor
     * decides. */
    for (int i = 0; i < count; i++)
        if (terms[i].kind == MW_TERM_TENSOR)
            like = mw_value_tensor(ex->graph, terms[i].value);
    MW_ASSERT(like != NULL);
    return promote_to(ex, span, like->type, terms, count, values);
}

/* A select between two constants, beside which no tensor gives them a type: f32, or bool for two
 * truth values. */
static bool promote_choice(MwExpander *ex, MwSpan span, const MwTerm *terms, MwValueId *values)
{
    bool is_bool = terms[1].kind == MW_TERM_BOOL && terms[2].kind == MW_TERM_BOOL;
    values[0] = terms[0].value;
    return promote_to(ex, span, is_bool ? MW_BOOL : MW_F32, terms + 1, 2, values + 1);
}

MwTerm mw_apply(MwExpander *ex, MwSite site, MwOp op, const MwTerm *terms, int count)
{
    bool any_tensor = false;
    /* The branch that is not taken may have no term. */
    if (op == MW_OP_SELECT && terms[0].kind == MW_TERM_BOOL)
        return terms[0].b ? terms[1] : terms[2];
    for (int i = 0; i < count; i++) {
        if (terms[i].kind == MW_TERM_NONE)
            return mw_term_none();
        any_tensor |= terms[i].kind == MW_TERM_TENSOR;
    }
    if (!any_tensor && mw_arithmetic_kind(op) != MW_ARITHMETIC_NONE)
        return mw_fold(ex, (MwWant){mw_site_callee(site, op), site.span}, op, terms, count);
    if (!any_tensor) {
        mw_expand_error(ex, site.span, "%s needs a tensor, not %s", mw_site_callee(site, op),
                        mw_term_describe(ex, terms[0]));
        return mw_term_none();
    }
    MwValueId *values = MW_NEW(ex->arena, MwValueId, count);
    bool promoted =
        op == MW_OP_SELECT && terms[1].kind != MW_TERM_TENSOR && terms[2].kind != MW_TERM_TENSOR
            ? promote_choice(ex, site.span, terms, values)
            : mw_promote(ex, site.span, terms, count, values);
    if (!promoted)
        return mw_term_none();
    return mw_emit_all(ex, site, op, values, count, NULL, 0);
}
