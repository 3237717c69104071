/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cheapest blend of choices that keeps the memory rows on average, and its prices. */
#ifndef MW_SOLVER_BOUND_MASTER_H
#define MW_SOLVER_BOUND_MASTER_H

#include "base/arena.h"

typedef struct {
    int count, rows;            /* at least 1 choice */
    const double *cost;         /* [count] */
    const double *excess;       /* [count][rows] usage less the limit */
    const double *least, *most; /* [rows] what a row may cost: 0 <= least <= most */
} MwMaster;

/* min sum w[k] cost[k] over weights w >= 0 that sum to 1, where sum w[k] excess[k][row] <= 0, or is
 * paid for at `most` where it is more, and room is paid back at `least`. Fills `price` ([rows],
 * `least` to `most`) with what easing a row would save: max over such prices of min over k of
 * cost[k] + sum price[row] excess[k][row] is the same, and is attained there. Numbers are best of
 * the order of 1. */
double mw_master_solve(const MwMaster *blend, double *price);

#endif
