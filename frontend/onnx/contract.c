/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/onnx/contract.h"

#include "frontend/onnx/map.h"
#include "frontend/onnx/operators.h"
#include "frontend/onnx/shapes.h"
#include "ir/einsum.h"

#include <ctype.h>
#include <string.h>

/* Letters of the dimensions of an operand, in the order of its term. */
static void add_letters(MwText *text, const MwOnnxValue *value, const char *letters)
{
    for (int i = 0; i < value->shape.rank; i++)
        mw_text_add_n(text, &letters[value->order[i]], 1);
}

static bool in_order(const MwOnnxValue *value)
{
    for (int i = 0; i < value->shape.rank; i++)
        if (value->order[i] != i)
            return false;
    return true;
}

static bool product_shape(MwOnnxImport *import, const MwOnnxNode *node, const MwOnnxValue *a,
                          const MwOnnxValue *b, bool transposed, MwOnnxShape *shape)
{
    const MwOnnxShape *x = &a->shape, *y = &b->shape;
    if (x->rank < 2 || y->rank < 2)
        return mw_onnx_refuse(import, node, "a product of tensors of less than two dimensions");
    if (x->type != y->type || !mw_type_is_float(x->type))
        return mw_onnx_refuse(import, node, "operands of several types, or no floats");
    const int k = y->rank - (transposed ? 1 : 2), n = y->rank - (transposed ? 2 : 1);
    if (!mw_onnx_shape_same_dim(import, &x->dim[x->rank - 1], &y->dim[k]))
        return mw_onnx_refuse(import, node, "sizes %lld and %lld that should be one",
                              (long long)x->dim[x->rank - 1].value, (long long)y->dim[k].value);
    MwOnnxShape outer_a = *x, outer_b = *y;
    outer_a.rank -= 2;
    outer_b.rank -= 2;
    if (!mw_onnx_shape_broadcast(import, node, &outer_a, &outer_b, shape))
        return false;
    shape->dim[shape->rank++] = x->dim[x->rank - 2];
    shape->dim[shape->rank++] = y->dim[n];
    shape->type = x->type;
    return true;
}

/* Whether each leading dimension of the smaller is one of the larger, none stretched. */
static bool same_batches(const MwOnnxShape *x, const MwOnnxShape *y, const MwOnnxShape *product)
{
    const MwOnnxShape *const both[] = {x, y};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < both[k]->rank - 2; i++)
            if (!mw_onnx_dim_equal(&both[k]->dim[i],
                                   &product->dim[i + product->rank - both[k]->rank]))
                return false;
    return true;
}

/* "bsk,nk->bsn", where the letters of b, of as many dimensions as it has, end those of a. The
 * result has its dimensions in `order`. */
static const char *equation(MwOnnxImport *import, MwOnnxValue *const ab[2], bool transposed,
                            int rank, const int8_t *order)
{
    static const char batch_letters[] = "abcdefgh";
    char of_a[MW_MAX_RANK + 1] = {0}, of_b[MW_MAX_RANK + 1] = {0}, of_result[MW_MAX_RANK + 1] = {0};
    memcpy(of_result, batch_letters, (size_t)rank);
    of_result[rank - 2] = 'm';
    of_result[rank - 1] = 'n';
    const int ranks[] = {ab[0]->shape.rank, ab[1]->shape.rank};
    memcpy(of_a, of_result + rank - ranks[0], (size_t)ranks[0]);
    memcpy(of_b, of_result + rank - ranks[1], (size_t)ranks[1]);
    of_a[ranks[0] - 1] = 'k';
    of_b[ranks[1] - 2] = transposed ? 'n' : 'k';
    of_b[ranks[1] - 1] = transposed ? 'k' : 'n';
    MwText text = {.arena = import->arena};
    add_letters(&text, ab[0], of_a);
    mw_text_add(&text, ",");
    add_letters(&text, ab[1], of_b);
    mw_text_add(&text, "->");
    for (int i = 0; i < rank; i++)
        mw_text_add_n(&text, &of_result[order[i]], 1);
    return text.at;
}

