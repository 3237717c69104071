/* SPDX-License-Identifier: MIT */
/* The outputs of a run as .npy files, which rank 0 writes: the batches of all steps, concatenated
 * along dimension 0. An output that is not cut into micro-batches gets a new dimension 0, with one
 * entry per step. Or each of some steps has a file of its own, with what the step gave and the
 * number of the step in its name: y.npy is y-00000100.npy. A file is written next to its target and
 * renamed when it is complete.
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
    int64_t done, last; /* the steps done, and the one that the run ends with */
    int64_t every;      /* N: a file for every step that N divides, and the last; 0: one file */
    int64_t rows;       /* of the batches that one file has, the first so many; 0: all of them */
} MwOutputsWanted;

/* NULL after a fault. */
MwOutputs *mw_outputs_open(MwArena *arena, const MwPlan *plan, const MwPlanMesh *mesh,
                           MwTransport *transport, const MwOutputsWanted *wanted, MwFault *fault);
/* Whether the outputs of the step are written. */
bool mw_outputs_due(const MwOutputs *outputs, int64_t step);
/* Takes an output of the executor (MwExecutorData.output). Collective over the ranks of the
 * mesh. */
bool mw_outputs_take(MwOutputs *outputs, int output, const MwBox *box, const void *from,
                     MwFault *fault);
/* Writes what was taken in a step that is due. Collective over all ranks. */
bool mw_outputs_end_step(const MwOutputs *outputs, int64_t step, MwFault *fault);
/* `complete`: all steps have run; otherwise files that are not complete are dropped. */
bool mw_outputs_close(MwOutputs **outputs, bool complete, MwFault *fault);

#endif
