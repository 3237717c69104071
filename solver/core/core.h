/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The problem while it is being reduced: nodes, cost functions, memory rows, and the trail back.
 *
 * A cost function is a table of costs over classes of strategies of two or more nodes. Each
 * reduction either restricts a node to some of its strategies or eliminates a node, and leaves a
 * step on the trail; mw_core_restore walks the trail backwards and so turns a choice of the reduced
 * problem into one of the original. Costs that do not depend on any choice are collected in
 * `constant`.
 *
 * Invariant: for every choice of the reduced problem, its cost plus `constant` is the cost of the
 * restored choice, times 2^scale (rounded down per entry if scale < 0); and the restored choice
 * keeps the memory limit if and only if the reduced one keeps the rows. Some best choice is always
 * left. */
#ifndef MW_SOLVER_CORE_CORE_H
#define MW_SOLVER_CORE_CORE_H

#include "base/vec.h"
#include "solver/core/classes.h"
#include "solver/core/table.h"
#include "solver/cost.h"

typedef MW_VEC(int) MwIndexList;

/* `usage` (arity 1) counts in the memory rows [first, last]. */
typedef struct {
    int first, last;
    const MwTable *usage;
} MwCoreTerm;

typedef struct {
    const MwTable *cost;   /* arity 1; NULL: eliminated */
    MwIndexList functions; /* indices, in order of creation */
    MW_VEC(MwCoreTerm) terms;
    bool queued; /* in changed_nodes */
} MwCoreNode;

typedef struct {
    const MwTable *cost;           /* over classes, at least two of each node; NULL: gone */
    const int *scope;              /* [cost->arity] nodes, ascending */
    const MwTable *const *classes; /* [cost->arity] class lists of the nodes in scope */
    bool queued;                   /* in changed_functions */
} MwCostFunction;

/* What eliminating a node by minimising over its strategies gives. */
typedef struct {
    const MwTable *cost;           /* over classes of the neighbours; NULL if there is none */
    const MwTable *const *classes; /* [cost->arity] class lists of the neighbours */
    const int32_t *choice;         /* the node's best strategy, shaped like cost */
    int64_t constant;              /* the least cost, if there is no neighbour */
} MwElimination;

typedef struct {
    int node;
    const MwTable *keep;              /* restricted to these, or */
    const MwElimination *elimination; /* eliminated, given its neighbours */
    int neighbour_count;
    const int *neighbours; /* ascending */
} MwCoreStep;

typedef struct MwCore MwCore;
struct MwCore {
    MwArena *arena;
    MwTables *tables;
    const MwCore *origin; /* what this is a copy of, when its trail had origin_steps; or NULL */
    int origin_steps;
    int node_count; /* of the original problem */
    MwCoreNode *nodes;
    MW_VEC(MwCostFunction) functions;
    MW_VEC(MwCoreStep) trail;
    int row_count;   /* memory rows: the times at which a limit could bind */
    __int128 *limit; /* [row_count]; less what every choice uses */
    __int128 least;  /* no limit is below this */
    int64_t *time;   /* [row_count] the time a row stands for */
    double *price;   /* [row_count] what a bound was last made with; see dual.h */
    MwCost constant;
    int scale; /* costs are those of the problem times 2^scale */
    bool infeasible;
    MwIndexList changed_nodes;     /* for reduce.c: cost, terms or cost functions changed */
    MwIndexList changed_functions; /* cost changed */
};

/* The whole problem: its edges separated (separate.h), otherwise unreduced. Without `limited` there
 * are no memory rows. */
MwCore *mw_core_build(MwArena *arena, MwTables *tables, const MwProblem *problem, bool limited);
/* A copy to be reduced further on its own. `core` may be, too, but must live as long. */
MwCore *mw_core_copy(MwArena *arena, const MwCore *core);
/* Likewise, with tables of its own, so that another thread may reduce it. */
MwCore *mw_core_copy_apart(MwArena *arena, const MwCore *core);
/* The core itself, its trail included, in `arena` and with tables of its own: the arena it was
 * reduced in may go, but not what it is a copy of. */
