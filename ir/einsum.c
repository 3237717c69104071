/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Einsum equations, and the shape rule of a contraction. */
#include "ir/shape_rules.h"

#include <ctype.h>
#include <string.h>

/* Index of `letter`, which is added if it is new and `may_add`; else -1. */
static int letter_index(MwEinsum *einsum, char letter, bool may_add)
{
    for (int i = 0; i < einsum->letter_count; i++)
        if (einsum->letter[i] == letter)
            return i;
    if (!may_add)
        return -1;
    einsum->letter[einsum->letter_count] = letter;
    return einsum->letter_count++;
}

/* Reads the letters of one term from `*text`, which it moves past them. */
static const char *parse_term(const char **text, MwEinsum *einsum, bool is_result, int8_t *dims,
                              int *rank)
{
    for (*rank = 0;; (*text)++) {
        char c = **text;
        if (c == ' ')
            continue;
        if (!isalpha((unsigned char)c))
            return NULL;
        if (*rank == MW_MAX_RANK)
            return "a term has more than 8 letters";
        int index = letter_index(einsum, c, !is_result);
        if (index < 0)
            return "a letter of the result is in no operand";
        if (memchr(dims, index, (size_t)*rank))
            return "a letter is twice in one term";
        dims[(*rank)++] = (int8_t)index;
    }
}

const char *mw_einsum_parse(const char *equation, MwEinsum *einsum)
{
    *einsum = (MwEinsum){0};
    const char *at = equation;
    const char *wrong;
    do {
        if (einsum->operand_count == 2)
            return "it has more than two operands";
        int k = einsum->operand_count++;
        if ((wrong = parse_term(&at, einsum, false, einsum->operand[k], &einsum->rank[k])))
            return wrong;
    } while (*at == ',' && *at++);
    if (strncmp(at, "->", 2) != 0)
        return *at ? "a term consists of letters" : "\"->\" and the result's letters are missing";
    at += 2;
    if ((wrong = parse_term(&at, einsum, true, einsum->result, &einsum->result_rank)))
        return wrong;
    return *at ? "something follows the result's letters" : NULL;
}

/* Sets size[letter] from operand `k`, or names the two sizes that disagree. */
static bool bind_sizes(MwShapeContext *context, const MwEinsum *einsum, int k, int64_t *size)
{
    const MwTensor *operand = mw_shape_operand(context, k);
    if (operand->rank != einsum->rank[k])
        return mw_shape_fail(context, "\"%s\" has %d letters for %s, %s",
                             mw_shape_attr(context, MW_ATTR_EQUATION)->text, einsum->rank[k],
                             mw_shape_operand_name(context, k), mw_shape_text(context, operand));
    for (int d = 0; d < operand->rank; d++) {
        int letter = einsum->operand[k][d];
        if (size[letter] && size[letter] != operand->dim[d]) {
            mw_shape_fail(context, "\"%s\" cannot combine %s and %s",
                          mw_shape_attr(context, MW_ATTR_EQUATION)->text,
                          mw_shape_text(context, mw_shape_operand(context, 0)),
                          mw_shape_text(context, operand));
            return mw_shape_note(context, "letter '%c' is %lld in the left and %lld in the right",
                                 einsum->letter[letter], (long long)size[letter],
                                 (long long)operand->dim[d]);
        }
        size[letter] = operand->dim[d];
    }
    return true;
}

bool mw_shape_einsum(MwShapeContext *context)
{
    const char *equation = mw_shape_attr(context, MW_ATTR_EQUATION)->text;
    MwEinsum einsum;
    const char *wrong = mw_einsum_parse(equation, &einsum);
    if (wrong)
        return mw_shape_fail(context, "cannot read \"%s\": %s", equation, wrong);
    if (einsum.operand_count != context->query->operand_count)
        return mw_shape_fail(context, "\"%s\" is for %d operands, not for %d", equation,
                             einsum.operand_count, context->query->operand_count);
    int64_t size[MW_COUNT(einsum.letter)] = {0};
    for (int k = 0; k < einsum.operand_count; k++)
        if (!mw_shape_want_float(context, k) || !bind_sizes(context, &einsum, k, size))
            return false;
    if (!mw_shape_want_same_types(context, 0, einsum.operand_count))
        return false;
    MwTensor result = mw_tensor_scalar(mw_shape_operand(context, 0)->type);
    if (!mw_shape_sum_type(context, &result.type))
        return false;
    for (int d = 0; d < einsum.result_rank; d++)
        result.dim[result.rank++] = size[einsum.result[d]];
    return mw_shape_give(context, &result);
}
