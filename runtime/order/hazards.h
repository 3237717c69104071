/* SPDX-License-Identifier: MIT */
/* Data hazards between queues that are served concurrently, each in order: which operations have to
 * wait for which.
 *
 * In: operations in an order in which they would be correct one after another, and the bytes that
 * each reads and writes. Two operations conflict if one writes bytes that the other accesses. Out:
 * the operations before which a queue waits for operations of other queues, by events.
 *
 * Why this suffices at any relative speed of the queues: of two conflicting operations, the later
 * one either follows the earlier one on the same queue, or its queue waits, before it, for the
 * earlier one or for an operation that is done after the earlier one. So every operation reads, in
 * each byte, the value of the last write before it in the given order: no later write can have
 * replaced it, since that write conflicts with both. A wait is emitted only if no other wait on the
 * same queue, with the waits before it on other queues, already implies it. */
#ifndef MW_RUNTIME_ORDER_HAZARDS_H
#define MW_RUNTIME_ORDER_HAZARDS_H

#include "base/vec.h"

/* The most queues, and those that one of them may wait for. */
enum { MW_HAZARD_QUEUES = 3, MW_HAZARD_WAITS = MW_HAZARD_QUEUES - 1 };

/* An access of the bytes [begin, end). */
typedef struct {
    int64_t begin, end;
    bool writes; /* the access may write; false: it only reads */
} MwByteAccess;

typedef struct {
    int queue;        /* from 0 to MW_HAZARD_QUEUES - 1 */
    int first, count; /* range of MwHazardOps.accesses */
} MwHazardOp;

typedef struct {
    MW_VEC(MwHazardOp) ops;
    MW_VEC(MwByteAccess) accesses;
} MwHazardOps;

/* Appends an operation without accesses; mw_hazard_ops_access then appends accesses to it. */
void mw_hazard_ops_add(MwArena *arena, MwHazardOps *ops, int queue);
void mw_hazard_ops_access(MwArena *arena, MwHazardOps *ops, MwByteAccess access);

/* An equivalent order, as operation indices [ops]: each operation with `may_move` [ops] is hoisted
 * to follow directly the last operation before it that it conflicts with; all others keep their
 * order. */
int32_t *mw_hazards_hoist(MwArena *arena, const MwHazardOps *ops, const bool *may_move);

/* Synchronization of one operation. */
typedef struct {
    int32_t wait[MW_HAZARD_WAITS]; /* events that its queue waits for before it; -1: none */
    int32_t record;                /* event that is recorded on its queue after it; -1: none */
} MwHazardSync;

/* The synchronization of each operation [ops]. An event is reused after its last wait, on the queue
 * that it was recorded on, so that its records occur in the order in which they are issued.
 * `*event_count` events suffice. */
MwHazardSync *mw_hazards_find(MwArena *arena, const MwHazardOps *ops, int *event_count);

#endif
