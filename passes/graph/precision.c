/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Precision: applies `precision bf16` or `precision f16` to the types of values.
 *
 * In:  a model that is not differentiated, and graph->precision, the type of its contractions. The
 *      scale of the loss is a matter of differentiate and update; tf32 one of codegen.
 * Out: if that is a type of 16 bits, here *half*, the same model with casts; graph->precision is
 *      f32, so nothing remains to apply.
 *
 * Operators that depend on an input have one of three classes, which the column `precision` of
 * ir/ops.def gives:
 * - HALF: contractions and attention run in half;
 * - F32: reductions, norms, softmax, functions that grow or fall without bound (exp, log) and
 *   terms of losses run in f32;
 * - FOLLOWS: all other operators follow their operands. They run in half if all operands that
 *   depend on an input or count positions are half, and there is at least one; else in f32. Weights
 *   and constants are cast to the type of the others.
 * Operators that depend on no input stay in f32: weights, whose updates are smaller than half
 * resolves, positions, and functions of these. So do operators with a type of 16 bits that the
 * model itself names. A cast gives the type that it names even if it changes nothing, so that a
 * model can keep f32. Metrics, and the values assigned to weights and states, keep their types.
 * Invariant: the model computes the same function up to rounding to half.
 *
 * The classes are those of automatic mixed precision in PyTorch (torch.amp, "autocast op
 * reference") and TensorFlow (auto_mixed_precision_lists.h). That weights follow is TensorFlow's
 * rule; it makes activations between contractions half. Micikevicius et al., "Mixed Precision
 * Training", 2018, give the reasons. */
#include "passes/graph/precision.h"

#include "ir/build.h"
#include "ir/loops.h"
#include "passes/graph/simplify.h"
#include "passes/graph/simplify_rules.h"
#include "passes/pass.h"

typedef struct {
    MwRewrite rewrite;
    const bool *varies;       /* [values of from] depends on an input */
    const bool *decides_type; /* [values of from] users that follow take their type from it */
} Precision;

static bool is_input(const MwNode *node)
{
    return node->op == MW_OP_INPUT;
}

static bool is_input_or_counts(const MwNode *node)
{
    return node->op == MW_OP_INPUT || node->op == MW_OP_IOTA || node->op == MW_OP_STEP;
}

/* [values] whether a value is a result of a node for which `is_origin` holds, or depends on one. */
static bool *find_dependent(MwArena *arena, const MwGraph *graph, bool (*is_origin)(const MwNode *))
{
    const MwLoops loops = mw_loops(arena, graph);
    bool *dependent = MW_NEW(arena, bool, graph->values.count);
    do {
        for (int n = 0; n < graph->nodes.count; n++) {
            const MwNode *node = &graph->nodes.at[n];
            bool any = is_origin(node);
            for (int k = 0; k < node->operand_count && !any; k++)
                any = dependent[node->operands[k].index];
            for (int k = 0; k < node->result_count; k++)
                dependent[node->first_result + k] |= any;
        }
    } while (mw_loops_carry_on(&loops, graph, dependent));
    return dependent;
}

bool *mw_find_varying(MwArena *arena, const MwGraph *graph)
{
    return find_dependent(arena, graph, is_input);
}

/* ---- Types ---- */

/* The class of a node: that of its operator, but an einsum of one operand is not a contraction. It
 * is a sum or, if all letters remain, a transposition. */
static MwOpPrecision class_of(const MwGraph *graph, const MwNode *node)
{
    if (node->op != MW_OP_EINSUM || node->operand_count == 2)
        return mw_op_info(node->op)->precision;
    MwValueId result = {node->first_result};
    bool sums = mw_tensor_elements(mw_value_tensor(graph, node->operands[0])) !=
                mw_tensor_elements(mw_value_tensor(graph, result));
    return sums ? MW_PRECISION_F32 : MW_PRECISION_FOLLOWS;
}

static MwType model_type(const Precision *p, MwValueId value)
{
    return mw_value_tensor(p->rewrite.from, value)->type;
}

static MwType current_type(const Precision *p, MwValueId value)
{
    return mw_value_tensor(p->rewrite.to, p->rewrite.value[value.index])->type;
}

/* The type in which an operator that follows its operands runs. */
static MwType followed_type(const Precision *p, const MwNode *node)
{
    bool any = false;
    for (int k = 0; k < node->operand_count; k++) {
        MwValueId operand = node->operands[k];
        if (!p->decides_type[operand.index] || model_type(p, operand) != MW_F32)
            continue;
        if (current_type(p, operand) != p->rewrite.from->precision)
            return MW_F32;
        any = true;
    }
    return any ? p->rewrite.from->precision : MW_F32;
}

/* Whether the model itself gives an operand or result of the node a type of 16 or 8 bits. */
static bool is_typed(const Precision *p, const MwNode *node)
{
    bool typed = false;
    for (int k = 0; k < node->operand_count; k++)
        typed |= mw_type_is_narrow(model_type(p, node->operands[k]));
    for (int k = 0; k < node->result_count; k++)
        typed |= mw_type_is_narrow(model_type(p, (MwValueId){node->first_result + k}));
    return typed;
}

/* The type of the operands of `node` that are f32 in the model. */
static MwType operand_type(const Precision *p, const MwNode *node)
{
    if (!p->varies[node->first_result] || is_typed(p, node))
        return MW_F32;
    switch (class_of(p->rewrite.from, node)) {
    case MW_PRECISION_HALF:
        return p->rewrite.from->precision;
    case MW_PRECISION_FOLLOWS:
        return followed_type(p, node);
    case MW_PRECISION_F32:
        return MW_F32;
    }
    MW_UNREACHABLE();
}

/* ---- The graph ---- */

/* `x` as another floating-point type. A constant of that type has the exact value, because it is
 * never stored. */
static MwValueId cast_to(Precision *p, MwValueId x, MwType type)
{
    MwGraph *to = p->rewrite.to;
    MwTensor tensor = *mw_value_tensor(to, x);
    if (tensor.type == type)
        return x;
    int first = to->values.count;
    const char *name =
        mw_arena_printf(to->arena, "%s.%s", mw_value(to, x)->name, mw_type_name(type));
    double constant;
    tensor.type = type;
    MwValueId made = mw_value_is_constant(to, x, &constant)
                         ? mw_build_constant(to, &tensor, constant)
                         : mw_build_cast(to, x, type);
    mw_build_name_temporaries(to, first, to->values.count, name);
    return made;
}

/* Copies a node with its operands cast to the type that it runs in. */
static void type_node(Precision *p, const MwNode *node)
{
    if (node->op == MW_OP_CAST) {
        mw_rewrite_copy(&p->rewrite, node);
        return;
    }
    MwValueId *operands = mw_rewrite_operands(&p->rewrite, node);
    MwType type = operand_type(p, node);
    mw_rewrite_at(&p->rewrite, node);
    for (int k = 0; k < node->operand_count; k++)
        if (model_type(p, node->operands[k]) == MW_F32 && k != mw_op_lse_operand(node->op))
            operands[k] = cast_to(p, operands[k], type);
    mw_rewrite_copy_on(&p->rewrite, node, operands);
}

static MwValueId cast_at_maker(Precision *p, MwValueId value, MwType type)
{
    mw_rewrite_at(&p->rewrite, mw_value_node(p->rewrite.to, value));
    return cast_to(p, value, type);
}

/* Restores the types of metrics, rates and assigned values. */
static void restore_types(Precision *p)
{
    MwGraph *to = p->rewrite.to;
    for (int i = 0; i < to->metrics.count; i++)
        to->metrics.at[i].value = cast_at_maker(p, to->metrics.at[i].value, MW_F32);
    for (int i = 0; i < to->rates.count; i++)
        to->rates.at[i].value = cast_at_maker(p, to->rates.at[i].value, MW_F32);
    for (int i = 0; i < to->assigns.count; i++) {
        MwAssign *assign = &to->assigns.at[i];
        MwType type = mw_value_tensor(to, assign->target)->type;
        if (mw_type_is_float(type))
            assign->value = cast_at_maker(p, assign->value, type);
    }
}

/* The model in mixed precision. */
static MwGraph *in_halves(const MwGraph *graph)
{
    Precision p = {.rewrite = mw_rewrite_begin(graph),
                   .varies = find_dependent(graph->arena, graph, is_input),
                   .decides_type = find_dependent(graph->arena, graph, is_input_or_counts)};
    for (int n = 0; n < graph->nodes.count; n++)
        type_node(&p, &graph->nodes.at[n]);
    mw_rewrite_finish(&p.rewrite);
    restore_types(&p);
    p.rewrite.to->precision = MW_F32;
    return mw_simplify(p.rewrite.to);
}

bool mw_pass_precision(MwCompilation *compilation, MwDiags *diags)
{
    const MwGraph *graph = compilation->graph;
    if (!mw_type_is_half(graph->precision))
        return true;
    if (mw_graph_has_phase(graph, MW_PHASE_BACKWARD)) {
        mw_diag_error(diags, mw_span_none(),
                      "model '%s' is a dump with gradients, whose types are settled: it cannot "
                      "become one of precision %s",
                      graph->name, mw_type_name(graph->precision));
        return false;
    }
    compilation->graph = in_halves(graph);
    return true;
}
