/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The copies that resharding makes: where there may be one, and how large it is. */
#ifndef MW_PASSES_SHARDING_COPIES_H
#define MW_PASSES_SHARDING_COPIES_H

#include "passes/sharding/intra_problem.h"
#include "passes/sharding/liveness.h"

/* A value that one node gives and another takes, in another spec perhaps. */
typedef struct {
    MwValueId value;
    MwNodeId giver, taker;
    int result;         /* of the giver */
    int operand;        /* of the taker; -1: its result 0, which the value is assigned to */
    int64_t begin, end; /* when a copy is there */
} MwCopyPlace;

typedef MW_VEC(MwCopyPlace) MwCopyPlaces;

MwCopyPlaces mw_copy_places(MwArena *arena, const MwGraph *graph, const MwLife *lives);

/* The spec in which a strategy of the taker takes the value. */
MwSpec mw_copy_spec(const MwCopyPlace *place, const MwStrategy *taker);

/* Bytes beside the source: while it is made, when both sides of the greatest step before the last one
 * are there too, and afterwards. Both 0 if the specs are equal. */
typedef struct {
    int64_t made, kept;
} MwCopyBytes;

/* `from` can be resharded to `to`. */
MwCopyBytes mw_copy_bytes(const MwIntraProblem *intra, MwValueId value, MwSpec from, MwSpec to);

/* Puts the copies that may be there at the times `watched` ([nodes of the graph]) into the problem, and
 * no others: each is a node more, after those of the graph, whose usage is that of the copy and whose
 * strategy follows from those of giver and taker. */
void mw_copies_watch(MwIntraProblem *intra, const bool *watched);

#endif
