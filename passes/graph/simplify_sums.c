/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rule of simplify for sums of several products, such as x + f(x) @ a + g(x) @ b: it adds up
 * the products first, whatever way the model brackets the sum. Where devices hold parts of what the
 * products sum over, their partial sums are then added as they are, and completed once instead of
 * once each (Wang and Komatsuzaki, GPT-J, 2021, has such layers to this end). The rule changes the
 * order of floating-point sums, and so their rounding.
 *
 * A sum is a tree of additions, subtractions, negations, and products and quotients of other sums
 * and constants. Its terms are values that devices may hold partial sums of (`is_part`), and
 * others. What is a part as a whole, such as a sum of products alone, is one term, and stays; so a
 * sum that the rule made is left alone.
 *
 * The search for terms begins at each sum. It ends where KINDS * MOST_TERMS additions are open,
 * which have more terms than fit, so that it does not walk through all of a long sum each time. */
#include "passes/graph/simplify_rules.h"

#include "ir/build.h"
#include "ir/sharding/sharding.h"

enum { MOST_TERMS = 16 };

/* Whether devices may hold partial sums of what the node gives, because they split a factor. */
static bool sums_over_factor(const MwGraph *graph, MwNodeId id)
{
    const MwNode *node = mw_node(graph, id);
    if (mw_op_info(node->op)->combine != MW_COMBINE_SUM || node->operand_count == 0)
        return false;
    const MwShardingRule rule = mw_sharding_rule(graph->arena, graph, id);
    bool sums = false;
    for (int f = 0; f < rule.factor_count && !sums; f++) {
        sums = rule.factors[f].kind == MW_FACTOR_SPLITTABLE && rule.factors[f].divisor > 1;
        for (int d = 0; d < MW_MAX_RANK; d++)
            sums &= !mw_factor_map_has(&rule.results[0], d, f);
    }
    return sums;
}

/* Whether the node gives partial sums where those of its operands are `is_part`. */
static bool carries_parts(const MwNode *node, const bool *is_part)
{
    const int count = node->operand_count;
    int parts = 0;
    for (int k = 0; k < count; k++)
        parts += is_part[node->operands[k].index];
    switch (mw_op_info(node->op)->linear) {
    case MW_LINEAR_NONE:
        return false;
    case MW_LINEAR_JOINT:
        return count > 0 && parts == count;
    case MW_LINEAR_EACH:
        return parts > 0;
    case MW_LINEAR_FIRST:
        return count > 0 && is_part[node->operands[0].index];
    case MW_LINEAR_LAST:
        return count > 0 && is_part[node->operands[count - 1].index];
    }
    MW_UNREACHABLE();
}

bool *mw_simplify_find_parts(const MwGraph *graph, const bool *is_used_once)
{
    bool *is_part = MW_NEW(graph->arena, bool, graph->values.count);
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        if (node->result_count > 0 && is_used_once[node->first_result] &&
            mw_type_is_float(graph->values.at[node->first_result].tensor.type))
            is_part[node->first_result] =
                carries_parts(node, is_part) || sums_over_factor(graph, (MwNodeId){n});
    }
    return is_part;
}

/* A product or quotient of a sum and a constant, which applies to each term of the sum. */
typedef struct Scale {
    const MwNode *node;
    int sum;                   /* the operand that is the sum */
    const struct Scale *outer; /* NULL: none */
} Scale;

typedef struct {
    MwValueId value; /* in rewrite->to */
    bool is_negative;
    const Scale *scale; /* NULL: none */
} Term;

typedef enum { PARTS, OTHERS, KINDS } Kind;

typedef struct {
    const MwSimplifyContext *context;
    Term term[KINDS][MOST_TERMS];
    int count[KINDS];
    int open; /* additions and subtractions whose terms these are; each adds a term at least */
    bool fits;
} Terms;

static const MwGraph *from_of(const Terms *t)
{
    return t->context->rewrite->from;
}

/* The operand of a product or quotient with a constant that is not the constant; -1: the node is
 * none such. */
static int scaled_operand(const MwGraph *graph, const MwNode *node)
{
    double constant;
    if (node->op != MW_OP_MUL && node->op != MW_OP_DIV)
        return -1;
    if (mw_value_is_constant(graph, node->operands[1], &constant))
        return 0;
    return node->op == MW_OP_MUL && mw_value_is_constant(graph, node->operands[0], &constant) ? 1
                                                                                              : -1;
}

static void find_terms(Terms *t, MwValueId value, bool is_negative, const Scale *scale);

/* Adds the terms of a scaled sum. False if it holds no parts. */
static bool find_scaled(Terms *t, const MwNode *node, int sum, bool is_negative, const Scale *outer)
{
    const int parts = t->count[PARTS], others = t->count[OTHERS], open = t->open;
    Scale *scale = MW_NEW(from_of(t)->arena, Scale, 1);
    *scale = (Scale){node, sum, outer};
    find_terms(t, node->operands[sum], is_negative, scale);
    if (t->count[PARTS] > parts)
        return true;
    t->count[OTHERS] = others;
    t->open = open;
    return false;
}

/* Adds the terms of the value of a node. False if it is no sum. */
static bool find_inner(Terms *t, const MwNode *node, bool is_negative, const Scale *scale)
{
    const int scaled = scaled_operand(from_of(t), node);
    if (scaled >= 0)
        return find_scaled(t, node, scaled, is_negative, scale);
    if (node->op != MW_OP_ADD && node->op != MW_OP_SUB && node->op != MW_OP_NEG)
        return false;
    t->open += node->op != MW_OP_NEG;
    t->fits = t->fits && t->open < KINDS * MOST_TERMS;
    find_terms(t, node->operands[0], is_negative ^ (node->op == MW_OP_NEG), scale);
    if (node->op != MW_OP_NEG)
        find_terms(t, node->operands[1], is_negative ^ (node->op == MW_OP_SUB), scale);
    return true;
}

