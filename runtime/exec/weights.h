/* SPDX-License-Identifier: MIT */
/* Initial values of weights and states. An element's value depends only on the seed, the weight's
 * name and the element's global position (base/philox.h). */
#ifndef MW_RUNTIME_EXEC_WEIGHTS_H
#define MW_RUNTIME_EXEC_WEIGHTS_H

#include "runtime/exec/device.h"
#include "runtime/plan/box.h"

/* Writes elements [first, first + count) of the global tensor to `to`, in the weight's element
 * type. */
void mw_weight_values(const MwPlanWeight *weight, uint64_t seed, int64_t first, int64_t count,
                      void *to);
/* Initializes weight `index` on the device at `coordinate`; `to` is its buffer. */
bool mw_weight_init(MwDevice *device, const MwPlanMesh *mesh, const int coordinate[MW_MAX_AXES],
                    int index, uint64_t seed, void *to, MwFault *fault);

/* Bytes [begin, end) of the arena. */
typedef struct {
    int64_t begin, end;
} MwZeroRange;

/* The ranges to zero before each step: the accumulators of a mesh whose initial value is zero,
 * adjacent ones merged. */
MwZeroRange *mw_weights_zero_ranges(MwArena *arena, const MwPlanMesh *mesh, int *count);

/* Weights and states that a step changes, and room on the host for what they were before. */
typedef struct {
    const MwPlanMesh *mesh;
    void *const *at; /* [mesh->weights] where they lie */
    char **host;     /* [mesh->weights] NULL: a step does not change it */
} MwSavedWeights;

MwSavedWeights mw_saved_weights(MwArena *arena, const MwPlanMesh *mesh, void *const *at);
/* Copies them to the host; and back. */
bool mw_weights_save(MwDevice *device, const MwSavedWeights *saved, MwFault *fault);
bool mw_weights_restore(MwDevice *device, const MwSavedWeights *saved, MwFault *fault);

#endif
