/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory rows as what changes from each one to the next: rows are many and alike, changes few. */
#ifndef MW_SOLVER_CORE_ROW_CHANGES_H
#define MW_SOLVER_CORE_ROW_CHANGES_H

#include "solver/core/core.h"

/* A node's usage is `before` up to some row and `after` from the next one on; NULL: none. */
typedef struct {
    int node;
    bool outermost; /* NULL on one side, and in all rows that are further on that side */
    const MwTable *before, *after;
} MwRowChange;

typedef struct {
    int *first; /* [row_count + 2] where the changes into each row begin; of the last, out of it */
    MwRowChange *at; /* ascending by node for each row */
} MwRowChanges;

/* The core's terms must be in the form of solver/reduce/terms.c. In `arena`. */
MwRowChanges mw_row_changes(MwArena *arena, const MwCore *core);

/* The greatest a - b over the strategies; NULL is no usage. */
int64_t mw_usage_excess(const MwTable *a, const MwTable *b);

#endif
