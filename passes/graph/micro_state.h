/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How cutting the batch into micro-batches affects every value; shared by micro_batch.c and
 * micro_state.c.
 *
 * Micro-batching splits one factor over time as sharding splits factors over devices, by the
 * same rules (ir/sharding/). Dimension 0 of an input is the batch, unless it is whole. */
#ifndef MW_PASSES_GRAPH_MICRO_STATE_H
#define MW_PASSES_GRAPH_MICRO_STATE_H

#include "ir/sharding/sharding.h"

typedef enum {
    MW_MICRO_WHOLE,   /* the same in every micro-batch */
    MW_MICRO_SPLIT,   /* dimension `dim` is cut: each micro-batch has one slice */
    MW_MICRO_PARTIAL, /* each micro-batch has a term of the sum that the value is */
    /* each micro-batch has the greatest element of its slice; the value is the greatest of these */
    MW_MICRO_GREATEST,
    MW_MICRO_LATE, /* known only after all micro-batches; computed in the update phase */
} MwMicroKind;

typedef struct {
    MwMicroKind kind;
    int dim; /* of MW_MICRO_SPLIT */
} MwMicroState;

/* Fills state[value] for every value of `graph`. False after an error that names the node that
 * needs the whole batch. Where an operator works on slices, each whole operand that runs over
 * the same factor must be computable in slices. */
bool mw_micro_states(const MwGraph *graph, int micro_batches, MwMicroState *state, MwDiags *diags);

/* The factor of `rule` that the split operands of `node` run over; -1 if none is split. */
int mw_micro_factor(const MwShardingRule *rule, const MwNode *node, const MwMicroState *state);

/* The dimension of `map`, of a tensor of rank `rank`, that runs over `factor`; -1 if none. */
int mw_micro_dim(const MwFactorMap *map, int rank, int factor);

#endif
