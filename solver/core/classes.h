/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Classes: strategies of a node that a cost function cannot tell apart.
 *
 * A resharding cost depends on the spec alone, and many strategies share one; so a cost function's
 * table is kept over classes of strategies, and what is made of it by elimination stays small. A
 * class list (a table of arity 1) gives the class of each strategy. Classes are numbered in order
 * of first appearance, so that equal partitions are equal lists. */
#ifndef MW_SOLVER_CORE_CLASSES_H
#define MW_SOLVER_CORE_CLASSES_H

#include "solver/core/table.h"

/* Every strategy its own class. */
const MwTable *mw_classes_identity(MwTables *tables, int strategies);
int mw_classes_count(const MwTable *classes);

/* `classes` with any numbering, and gaps, brought into order. Class i was old[i], and first[i] is
 * its first strategy. */
typedef struct {
    const MwTable *classes, *old, *first;
} MwRenumbered;
const MwRenumbered *mw_classes_renumber(MwTables *tables, const MwTable *classes);

/* The coarsest partition that refines both `a` and `b`; its class i lies in class in_a[i] of a and
 * in_b[i] of b. */
typedef struct {
    const MwTable *classes, *in_a, *in_b;
} MwRefined;
const MwRefined *mw_classes_refine(MwTables *tables, const MwTable *a, const MwTable *b);

#endif
