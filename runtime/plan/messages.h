/* SPDX-License-Identifier: MIT */
/* The messages of a transfer, as one deterministic function of it, so that every rank computes its
 * own.
 *
 * Hop 0 crosses from the sending mesh to the receiving mesh: every element crosses once, though
 * several ranks may hold it and several may want it. Later hops pass on, within the receiving mesh,
 * what came before. A rank posts all its receives at once, and sends a message of hop h as soon as
 * its receives of the hops before h are complete. A message needs messages of earlier hops only, so
 * this order cannot deadlock. */
#ifndef MW_RUNTIME_PLAN_MESSAGES_H
#define MW_RUNTIME_PLAN_MESSAGES_H

#include "base/vec.h"
#include "runtime/plan/transfer.h"

typedef struct {
    int from, to; /* ranks */
    int hop;
    MwBox box; /* of the global tensor; never empty */
} MwMessage;

/* Messages in order of hop, then sender, then receiver; at most one for each such triple. */
typedef MW_VEC(MwMessage) MwMessages;

/* All messages, in `arena`. */
MwMessages mw_transfer_messages(MwArena *arena, const MwTransfer *transfer);

/* The messages that one rank sends, and those that it receives. */
typedef struct {
    MwMessages sends, receives;
} MwRankMessages;

/* Both lists are empty for a rank that is on neither side. The time grows with the number of
 * messages in the lists, not with the number of ranks. */
MwRankMessages mw_transfer_of_rank(MwArena *arena, const MwTransfer *transfer, int rank);

/* Bytes that the messages carry from mesh to mesh (hop 0); and the least that can: every element
 * once. */
int64_t mw_transfer_crossing_bytes(const MwMessages *messages);
int64_t mw_transfer_least_bytes(const MwTransfer *transfer);

#endif
