/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gradients of contractions, look-ups and rotary positions. These are linear maps, so each
 * gradient is the transposed map. */
#include "passes/graph/gradients.h"

#include "ir/build.h"
#include "ir/einsum.h"

#include <string.h>

/* The letters of one term of an einsum, e.g. "bsw". */
typedef struct {
    char letters[MW_MAX_RANK + 1];
} EinsumTerm;

/* The letters of a tensor whose dimensions run over the letters `dims` of the einsum. */
static EinsumTerm term_of(const MwEinsum *einsum, const int8_t *dims, int rank)
{
    EinsumTerm term = {0};
    for (int d = 0; d < rank; d++)
        term.letters[d] = einsum->letter[dims[d]];
    return term;
}

/* The letters of `of` that occur in `a` or `b`. */
static EinsumTerm known_letters(const EinsumTerm *of, const EinsumTerm *a, const EinsumTerm *b)
{
    EinsumTerm known = {0};
    int at = 0;
    for (const char *c = of->letters; *c; c++)
        if (strchr(a->letters, *c) || strchr(b->letters, *c))
            known.letters[at++] = *c;
    return known;
}

/* Transposes `x`, whose dimensions are `from`, to the order of `to`. */
static MwValueId permute(MwGraph *graph, MwValueId x, const EinsumTerm *from, const EinsumTerm *to)
{
    if (strcmp(from->letters, to->letters) == 0)
        return x;
    int64_t perm[MW_MAX_RANK];
    int rank = (int)strlen(to->letters);
    for (int i = 0; i < rank; i++)
        perm[i] = strchr(from->letters, to->letters[i]) - from->letters;
    MwAttr attr = mw_attr_ints(MW_ATTR_PERM, perm, rank);
    return mw_build(graph, NULL, MW_OP_TRANSPOSE, &x, 1, &attr, 1);
}

/* An operand of a contraction and the letters of its dimensions. */
typedef struct {
    MwValueId value;
    const EinsumTerm *term;
} EinsumOperand;

/* The contraction of `a` and `b` with letters `result` and element type `type`. */
static MwValueId contract(MwGraph *graph, EinsumOperand a, EinsumOperand b,
                          const EinsumTerm *result, MwType type)
{
    bool widens = mw_value_tensor(graph, a.value)->type != type;
    const char *equation = mw_intern_printf(graph->interner, "%s,%s->%s", a.term->letters,
                                            b.term->letters, result->letters);
    MwAttr attrs[] = {mw_attr_text(MW_ATTR_EQUATION, equation),
                      mw_attr_int(MW_ATTR_TYPE, widens ? (int)type : MW_TYPE_NOT_GIVEN)};
    MwValueId operands[] = {a.value, b.value};
    return mw_build(graph, NULL, MW_OP_EINSUM, operands, 2, attrs, MW_COUNT(attrs));
}

/* Broadcasts `x`, which has the letters `known`, to `shape`, which has the letters `whole`. */
static MwValueId stretch(MwGraph *graph, MwValueId x, const EinsumTerm *known,
                         const EinsumTerm *whole, const MwTensor *shape)
{
    if (strcmp(known->letters, whole->letters) == 0)
        return x;
    MwTensor kept = *shape;
    for (int d = 0; d < kept.rank; d++)
        if (!strchr(known->letters, whole->letters[d]))
            kept.dim[d] = 1;
    return mw_build_broadcast(graph, mw_build_reshape(graph, x, &kept), shape);
}

/* y is the sum of a b over the letters that y lacks. The gradient by a is d b, summed over the
 * letters that a lacks. A letter that only a has is summed out of a alone, so all elements along it
 * have the same gradient. */
