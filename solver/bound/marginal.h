/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The entries of a cost function less its potentials, which are not stored: what is asked of them
 * is found from the table and the potentials each time. So cost functions of equal tables share one
 * form of it, and what 48 equal layers read in a sweep stays near the processor. */
#ifndef MW_SOLVER_BOUND_MARGINAL_H
#define MW_SOLVER_BOUND_MARGINAL_H

#include "solver/core/table.h"

/* Rows of the last dimension take a multiple of so many numbers; so do potentials and margins,
 * with zeros and anything behind their ends. */
#define MW_MARGINAL_LANES 4

static inline int64_t mw_marginal_room(int64_t count)
{
    return (count + MW_MARGINAL_LANES - 1) / MW_MARGINAL_LANES * MW_MARGINAL_LANES;
}

/* A table in floating point: INFINITY is forbidden, and what fills up rows. */
typedef struct {
    const MwTable *table;
    int64_t row; /* numbers from one row of the last dimension to the next */
    double *value;
} MwMarginalTable;

MwMarginalTable *mw_marginal_table_new(MwArena *arena, const MwTable *table);

/* margin[c] (mw_marginal_room(classes of `dim`)): the least value less all potentials,
 * potential[dimension][class], over the entries whose class in `dim` is c. With `held` ([arity]),
 * over those only whose class in each dimension is held[dimension], where that is not negative;
 * held[dim] must be negative. INFINITY where there is none. */
void mw_marginals(const MwMarginalTable *table, double *const *potential, int dim, const int *held,
                  double *margin);

#endif
