/* SPDX-License-Identifier: MIT */
/* Initial values of weights and states: functions of the seed, the weight's name and the element's
 * global position alone (base/philox.h). */
#ifndef MW_RUNTIME_EXEC_WEIGHTS_H
#define MW_RUNTIME_EXEC_WEIGHTS_H

#include "runtime/exec/device.h"
#include "runtime/plan/block.h"

/* Elements [first, first + count) of the global tensor, in the weight's type. */
void mw_weight_values(const MwPlanWeight *weight, uint64_t seed, int64_t first, int64_t count,
                      void *to);
/* Sets weight `index` of the device at `coordinate`; `to` is its buffer. */
bool mw_weight_start(MwDevice *device, const MwPlanMesh *mesh, const int coordinate[MW_MAX_AXES],
                     int index, uint64_t seed, void *to, MwFault *fault);

/* Bytes of the arena that are set to zero before each step. */
typedef struct {
    int64_t begin, end;
} MwZeros;

/* Those of the accumulators of a mesh that begin with zeros: what lies next to each other as one. */
MwZeros *mw_weights_zeros(MwArena *arena, const MwPlanMesh *mesh, int *count);

#endif
