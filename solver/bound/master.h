/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The restricted master problem: the cheapest convex combination of choices that keeps the memory
 * rows, and its prices. */
#ifndef MW_SOLVER_BOUND_MASTER_H
#define MW_SOLVER_BOUND_MASTER_H

#include "base/arena.h"

typedef struct {
    int count, rows;            /* at least 1 choice */
    const double *cost;         /* [count] */
    const double *excess;       /* [count][rows] usage less the limit */
    const double *least, *most; /* [rows] bounds of a row's price: 0 <= least <= most */
} MwMaster;

/* Minimises sum w[k] cost[k] over weights w >= 0 that sum to 1, subject to sum w[k] excess[k][row]
 * <= 0. Excess above 0 may be bought at the price `most`, and slack is refunded at the price
 * `least`. Sets `price` ([rows], `least` to `most`) to the dual solution: the maximum over such
 * prices of the minimum over k of cost[k] + sum price[row] excess[k][row] is attained there and
 * equals the value returned. Numbers should be of the order of 1. */
double mw_master_solve(const MwMaster *master, double *price);

#endif
