/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The model as the search for stages looks at it: cut into some number of micro-batches, with and
 * without recomputation, layer by layer. */
#ifndef MW_PASSES_STAGES_MODEL_H
#define MW_PASSES_STAGES_MODEL_H

#include "passes/compilation.h"

/* What goes over a border between two layers if a stage ends there: global tensors, of a micro-batch or,
 * in the update, of a step. */
typedef MW_VEC(MwTensor) MwStageBorder;

typedef struct {
    MwArena *arena;
    int micro_batches;
    int layer_count;
    MwCompilation cut[2];   /* [recomputes] the model after all passes before split */
    const int *layer_class; /* [layers] equal: the same nodes, used in the same way */
    const int
        *interval_class; /* [begin * (layer_count + 1) + end] likewise of layers [begin, end) */
    int class_count;
    MwStageBorder (*borders)[MW_PHASE_COUNT]; /* [layers] before each; [0]: nothing */
} MwStageModel;

/* NULL, after errors, if the batch cannot be cut so. `compilation` stays as it is, but for names that
 * its interner learns; the model must not outlive it. */
MwStageModel *mw_stage_model_new(const MwCompilation *compilation, int micro_batches,
                                 MwDiags *diags);
void mw_stage_model_free(MwStageModel **model);

/* Layers [begin, end) as a stage of their own, ready for the intra-op problem: in the model's
 * arena. */
MwGraph *mw_stage_model_graph(const MwStageModel *model, int begin, int end, bool recomputes);

#endif
