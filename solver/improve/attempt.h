/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MW_SOLVER_IMPROVE_ATTEMPT_H
#define MW_SOLVER_IMPROVE_ATTEMPT_H

#include "solver/improve/assignment.h"
#include "solver/improve/local_problem.h"

/* What a thread needs for its attempts, used again and again. */
typedef struct {
    int *index_of;  /* [flat->node_count] -1 */
    MwArena *arena; /* of the tables */
    double *tables;
    int64_t entries; /* that they have room for */
} MwAttemptRoom;

MwAttemptRoom mw_attempt_room(MwArena *arena, const MwFlatCore *flat);
void mw_attempt_room_free(MwAttemptRoom *room);

typedef struct {
    MwLocalLimits local;
    int rounds;   /* of prices, at most */
    bool priced;  /* not less cost is wanted, but less cost and priced usage together */
    int favoured; /* the first so many of the nodes pay only */
    double share; /* that share of the prices, so that the others make room for them */
} MwAttemptLimits;

typedef struct {
    MwMove move;  /* count 0: nothing better was found */
    int64_t work; /* entries times labels minimised over, and nodes */
    int rounds, held;
    bool exact; /* the part is proven to hold nothing better than that */
} MwAttempt;

/* Frees `nodes` and looks for a better choice of them. Usage is priced with the prices whose sums
 * over the rows before are `price_sum` ([row_count + 1]); prices of rows that do not fit rise from
 * round to round. The exchange lies in `arena`. */
MwAttempt mw_attempt(MwArena *arena, MwAttemptRoom *room, const MwAssignment *assignment,
                     const double *price_sum, int count, const int *nodes, MwDraws *draws,
                     const MwAttemptLimits *limits);

typedef struct {
    int count;
    const MwChange *changes; /* of distinct nodes */
} MwProposal;

/* Frees `nodes` and finds what one would change of them at `multiple` ([multiple_count]) times the
 * prices if there were no rows: one wish for each. They lie in `arena`. Returns the work, as of an
 * attempt. */
int64_t mw_attempt_propose(MwArena *arena, MwAttemptRoom *room, const MwAssignment *assignment,
                           const double *price_sum, int count, const int *nodes, MwDraws *draws,
                           const MwLocalLimits *limits, int multiple_count, const double *multiple,
                           MwProposal *proposals);

#endif
