/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One attempt of large-neighbourhood search: some nodes are freed and solved again. */
#ifndef MW_SOLVER_IMPROVE_ATTEMPT_H
#define MW_SOLVER_IMPROVE_ATTEMPT_H

#include "solver/improve/assignment.h"
#include "solver/improve/local_problem.h"

/* The workspace of a thread, which successive attempts reuse. */
typedef struct {
    int *index_of;  /* [flat->node_count] -1 throughout */
    MwArena *arena; /* holds the tables */
    double *tables;
    int64_t entries; /* capacity of `tables` */
} MwAttemptWorkspace;

MwAttemptWorkspace mw_attempt_workspace(MwArena *arena, const MwFlatCore *flat);
void mw_attempt_workspace_free(MwAttemptWorkspace *workspace);

/* The neighbourhood of an attempt. */
typedef struct {
    const MwAssignment *assignment; /* the choice to improve */
    const double *price_sum;        /* [row_count + 1] prefix sums of the rows' prices */
    int count;
    const int *nodes; /* [count] nodes to free, distinct */
    MwDraws *draws;
    MwLocalLimits limits;
} MwAttemptRequest;

typedef struct {
    int rounds;        /* greatest number of price updates */
    bool prices_usage; /* minimise cost plus priced usage instead of cost */
    int discounted;    /* number of nodes, the first ones, that pay `discount` times each price */
    double discount;   /* below 1, so that the other nodes free slack for them */
} MwAttemptOptions;

typedef struct {
    MwMove move;  /* count 0: nothing better was found */
    int64_t work; /* entries times labels minimised over, plus nodes */
    int rounds;   /* number of price updates */
    int held;     /* nodes of the neighbourhood that had to be held */
    bool exact;   /* proven: the neighbourhood has nothing better */
} MwAttempt;

/* Frees the nodes and looks for a better choice of them. Prices of rows that are exceeded rise from
 * round to round. The move is in `arena`. */
MwAttempt mw_attempt(MwArena *arena, MwAttemptWorkspace *workspace, const MwAttemptRequest *request,
                     const MwAttemptOptions *options);

typedef struct {
    int count;
    const MwChange *changes; /* of distinct nodes */
} MwProposal;

/* Frees the nodes and finds the best choice of them without rows, with usage at each multiple
 * ([multiple_count]) of the prices. proposals[i], in `arena`, has the changes at multiple[i].
 * Returns the work, in the units of MwAttempt. */
int64_t mw_attempt_propose(MwArena *arena, MwAttemptWorkspace *workspace,
                           const MwAttemptRequest *request, int multiple_count,
                           const double *multiple, MwProposal *proposals);

#endif
