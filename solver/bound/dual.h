/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The Lagrangian dual of a core: potentials of cost functions and prices (multipliers) of memory
 * rows.
 *
 * A cost function has a potential for each class of each of its nodes. It adds the potential to the
 * node and subtracts it from its own entries (a reparametrisation), so the cost of no choice
 * changes. A memory row has a price; priced usage is added to the nodes and the priced limit is
 * subtracted, so the cost of no choice that keeps the rows rises. The sum of the least node costs
 * and the least entries is then a lower bound for any potentials and any non-negative prices, and
 * good ones make it tight.
 *
 * dual.c holds the state, sweep.c improves the potentials, marginal.c computes min-marginals,
 * certify.c turns the dual into an exact bound and fixes strategies, decode.c reads choices off the
 * dual. */
#ifndef MW_SOLVER_BOUND_DUAL_H
#define MW_SOLVER_BOUND_DUAL_H

#include "solver/bound/marginal.h"
#include "solver/core/core.h"
#include "solver/tuning.h"

#include <math.h>

/* The least rise of a bound that counts, as a fraction of the gap: a hundredth of what is worth
 * another round. */
#define MW_VISIBLE_RISE (MW_TUNED_ROUND_SHARE / 100)

/* Returns an estimate of how much a bound can rise while no choice is known; it also limits the
 * gain that one step of the prices aims for. */
static inline double mw_dual_step_gap(double bound)
{
    return MW_TUNED_STEP_GAP * fabs(bound) + 1;
}

typedef struct {
    int index;                    /* index of the core's cost function */
    const MwMarginalTable *table; /* shared by cost functions with equal tables */
    double **potential;           /* [arity][mw_marginal_room(classes)] */
} MwDualFunction;

/* The incidence of a node and one of its cost functions. */
typedef struct {
    int function, dim;      /* index in MwDual.functions; the node's position in the scope */
    int size;               /* number of classes */
    const int64_t *classes; /* [strategy] class */
    double *potential;      /* of the cost function, in dimension `dim` */
    double *marginal;       /* [mw_marginal_room(size)] scratch */
    bool first, last;       /* the node is the first, or the last, in the scope */
} MwDualLink;

typedef struct {
    int node, strategies;
    double *cost; /* [strategies] cost plus potentials and priced usage */
    int best;     /* strategy of least cost when the node was last visited */
    int link_count;
    MwDualLink *links;
    double weight; /* fraction of the collected cost that a sweep distributes to each cost
                      function */
} MwDualNode;

typedef struct {
    MwArena *arena;
    /* Holds the floating-point tables of the cost functions, which are most of a dual; within
     * `arena`. */
    MwArena *table_arena;
    const MwCore *core;
    int node_count, function_count;
    MwDualNode *nodes; /* nodes left, ascending */
    MwDualFunction *functions;
    int potential_count;         /* potentials of all cost functions together */
    double *price;               /* [core->row_count] at least 0 */
    double *collected, *message; /* [strategy] scratch */
    int64_t strategy_count;
    double fixing_gap; /* reduced cost above which a strategy can be fixed; INFINITY: none can */
    int64_t fixable_count; /* number of strategies above it in the last sweep */
} MwDual;

/* Makes a dual with zero potentials and the prices given ([row_count]). The core must be separated
 * and have no forbidden strategies, as mw_reduce leaves it. The dual does not change the core, and
 * nobody else may change it while the dual is used. */
MwDual *mw_dual_new(MwArena *arena, const MwCore *core, const double *price);

/* A saved state of a dual. */
typedef struct {
    double *potential; /* potentials of all cost functions, concatenated */
    double *price;     /* [row_count] */
} MwDualState;
MwDualState *mw_dual_new_state(MwArena *arena, const MwDual *dual);
void mw_dual_save(const MwDual *dual, MwDualState *state);
void mw_dual_load(MwDual *dual, const MwDualState *state);

/* Returns the bound right after a sweep downwards: the first node of each cost function was the
 * last to collect from it and left it with least entries of 0. The bound is in floating point;
 * certify.c makes it exact. */
double mw_dual_bound(const MwDual *dual);

/* Sets excess[row] to the usage of the best strategies less the limit: a subgradient with respect
 * to the prices. */
void mw_dual_excess(const MwDual *dual, double *excess);
void mw_dual_set_prices(MwDual *dual, const double *price);
/* Sets priced[strategy] to the price of the usage of nodes[index]. */
void mw_dual_priced_usage(const MwDual *dual, int index, double *priced);

#endif
