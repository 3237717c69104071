/* SPDX-License-Identifier: MIT */
/* Saving and loading checkpoints in a run: the weights and states of a step, whole and under their
 * names, so that a run on any number of ranks can resume from one. A tensor that several meshes
 * hold is saved from the first of them and loaded to all. Rank 0 reads and writes all files
 * (checkpoint_files.h); in memory it holds one tensor at a time. */
#ifndef MW_RUNTIME_DATA_CHECKPOINT_H
#define MW_RUNTIME_DATA_CHECKPOINT_H

#include "runtime/data/checkpoint_files.h"
#include "runtime/exec/executor.h"

/* The run whose weights and states are saved or loaded. */
typedef struct {
    const MwPlan *plan;
    const MwExecutor *executor;
    MwDevice *device;
    MwTransport *transport;
} MwCheckpointRun;

/* Both are collective over all ranks. */
bool mw_checkpoint_save(const MwCheckpointRun *run, const char *dir, int64_t step, uint64_t seed,
                        MwFault *fault);
bool mw_checkpoint_load(const MwCheckpointRun *run, const MwCheckpoint *checkpoint, MwFault *fault);

#endif