MwOnnxTerm *mw_onnx_product(MwOnnxImport *import, const MwOnnxNode *node, MwOnnxValue *const ab[2],
                            bool transposed, MwOnnxShape *shape, int8_t *order)
{
    MwOnnxValue *a = ab[0], *b = ab[1];
    if (!product_shape(import, node, a, b, transposed, shape))
        return NULL;
    MwOnnxTerm *x = mw_onnx_term_as_is(import, a), *y = mw_onnx_term_as_is(import, b);
    const bool by_matrix = b->shape.rank == 2;
    for (int i = 0; i < MW_MAX_RANK; i++)
        order[i] = by_matrix && i < a->shape.rank ? a->order[i] : (int8_t)i;
    MwOnnxShape placed = *shape;
    for (int i = 0; i < shape->rank; i++)
        placed.dim[i] = shape->dim[order[i]];
    const bool rows_last = a->order[a->shape.rank - 1] == a->shape.rank - 1;
    if ((by_matrix ? rows_last : in_order(a)) && in_order(b) && !transposed)
        return mw_onnx_emit2(import, &placed, "#0 @ #1", x, y);
    if (same_batches(&a->shape, &b->shape, shape))
        return mw_onnx_emit2(import, &placed,
                             mw_onnx_text(import, "einsum(\"%s\", $0, $1)",
                                          equation(import, ab, transposed, shape->rank, order)),
                             x, y);
    int8_t turned[MW_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    if (transposed) {
        turned[b->shape.rank - 1] = (int8_t)(b->shape.rank - 2);
        turned[b->shape.rank - 2] = (int8_t)(b->shape.rank - 1);
    }
    return mw_onnx_emit2(import, &placed, "#0 @ #1", mw_onnx_term(import, a),
                         mw_onnx_term_in(import, b, turned));
}

/* A tensor of one dimension is a row on the left and a column on the right. */
static bool vector_product(MwOnnxImport *import, const MwOnnxNode *node)
{
    MwOnnxValue *a = node->inputs[0], *b = node->inputs[1];
    const MwOnnxShape *x = &a->shape, *y = &b->shape;
    MwOnnxShape shape = {.type = x->type};
    if (x->rank < 1 || y->rank < 1 || x->type != y->type || !mw_type_is_float(x->type) ||
        !mw_onnx_shape_same_dim(import, &x->dim[x->rank - 1],
                                &y->dim[y->rank == 1 ? 0 : y->rank - 2]))
        return mw_onnx_refuse(import, node, "operands that have no product");
    for (int i = 0; i < x->rank - 1; i++)
        shape.dim[shape.rank++] = x->dim[i];
    for (int i = 0; i < y->rank; i++)
        if (y->rank > 1 && i != y->rank - 2)
            shape.dim[shape.rank++] = y->dim[i];
    return mw_onnx_set(
        import, node, 0, &shape,
        mw_onnx_emit2(import, &shape, "#0 @ #1", mw_onnx_term(import, a), mw_onnx_term(import, b)),
        NULL);
}

bool mw_onnx_matmul(MwOnnxImport *import, const MwOnnxNode *node)
{
    if (node->inputs[0]->shape.rank < 2 || node->inputs[1]->shape.rank < 2)
        return vector_product(import, node);
    MwOnnxShape shape;
    int8_t order[MW_MAX_RANK];
    MwOnnxTerm *term = mw_onnx_product(import, node, node->inputs, false, &shape, order);
    return term && mw_onnx_set(import, node, 0, &shape, term, order);
}

bool mw_onnx_gemm_of(MwOnnxImport *import, const MwOnnxNode *node, const MwOnnxNode *gemm,
                     MwOnnxValue *a)
{
    const double alpha = mw_onnx_float_of(gemm, "alpha", 1),
                 beta = mw_onnx_float_of(gemm, "beta", 1);
    MwOnnxValue *c = mw_onnx_input(gemm, 2);
    MwOnnxShape shape;
    int8_t order[MW_MAX_RANK];
    MwOnnxValue *const ab[] = {a, gemm->inputs[1]};
    MwOnnxTerm *term =
        mw_onnx_product(import, node, ab, mw_onnx_int_of(gemm, "transB", 0) != 0, &shape, order);
    if (!term)
        return false;
    if (alpha != 1)
        term = mw_onnx_emit1(
            import, &term->shape,
            mw_onnx_text(import, "%s * #0", mw_onnx_number_text(import, MW_F32, alpha)), term);
    if (c && beta != 0) {
        const char *text = beta == 1 ? "#0 + #1"
                                     : mw_onnx_text(import, "#0 + %s * #1",
                                                    mw_onnx_number_text(import, MW_F32, beta));
        MwOnnxShape sum;
        if (!mw_onnx_shape_broadcast(import, node, &shape, &c->shape, &sum))
            return false;
        term = mw_onnx_emit2(import, &term->shape, text, term,
                             mw_onnx_map_operand(import, c, &shape, order));
    }
    return mw_onnx_set(import, node, 0, &shape, term, order);
}

bool mw_onnx_gemm(MwOnnxImport *import, const MwOnnxNode *node)
{
    MwOnnxValue *a = node->inputs[0];
    if (a->shape.rank != 2 || node->inputs[1]->shape.rank != 2)
        return mw_onnx_refuse(import, node, "operands that are no matrices");
    if (!mw_onnx_int_of(node, "transA", 0))
        return mw_onnx_gemm_of(import, node, node, a);
    mw_onnx_term_as_is(import, a);
    MwOnnxValue *turned = mw_arena_dup(import->arena, a, sizeof *a);
    turned->constant = NULL;
    turned->shape.dim[0] = a->shape.dim[1];
    turned->shape.dim[1] = a->shape.dim[0];
    turned->order[0] = (int8_t)(1 - a->order[0]);
    turned->order[1] = (int8_t)(1 - a->order[1]);
    return mw_onnx_gemm_of(import, node, node, turned);
}

/* ---- Einsum ---- */

/* Adds the result that an equation without "->" has: what "..." stands for, and the letters that
 * are in the operands once, by the alphabet. */
static void add_result(MwText *equation)
{
    int count[128] = {0};
    for (const char *at = equation->at; *at; at++)
        if (isalpha((unsigned char)*at))
            count[(int)*at]++;
    const bool has_dots = strstr(equation->at, "...") != NULL;
    mw_text_add(equation, has_dots ? "->..." : "->");
    for (char letter = 'A'; letter <= 'z'; letter++)
        if (count[(int)letter] == 1)
            mw_text_add_n(equation, &letter, 1);
}

/* The equation of a node with a result, letters for "...", and no spaces; NULL: it has none. */
static const char *equation_of(MwOnnxImport *import, const MwOnnxNode *node)
{
    const MwOnnx__AttributeProto *attribute = mw_onnx_attribute(node, "equation");
    int ranks[MW_EINSUM_MAX_OPERANDS];
    MwText text = {.arena = import->arena};
    if (!attribute || !attribute->s.len || attribute->s.len > 400 ||
        node->input_count > MW_EINSUM_MAX_OPERANDS)
        return NULL;
    for (size_t i = 0; i < attribute->s.len; i++) {
        const char c = (char)attribute->s.data[i];
        if (!c || (!isalpha((unsigned char)c) && !strchr(" ,.->", c)))
            return NULL;
        if (c != ' ')
            mw_text_add_n(&text, &c, 1);
    }
    for (int k = 0; k < node->input_count; k++) {
        if (!node->inputs[k])
            return NULL;
        ranks[k] = node->inputs[k]->shape.rank;
    }
    if (!text.at)
        return NULL;
    if (!strstr(text.at, "->"))
        add_result(&text);
    return mw_einsum_spell_dots(import->arena, text.at, ranks, node->input_count);
}

/* The size of each letter, from the dimensions that it stands for. */
static bool bind_letters(MwOnnxImport *import, const MwOnnxNode *node, const MwEinsum *einsum,
                         MwOnnxDim *sizes)
{
    bool known[MW_EINSUM_MAX_LETTERS] = {false};
    for (int k = 0; k < node->input_count; k++) {
        const MwOnnxShape *shape = &node->inputs[k]->shape;
        if (shape->rank != einsum->rank[k] || !mw_type_is_float(shape->type) ||
            shape->type != node->inputs[0]->shape.type)
            return mw_onnx_refuse(import, node, "operands of another type or rank");
        for (int d = 0; d < shape->rank; d++) {
            const int letter = einsum->operand[k][d];
            if (known[letter] && !mw_onnx_shape_same_dim(import, &sizes[letter], &shape->dim[d]))
                return mw_onnx_refuse(import, node, "two sizes of one letter");
            sizes[letter] = shape->dim[d];
            known[letter] = true;
        }
    }
    return true;
}

bool mw_onnx_einsum(MwOnnxImport *import, const MwOnnxNode *node)
{
    MwEinsum einsum;
    MwOnnxDim sizes[MW_EINSUM_MAX_LETTERS];
    MwOnnxTerm *terms[MW_EINSUM_MAX_OPERANDS];
    const char *equation = equation_of(import, node);
    const char *wrong =
        equation ? mw_einsum_parse_diagonals(equation, &einsum) : "it is no list of terms";
    if (!wrong && einsum.operand_count != node->input_count)
        wrong = "it is for another number of operands";
    if (wrong)
        return mw_onnx_refuse(import, node, "attribute equation: %s", wrong);
    if (!bind_letters(import, node, &einsum, sizes))
        return false;
    MwOnnxShape shape = {.type = node->inputs[0]->shape.type, .rank = einsum.result_rank};
    for (int d = 0; d < shape.rank; d++)
        shape.dim[d] = sizes[einsum.result[d]];
    MwText text = {.arena = import->arena};
    mw_text_printf(&text, "einsum(\"%s\"", equation);
    for (int k = 0; k < node->input_count; k++) {
        terms[k] = mw_onnx_term(import, node->inputs[k]);
        mw_text_printf(&text, ", $%d", k);
    }
    mw_text_add(&text, ")");
    return mw_onnx_set(import, node, 0, &shape,
                       mw_onnx_emit(import, &shape, text.at, terms, node->input_count), NULL);
}
