/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The model as the search for stages sees it: cut into one number of micro-batches, with and
 * without recomputation, layer by layer. */
#ifndef MW_PASSES_STAGES_MODEL_H
#define MW_PASSES_STAGES_MODEL_H

#include "passes/compilation.h"

/* The tensors that cross the boundary between two layers if a stage ends there. Shapes are
 * global, of a micro-batch or, in the update phase, of a step. */
typedef MW_VEC(MwTensor) MwStageBoundary;

typedef struct {
    MwArena *arena;
    int micro_batches;
    int layer_count;
    MwCompilation lowered[2];  /* [recomputes] the model after all passes before split */
    const int *layer_class;    /* [layers] equal classes: the same nodes, used in the same way */
    const int *interval_class; /* [begin * (layer_count + 1) + end] class of layers [begin, end) */
    int class_count;           /* of intervals */
    MwStageBoundary (*boundaries)[MW_PHASE_COUNT]; /* [layers] before each layer; [0] is empty */
} MwStageModel;

/* NULL after errors: the batch cannot be cut into so many. `compilation` does not change, except
 * that its interner takes in new names; it must outlive the model. */
MwStageModel *mw_stage_model_new(const MwCompilation *compilation, int micro_batches,
                                 MwDiags *diags);
void mw_stage_model_free(MwStageModel **model);

/* The class of layers [begin, end). */
static inline int mw_stage_model_class(const MwStageModel *model, int begin, int end)
{
    return model->interval_class[begin * (model->layer_count + 1) + end];
}

/* The graph of layers [begin, end) as a stage of their own, which the intra-operator problem can be
 * built from; in the model's arena. */
MwGraph *mw_stage_model_graph(const MwStageModel *model, int begin, int end, bool recomputes);

#endif
