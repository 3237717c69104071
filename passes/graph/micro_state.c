/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How cutting the batch into micro-batches affects every value.
 *
 * In:  the graph for the whole batch.
 * Out: a state for each value.
 *
 * An operator on slices of the batch gives slices, or if it sums over the batch, a term of a
 * sum, or if it takes the maximum of floats, that of the slice. A linear operator on terms gives
 * terms (the `linear` column of ir/ops.def). Any other operator on terms needs their sum, and one
 * on maxima needs the greatest, so it waits until all micro-batches are done, and so do its users.
 * An operator that would have to wait but also works on slices is an error.
 *
 * What a step of a loop takes over has the state of what the step before leaves: where a loop
 * begins with a value that is the same for all of the batch (zeros), its first step takes slices of
 * it, or terms of a sum. So the analysis is repeated with the states that the steps were found to
 * leave, at most once for each value that a loop carries. */
#include "passes/graph/micro_state.h"

#include "ir/loops.h"
#include "passes/graph/simplify_rules.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

typedef struct {
    const MwGraph *graph;
    MwArena *arena; /* scratch for sharding rules */
    int micro_batches;
    MwMicroState *state;
    MwLoops loops;
    MwMicroState *left; /* [nodes] of a scan_carry, what the steps leave; WHOLE: not known */
    MwDiags *diags;
} Analysis;

/* Reports at `node` that the batch cannot be cut because of `reason`; returns false. */
static bool fail(const Analysis *a, const MwNode *node, const char *reason, ...) MW_PRINTF(3, 4);

static bool fail(const Analysis *a, const MwNode *node, const char *reason, ...)
{
    va_list args;
    va_start(args, reason);
    const char *text = mw_arena_vprintf(a->arena, reason, args);
    va_end(args);
    const bool is_gradient = node->phase == MW_PHASE_BACKWARD;
    mw_diag_error(a->diags, node->origin.span, "cannot cut the batch into %d micro-batches: %s %s",
                  a->micro_batches, is_gradient ? "the gradient of this" : "this", text);
    return false;
}

int mw_micro_dim(const MwFactorMap *map, int rank, int factor)
{
    for (int d = 0; d < rank; d++)
        if (mw_factor_map_has(map, d, factor))
            return d;
    return -1;
}

int mw_micro_factor(const MwShardingRule *rule, const MwNode *node, const MwMicroState *state)
{
    for (int k = 0; k < node->operand_count; k++) {
        MwMicroState operand = state[node->operands[k].index];
        if (operand.kind == MW_MICRO_SPLIT)
            return rule->operands[k].factor[operand.dim];
    }
    return -1;
}

/* Operand k as a message calls it: its name, unless the compiler made that up of its operator's. */
static const char *operand_text(const Analysis *a, const MwNode *node, int k)
{
    char text[MW_TENSOR_TEXT_BYTES];
    const MwValue *value = mw_value(a->graph, node->operands[k]);
    const MwNode *maker = mw_node(a->graph, value->node);
    const char *op = mw_op_info(maker->op)->name;
    const size_t length = strlen(op);
    const char *rest = strncmp(value->name, op, length) == 0 ? value->name + length : NULL;
    const bool made_up = rest && (!*rest || (*rest == '.' && isdigit((unsigned char)rest[1])));
    if (made_up || maker->phase != MW_PHASE_FORWARD)
        return mw_arena_printf(a->arena, "a value of type %s",
                               mw_tensor_text(&value->tensor, text));
    return mw_arena_printf(a->arena, "'%s'", value->name);
}

static MwMicroState operand_state(const Analysis *a, const MwNode *node, int k)
{
    return a->state[node->operands[k].index];
}

static int count_operands(const Analysis *a, const MwNode *node, MwMicroKind kind)
{
    int count = 0;
    for (int k = 0; k < node->operand_count; k++)
        count += operand_state(a, node, k).kind == kind;
    return count;
}

/* Sets the state of all results of `node`; returns true. */
static bool set_results(const Analysis *a, const MwNode *node, MwMicroKind kind)
{
    for (int k = 0; k < node->result_count; k++)
        a->state[node->first_result + k] = (MwMicroState){.kind = kind};
    return true;
}

static bool analyse_input(const Analysis *a, const MwNode *node)
{
    const MwValue *value = &a->graph->values.at[node->first_result];
    if (mw_input_is_whole(a->graph, node))
        return true;
    if (value->tensor.dim[0] % a->micro_batches != 0)
        return fail(a, node, "input, '%s', has a batch of %lld", value->name,
                    (long long)value->tensor.dim[0]);
    a->state[node->first_result] = (MwMicroState){.kind = MW_MICRO_SPLIT, .dim = 0};
    return true;
}

