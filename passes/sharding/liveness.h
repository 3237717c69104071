/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When the values of a graph need storage, as far as the graph alone tells, and for how many
 * micro-batches at once. Time is the index of the node that runs. */
#ifndef MW_PASSES_SHARDING_LIVENESS_H
#define MW_PASSES_SHARDING_LIVENESS_H

#include "passes/staging.h"

typedef enum {
    MW_STORE_OWN,     /* storage from definition to last use */
    MW_STORE_VIEW,    /* the storage of what it views, whose life it prolongs */
    MW_STORE_FUSED,   /* lives within one kernel: no storage */
    MW_STORE_IN_PLACE /* overwrites what it is assigned to: no storage of its own */
} MwStoreKind;

typedef struct {
    MwStoreKind storage;
    int64_t begin, end; /* live in [begin, end), views included */
    MwPhase from, to;   /* of its first and its last use, or definition */
    /* It waits from one task of a micro-batch to another while tasks of others run: throughout, that
     * is, and for as many micro-batches. */
    bool spans;
    int slots; /* micro-batches for which it is there at once; 1 if it does not span tasks */
} MwLife;

/* One per value, in `arena`. Sources and what they hold live throughout, and so do outputs. `flight`
 * NULL: one micro-batch after another. */
MwLife *mw_liveness(MwArena *arena, const MwGraph *graph, const MwFlight *flight);

#endif
