/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Result types from operand types and attributes: the `shape` column of ir/ops.def. */
#ifndef MW_IR_SHAPE_H
#define MW_IR_SHAPE_H

#include "ir/ir.h"

typedef struct {
    MwOp op;
    const MwTensor *operands;
    int operand_count;
    const MwAttr *attrs; /* complete, in the op's order */
    int attr_count;
    const MwTensor *given; /* for ops whose shape is given */
    MwSpan span;           /* where errors point */
} MwShapeQuery;

/* Fills `results`, allocated in `arena`, and their count. False after an error that names the sizes
 * that disagree. Every operator and attribute value is checked here, so that what is in a graph is
 * well formed. */
bool mw_shape_infer(MwArena *arena, const MwShapeQuery *query, MwTensor **results,
                    int *result_count, MwDiags *diags);

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

/* Attribute `key` among `attrs`; NULL if absent. */
const MwAttr *mw_attrs_find(const MwAttr *attrs, int count, MwAttrKey key);

#endif
