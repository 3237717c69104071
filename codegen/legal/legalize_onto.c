/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sums of which one term is added where the other lies, without being stored by itself:
 *
 *     add(x, embedding_grad(ids, d))          becomes  add_rows(x, ids, d)
 *     accumulate(s, embedding_grad(ids, d))   becomes  add_rows(s, ids, d)
 *     accumulate(s, add(x, y))                becomes  accumulate(accumulate(s, x), y)
 *     add(x, y), read in other phases alone   becomes  accumulate(x, y)
 *
 * the last two where x and y are products or gradients of tables, each of which can be added in
 * place (codegen/fuse/gemm_absorb.c), or such sums. So the gradient of a table that is multiplied
 * by, too, is that of the product, to which rows are added: only these rows move, where the
 * gradient of the look-up by itself is mostly zeros. A term is one that nothing else reads, of the
 * phase and the loop of the sum. */
#include "codegen/legal/legalize_onto.h"

static const MwTensor *result_tensor(const MwGraph *local, const MwNode *node)
{
    return &local->values.at[node->first_result].tensor;
}

static int maker_of(const MwGraph *local, MwValueId value)
{
    return mw_value(local, value)->node.index;
}

/* ---- Which terms ---- */

static void use(MwOnto *onto, MwValueId value)
{
    onto->uses[value.index]++;
}

static void use_operands(MwOnto *onto, const MwNode *node)
{
    for (int k = 0; k < node->operand_count; k++) {
        use(onto, node->operands[k]);
        if (mw_value_node(onto->local, node->operands[k])->phase == node->phase)
            onto->is_read_soon[node->operands[k].index] = true;
    }
}

static void find_uses(MwOnto *onto)
{
    const MwGraph *local = onto->local;
    for (int n = 0; n < local->nodes.count; n++)
        use_operands(onto, &local->nodes.at[n]);
    for (int i = 0; i < local->outputs.count; i++)
        use(onto, local->outputs.at[i].value);
    for (int i = 0; i < local->assigns.count; i++)
        use(onto, local->assigns.at[i].value);
    for (int i = 0; i < local->metrics.count; i++)
        use(onto, local->metrics.at[i].value);
}

/* Whether `value` is a term of `node`, a sum, that `op` makes of two operands. */
static bool is_term(const MwOnto *onto, const MwNode *node, MwValueId value, MwOp op)
{
    const MwGraph *local = onto->local;
    const int m = maker_of(local, value), sum = maker_of(local, mw_legal_result(node));
    const MwNode *maker = &local->nodes.at[m];
    return maker->op == op && maker->operand_count == 2 && onto->uses[value.index] == 1 &&
           maker->phase == node->phase && onto->loops.of_node[m] == onto->loops.of_node[sum] &&
           mw_tensor_equal(mw_value_tensor(local, value), result_tensor(local, node));
}

static bool adds_terms(const MwOnto *onto, const MwNode *sum);

/* Whether `value` is a term of `node` that is a sum of terms that can be added in place. */
static bool is_split(const MwOnto *onto, const MwNode *node, MwValueId value)
{
    return is_term(onto, node, value, MW_OP_ADD) &&
           adds_terms(onto, mw_value_node(onto->local, value));
}

/* Whether each operand of `sum`, an ADD, is a term that can be added in place, or such a sum. */
static bool adds_terms(const MwOnto *onto, const MwNode *sum)
{
    bool all = true;
    for (int k = 0; k < 2 && all; k++)
        all = is_term(onto, sum, sum->operands[k], MW_OP_EMBEDDING_GRAD) ||
              is_term(onto, sum, sum->operands[k], MW_OP_EINSUM) ||
              is_split(onto, sum, sum->operands[k]);
    return all;
}

/* Takes what `node` adds in place of its operand `value`. */
static void take(MwOnto *onto, const MwNode *node, MwValueId value)
{
    const int maker = maker_of(onto->local, value);
    const MwNode *sum = &onto->local->nodes.at[maker];
    const bool splits = is_split(onto, node, value);
    if (splits || is_term(onto, node, value, MW_OP_EMBEDDING_GRAD))
        onto->is_taken[maker] = true;
    for (int k = 0; k < 2 && splits; k++)
        take(onto, sum, sum->operands[k]);
}

/* The operand of a sum that is made last. */
static int last_of(const MwNode *sum)
{
    return sum->operands[1].index > sum->operands[0].index;
}

/* Takes all terms of `sum` but the first, to which the others are added. */
static void take_all(MwOnto *onto, const MwNode *sum)
{
    const int last = last_of(sum);
    const MwValueId first = sum->operands[!last];
    take(onto, sum, sum->operands[last]);
    if (!is_split(onto, sum, first))
        return;
    onto->is_taken[maker_of(onto->local, first)] = true;
    take_all(onto, mw_value_node(onto->local, first));
}

/* Takes the operand of `sum`, an ADD, whose rows are added to the other: the last one, where both
 * may be. */
