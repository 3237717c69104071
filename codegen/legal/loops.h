/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The loops that operators have by their names: which operators look elements up, and which share their
 * loops with no other operator. */
#ifndef MW_CODEGEN_LEGAL_LOOPS_H
#define MW_CODEGEN_LEGAL_LOOPS_H

#include "ir/ir.h"

/* An operator that takes entries of a table, whose numbers are the elements of an index. */
typedef struct {
    int table, index; /* operands */
    bool along_last;  /* entries lie along the last dimension of the table; else along the first */
} MwLookup;

/* NULL: the operator looks nothing up. */
const MwLookup *mw_op_lookup(MwOp op);

/* The dimension of `table` that the index counts along. */
static inline int mw_lookup_axis(const MwLookup *lookup, const MwTensor *table)
{
    return lookup->along_last ? table->rank - 1 : 0;
}

/* Whether the operator walks its operands in loops of its own, so that no other operator runs in its
 * kernel. */
bool mw_op_has_own_loops(MwOp op);

#endif
