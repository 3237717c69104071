/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When the values of a graph need storage, as far as the graph alone tells. Time is the index of
 * the node that runs. */
#ifndef MW_PASSES_LIVENESS_H
#define MW_PASSES_LIVENESS_H

#include "ir/ir.h"

typedef enum {
    MW_STORE_OWN,     /* storage from definition to last use */
    MW_STORE_VIEW,    /* the storage of what it views, whose life it prolongs */
    MW_STORE_FUSED,   /* lives within one kernel: no storage */
    MW_STORE_IN_PLACE /* overwrites what it is assigned to: no storage of its own */
} MwStoreKind;

typedef struct {
    MwStoreKind storage;
    int64_t begin, end; /* live in [begin, end), views included */
} MwLife;

/* One per value, in `arena`. Sources and what they hold live throughout, and so do outputs. */
MwLife *mw_liveness(MwArena *arena, const MwGraph *graph);

#endif
