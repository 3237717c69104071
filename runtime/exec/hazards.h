/* SPDX-License-Identifier: MIT */
/* What has to wait for what, where operations go to two queues that are done at once, each in order.
 *
 * In: operations in an order in which they would be right one after another, and which bytes each reads
 * and writes. Two conflict where one writes what the other reaches. Out: before which operations their
 * queue waits for an operation of the other queue, by marks.
 *
 * Why that is enough, however fast the queues are: of any two operations that conflict, the later one is
 * behind the earlier on one queue, or its queue waits, there or before, for the earlier one or for one
 * behind that. So every operation finds in the bytes that it reads what the last one to write them
 * before it in the order has written: no later one can have overwritten them, as that conflicts with
 * both. A wait is there only where none of those before on its queue does for it. */
#ifndef MW_RUNTIME_EXEC_HAZARDS_H
#define MW_RUNTIME_EXEC_HAZARDS_H

#include "base/vec.h"

/* Bytes [begin, end). */
typedef struct {
    int64_t begin, end;
    bool writes; /* or it reads alone */
} MwReach;

typedef struct {
    int queue;        /* 0 or 1 */
    int first, count; /* of the reaches */
} MwOp;

typedef struct {
    MW_VEC(MwOp) ops;
    MW_VEC(MwReach) reaches;
} MwOps;

/* Adds an operation without reaches; then mw_ops_reach adds to it. */
void mw_ops_add(MwArena *arena, MwOps *ops, int queue);
void mw_ops_reach(MwArena *arena, MwOps *ops, MwReach reach);

/* [ops] Another order that gives the same: operations that `may_move` [ops] come as soon as those
 * before them that they conflict with. All others stay in order. */
int32_t *mw_hazards_advance(MwArena *arena, const MwOps *ops, const bool *may_move);

typedef struct {
    int32_t wait; /* the mark that its queue waits for before it; -1: none */
    int32_t mark; /* the mark that is set on its queue behind it; -1: none */
} MwOrdering;

/* [ops] by operation, for the operations in that order ([ops]; NULL: as they are). A mark is set again
 * when nobody has to wait for it any more; there are `*mark_count`. */
MwOrdering *mw_hazards_find(MwArena *arena, const MwOps *ops, const int32_t *order,
                            int *mark_count);

#endif
