/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ir/einsum.h"

#include "base/text.h"

#include <ctype.h>
#include <string.h>

/* The index of `letter`. A new letter is added if `may_add`; otherwise the result is -1. */
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

/* Parses the letters of one term and moves `*text` past them. NULL, or what is wrong. */
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
        if (einsum->operand_count == MW_EINSUM_MAX_OPERANDS)
            return "it has more than 16 operands";
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

/* A letter that the equation does not have; 0: there is none. */
static char free_letter(const MwEinsum *einsum)
{
    for (char letter = 'a'; letter <= 'z'; letter++)
        if (!memchr(einsum->letter, letter, (size_t)einsum->letter_count))
            return letter;
    return 0;
}

/* Appends a term of `rank` letters, with `letter` as dimension `axis`. */
static void add_term(MwText *text, const MwEinsum *einsum, const int8_t *dims, int rank,
                     char letter, int axis)
{
    for (int d = 0; d <= rank; d++) {
        if (d == axis)
            mw_text_add_n(text, &letter, 1);
        if (d < rank)
            mw_text_add_n(text, &einsum->letter[dims[d]], 1);
    }
}

const char *mw_einsum_extend(MwArena *arena, const MwEinsum *einsum, const int *axis,
                             int result_axis)
{
    MwText text = {.arena = arena};
    const char letter = free_letter(einsum);
    bool fits = letter && (result_axis < 0 || einsum->result_rank < MW_MAX_RANK);
    for (int k = 0; k < einsum->operand_count; k++) {
        fits = fits && (axis[k] < 0 || einsum->rank[k] < MW_MAX_RANK);
        mw_text_add(&text, k ? "," : "");
        add_term(&text, einsum, einsum->operand[k], einsum->rank[k], letter, axis[k]);
    }
    mw_text_add(&text, "->");
    add_term(&text, einsum, einsum->result, einsum->result_rank, letter, result_axis);
    return fits ? text.at : NULL;
}
