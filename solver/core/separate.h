/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What of a table of costs depends on one dimension alone, and what is left. See separate.c. */
#ifndef MW_SOLVER_CORE_SEPARATE_H
#define MW_SOLVER_CORE_SEPARATE_H

#include "solver/core/classes.h"

typedef struct {
    const int64_t **margin; /* [arity] by index, to add to the node's cost; NULL: zero */
    const MwTable **merged; /* [arity] class of each index; NULL: all are different */
    const MwTable *rest;    /* over the classes; NULL: zero */
} MwSeparation;

/* `values`, which are overwritten, are those of a table of these dims; they may be in the scratch
 * of `tables`. All but the tables of what it returns lies in `arena`. */
const MwSeparation *mw_separate(MwArena *arena, MwTables *tables, int arity, const int *dims,
                                int64_t *values);

#endif
