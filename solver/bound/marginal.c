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

/* The least of value - potential. */
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

/* least[i] becomes value[i] - potential where that is less. */
static inline void lower_to(double *least, const double *value, double potential, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        double left = value[i] - potential;
        least[i] = left < least[i] ? left : least[i];
    }
}

/* Of all entries of two dimensions, by the first one. */
MW_VECTORISED static void margin_of_first(const MwMarginalTable *table, const double *first,
                                          const double *second, double *margin)
{
    for (int c = 0; c < table->table->dims[0]; c++)
        margin[c] = least_of(table->value + c * table->row, second, table->row) - first[c];
}

/* By the second one. */
MW_VECTORISED static void margin_of_second(const MwMarginalTable *table, const double *first,
                                           const double *second, double *margin)
{
    for (int64_t k = 0; k < table->row; k++)
        margin[k] = INFINITY;
    for (int c = 0; c < table->table->dims[0]; c++)
        lower_to(margin, table->value + c * table->row, first[c], table->row);
    for (int64_t k = 0; k < table->row; k++)
        margin[k] -= second[k];
}

typedef struct {
    const MwMarginalTable *table;
    double *const *potential;
    int dim;
    const int *held;
    double *margin;
} Walk;

/* Whether one class of the dimension is held, or all are walked over: [*from, *to). */
static bool range(const Walk *walk, int level, int *from, int *to)
{
    bool holds = walk->held && walk->held[level] >= 0;
    *from = holds ? walk->held[level] : 0;
    *to = holds ? *from + 1 : walk->table->table->dims[level];
    return holds;
}

/* A row of the last dimension, of which the other classes have potentials of `given` together and
 * that of `dim` is `class`. Where `dim` is the last one its own potential is left to mw_marginals. */
MW_VECTORISED static void walk_row(const Walk *walk, int64_t row, double given, int class)
{
    const int level = walk->table->table->arity - 1;
    const int64_t count = walk->table->row;
    const double *value = walk->table->value + row * count, *potential = walk->potential[level];
    int from, to;
    bool holds = range(walk, level, &from, &to);
    if (walk->dim == level) {
        lower_to(walk->margin, value, given, count);
    } else {
        double least = holds ? value[from] - potential[from] : least_of(value, potential, count);
        lower_to(&walk->margin[class], &least, given, 1);
    }
}

static void walk_level(const Walk *walk, int level, int64_t index, double given, int class)
{
    const MwTable *table = walk->table->table;
    if (level == table->arity - 1) {
        walk_row(walk, index, given, class);
        return;
    }
    int from, to;
    range(walk, level, &from, &to);
    for (int c = from; c < to; c++)
        walk_level(walk, level + 1, index * table->dims[level] + c,
                   given + walk->potential[level][c], level == walk->dim ? c : class);
}

void mw_marginals(const MwMarginalTable *table, double *const *potential, int dim, const int *held,
                  double *margin)
{
    const int last = table->table->arity - 1;
    if (last == 1 && !held) {
        (dim == 0 ? margin_of_first : margin_of_second)(table, potential[0], potential[1], margin);
        return;
    }
    const int64_t room = dim == last ? table->row : table->table->dims[dim];
    for (int64_t c = 0; c < room; c++)
        margin[c] = INFINITY;
    const Walk walk = {table, potential, dim, held, margin};
    walk_level(&walk, 0, 0, 0, 0);
    for (int c = 0; c < table->table->dims[dim] && dim == last; c++)
        margin[c] -= potential[dim][c];
}
