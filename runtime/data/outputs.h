/* SPDX-License-Identifier: MIT */
/* The outputs of a run as .npy files, which rank 0 writes: the batches of all steps, concatenated
 * along dimension 0. An output that is not cut into micro-batches gets a new dimension 0, with one
 * entry per step. A file is written next to its target and renamed when the run is complete.
 *
 * In a step, the first rank of the mesh that has an output gathers it task by task; at the end of
 * the step it sends the whole to rank 0. */
#ifndef MW_RUNTIME_DATA_OUTPUTS_H
#define MW_RUNTIME_DATA_OUTPUTS_H

#include "runtime/exec/executor.h"

typedef struct MwOutputs MwOutputs;

/* What the command line asks for. */
typedef struct {
    const char *const *texts; /* [count] values of --output: "NAME=FILE" */
    int count;
    int64_t steps; /* number of steps that will run */
} MwOutputsWanted;

/* NULL after a fault. */
MwOutputs *mw_outputs_open(MwArena *arena, const MwPlan *plan, const MwPlanMesh *mesh,
                           MwTransport *transport, const MwOutputsWanted *wanted, MwFault *fault);
/* Takes an output of the executor (MwExecutorData.output). Collective over the ranks of the
 * mesh. */
bool mw_outputs_take(MwOutputs *outputs, int output, const MwBox *box, const void *from,
                     MwFault *fault);
/* Writes what was taken in a step. Collective over all ranks. */
bool mw_outputs_end_step(const MwOutputs *outputs, MwFault *fault);
/* `complete`: all steps have run; otherwise the files are dropped. */
bool mw_outputs_close(MwOutputs **outputs, bool complete, MwFault *fault);

#endif
