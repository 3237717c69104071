/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Min-marginals of cost functions. The entries of a cost function less its potentials are not
 * stored; min-marginals are computed from the table and the potentials each time. Cost functions
 * with equal tables therefore share one floating-point table, and the data that 48 equal layers
 * read in a sweep stays in the processor's cache. */
#ifndef MW_SOLVER_BOUND_MARGINAL_H
#define MW_SOLVER_BOUND_MARGINAL_H

#include "solver/core/table.h"

/* The rows of the last dimension, potentials and min-marginals are padded to a multiple of this
 * number. Padding of potentials is zero; padding of min-marginals is undefined. */
#define MW_MARGINAL_LANES 4

static inline int64_t mw_marginal_room(int64_t count)
{
    return (count + MW_MARGINAL_LANES - 1) / MW_MARGINAL_LANES * MW_MARGINAL_LANES;
}

/* A table in floating point. Forbidden entries and padding are INFINITY. */
typedef struct {
    const MwTable *table;
    int64_t row; /* numbers from one row of the last dimension to the next */
    double *value;
} MwMarginalTable;

MwMarginalTable *mw_marginal_table_new(MwArena *arena, const MwTable *table);

/* Sets marginal[c] (mw_marginal_room(classes of `dim`)) to the least value less all potentials,
 * potential[dimension][class], over the entries whose class in `dim` is c; INFINITY if there is
 * none. If `held` ([arity]) is given, only entries count whose class in each dimension is
 * held[dimension], where that is not negative; held[dim] must be negative. */
void mw_marginals(const MwMarginalTable *table, double *const *potential, int dim, const int *held,
                  double *marginal);

#endif
