/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A lower bound of a core by moving costs about and by pricing memory.
 *
 * Every factor f has a potential for each class of each of its nodes; it gives the potential to the
 * node and takes it off its own entries, so the cost of no choice changes. Every memory row has a
 * price; usage is paid for and the limit is paid back, so the cost of no choice that keeps the rows
 * rises. The sum of the least node costs and the least entries is then a lower bound for any
 * potentials and prices, and good ones make it tight.
 *
 * dual.c holds the state and improves the potentials, price.c the prices, certify.c makes an exact
 * bound of them and takes away strategies, decode.c reads choices off them. */
#ifndef MW_SOLVER_DUAL_H
#define MW_SOLVER_DUAL_H

#include "solver/core.h"

typedef struct {
    int index;          /* of the core's factor */
    double *entry;      /* [cost->count] the costs less the potentials; INFINITY where forbidden */
    double **potential; /* [arity][class] */
} MwDualFactor;

typedef struct {
    int node;
    double *cost; /* [strategies] plus potentials and priced usage */
    int label;    /* the strategy that looked best when the node was last visited */
    int factor_count;
    int *factors; /* [factor_count] indices in MwDual.factors */
    int *dims;    /* [factor_count] the node's place in their scopes */
    int later;    /* in how many it is not the last node of the scope, */
    int earlier;  /* and not the first */
} MwDualNode;

typedef struct {
    MwArena *arena;
    const MwCore *core;
    int node_count, factor_count;
    MwDualNode *nodes; /* those left, ascending */
    MwDualFactor *factors;
    int potential_count;   /* of all factors together */
    double *price;         /* [core->row_count] at least 0 */
    double *margin, *push; /* scratch */
} MwDual;

/* Potentials are zero, prices those given ([row_count]). The core must be separated and without
 * forbidden strategies, as mw_reduce leaves it. It is not changed, and must not be meanwhile. */
MwDual *mw_dual_new(MwArena *arena, const MwCore *core, const double *price);

/* One sweep over the nodes, upwards or downwards. */
void mw_dual_sweep(MwDual *dual, bool upwards);

/* What a dual can be brought back to. */
typedef struct {
    double *potential; /* of all factors, end to end */
    double *price;     /* [row_count] */
} MwDualState;
MwDualState *mw_dual_new_state(MwArena *arena, const MwDual *dual);
void mw_dual_save(const MwDual *dual, MwDualState *state);
void mw_dual_load(MwDual *dual, const MwDualState *state);

/* In floating point; certify.c makes it exact. */
double mw_dual_bound(const MwDual *dual);

/* price.c: usage[row] of the labels less the limit. */
void mw_dual_excess(const MwDual *dual, double *excess);
void mw_dual_set_prices(MwDual *dual, const double *price);

/* decode.c: reads a choice (core->node_count entries) that keeps the rows if it can; the caller
 * checks. */
void mw_dual_decode(const MwDual *dual, int *choice);

/* certify.c: a proven lower bound of the core's cost, in its scale. */
MwCost mw_dual_certify(const MwDual *dual);
/* Forbids, in the core the dual is of, what is in no choice that costs less than `cutoff` (in the
 * core's scale); returns the number of strategies. The dual is of no use afterwards. */
int mw_dual_cut(const MwDual *dual, MwCore *core, MwCost cutoff);

#endif
