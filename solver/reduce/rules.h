/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The exact reductions of a core. Each keeps the least cost and pushes the way back on the trail.
 * The file named with a reduction has its proof and its source. */
#ifndef MW_SOLVER_REDUCE_RULES_H
#define MW_SOLVER_REDUCE_RULES_H

#include "solver/core/core.h"
#include "solver/core/row_changes.h"

/* separable.c: projects the part of a cost function that depends on one node onto that node's
 * cost. */
void mw_reduce_separable(MwCore *core, int function);
/* forbidden.c: removes strategies of forbidden cost. */
void mw_reduce_forbidden(MwCore *core, int node);
/* dominance.c: removes strategies that another strategy dominates. */
void mw_reduce_dominated(MwCore *core, int node);
/* dominance.c: also removes strategies that several others dominate jointly; more expensive. */
void mw_reduce_jointly_dominated(MwCore *core, int node);
/* substitute.c: substitutes a neighbour for a node whose strategy is a function of the
 * neighbour's. */
void mw_reduce_substitute(MwCore *core, int node);
/* terms.c: brings the usage terms of a node into normal form. */
void mw_reduce_terms(MwCore *core, int node);
/* usage.c: subtracts from the rows what every strategy uses, and forbids strategies that exceed a
 * row. */
void mw_reduce_usage(MwCore *core, int node);
/* rows.c: drops redundant rows: those that no choice can exceed, and those that another row
 * implies. */
void mw_reduce_rows(MwCore *core);
/* rows.c: the same, but compares each row with adjacent rows only. */
void mw_reduce_adjacent_rows(MwCore *core);
/* eliminate.c: eliminates a node without usage terms by minimising over its strategies.
 * `neighbours` has all its neighbours. Returns the number of entries computed: 0 if the result was
 * remembered. */
int64_t mw_reduce_eliminate(MwCore *core, int node, int neighbour_count, const int *neighbours);
/* eliminate.c: returns the number of entries of the table that eliminating the node would make; 0
 * if it exceeds `limit`, or if the node has more than `arity` neighbours. */
int64_t mw_elimination_entries(const MwCore *core, int node, int arity, int64_t limit);

/* What is known of a row: it is needed, no choice exceeds it, or (a value of at least 0) it is
 * implied by the row with that index: every choice that keeps that row keeps this one. */
enum { MW_ROW_NEEDED = -1, MW_ROW_NEVER_BINDS = -2 };

/* rows_distant.c: finds rows that any other row implies, and updates `implied_by` ([row_count]). */
void mw_rows_compare_distant(MwArena *scratch, const MwCore *core, const MwRowChanges *changes,
                             int *implied_by);

#endif
