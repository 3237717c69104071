/* SPDX-License-Identifier: MIT */
/* Which rank writes which tensor of a checkpoint: each tensor is written whole by one rank, and
 * each rank writes about as many bytes, in one file of weights and one of states. A tensor goes to
 * the writer with the fewest bytes so far, among those that hold a part of it where there are such.
 *
 * Its size grows with the number of weights and states, and of ranks; the time to make it with
 * their product. */
#ifndef MW_RUNTIME_WEIGHTS_LAYOUT_H
#define MW_RUNTIME_WEIGHTS_LAYOUT_H

#include "runtime/plan/plan.h"

/* What a file holds: weights and states of the model, or the optimizer's states, which have the
 * name of a weight and one part more. */
typedef enum { MW_SAVED_MODEL, MW_SAVED_OPTIMIZER, MW_SAVED_COUNT } MwSavedKind;

typedef struct {
    const MwPlanMesh *mesh; /* the first that has the weight */
    const MwPlanWeight *weight;
    MwSavedKind kind;
    int rank;       /* that writes it */
    int64_t offset; /* of its first byte among the elements of the file */
} MwSavedWeight;

typedef struct {
    MwSavedWeight *weights; /* in the order of their names */
    int weight_count;
    int64_t *bytes[MW_SAVED_COUNT]; /* [ranks] of the elements of the files; 0: there is no file */
    int files[MW_SAVED_COUNT];
    int *file[MW_SAVED_COUNT]; /* [ranks] number of the file of the rank, from 0 on */
} MwSaveLayout;

MwSaveLayout mw_save_layout(MwArena *arena, const MwPlan *plan);
/* "model.safetensors", or of several "model-00001-of-00004.safetensors"; in `arena`. */
const char *mw_saved_file_name(MwArena *arena, const MwSaveLayout *layout, MwSavedKind kind,
                               int file);
/* "model.safetensors.index.json" */
const char *mw_saved_index_name(MwArena *arena, MwSavedKind kind);

#endif
