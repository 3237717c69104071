/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A part of a flat core: some nodes are free, all others are held to a choice; and the best choice of
 * the free ones by bucket elimination (Dechter, Artificial Intelligence 113, 1999).
 *
 * First a plan is made: what the cost functions are once the others are held, which strategies no
 * cost function within the part can tell apart (one label each), in which order nodes are
 * eliminated, and where tables lie. Where the next table would be too large, a node is held too, to
 * its label in the choice, until it is not. Then the part is solved for any costs added to the
 * strategies, each time for the price of filling the tables. */
#ifndef MW_SOLVER_IMPROVE_LOCAL_PROBLEM_H
#define MW_SOLVER_IMPROVE_LOCAL_PROBLEM_H

#include "base/draws.h"
#include "solver/improve/flat_core.h"

/* Tables may be read up to so many entries beyond their end. */
#define MW_LANES 8

/* A cost over some nodes of the part: a cost function, or what elimination of a node made. */
typedef struct {
    int arity;
    int *node;           /* [arity] of the part */
    int **class_of;      /* [arity][label] */
    int *size;           /* [arity] classes */
    int64_t place;       /* among the tables, in entries */
    int64_t *stride;     /* [arity] likewise */
    const int64_t *cost; /* of a cost function, where its other nodes are held; NULL: it is made */
    int64_t *step;       /* [arity] strides of that */
} MwLocalTable;

/* A table where the node is eliminated. Levels are the dimensions of the output, the node that goes
 * last first. */
typedef struct {
    int table;
    int depth;      /* the last level it depends on; -1: none */
    bool adjoining; /* along that level entries are neighbours */
    int *own;       /* [label of the node] offset */
    int **offset;   /* [level][class of the output] offset; NULL: does not depend on it */
} MwLocalInput;

typedef struct {
    int node;
    int input_count, level_count;
    MwLocalInput *inputs;
    int output; /* table, or -1: the node had no neighbour left */
    int *level; /* [level_count] dimension of the output */
} MwLocalStep;

typedef struct {
    int origin; /* node of the flat core */
    int label_count;
    int *group;  /* [strategy] its label */
    int present; /* strategy in the choice held to */
    bool held;
    int position;  /* when it is eliminated; the last if held */
    double *fixed; /* [strategy] cost, with the cost functions whose other nodes are held */
    double *added; /* [strategy] for the caller to fill */
    double *cost;  /* [label] least of both */
    int *strategy; /* [label] that attains it */
    int label;     /* solution */
} MwLocalNode;

typedef struct {
    MwArena *arena;
    const MwFlatCore *flat;
    int node_count;
    MwLocalNode *nodes;
    MW_VEC(MwLocalTable) tables;
    MW_VEC(MwLocalStep) steps;
    int64_t entries; /* of all tables */
    int64_t work;    /* entries times labels minimised over */
    int held_count;
} MwLocalProblem;

typedef struct {
    int64_t table; /* entries of a table, at most */
    int64_t work;  /* of all, about; the rest is held */
} MwLocalLimits;

/* Frees `nodes` ([count], of the flat core, distinct); the others, and those that have to be held too,
 * are as in `choice`; which those are depends on `draws`. `index_of` ([flat->node_count]) is
 * scratch, -1 throughout, before and after. */
MwLocalProblem *mw_local_problem_new(MwArena *arena, const MwFlatCore *flat, const int *choice,
                                     int count, const int *nodes, int *index_of, MwDraws *draws,
                                     const MwLocalLimits *limits);

/* Puts the costs of the cost functions into `tables`, which has room for local->entries +
 * MW_LANES. */
void mw_local_problem_fill(const MwLocalProblem *local, double *tables);
/* Finds the choice of least cost, with `added`; ties prefer what is present, then the lowest index.
 * `tables` has been filled, and is overwritten where tables are made. Sets the nodes' labels;
 * returns the cost. */
double mw_local_problem_solve(MwLocalProblem *local, double *tables);
/* The cost of what is present, likewise. */
double mw_local_problem_present_cost(const MwLocalProblem *local, const double *tables);

#endif
