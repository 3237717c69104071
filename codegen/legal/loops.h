/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Facts of operators that their loops depend on: which look elements up in a table, and which
 * cannot share their loops with other operators. */
#ifndef MW_CODEGEN_LEGAL_LOOPS_H
#define MW_CODEGEN_LEGAL_LOOPS_H

#include "ir/ir.h"

/* An operator that reads entries of a table; the elements of `index` are the numbers of the
 * entries. */
typedef struct {
    int table, index; /* operands */
    bool along_last;  /* entries are along the last dimension of the table, else the first */
} MwLookup;

/* NULL: the operator looks nothing up. */
const MwLookup *mw_op_lookup(MwOp op);

/* The dimension of `table` that the index counts along. */
static inline int mw_lookup_axis(const MwLookup *lookup, const MwTensor *table)
{
    return lookup->along_last ? table->rank - 1 : 0;
}

/* Whether the operator needs loops of its own, so that it shares its kernel with no other
 * operator. */
bool mw_op_has_own_loops(MwOp op);

#endif