MwCore *mw_core_move(MwArena *arena, const MwCore *core);
/* Nodes left, with all cost functions and rows that they have, in none of which another node is. */
typedef struct {
    int node_count, function_count, row_count;
    const int *nodes, *functions, *rows; /* [*_count] of the core, ascending */
    const int *node_place, *row_place; /* [of the core] where a node of the part is in `nodes`, and
                                          a row in `rows` */
} MwComponent;

/* A part of the core as a problem of its own, with tables of its own: node i of it is nodes[i] of
 * `core`, and what it restores to is a choice of these. The core's constant is its constant. */
MwCore *mw_core_extract_component(MwArena *arena, const MwCore *core, const MwComponent *part);
/* All that is left; `nodes` ([nodes left]) is in `arena`. */
MwCore *mw_core_extract(MwArena *arena, const MwCore *core, const int **nodes);

/* No choice of the problem that such a choice of the core restores to costs less: the bound in the
 * problem's scale. And the least cost in the core's scale that proves at least `cost`. */
MwCost mw_core_unscaled_bound(const MwCore *core, MwCost bound);
MwCost mw_core_cutoff(const MwCore *core, MwCost cost);
/* The same for a choice of the core, in its scale: what costs less than this costs less by a unit
 * of the problem's at least. */
MwCost mw_core_below(const MwCore *core, MwCost cost);

/* Nodes, strategies and entries of cost functions that are left of the core. */
int mw_core_nodes_left(const MwCore *core);
int64_t mw_core_strategies_left(const MwCore *core);
int64_t mw_core_entries_left(const MwCore *core);
/* Entries of the tables that cost functions have, each counted once: few where layers are equal. */
int64_t mw_core_distinct_entries(const MwCore *core);

int mw_core_strategies(const MwCore *core, int node);
/* Where `node` stands in the cost function's scope. */
int mw_core_position(const MwCostFunction *function, int node);
/* Puts the node among changed_nodes. */
void mw_core_queue(MwCore *core, int node);

/* Cost of a choice of the nodes left, constant included; and whether it keeps all rows. */
MwCost mw_core_cost(const MwCore *core, const int *choice);
bool mw_core_fits(const MwCore *core, const int *choice);
/* Whether it takes nothing forbidden. */
bool mw_core_allows(const MwCore *core, const int *choice);

/* Replaces the node's cost; adds to it. */
void mw_core_set_cost(MwCore *core, int node, const MwTable *cost);
void mw_core_add_cost(MwCore *core, int node, const MwTable *cost);
/* Adds a cost function, into an existing one of the same scope if there is one. Dimensions of size
 * 1 fall away; a cost function of one node is a cost. */
void mw_core_add_function(MwCore *core, const int *scope, const MwTable *const *classes,
                          const MwTable *cost);
/* Puts another table, over the merged classes, in the place of a cost function's: merged[i] (NULL:
 * as it was) gives for each class of the node in scope[i] the new one. */
void mw_core_replace_function(MwCore *core, int function, const MwTable *const *merged,
                              const MwTable *cost);
void mw_core_remove_function(MwCore *core, int function);
/* Takes away all strategies but `keep`. */
void mw_core_restrict(MwCore *core, int node, const MwTable *keep);
/* Takes away all rows, and with them all usage. */
void mw_core_lift_limit(MwCore *core);
/* Removes the node and its cost functions; the caller adds what replaces them. */
void mw_core_eliminate(MwCore *core, int node, const MwElimination *elimination,
                       int neighbour_count, const int *neighbours);

/* The nodes that share a cost function with `node`, ascending. Returns their number, or `limit` + 1
 * if there are more. */
int mw_core_neighbours(const MwCore *core, int node, int limit, int *neighbours);

/* `choice` holds, for the nodes left, positions in their present strategies; on return, for all
 * nodes of the original problem, original strategies. */
void mw_core_restore(const MwCore *core, int *choice);
/* The other way: from what mw_core_restore gives, or another choice of the original problem;
 * entries of nodes that are eliminated mean nothing. False if it takes what is not left. */
bool mw_core_enter(const MwCore *core, int *choice);
/* Like mw_core_restore, but only back to what `copy` was when it was made as a copy of what `core`
 * comes from: to a choice of `copy`, if nothing was done to that since. False if `core` does not
 * come from it. */
bool mw_core_restore_to(const MwCore *core, const MwCore *copy, int *choice);

#endif
