/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Classes: strategies of a node that a cost function does not distinguish.
 *
 * A resharding cost depends only on the spec, and many strategies share a spec. The table of a cost
 * function is therefore kept over classes of strategies, and the tables that elimination makes of
 * it stay small. A class list (a table of arity 1) gives the class of each strategy. Classes are
 * numbered in order of first appearance, so that equal partitions are equal lists. */
#ifndef MW_SOLVER_CORE_CLASSES_H
#define MW_SOLVER_CORE_CLASSES_H

#include "solver/core/table.h"

/* Returns the partition in which every strategy is a class of its own. */
const MwTable *mw_classes_identity(MwTables *tables, int strategies);
int mw_classes_count(const MwTable *classes);

/* A partition whose classes had arbitrary numbers, with gaps, renumbered in order of first
 * appearance: class i was old[i] before, and first[i] is its first strategy. */
typedef struct {
    const MwTable *classes, *old, *first;
} MwRenumbered;
const MwRenumbered *mw_classes_renumber(MwTables *tables, const MwTable *classes);

/* The coarsest partition that refines both `a` and `b`. Its class i lies in class in_a[i] of `a`
 * and in class in_b[i] of `b`. */
typedef struct {
    const MwTable *classes, *in_a, *in_b;
} MwRefined;
const MwRefined *mw_classes_refine(MwTables *tables, const MwTable *a, const MwTable *b);

#endif
