/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The core: the problem while it is being reduced. It has nodes, cost functions, memory rows, and
 * the trail that leads back to the original problem.
 *
 * In the terms of weighted constraint satisfaction, a node is a variable, its strategies are the
 * domain, and the node's cost is a unary cost function. A MwCostFunction is a table of costs over
 * classes of strategies of two or more nodes. A memory row is a constraint: the usages that count
 * in it sum to at most its limit.
 *
 * Each reduction either restricts a node to some of its strategies or eliminates a node, and pushes
 * a step on the trail. mw_core_restore walks the trail backwards and so turns a choice of the
 * reduced problem into a choice of the original. `constant` collects the costs that every choice
 * pays.
 *
 * Invariant: for every choice of the reduced problem, its cost plus `constant` is the cost of the
 * restored choice times 2^scale (rounded down per entry if scale < 0), and the restored choice
 * keeps the memory limit if and only if the reduced one keeps the rows. At least one optimal choice
 * is always left. */
#ifndef MW_SOLVER_CORE_CORE_H
#define MW_SOLVER_CORE_CORE_H

#include "base/vec.h"
#include "solver/core/classes.h"
#include "solver/core/table.h"
#include "solver/cost.h"

typedef MW_VEC(int) MwIndexList;

/* A usage term: `usage` (arity 1) counts in the memory rows first to last, both included. */
typedef struct {
    int first, last;
    const MwTable *usage;
} MwCoreTerm;

typedef struct {
    const MwTable *cost;   /* unary cost, arity 1; NULL: the node is eliminated */
    MwIndexList functions; /* indices of cost functions, in order of creation */
    MW_VEC(MwCoreTerm) terms;
    bool queued; /* the node is in changed_nodes */
} MwCoreNode;

typedef struct {
    const MwTable *cost;           /* over classes, at least two of each node; NULL: removed */
    const int *scope;              /* [cost->arity] nodes, ascending */
    const MwTable *const *classes; /* [cost->arity] class lists of the nodes in scope */
    bool queued;                   /* the function is in changed_functions */
} MwCostFunction;

/* The result of minimising over the strategies of a node. */
typedef struct {
    const MwTable *cost;           /* over classes of the neighbours; NULL if there is none */
    const MwTable *const *classes; /* [cost->arity] class lists of the neighbours */
    const int32_t *choice;         /* the node's best strategy, shaped like `cost` */
    int64_t constant;              /* the least cost, if there is no neighbour */
} MwElimination;

typedef struct {
    int node;
    const MwTable *keep; /* if not NULL, the step restricts the node to these strategies */
    const MwElimination *elimination; /* otherwise the step eliminates the node */
    int neighbour_count;
    const int *neighbours; /* of an eliminated node, ascending */
} MwCoreStep;

typedef struct MwCore MwCore;
struct MwCore {
    MwArena *arena;
    MwTables *tables;
    const MwCore *origin; /* the core that this one is a copy of; or NULL */
    int origin_trail_count;
    int node_count; /* nodes of the original problem */
    MwCoreNode *nodes;
    MW_VEC(MwCostFunction) functions;
    MW_VEC(MwCoreStep) trail;
    int row_count;        /* number of memory rows: times at which the limit can bind */
    __int128 *limit;      /* [row_count] usage limit less what every choice uses */
    __int128 least_limit; /* lower bound on every entry of `limit` */
    int64_t *time;        /* [row_count] time that the row stands for */
    double *price;        /* [row_count] price with which a bound was last made (dual.h) */
    MwCost constant;
    int scale; /* costs are those of the problem times 2^scale */
    bool infeasible;
    MwIndexList changed_nodes;     /* queue for reduce.c: cost, terms or cost functions changed */
    MwIndexList changed_functions; /* queue for reduce.c: table changed */
};

/* Builds the core of the whole problem: its edges are separated (separate.h), nothing else is
 * reduced. Without `limited` the core has no memory rows. */
MwCore *mw_core_build(MwArena *arena, MwTables *tables, const MwProblem *problem, bool limited);
/* Makes a copy that can be reduced further by itself. `core` may be reduced further too, and must
 * live as long as the copy. */
MwCore *mw_core_copy(MwArena *arena, const MwCore *core);
/* Makes such a copy with separate tables, so that another thread can reduce it. */
MwCore *mw_core_copy_independent(MwArena *arena, const MwCore *core);
/* Copies the core with its trail into `arena`, with separate tables. The arena in which the core
 * was reduced may then be freed, but not the core's origin. */
MwCore *mw_core_move(MwArena *arena, const MwCore *core);
/* A component: nodes that are left, with all their cost functions and rows, none of which has
 * another node. */
