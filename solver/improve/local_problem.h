/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The subproblem of a neighbourhood: some nodes of a flat core are free, all others are held at a
 * choice. Bucket elimination finds the best choice of the free nodes (Dechter, Artificial
 * Intelligence 113, 1999).
 *
 * First a plan is made: the cost functions conditioned on the held nodes, the labels (strategies
 * that no cost function between free nodes distinguishes share a label), the elimination order, and
 * the layout of the tables. If the next table would be too large, another node is held, at its
 * label in the choice, until the table fits (conditioning). The subproblem can then be solved for
 * any costs added to the strategies; each time only the tables are filled anew. */
#ifndef MW_SOLVER_IMPROVE_LOCAL_PROBLEM_H
#define MW_SOLVER_IMPROVE_LOCAL_PROBLEM_H

#include "base/draws.h"
#include "solver/improve/flat_core.h"

/* Tables may be read up to this many entries beyond their end. */
#define MW_LANES 8

/* A table over free nodes: a cost function, or the result of an elimination. */
typedef struct {
    int arity;
    int *node;           /* [arity] index of the free node */
    int **class_of;      /* [arity][label] class */
    int *size;           /* [arity] number of classes */
    int64_t start;       /* first entry among the tables */
    int64_t *stride;     /* [arity] in entries */
    const int64_t *cost; /* the cost function's entries, conditioned on its held nodes; NULL: the
                            table is a result */
    int64_t *step;       /* [arity] strides in `cost` */
} MwLocalTable;

/* A table that takes part in the elimination of a node. Levels are the dimensions of the output;
 * the node that is eliminated last comes first. */
typedef struct {
    int table;
    int depth;        /* last level that the table depends on; -1: none */
    bool contiguous;  /* along that level, consecutive classes are consecutive entries */
    int *node_offset; /* [label of the node] offset */
    int **offset;     /* [level][class of the output] offset; NULL: the table does not depend on the
                         level */
} MwLocalInput;

typedef struct {
    int node;
    int input_count, level_count;
    MwLocalInput *inputs;
    int output; /* index of the table; -1: the node had no neighbour left */
    int *level; /* [level_count] dimension of the output */
} MwLocalStep;

typedef struct {
    int origin; /* node of the flat core */
    int label_count;
    int *label_of; /* [strategy] label */
    int current;   /* strategy in the choice */
    bool held;
    int position;  /* position in the elimination order; INT32_MAX if held */
    double *fixed; /* [strategy] unary cost, with the cost functions whose other nodes are held */
    double *added; /* [strategy] added cost; the caller sets it */
    double *cost;  /* [label] least sum of both */
    int *strategy; /* [label] strategy that attains it */
    int label;     /* label in the solution */
} MwLocalNode;

typedef struct {
    MwArena *arena;
    const MwFlatCore *flat;
    int node_count;
    MwLocalNode *nodes;
    MW_VEC(MwLocalTable) tables;
    MW_VEC(MwLocalStep) steps;
    int64_t entries; /* entries of all tables */
    int64_t work;    /* sum over eliminations of entries times labels */
    int held_count;
} MwLocalProblem;

typedef struct {
    int64_t table; /* greatest number of entries of a table */
    int64_t work;  /* approximate limit of the work; more nodes are held to keep it */
} MwLocalLimits;

typedef struct {
    const MwFlatCore *flat;
    const int *choice; /* [flat->node_count] choice of the nodes that are held */
    int count;
    const int *nodes; /* [count] nodes to free, distinct */
    int *index_of;    /* [flat->node_count] scratch: -1 throughout, before and after */
    MwDraws *draws;   /* decide which free nodes are held to keep the limits */
    MwLocalLimits limits;
} MwLocalRequest;

/* Plans the subproblem of the free nodes, in `arena`. */
MwLocalProblem *mw_local_problem_new(MwArena *arena, const MwLocalRequest *request);

/* Writes the costs of the cost functions into `tables`, which has room for local->entries +
 * MW_LANES entries. */
void mw_local_problem_fill(const MwLocalProblem *local, double *tables);
/* Finds the choice of least cost, including `added`. Ties prefer the current strategy, then the
 * lowest index. mw_local_problem_fill has filled `tables`; this function overwrites the results of
 * eliminations in it. Sets the nodes' labels and returns the cost. */
double mw_local_problem_solve(MwLocalProblem *local, double *tables);
/* Returns the cost of the current choice, including `added`. */
double mw_local_problem_current_cost(const MwLocalProblem *local, const double *tables);

#endif
