/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The copies that resharding makes: where and when one may exist, and how large it is. */
#ifndef MW_PASSES_SHARDING_COPIES_H
#define MW_PASSES_SHARDING_COPIES_H

#include "passes/sharding/intra_problem.h"
#include "passes/sharding/liveness.h"

/* A place where a copy may exist: a value whose producer and consumer may want different specs. */
typedef struct {
    MwValueId value;
    MwNodeId producer, consumer;
    int result;         /* index of the value among the producer's results */
    int operand;        /* index among the consumer's operands; -1: the value is assigned to the
                           consumer's result 0 */
    int64_t made;       /* index of the node before which the copy is made */
    int64_t begin, end; /* the copy is live in [begin, end), in node indices */
    int slots;          /* micro-batches for which it is live at once */
} MwCopySite;

typedef MW_VEC(MwCopySite) MwCopySites;

/* All sites of a graph, in `arena`. */
MwCopySites mw_copy_sites(MwArena *arena, const MwGraph *graph, const MwLife *lives);

/* The spec in which strategy `consumer` of the consumer uses the value. */
MwSpec mw_copy_spec(const MwCopySite *site, const MwStrategy *consumer);

/* Bytes of a device in addition to the source. Both are 0 if the specs are equal. */
typedef struct {
    int64_t
        making;   /* while it is made, beside it: both sides of the largest step before the last */
    int64_t kept; /* the copy, of one micro-batch */
} MwCopyBytes;

/* `from` can be resharded to `to`. */
MwCopyBytes mw_copy_bytes(const MwIntraProblem *intra, MwValueId value, MwSpec from, MwSpec to);

/* Adds to the problem a node for each copy that may be live at a time in `modelled` ([nodes of
 * the graph]), and removes those of an earlier call. The nodes stand after those of the graph.
 * The usage of such a node is that of the copy; its strategy follows from those of producer and
 * consumer. */
void mw_intra_problem_add_copies(MwIntraProblem *intra, const bool *modelled);

#endif
