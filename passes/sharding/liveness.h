/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Liveness: when each value of a graph needs storage, as far as the graph alone tells, and for
 * how many micro-batches at once. Time is the index of the node that runs. */
#ifndef MW_PASSES_SHARDING_LIVENESS_H
#define MW_PASSES_SHARDING_LIVENESS_H

#include "passes/staging.h"

typedef enum {
    MW_STORE_OWN,     /* storage from definition to last use */
    MW_STORE_VIEW,    /* shares the storage of its operand, whose life it prolongs */
    MW_STORE_FUSED,   /* lives within one fused kernel: no storage */
    MW_STORE_IN_PLACE /* overwrites the target of its assignment: no storage of its own */
} MwStoreKind;

typedef struct {
    MwStoreKind storage;
    int64_t begin, end; /* live in [begin, end), views included */
    int64_t made, used; /* the same if tasks of other micro-batches did not come between */
    MwPhase from, to;   /* phases of definition (for an input: of the first use) and last use */
    /* The value waits from one task of a micro-batch to another while tasks of other
     * micro-batches run. Its storage is then live at all times, with a slot for each micro-batch
     * in flight. */
    bool spans_tasks;
    int slots; /* micro-batches for which it is live at once; 1 unless spans_tasks */
    /* Of a view: micro-batches for which a resharded copy that it is a view of is live at once,
     * where that waits between tasks; 0: it does not. */
    int copy_slots;
} MwLife;

/* [values] in `arena`. Sources live at all times; outputs live until the step ends. `flight`
 * NULL: one micro-batch runs after another. */
MwLife *mw_liveness(MwArena *arena, const MwGraph *graph, const MwFlight *flight);

#endif
