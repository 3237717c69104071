/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The model as the search for stages sees it: cut into one number of micro-batches, with and
 * without recomputation, layer by layer. */
#ifndef MW_PASSES_STAGES_MODEL_H
#define MW_PASSES_STAGES_MODEL_H

#include "passes/compilation.h"
#include "passes/stages/fold.h"

/* The tensors that cross the boundary between two layers if a stage ends there. Shapes are
 * global, of a micro-batch or, in the update phase, of a step. */
typedef MW_VEC(MwTensor) MwStageBoundary;

/* The model without a fold, made where it is needed. */
typedef struct {
    bool is_made;
    MwCompilation lowered[MW_REMAT_LEVELS];
} MwWholeModel;

typedef struct {
    MwArena *arena;
    const MwCompilation *compilation; /* before the pass `stages` */
    int micro_batches;
    int layer_count;
    const MwLayerFold *fold;
    /* the folded model after all passes before split, with all layers on one level */
    MwCompilation lowered[MW_REMAT_LEVELS];
    const int *folded_class; /* [folded layers] */
    const int *layer_class;  /* [layers] equal classes: the same nodes, used in the same way */
    const int *layer_nodes;  /* [layers] number of nodes, all phases */
    /* [begin * (layer_count + 1) + end] class of layers [begin, end): the square of the layers */
    const int *interval_class;
    int class_count;                               /* of intervals */
    MwStageBoundary (*boundaries)[MW_PHASE_COUNT]; /* [layers] before each layer; [0] is empty */
    MwWholeModel *whole;
} MwStageModel;

/* NULL after errors: the batch cannot be cut into so many. `compilation` does not change, except
 * that its interner takes in new names; it and `fold`, of its graph, must outlive the model. `fold`
 * NULL: all layers are lowered. */
MwStageModel *mw_stage_model_new(const MwCompilation *compilation, const MwLayerFold *fold,
                                 int micro_batches, MwDiags *diags);
void mw_stage_model_free(MwStageModel **model);

/* The class of layers [begin, end). */
static inline int mw_stage_model_class(const MwStageModel *model, int begin, int end)
{
    return model->interval_class[begin * (model->layer_count + 1) + end];
}

/* Layers as a stage of their own, which the intra-operator problem can be built from. What other
 * layers make, or what is constant, may be in the graph too. */
typedef struct {
    MwGraph *graph;
    int first_layer; /* that of `begin`, as `origin.layer` of nodes counts; others follow it */
} MwStageGraph;

/* The graph of layers [begin, end), all on one level of recomputation; in the model's arena. */
MwStageGraph mw_stage_model_graph(const MwStageModel *model, int begin, int end,
                                  MwRematLevel remat);

#endif