/* Whether slices of a factor are slices of what runs over it. */
static bool is_outermost(const MwFactor *factor)
{
    return factor->kind == MW_FACTOR_SPLITTABLE && !factor->follows;
}

static bool may_cut(const Analysis *a, const MwFactor *factor)
{
    return is_outermost(factor) && factor->divisor % a->micro_batches == 0;
}

/* Whether a whole value can be computed in slices along `dim`, by its node on slices of the
 * operands that run over the same factor. Sources come as a whole. */
static bool can_be_sliced(const Analysis *a, MwValueId value, int dim)
{
    const MwNode *node = mw_value_node(a->graph, value);
    if (mw_op_info(node->op)->lowering == MW_LOWER_SOURCE)
        return false;
    MwShardingRule rule = mw_sharding_rule(a->arena, a->graph, mw_value(a->graph, value)->node);
    int factor = rule.results[value.index - node->first_result].factor[dim];
    bool can = factor >= 0 && may_cut(a, &rule.factors[factor]);
    for (int k = 0; k < node->operand_count && can; k++) {
        int rank = mw_value_tensor(a->graph, node->operands[k])->rank;
        int own = mw_micro_dim(&rule.operands[k], rank, factor);
        can = own < 0 || can_be_sliced(a, node->operands[k], own);
    }
    return can;
}

/* Whether every operand that runs over `factor` is split or can be computed in slices, and the
 * others are whole; reports an error if not. */
static bool check_cut_operands(const Analysis *a, const MwNode *node, const MwShardingRule *rule,
                               int factor)
{
    for (int k = 0; k < node->operand_count; k++) {
        MwMicroState state = operand_state(a, node, k);
        const char *name = operand_text(a, node, k);
        if (state.kind != MW_MICRO_WHOLE && state.kind != MW_MICRO_SPLIT)
            return fail(a, node, "combines parts of the batch with %s, which depends on all of it",
                        name);
        if (state.kind == MW_MICRO_WHOLE) {
            MwValueId operand = node->operands[k];
            int dim =
                mw_micro_dim(&rule->operands[k], mw_value_tensor(a->graph, operand)->rank, factor);
            if (dim >= 0 && !can_be_sliced(a, operand, dim))
                return fail(a, node, "needs parts of %s, whose dimension %d is the batch", name,
                            dim);
            continue;
        }
        int own = rule->operands[k].factor[state.dim];
        if (own < 0 || !is_outermost(&rule->factors[own]))
            return fail(a, node, "needs dimension %d of %s, the batch, as a whole", state.dim,
                        name);
        if (own != factor)
            return fail(a, node, "combines every element of the batch with every other, by %s",
                        name);
        if (rule->factors[own].divisor % a->micro_batches != 0)
            return fail(a, node,
                        "leaves the batch, dimension %d of %s, in %lld parts that cannot be cut",
                        state.dim, name, (long long)rule->factors[own].divisor);
    }
    return true;
}

/* What a node that goes over the whole batch gives for a slice of it; LATE: nothing of use. A step
 * of a loop cannot wait for a maximum. */
static MwMicroKind kind_of_whole(const Analysis *a, const MwNode *node)
{
    const MwCombine combine = mw_op_info(node->op)->combine;
    const bool is_float = mw_type_is_float(a->graph->values.at[node->first_result].tensor.type);
    if (combine == MW_COMBINE_SUM)
        return MW_MICRO_PARTIAL;
    return combine == MW_COMBINE_MAX && is_float && a->loops.of_node[node - a->graph->nodes.at] < 0
               ? MW_MICRO_GREATEST
               : MW_MICRO_LATE;
}

/* Analyses a node with operands that are cut by micro-batches. Returns false if it cannot be
 * cut. */
static bool analyse_cut(const Analysis *a, const MwNode *node, const MwShardingRule *rule)
{
    int factor = mw_micro_factor(rule, node, a->state);
    if (!check_cut_operands(a, node, rule, factor))
        return false;
    for (int k = 0; k < node->result_count; k++) {
        int result = node->first_result + k;
        int dim = mw_micro_dim(&rule->results[k], a->graph->values.at[result].tensor.rank, factor);
        const MwMicroKind whole = kind_of_whole(a, node);
        if (dim < 0 && whole == MW_MICRO_LATE)
            return fail(a, node, "goes over the whole batch, and is no sum over it");
        a->state[result] = dim < 0 ? (MwMicroState){.kind = whole}
                                   : (MwMicroState){.kind = MW_MICRO_SPLIT, .dim = dim};
    }
    return true;
}

