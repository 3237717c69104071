/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The equations of contractions. */
#ifndef MW_IR_EINSUM_H
#define MW_IR_EINSUM_H

#include "base/tensor.h"

/* An einsum equation, "ab,bc->ac", parsed: letters become indices in order of first appearance. */
typedef struct {
    int letter_count;
    char letter[MW_MAX_RANK * 3];
    int operand_count;
    int rank[2];
    int8_t operand[2][MW_MAX_RANK]; /* index of the letter each dimension runs over */
    int result_rank;
    int8_t result[MW_MAX_RANK];
} MwEinsum;

/* NULL if `equation` is well formed, else what is wrong with it (static text). A letter may not
 * repeat within one term; the result's letters must occur in an operand. */
const char *mw_einsum_parse(const char *equation, MwEinsum *einsum);

#endif