static void take_rows(MwOnto *onto, const MwNode *sum)
{
    for (int i = 0; i < 2; i++) {
        const MwValueId term = sum->operands[last_of(sum) ^ i];
        if (!is_term(onto, sum, term, MW_OP_EMBEDDING_GRAD))
            continue;
        onto->is_taken[maker_of(onto->local, term)] = true;
        return;
    }
}

/* Whether an ADD is stored in any case, as nothing of its phase reads it, and accumulates. */
static bool is_accumulated(const MwOnto *onto, const MwNode *sum)
{
    return !onto->is_read_soon[sum->first_result] && adds_terms(onto, sum);
}

MwOnto mw_legal_find_onto(MwArena *arena, const MwGraph *local)
{
    MwOnto onto = {.local = local,
                   .loops = mw_loops(arena, local),
                   .uses = MW_NEW(arena, int32_t, local->values.count),
                   .is_read_soon = MW_NEW(arena, bool, local->values.count),
                   .is_taken = MW_NEW(arena, bool, local->nodes.count)};
    find_uses(&onto);
    for (int n = local->nodes.count - 1; n >= 0; n--) {
        const MwNode *node = &local->nodes.at[n];
        if (node->op == MW_OP_ACCUMULATE)
            take(&onto, node, node->operands[1]);
        else if (node->op == MW_OP_ADD && !onto.is_taken[n] && is_accumulated(&onto, node))
            take_all(&onto, node);
        else if (node->op == MW_OP_ADD && !onto.is_taken[n])
            take_rows(&onto, node);
    }
    return onto;
}

/* ---- What they become ---- */

/* The legal form of an operand that is stored by itself. */
static MwValueId form_of(const MwLegalizer *l, MwValueId value)
{
    const MwValueId form = l->rewrite.value[value.index];
    MW_ASSERT(mw_has_value(form));
    return form;
}

/* Adds a node with the operands, whose result is like that of `as`, a node of the local graph. */
static MwValueId add_like(MwLegalizer *l, const MwNode *as, MwOp op, const MwValueId *operands,
                          const MwAttr *attrs, int attr_count)
{
    const MwNode node = {.op = op,
                         .operand_count = mw_op_info(op)->operands,
                         .attrs = (MwAttr *)attrs,
                         .attr_count = attr_count,
                         .first_result = as->first_result,
                         .result_count = 1};
    MwValueId result;
    mw_legal_points(l, &node, operands, &result);
    return result;
}

/* Adds the rows of `node`, an EMBEDDING_GRAD, to the table `to`. */
static MwValueId add_rows(MwLegalizer *l, const MwNode *as, MwValueId to, const MwNode *node)
{
    MwAttr attrs[] = {*mw_node_attr(node, MW_ATTR_ORIGIN), *mw_node_attr(node, MW_ATTR_SPLIT)};
    const MwValueId operands[] = {to, form_of(l, node->operands[0]), form_of(l, node->operands[1])};
    return add_like(l, as, MW_OP_ADD_ROWS, operands, attrs, MW_COUNT(attrs));
}

static bool is_taken(const MwLegalizer *l, MwValueId value)
{
    return l->onto->is_taken[maker_of(l->rewrite.from, value)];
}

static const MwNode *node_of(const MwLegalizer *l, MwValueId value)
{
    return mw_value_node(l->rewrite.from, value);
}

/* `to` plus `term`, by an operator `op` where the term is stored by itself. Terms of a sum follow
 * in the order in which they are made. */
static MwValueId add_term(MwLegalizer *l, const MwNode *as, MwOp op, MwValueId to, MwValueId term)
{
    const MwNode *maker = node_of(l, term);
    if (!is_taken(l, term))
        return add_like(l, as, op, (MwValueId[]){to, form_of(l, term)}, NULL, 0);
    if (maker->op == MW_OP_EMBEDDING_GRAD)
        return add_rows(l, as, to, maker);
    const MwValueId last = maker->operands[last_of(maker)];
    const MwValueId first = maker->operands[!last_of(maker)];
    to = add_term(l, node_of(l, first), op, to, first);
    return add_term(l, as, op, to, last);
}

/* The terms of `sum`, added to the first one. */
static MwValueId add_all(MwLegalizer *l, const MwNode *sum, MwOp op)
{
    const MwValueId first = sum->operands[!last_of(sum)];
    const MwValueId to = is_taken(l, first) ? add_all(l, node_of(l, first), op) : form_of(l, first);
    return add_term(l, sum, op, to, sum->operands[last_of(sum)]);
}

bool mw_legal_onto(MwLegalizer *l, const MwNode *node, MwValueId *results)
{
    if (node->op == MW_OP_ACCUMULATE && is_taken(l, node->operands[1])) {
        results[0] = add_term(l, node, node->op, form_of(l, node->operands[0]), node->operands[1]);
        return true;
    }
    if (node->op != MW_OP_ADD)
        return false;
    if (is_accumulated(l->onto, node)) {
        results[0] = add_all(l, node, MW_OP_ACCUMULATE);
        return true;
    }
    for (int k = 0; k < 2; k++) {
        if (!is_taken(l, node->operands[k]))
            continue;
        results[0] = add_term(l, node, node->op, form_of(l, node->operands[!k]), node->operands[k]);
        return true;
    }
    return false;
}