typedef struct {
    int node_count, function_count, row_count;
    const int *nodes, *functions, *rows; /* [*_count] indices in the core, ascending */
    /* Position of each node of the core in `nodes`, and of each row in `rows`; meaningful for the
     * nodes and rows of the component. */
    const int *node_position, *row_position;
} MwComponent;

/* Makes a core of the component alone, with separate tables: its node i is nodes[i] of `core`, and
 * mw_core_restore gives a choice of these nodes. Its constant is that of `core`. */
MwCore *mw_core_extract_component(MwArena *arena, const MwCore *core, const MwComponent *component);
/* Makes a core of all nodes that are left. `nodes` ([nodes left], in `arena`) says which they
 * are. */
MwCore *mw_core_extract(MwArena *arena, const MwCore *core, const int **nodes);

/* Turns a lower bound of the core into one of the problem, in the problem's scale: no choice of the
 * problem that a choice of the core restores to costs less. */
MwCost mw_core_unscaled_bound(const MwCore *core, MwCost bound);
/* Returns the least bound in the core's scale that proves a lower bound of `cost` in the
 * problem's. */
MwCost mw_core_cutoff(const MwCore *core, MwCost cost);
/* Returns the exclusive upper limit, in the core's scale, for choices that improve on `cost` (also
 * in the core's scale): a choice that costs less than this costs less by at least one unit of the
 * problem. */
MwCost mw_core_improving_cutoff(const MwCore *core, MwCost cost);

/* These count the nodes, the strategies and the entries of cost functions that are left. */
int mw_core_nodes_left(const MwCore *core);
int64_t mw_core_strategies_left(const MwCore *core);
int64_t mw_core_entries_left(const MwCore *core);
/* Counts the entries of the tables of cost functions, each table once: few where layers are
 * equal. */
int64_t mw_core_distinct_entries(const MwCore *core);

int mw_core_strategies(const MwCore *core, int node);
/* Returns the position of `node` in the cost function's scope. */
int mw_core_position(const MwCostFunction *function, int node);
/* Puts the node into the queue changed_nodes. */
void mw_core_queue(MwCore *core, int node);

/* Returns the cost of a choice of the nodes left, constant included. */
MwCost mw_core_cost(const MwCore *core, const int *choice);
/* Says whether the choice keeps all memory rows. */
bool mw_core_fits(const MwCore *core, const int *choice);
/* Says whether the choice takes no forbidden strategy or combination. */
bool mw_core_allows(const MwCore *core, const int *choice);

/* Replaces the node's unary cost. */
void mw_core_set_cost(MwCore *core, int node, const MwTable *cost);
/* Adds `cost` to the node's unary cost. */
void mw_core_add_cost(MwCore *core, int node, const MwTable *cost);
/* Adds a cost function; a function of the same scope, if there is one, absorbs it. Dimensions of
 * size 1 are squeezed out, and a function of one node becomes part of that node's unary cost. */
void mw_core_add_function(MwCore *core, const int *scope, const MwTable *const *classes,
                          const MwTable *cost);
/* Replaces the table of a cost function by one over merged classes: merged[i] gives the new class
 * for each old class of the node in scope[i]; NULL: the classes stay. */
void mw_core_replace_function(MwCore *core, int function, const MwTable *const *merged,
                              const MwTable *cost);
void mw_core_remove_function(MwCore *core, int function);
/* Removes all strategies of the node but `keep`. */
void mw_core_restrict(MwCore *core, int node, const MwTable *keep);
/* Removes all rows, and with them all usage terms. */
void mw_core_drop_rows(MwCore *core);
/* Removes the node and its cost functions. The caller adds the function that replaces them. */
void mw_core_eliminate(MwCore *core, int node, const MwElimination *elimination,
                       int neighbour_count, const int *neighbours);

/* Lists the nodes that share a cost function with `node`, ascending. Returns their number, or
 * `limit` + 1 if there are more than `limit`. */
int mw_core_neighbours(const MwCore *core, int node, int limit, int *neighbours);

/* Turns a choice of the core into one of the original problem. `choice` holds, for each node left,
 * an index into its present strategies; on return it holds, for every original node, an original
 * strategy. */
void mw_core_restore(const MwCore *core, int *choice);
/* Turns a choice of the original problem into one of the core: the inverse of mw_core_restore.
 * Entries of eliminated nodes are meaningless. Returns false if the choice takes a strategy that is
 * not left. */
bool mw_core_reduce_choice(const MwCore *core, int *choice);
/* Like mw_core_restore, but turns a choice of `core` into one of `copy`: an ancestor of `core`, or
 * a copy of one which was not reduced since. Returns false if `core` does not descend from it. */
bool mw_core_restore_to(const MwCore *core, const MwCore *copy, int *choice);

#endif