void mw_gradient_einsum(MwGradient *g)
{
    MwEinsum einsum;
    const char *wrong = mw_einsum_parse(mw_node_text(&g->node, MW_ATTR_EQUATION), &einsum);
    MW_ASSERT(!wrong);
    EinsumTerm result = term_of(&einsum, einsum.result, einsum.result_rank), none = {0};
    for (int k = 0; k < einsum.operand_count; k++) {
        if (!g->wanted[k])
            continue;
        EinsumTerm own = term_of(&einsum, einsum.operand[k], einsum.rank[k]);
        EinsumTerm other = none;
        if (einsum.operand_count == 2)
            other = term_of(&einsum, einsum.operand[1 - k], einsum.rank[1 - k]);
        EinsumTerm known = known_letters(&own, &result, &other);
        MwType type = g->types[k];
        MwTensor shape = mw_gradient_tensor(g, k);
        MwValueId d = g->results[0], x;
        if (einsum.operand_count == 1) {
            x = permute(g->graph, d, &result, &known);
        } else {
            EinsumOperand by_d = {mw_build_cast(g->graph, d, shape.type), &result};
            EinsumOperand by_other = {mw_gradient_operand(g, 1 - k), &other};
            x = k == 0 ? contract(g->graph, by_d, by_other, &known, type)
                       : contract(g->graph, by_other, by_d, &known, type);
        }
        g->operands[k] = stretch(g->graph, x, &known, &own, &shape);
    }
}

/* The gradient by a table that is looked up in, from (indices, d). */
static void gradient_of_table(MwGradient *g, MwOp op, int table, int ids)
{
    if (!g->wanted[table])
        return;
    MwTensor shape = mw_gradient_tensor(g, table);
    MwAttr attr = mw_attr_shape(g->graph->arena, &shape);
    MwValueId d = mw_build_cast(g->graph, g->results[0], g->types[table]);
    MwValueId operands[] = {mw_gradient_operand(g, ids), d};
    g->operands[table] = mw_build(g->graph, NULL, op, operands, 2, &attr, 1);
}

void mw_gradient_embedding(MwGradient *g)
{
    gradient_of_table(g, MW_OP_EMBEDDING_GRAD, 1, 0);
}

/* A row of d was added to the row at its id: the gradient by it is that row's. */
void mw_gradient_embedding_grad(MwGradient *g)
{
    MwValueId operands[] = {mw_gradient_operand(g, 0),
                            mw_build_cast(g->graph, g->results[0], g->types[1])};
    g->operands[1] = mw_build(g->graph, NULL, MW_OP_EMBEDDING, operands, 2, NULL, 0);
}

void mw_gradient_pick(MwGradient *g)
{
    gradient_of_table(g, MW_OP_PICK_GRAD, 0, 1);
}

void mw_gradient_take_along(MwGradient *g)
{
    gradient_of_table(g, MW_OP_TAKE_ALONG_GRAD, 0, 1);
}

/* The values were taken along the ids. */
void mw_gradient_top_k(MwGradient *g)
{
    MwTensor x = mw_gradient_tensor(g, 0);
    MwAttr shape = mw_attr_shape(g->graph->arena, &x);
    MwValueId operands[] = {mw_gradient_result(g, 1),
                            mw_build_cast(g->graph, g->results[0], g->types[0])};
    g->operands[0] = mw_build(g->graph, NULL, MW_OP_TAKE_ALONG_GRAD, operands, 2, &shape, 1);
}

/* An element is in the sums from its own on. */
void mw_gradient_cumsum(MwGradient *g)
{
    const MwAttr inverse = mw_attr_int(MW_ATTR_INVERSE, !mw_node_int(&g->node, MW_ATTR_INVERSE));
    g->operands[0] = mw_build(g->graph, NULL, MW_OP_CUMSUM, &g->results[0], 1, &inverse, 1);
}

/* The transpose of a rotation is the inverse rotation. */
void mw_gradient_rope(MwGradient *g)
{
    MwAttr attrs[] = {
        mw_attr_float(MW_ATTR_BASE, mw_node_float(&g->node, MW_ATTR_BASE)),
        mw_attr_int(MW_ATTR_INVERSE, !mw_node_int(&g->node, MW_ATTR_INVERSE)),
    };
    g->operands[0] =
        mw_build(g->graph, NULL, MW_OP_ROPE, &g->results[0], 1, attrs, MW_COUNT(attrs));
}
