/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solver/bound/marginal.h"

#include "solver/cost.h"

#include <math.h>

enum { LANES = MW_MARGINAL_LANES };

MwMarginalTable *mw_marginal_table_new(MwArena *arena, const MwTable *table)
{
    const int last = table->dims[table->arity - 1];
    MwMarginalTable *made = MW_NEW(arena, MwMarginalTable, 1);
    *made = (MwMarginalTable){.table = table, .row = mw_marginal_room(last)};
    const int64_t rows = table->count / last;
    made->value = MW_NEW(arena, double, rows * made->row);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < made->row; k++) {
            const int64_t cost = k < last ? table->at[i * last + k] : MW_FORBIDDEN;
            made->value[i * made->row + k] = cost < MW_FORBIDDEN ? (double)cost : INFINITY;
        }
    return made;
}

/* Returns the least of value - potential. */
static inline double least_of(const double *value, const double *potential, int64_t count)
{
    double lane[LANES];
    for (int k = 0; k < LANES; k++)
        lane[k] = INFINITY;
    for (int64_t i = 0; i < count; i += LANES)
        for (int k = 0; k < LANES; k++) {
            double left = value[i + k] - potential[i + k];
            lane[k] = left < lane[k] ? left : lane[k];
        }
    double least = INFINITY;
    for (int k = 0; k < LANES; k++)
        least = lane[k] < least ? lane[k] : least;
    return least;
}

/* Sets least[i] to the minimum of least[i] and value[i] - potential. */
static inline void lower_each(double *least, const double *value, double potential, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        double left = value[i] - potential;
        least[i] = left < least[i] ? left : least[i];
    }
}

/* Computes the min-marginals of the first of two dimensions. */
MW_VECTORISED static void marginals_of_first(const MwMarginalTable *table, const double *first,
                                             const double *second, double *marginal)
{
    for (int c = 0; c < table->table->dims[0]; c++)
        marginal[c] = least_of(table->value + c * table->row, second, table->row) - first[c];
}

/* Computes the min-marginals of the second of two dimensions. */
MW_VECTORISED static void marginals_of_second(const MwMarginalTable *table, const double *first,
                                              const double *second, double *marginal)
{
    for (int64_t k = 0; k < table->row; k++)
        marginal[k] = INFINITY;
    for (int c = 0; c < table->table->dims[0]; c++)
        lower_each(marginal, table->value + c * table->row, first[c], table->row);
    for (int64_t k = 0; k < table->row; k++)
        marginal[k] -= second[k];
}

typedef struct {
    const MwMarginalTable *table;
    double *const *potential;
    int dim;
    const int *held;
    double *marginal;
} Walk;

/* Sets the range of classes [*from, *to) to visit. Returns whether a single class is held. */
static bool range(const Walk *walk, int level, int *from, int *to)
{
    bool holds = walk->held && walk->held[level] >= 0;
    *from = holds ? walk->held[level] : 0;
    *to = holds ? *from + 1 : walk->table->table->dims[level];
    return holds;
}

/* Visits a row of the last dimension. `given` is the sum of the potentials of the other dimensions'
 * classes, and `class` is the class of `dim` among them. If `dim` is the last dimension,
 * mw_marginals subtracts its potential later. */
MW_VECTORISED static void visit_row(const Walk *walk, int64_t row, double given, int class)
{
    const int level = walk->table->table->arity - 1;
    const int64_t count = walk->table->row;
    const double *value = walk->table->value + row * count, *potential = walk->potential[level];
    int from, to;
    bool holds = range(walk, level, &from, &to);
    if (walk->dim == level) {
        lower_each(walk->marginal, value, given, count);
    } else {
        double least = holds ? value[from] - potential[from] : least_of(value, potential, count);
        lower_each(&walk->marginal[class], &least, given, 1);
    }
}

static void visit_level(const Walk *walk, int level, int64_t index, double given, int class)
{
    const MwTable *table = walk->table->table;
    if (level == table->arity - 1) {
        visit_row(walk, index, given, class);
        return;
    }
    int from, to;
    range(walk, level, &from, &to);
    for (int c = from; c < to; c++)
        visit_level(walk, level + 1, index * table->dims[level] + c,
                    given + walk->potential[level][c], level == walk->dim ? c : class);
}

void mw_marginals(const MwMarginalTable *table, double *const *potential, int dim, const int *held,
                  double *marginal)
{
    const int last = table->table->arity - 1;
    if (last == 1 && !held) {
        (dim == 0 ? marginals_of_first : marginals_of_second)(table, potential[0], potential[1],
                                                              marginal);
        return;
    }
    const int64_t room = dim == last ? table->row : table->table->dims[dim];
    for (int64_t c = 0; c < room; c++)
        marginal[c] = INFINITY;
    const Walk walk = {table, potential, dim, held, marginal};
    visit_level(&walk, 0, 0, 0, 0);
    for (int c = 0; c < table->table->dims[dim] && dim == last; c++)
        marginal[c] -= potential[dim][c];
}