/* The outermost repeat that a node is in, and the iteration of it; -1: none. */
static int outermost_repeat(const MwGraph *graph, const MwNode *node, int *iteration)
{
    int repeat = node->origin.repeat;
    *iteration = node->origin.iteration;
    while (repeat >= 0 && graph->repeats.at[repeat].parent >= 0) {
        *iteration = graph->repeats.at[repeat].parent_iteration;
        repeat = graph->repeats.at[repeat].parent;
    }
    return repeat;
}

/* Whether two nodes are in one part of the model that no cut into layers divides by its repeats. */
static bool same_part(const MwGraph *graph, const MwNode *a, const MwNode *b)
{
    int iteration_a, iteration_b;
    return outermost_repeat(graph, a, &iteration_a) == outermost_repeat(graph, b, &iteration_b) &&
           iteration_a == iteration_b;
}

/* Whether a value of the sum may be taken apart: nothing else uses it, it runs as often, and no
 * terms have to cross layers for it, where a running sum crosses as one value. */
static bool may_open(const Terms *t, MwValueId value)
{
    const MwSimplifyContext *context = t->context;
    const MwGraph *from = from_of(t);
    const MwNode *node = mw_value_node(from, value);
    const int maker = mw_value(from, value)->node.index;
    const int root = mw_value(from, (MwValueId){context->node->first_result})->node.index;
    return context->is_used_once[value.index] && !context->is_part[value.index] &&
           node->phase == context->node->phase && same_part(from, node, context->node) &&
           context->loops->of_node[maker] == context->loops->of_node[root] &&
           mw_tensor_equal(mw_value_tensor(from, value), mw_simplify_tensor(context));
}

/* Adds the terms of a value of the sum, while they fit. */
static void find_terms(Terms *t, MwValueId value, bool is_negative, const Scale *scale)
{
    if (!t->fits)
        return;
    if (may_open(t, value) && find_inner(t, mw_value_node(from_of(t), value), is_negative, scale))
        return;
    const bool is_part =
        t->context->is_part[value.index] &&
        mw_tensor_equal(mw_value_tensor(from_of(t), value), mw_simplify_tensor(t->context));
    const Kind kind = is_part ? PARTS : OTHERS;
    t->fits = t->fits && t->count[kind] < MOST_TERMS;
    if (t->fits)
        t->term[kind][t->count[kind]++] =
            (Term){t->context->rewrite->value[value.index], is_negative, scale};
}

static MwValueId emit(const Terms *t, MwOp op, MwValueId a, MwValueId b)
{
    MwGraph *to = t->context->rewrite->to;
    const char *name = mw_arena_printf(to->arena, "%s.sum",
                                       from_of(t)->values.at[t->context->node->first_result].name);
    return mw_build(to, name, op, (MwValueId[]){a, b}, 2, NULL, 0);
}

/* The term without its sign. */
static MwValueId scaled_term(const Terms *t, const Term *term)
{
    MwValueId value = term->value;
    for (const Scale *scale = term->scale; scale; scale = scale->outer) {
        MwValueId by = t->context->rewrite->value[scale->node->operands[1 - scale->sum].index];
        value = emit(t, scale->node->op, value, by);
    }
    return value;
}

/* Adds up the terms of a kind. If all are negative, gives the sum of their opposites. */
static MwValueId add_up(const Terms *t, Kind kind, bool *is_negative)
{
    const Term *term = t->term[kind];
    int first = 0;
    while (first < t->count[kind] && term[first].is_negative)
        first++;
    *is_negative = first == t->count[kind];
    first = *is_negative ? 0 : first;
    MwValueId sum = scaled_term(t, &term[first]);
    for (int i = 0; i < t->count[kind]; i++)
        if (i != first)
            sum = emit(t, term[i].is_negative == *is_negative ? MW_OP_ADD : MW_OP_SUB, sum,
                       scaled_term(t, &term[i]));
    return sum;
}

MwValueId mw_simplify_sums(const MwSimplifyContext *context)
{
    Terms t = {.context = context, .fits = true};
    if ((context->node->op != MW_OP_ADD && context->node->op != MW_OP_SUB) ||
        !mw_type_is_float(mw_simplify_tensor(context)->type))
        return mw_no_value();
    find_inner(&t, context->node, false, NULL);
    if (!t.fits || t.count[PARTS] < 2 || !t.count[OTHERS])
        return mw_no_value();
    mw_rewrite_at(context->rewrite, context->node);
    bool is_negative[KINDS];
    MwValueId sums[KINDS];
    for (int kind = KINDS - 1; kind >= 0; kind--)
        sums[kind] = add_up(&t, (Kind)kind, &is_negative[kind]);
    const Kind first = is_negative[OTHERS] && !is_negative[PARTS] ? PARTS : OTHERS;
    const MwOp op = is_negative[PARTS] == is_negative[OTHERS] ? MW_OP_ADD : MW_OP_SUB;
    const MwValueId operands[] = {sums[first], sums[1 - first]};
    if (!is_negative[first])
        return mw_simplify_emit(context, op, operands, 2, NULL, 0);
    const MwValueId opposite = emit(&t, op, operands[0], operands[1]);
    return mw_simplify_emit(context, MW_OP_NEG, &opposite, 1, NULL, 0);
}
