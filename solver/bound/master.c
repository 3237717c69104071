/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The simplex method on a dense tableau (Dantzig, Linear Programming and Extensions, 1963), which
 * suits few rows and columns. The columns are one for each choice, then for each row its slack,
 * then for each row its excess; the last constraint is that the weights sum to 1. The first basis
 * has the first choice alone. If the method stalls, the first improving column enters, which cannot
 * cycle (Bland, New finite pivoting rules for the simplex method, Mathematics of Operations
 * Research 2, 1977). */
#include "solver/bound/master.h"

#include <math.h>

static const double TINY = 1e-11;

typedef struct {
    int rows, columns; /* rows include the last constraint; columns exclude the right side */
    double *at;        /* [rows + 1][columns + 1] the last row holds reduced costs and -cost */
    int *basis;        /* [rows] basic column of each row */
} Tableau;

static double *row_of(const Tableau *tableau, int row)
{
    return tableau->at + (int64_t)row * (tableau->columns + 1);
}

/* Subtracts `multiple` times one row from another. */
static void subtract(const Tableau *tableau, double *from, const double *row, double multiple)
{
    for (int j = 0; j <= tableau->columns && multiple != 0; j++)
        from[j] -= multiple * row[j];
}

static void pivot(Tableau *tableau, int row, int column)
{
    double *pivot_row = row_of(tableau, row), scale = 1 / pivot_row[column];
    for (int j = 0; j <= tableau->columns; j++)
        pivot_row[j] *= scale;
    for (int i = 0; i <= tableau->rows; i++)
        if (i != row)
            subtract(tableau, row_of(tableau, i), pivot_row, row_of(tableau, i)[column]);
    tableau->basis[row] = column;
}

/* Makes the tableau of the basis in which the first choice has weight 1. */
static Tableau first_tableau(MwArena *arena, const MwMaster *master)
{
    int rows = master->rows, count = master->count;
    Tableau tableau = {.rows = rows + 1, .columns = count + 2 * rows};
    tableau.at = MW_NEW(arena, double, (int64_t)(rows + 2) * (tableau.columns + 1));
    tableau.basis = MW_NEW(arena, int, rows + 1);
    double *sum = row_of(&tableau, rows), *cost = row_of(&tableau, rows + 1);
    for (int k = 0; k < count; k++) {
        sum[k] = 1;
        cost[k] = master->cost[k];
    }
    sum[tableau.columns] = 1;
    for (int row = 0; row < rows; row++) {
        double *pivot_row = row_of(&tableau, row);
        for (int k = 0; k < count; k++)
            pivot_row[k] = master->excess[(int64_t)k * rows + row];
        pivot_row[count + row] = 1;
        pivot_row[count + rows + row] = -1;
        cost[count + row] = -master->least[row];
        cost[count + rows + row] = master->most[row];
    }
    pivot(&tableau, rows, 0);
    for (int row = 0; row < rows; row++)
        pivot(&tableau, row, count + row + (row_of(&tableau, row)[tableau.columns] < 0 ? rows : 0));
    return tableau;
}

/* Returns the column of least reduced cost, or the first one of negative reduced cost; -1: there is
 * none. */
static int entering_column(const Tableau *tableau, bool first)
{
    const double *cost = row_of(tableau, tableau->rows);
    int best = -1;
    for (int j = 0; j < tableau->columns; j++)
        if (cost[j] < (best < 0 ? -TINY : cost[best])) {
            best = j;
            if (first)
                break;
        }
    return best;
}

/* Returns the row of least ratio, among equals that of the lowest basic column; -1: there is
 * none. */
static int leaving_row(const Tableau *tableau, int column)
{
    int best = -1;
    double least = INFINITY;
    for (int i = 0; i < tableau->rows; i++) {
        const double *row = row_of(tableau, i);
        if (row[column] <= TINY)
            continue;
        double ratio = fmax(0, row[tableau->columns]) / row[column];
        if (ratio < least || (ratio == least && tableau->basis[i] < tableau->basis[best])) {
            least = ratio;
            best = i;
        }
    }
    return best;
}

double mw_master_solve(const MwMaster *master, double *price)
{
    MwArena *scratch = mw_arena_new();
    Tableau tableau = first_tableau(scratch, master);
    const int patience = 2 * (tableau.rows + tableau.columns);
    for (int i = 0; i < 8 * patience; i++) {
        int column = entering_column(&tableau, i > patience);
        int row = column < 0 ? -1 : leaving_row(&tableau, column);
        if (row < 0)
            break;
        pivot(&tableau, row, column);
    }
    const double *cost = row_of(&tableau, tableau.rows);
    double value = -cost[tableau.columns];
    for (int row = 0; row < master->rows; row++)
        price[row] =
            fmin(master->most[row], master->least[row] + fmax(0, cost[master->count + row]));
    mw_arena_free(&scratch);
    return value;
}
