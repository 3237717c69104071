/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The equations of contractions. */
#ifndef MW_IR_EINSUM_H
#define MW_IR_EINSUM_H

#include "base/arena.h"
#include "base/tensor.h"

enum { MW_EINSUM_MAX_OPERANDS = 16, MW_EINSUM_MAX_LETTERS = 52 };

/* A parsed einsum equation, such as "ab,bc->ac". Letters become indices in order of first
 * appearance. */
typedef struct {
    int letter_count;
    char letter[MW_EINSUM_MAX_LETTERS];
    int operand_count; /* 1 or 2 in a graph; the language accepts more */
    int rank[MW_EINSUM_MAX_OPERANDS];
    /* [operand][dimension] index of the letter of the dimension */
    int8_t operand[MW_EINSUM_MAX_OPERANDS][MW_MAX_RANK];
    int result_rank;
    int8_t result[MW_MAX_RANK]; /* [dimension] index of the letter */
} MwEinsum;

/* Parses `equation`. NULL if it is well formed, else what is wrong with it (static text). A
 * letter may not repeat within a term; the result's letters must occur in an operand. */
const char *mw_einsum_parse(const char *equation, MwEinsum *einsum);
/* The same where a letter may repeat within the term of an operand, whose diagonal is meant. */
const char *mw_einsum_parse_diagonals(const char *equation, MwEinsum *einsum);

/* The equation with letters in the place of each "...", in `arena`. `ranks` are those of `count`
 * operands. Dimensions of operands align from the right; the result has those of the operand that
 * has most. */
const char *mw_einsum_spell_dots(MwArena *arena, const char *equation, const int *ranks, int count);

/* How many letters the term has that begins at `term` and ends before ',' or '-'. */
int mw_einsum_count_letters(const char *term);

/* The equation with a new letter as dimension axis[k] of operand k and dimension `result_axis` of
 * the result; -1: not there. In `arena`; NULL if no letter is left, or an operand has no room. */
const char *mw_einsum_extend(MwArena *arena, const MwEinsum *einsum, const int *axis,
                             int result_axis);

#endif
