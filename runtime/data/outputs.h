/* SPDX-License-Identifier: MIT */
/* Outputs of a run as .npy files, written by rank 0: the batches of all steps one after another
 * along dimension 0; of an output that is not cut into micro-batches, one entry a step in a new
 * dimension 0. A file is written beside its place and put there when the run is done.
 *
 * In a step the first rank of the mesh that has an output puts it together, as its tasks go on; at
 * the end of the step rank 0 gets the whole. */
#ifndef MW_RUNTIME_DATA_OUTPUTS_H
#define MW_RUNTIME_DATA_OUTPUTS_H

#include "runtime/exec/executor.h"

typedef struct MwOutputs MwOutputs;

/* `texts` are the values of --output, NAME=FILE each; `steps` will be run. NULL after a fault. */
MwOutputs *mw_outputs_open(MwArena *arena, const MwPlan *plan, const MwPlanMesh *mesh,
                           MwTransport *transport, const char *const *texts, int count,
                           int64_t steps, MwFault *fault);
/* As MwExecutorData.output. Collective over the ranks of the mesh. */
bool mw_outputs_take(MwOutputs *outputs, int output, const MwBox *box, const void *from,
                     MwFault *fault);
/* Writes what was taken in a step. Collective over all ranks. */
bool mw_outputs_end_step(const MwOutputs *outputs, MwFault *fault);
/* `complete`: all steps were run; otherwise what was written is dropped. */
bool mw_outputs_close(MwOutputs **outputs, bool complete, MwFault *fault);

#endif