/* Whether the node gives terms, if `partial` of its operands are terms and the others are whole. */
static bool carries_terms(const Analysis *a, const MwNode *node, int partial)
{
    int last = node->operand_count - 1;
    switch (mw_op_info(node->op)->linear) {
    case MW_LINEAR_NONE:
        return false;
    case MW_LINEAR_JOINT:
        return partial == node->operand_count;
    case MW_LINEAR_EACH:
        return partial == 1;
    case MW_LINEAR_FIRST:
        return partial == 1 && operand_state(a, node, 0).kind == MW_MICRO_PARTIAL;
    case MW_LINEAR_LAST:
        return partial == 1 && operand_state(a, node, last).kind == MW_MICRO_PARTIAL;
    }
    MW_UNREACHABLE();
}

static bool begins_with_zeros(const Analysis *a, const MwNode *carry)
{
    double value;
    return mw_value_is_constant(a->graph, carry->operands[0], &value) && value == 0;
}

/* Whether what a loop begins with, which is whole, can be what the steps leave. */
static bool can_begin(const Analysis *a, const MwNode *carry, MwMicroState left)
{
    if (operand_state(a, carry, 0).kind != MW_MICRO_WHOLE)
        return false;
    if (left.kind == MW_MICRO_SPLIT)
        return can_be_sliced(a, carry->operands[0], left.dim);
    return left.kind == MW_MICRO_PARTIAL && begins_with_zeros(a, carry);
}

/* Derives the states of a node's results from those of its operands; false after an error. */
static bool analyse_node(const Analysis *a, MwNodeId id)
{
    const MwNode *node = mw_node(a->graph, id);
    set_results(a, node, MW_MICRO_WHOLE);
    if (node->op == MW_OP_INPUT)
        return analyse_input(a, node);
    if (node->op == MW_OP_SCAN_CARRY && can_begin(a, node, a->left[id.index])) {
        a->state[node->first_result] = a->left[id.index];
        return true;
    }
    int cut = count_operands(a, node, MW_MICRO_SPLIT);
    int partial = count_operands(a, node, MW_MICRO_PARTIAL);
    const int late =
        count_operands(a, node, MW_MICRO_LATE) + count_operands(a, node, MW_MICRO_GREATEST);
    if (node->phase == MW_PHASE_UPDATE) {
        if (cut > 0)
            return fail(a, node, "runs once a step, but works on the batch itself");
        return set_results(a, node, MW_MICRO_LATE);
    }
    if (cut > 0) {
        MwShardingRule rule = mw_sharding_rule(a->arena, a->graph, id);
        return analyse_cut(a, node, &rule);
    }
    if (partial > 0 && late == 0 && carries_terms(a, node, partial))
        return set_results(a, node, MW_MICRO_PARTIAL);
    if (partial == 0 && late == 0)
        return true;
    set_results(a, node, MW_MICRO_LATE);
    return a->loops.of_node[id.index] < 0 ||
           fail(a, node, "needs a sum over the whole batch at each step of a scan");
}

/* Notes what the steps were found to leave; true if that is new for a value that a loop carries. A
 * sum that was taken to wait for its terms may be one of terms itself. */
static bool note_left(const Analysis *a)
{
    bool any = false;
    for (int n = 0; n < a->graph->nodes.count; n++) {
        const MwNode *node = &a->graph->nodes.at[n];
        if (node->op != MW_OP_SCAN_NEXT)
            continue;
        const int carry = mw_value(a->graph, node->operands[1])->node.index;
        MwMicroState left = operand_state(a, node, 0);
        if (left.kind == MW_MICRO_LATE)
            left.kind = MW_MICRO_PARTIAL;
        if (a->left[carry].kind != MW_MICRO_WHOLE || left.kind == MW_MICRO_WHOLE)
            continue;
        a->left[carry] = left;
        any = true;
    }
    return any;
}

bool mw_micro_states(const MwGraph *graph, int micro_batches, MwMicroState *state, MwDiags *diags)
{
    Analysis a = {
        .graph = graph, .arena = mw_arena_new(), .micro_batches = micro_batches, .state = state};
    a.loops = mw_loops(a.arena, graph);
    a.left = MW_NEW(a.arena, MwMicroState, graph->nodes.count);
    bool ok;
    do {
        a.diags = mw_diags_new(a.arena);
        ok = true;
        for (int n = 0; n < graph->nodes.count; n++)
            ok &= analyse_node(&a, (MwNodeId){n});
    } while (note_left(&a));
    a.diags = diags;
    for (int n = 0; n < graph->nodes.count && !ok; n++)
        if (!analyse_node(&a, (MwNodeId){n}))
            break;
    mw_arena_free(&a.arena);
    return ok;
}
