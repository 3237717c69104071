/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A lower bound of a core by moving costs about and by pricing memory.
 *
 * Every cost function f has a potential for each class of each of its nodes; it gives the potential
 * to the node and takes it off its own entries, so the cost of no choice changes. Every memory row
 * has a price; usage is paid for and the limit is paid back, so the cost of no choice that keeps
 * the rows rises. The sum of the least node costs and the least entries is then a lower bound for
 * any potentials and prices, and good ones make it tight.
 *
 * dual.c holds the state, sweep.c improves the potentials, marginal.c finds what they leave of the
 * entries, certify.c makes an exact bound of them and takes away strategies, decode.c reads choices
 * off them. */
#ifndef MW_SOLVER_BOUND_DUAL_H
#define MW_SOLVER_BOUND_DUAL_H

#include "solver/bound/marginal.h"
#include "solver/core/core.h"
#include "solver/tuning.h"

#include <math.h>

/* The least rise of a bound that counts, as a share of the gap: a hundredth of what is worth another
 * round. */
#define MW_VISIBLE_RISE (MW_TUNED_ROUND_SHARE / 100)

/* What a bound may rise by where no choice is known, and in any one step of the prices. */
static inline double mw_dual_step_gap(double bound)
{
    return MW_TUNED_STEP_GAP * fabs(bound) + 1;
}

typedef struct {
    int index;                    /* of the core's cost function */
    const MwMarginalTable *table; /* of its costs; equal ones share it */
    double **potential;           /* [arity][mw_marginal_room(classes)] */
} MwDualFunction;

/* A node's place in one of its cost functions. */
typedef struct {
    int function, dim;      /* index in MwDual.functions; place in the scope */
    int size;               /* classes */
    const int64_t *classes; /* [strategy] */
    double *potential;      /* of the cost function in the dimension */
    double *margin;         /* [mw_marginal_room(size)] scratch */
    bool first, last;       /* the node is, in the scope */
} MwDualLink;

typedef struct {
    int node, strategies;
    double *cost; /* [strategies] plus potentials and priced usage */
    int label;    /* the strategy that looked best when the node was last visited */
    int link_count;
    MwDualLink *links;
    double share; /* of what it holds that a sweep hands to each cost function */
} MwDualNode;

typedef struct {
    MwArena *arena;
    MwArena
        *table_arena; /* of the cost functions' tables, most of what a dual takes; within `arena` */
    const MwCore *core;
    int node_count, function_count;
    MwDualNode *nodes; /* those left, ascending */
    MwDualFunction *functions;
    int potential_count; /* of all cost functions together */
    double *price;       /* [core->row_count] at least 0 */
    double *held, *push; /* [strategy] scratch */
    int64_t strategy_count;
    double surplus;        /* what a strategy may cost more than its node's best, */
    int64_t surplus_count; /* and how many cost more, as the last sweep saw them */
} MwDual;

/* Potentials are zero, prices those given ([row_count]). The core must be separated and without
 * forbidden strategies, as mw_reduce leaves it. It is not changed, and must not be meanwhile. */
MwDual *mw_dual_new(MwArena *arena, const MwCore *core, const double *price);

/* What a dual can be brought back to. */
typedef struct {
    double *potential; /* of all cost functions, end to end */
    double *price;     /* [row_count] */
} MwDualState;
MwDualState *mw_dual_new_state(MwArena *arena, const MwDual *dual);
void mw_dual_save(const MwDual *dual, MwDualState *state);
void mw_dual_load(MwDual *dual, const MwDualState *state);

/* Just after a sweep downwards: the first node of each cost function was then its last to draw, and
 * left it with least entries of 0. In floating point; certify.c makes it exact. */
double mw_dual_bound(const MwDual *dual);

/* usage[row] of the labels less the limit. */
void mw_dual_excess(const MwDual *dual, double *excess);
void mw_dual_set_prices(MwDual *dual, const double *price);
/* What the usage of each strategy of nodes[index] is priced at. */
void mw_dual_priced_usage(const MwDual *dual, int index, double *priced);

#endif
