/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Projection of a cost function onto the unary costs of its nodes, and what remains. See
 * separate.c. */
#ifndef MW_SOLVER_CORE_SEPARATE_H
#define MW_SOLVER_CORE_SEPARATE_H

#include "solver/core/classes.h"

typedef struct {
    const int64_t **unary;   /* [arity][index] cost to add to the node; NULL: zero */
    const MwTable **merged;  /* [arity] class of each index; NULL: each is a class of its own */
    const MwTable *residual; /* over the classes; NULL: zero */
} MwSeparation;

/* Separates the table of shape `dims` with the entries `values`, and overwrites `values`, which may
 * be the scratch of `tables`. The interned tables of the result belong to `tables`; the rest is in
 * `arena`. */
const MwSeparation *mw_separate(MwArena *arena, MwTables *tables, int arity, const int *dims,
                                int64_t *values);

#endif
