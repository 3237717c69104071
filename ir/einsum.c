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

static const char twice[] = "a letter is twice in one term";

static bool repeats(const int8_t *dims, int rank)
{
    for (int d = 1; d < rank; d++)
        if (memchr(dims, dims[d], (size_t)d))
            return true;
    return false;
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
        dims[(*rank)++] = (int8_t)index;
    }
}

const char *mw_einsum_parse_diagonals(const char *equation, MwEinsum *einsum)
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
    if (*at)
        return "something follows the result's letters";
    return repeats(einsum->result, einsum->result_rank) ? twice : NULL;
}

const char *mw_einsum_parse(const char *equation, MwEinsum *einsum)
{
    const char *wrong = mw_einsum_parse_diagonals(equation, einsum);
    for (int k = 0; !wrong && k < einsum->operand_count; k++)
        if (repeats(einsum->operand[k], einsum->rank[k]))
            wrong = twice;
    return wrong;
}

/* ---- "..." ---- */

static const char dots[] = "...";

/* Stores letters that the equation does not have; there are more of the alphabet than it has. */
static void find_unused(const char *equation, char unused[MW_MAX_RANK])
{
    const char *alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    int count = 0;
    for (const char *letter = alphabet; *letter && count < MW_MAX_RANK; letter++)
        if (!strchr(equation, *letter))
            unused[count++] = *letter;
    memset(unused + count, alphabet[0], (size_t)(MW_MAX_RANK - count));
}

int mw_einsum_count_letters(const char *term)
{
    int count = 0;
    for (; *term && *term != ',' && *term != '-'; term++)
        count += *term != ' ' && *term != '.';
    return count;
}

/* The dimensions of an operand of `rank` that its term, which begins at `term`, has no letters for.
 */
static int unnamed_dims(const char *term, int rank)
{
    return (int)mw_min(mw_max(rank - mw_einsum_count_letters(term), 0), MW_MAX_RANK);
}

const char *mw_einsum_spell_dots(MwArena *arena, const char *equation, const int *ranks, int count)
{
    if (!strstr(equation, dots))
        return equation;
    char unused[MW_MAX_RANK];
    MwText text = {.arena = arena};
    int k = 0, most = 0;
    bool in_result = false;
    const char *term = equation;
    find_unused(equation, unused);
    for (const char *at = equation; *at;) {
        if (strncmp(at, dots, strlen(dots)) != 0) {
            in_result |= *at == '-';
            if (*at == ',')
                k++, term = at + 1;
            mw_text_add_n(&text, at++, 1);
            continue;
        }
        const int dims = !in_result && k < count ? unnamed_dims(term, ranks[k]) : most;
        most = (int)mw_max(most, dims);
        mw_text_add_n(&text, unused + MW_MAX_RANK - dims, (size_t)dims);
        at += strlen(dots);
    }
    return text.at;
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
