/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The exact reductions of a core, one by one. Each keeps the least cost and leaves the way back on
 * the trail; each stands in the file named beside it, with its proof. */
#ifndef MW_SOLVER_REDUCE_RULES_H
#define MW_SOLVER_REDUCE_RULES_H

#include "solver/core/core.h"
#include "solver/core/row_changes.h"

/* separable.c: moves what depends on one node alone out of a cost function. */
void mw_reduce_separable(MwCore *core, int function);
/* forbidden.c: takes away strategies of forbidden cost. */
void mw_reduce_forbidden(MwCore *core, int node);
/* dominance.c: takes away strategies that another one is never worse than. */
void mw_reduce_dominated(MwCore *core, int node);
/* dominance.c: takes away, too, what several strategies together are never worse than; dearer. */
void mw_reduce_dominated_together(MwCore *core, int node);
/* determined.c: puts a neighbour in the place of a node whose strategy follows from its. */
void mw_reduce_determined(MwCore *core, int node);
/* terms.c: one form for the usage of a node. */
void mw_reduce_terms(MwCore *core, int node);
/* usage.c: takes out of the rows what every strategy uses, and forbids what cannot fit. */
void mw_reduce_usage(MwCore *core, int node);
/* rows.c: drops rows that no choice can exceed. */
void mw_reduce_rows(MwCore *core);
/* rows.c: the same, but compares rows with their neighbours only. */
void mw_reduce_near_rows(MwCore *core);
/* eliminate.c: minimises over the strategies of a node without usage. `neighbours` are all. Returns
 * the entries computed: 0 if the result was remembered. */
int64_t mw_reduce_eliminate(MwCore *core, int node, int neighbour_count, const int *neighbours);
/* eliminate.c: entries of the table that would make; 0 if they are more than `limit` or the
 * neighbours more than `arity`. */
int64_t mw_reduce_entries(const MwCore *core, int node, int arity, int64_t limit);

/* What becomes of a row: needed, kept by every choice, or the row (at least 0) such that a choice
 * which keeps that row keeps this one. */
enum { MW_ROW_NEEDED = -1, MW_ROW_FITS = -2 };

/* rows_apart.c: finds rows that rows anywhere imply; `fate` ([row_count]) is what is known of them
 * so far. */
void mw_rows_compare_apart(MwArena *scratch, const MwCore *core, const MwRowChanges *changes,
                           int *fate);

#endif
