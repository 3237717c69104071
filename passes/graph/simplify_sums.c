/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rule of simplify for sums of several products, such as x + f(x) @ a + g(x) @ b: it adds up
 * the products first, whatever way the model brackets the sum. Where devices hold parts of what the
 * products sum over, their partial sums are then added as they are, and completed once instead of
 * once each (Wang and Komatsuzaki, GPT-J, 2021, has such layers to this end). The rule changes the
 * order of floating-point sums, and so their rounding.
 *
 * The search for terms visits each node of a sum once for each sum above it, of at most MOST_TERMS
 * terms. */
#include "passes/graph/simplify_rules.h"

#include "ir/build.h"

enum { MOST_TERMS = 16 };

typedef struct {
    const MwSimplifyContext *context;
    MwValueId term[2][MOST_TERMS]; /* in rewrite->to: products, and others */
    int count[2];
    bool fits;
} Terms;

static const MwGraph *from_of(const Terms *t)
{
    return t->context->rewrite->from;
}

/* Whether a value of the sum is a sum itself, which nothing else uses. */
static bool is_inner(const Terms *t, MwValueId value)
{
    const MwNode *node = mw_value_node(from_of(t), value);
    return node->op == MW_OP_ADD && t->context->is_used_once[value.index] &&
           node->phase == t->context->node->phase &&
           mw_tensor_equal(mw_value_tensor(from_of(t), value), mw_simplify_tensor(t->context));
}

/* Whether a term is a product that the sum alone uses. */
static bool is_product(const Terms *t, MwValueId value)
{
    const MwNode *node = mw_value_node(from_of(t), value);
    return mw_op_info(node->op)->lowering == MW_LOWER_CONTRACT && node->operand_count == 2 &&
           t->context->is_used_once[value.index] &&
           mw_tensor_equal(mw_value_tensor(from_of(t), value), mw_simplify_tensor(t->context));
}

static void find_terms(Terms *t, const MwNode *sum)
{
    for (int k = 0; k < 2 && t->fits; k++) {
        MwValueId value = sum->operands[k];
        if (is_inner(t, value)) {
            find_terms(t, mw_value_node(from_of(t), value));
            continue;
        }
        const bool other = !is_product(t, value);
        t->fits = t->count[other] < MOST_TERMS;
        if (t->fits)
            t->term[other][t->count[other]++] = t->context->rewrite->value[value.index];
    }
}

static int count_products(const MwSimplifyContext *context, MwValueId value)
{
    Terms t = {.context = context, .fits = true};
    if (!is_inner(&t, value))
        return is_product(&t, value);
    find_terms(&t, mw_value_node(from_of(&t), value));
    return t.count[1] ? 0 : t.count[0];
}

static MwValueId add_up(const Terms *t, int kind)
{
    MwGraph *to = t->context->rewrite->to;
    const char *name = mw_arena_printf(to->arena, "%s.sum",
                                       from_of(t)->values.at[t->context->node->first_result].name);
    MwValueId sum = t->term[kind][0];
    for (int i = 1; i < t->count[kind]; i++)
        sum = mw_build(to, name, MW_OP_ADD, (MwValueId[]){sum, t->term[kind][i]}, 2, NULL, 0);
    return sum;
}

MwValueId mw_simplify_sums(const MwSimplifyContext *context)
{
    Terms t = {.context = context, .fits = true};
    if (context->node->op != MW_OP_ADD || !mw_type_is_float(mw_simplify_tensor(context)->type))
        return mw_no_value();
    find_terms(&t, context->node);
    const bool is_done = count_products(context, context->node->operands[0]) == t.count[0] ||
                         count_products(context, context->node->operands[1]) == t.count[0];
    if (!t.fits || t.count[0] < 2 || !t.count[1] || is_done)
        return mw_no_value();
    mw_rewrite_at(context->rewrite, context->node);
    const MwValueId sums[] = {add_up(&t, 1), add_up(&t, 0)};
    return mw_simplify_emit(context, MW_OP_ADD, sums, 2, NULL, 0);
}
