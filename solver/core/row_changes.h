/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory rows in difference form: rows are many and similar, changes from one to the next are
 * few. */
#ifndef MW_SOLVER_CORE_ROW_CHANGES_H
#define MW_SOLVER_CORE_ROW_CHANGES_H

#include "solver/core/core.h"

/* A change of a node's usage between two consecutive rows: from `before` to `after`; NULL: no
 * usage. */
typedef struct {
    int node;
    bool outermost; /* one of the two is NULL, and so is the usage in all rows further on that
                       side */
    const MwTable *before, *after;
} MwRowChange;

typedef struct {
    int *first;      /* [row_count + 2] index in `at` of the first change into each row; entry
                   row_count: out of the last row */
    MwRowChange *at; /* ascending by node for each row */
} MwRowChanges;

/* Lists the changes of all rows, in `arena`. The core's terms must be in the normal form of
 * solver/reduce/terms.c. */
MwRowChanges mw_row_changes(MwArena *arena, const MwCore *core);

/* Returns the greatest a - b over the strategies; NULL stands for no usage. */
int64_t mw_usage_excess(const MwTable *a, const MwTable *b);

#endif
