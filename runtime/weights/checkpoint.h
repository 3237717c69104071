/* SPDX-License-Identifier: MIT */
/* Saving and loading checkpoints in a run: the weights and states of a step, whole and under their
 * names, so that a run on any number of ranks can resume from one. All ranks read and write files,
 * so that the folder is one that all their machines have. */
#ifndef MW_RUNTIME_WEIGHTS_CHECKPOINT_H
#define MW_RUNTIME_WEIGHTS_CHECKPOINT_H

#include "runtime/exec/executor.h"
#include "runtime/weights/checkpoint_files.h"

/* The run whose weights and states are saved or loaded. */
typedef struct {
    const MwPlan *plan;
    const MwExecutor *executor;
    MwDevice *device;
    MwTransport *transport;
} MwCheckpointRun;

/* ---- Loading ---- */

/* Reads what this rank holds. The checksums of all files are compared, by each rank those of
 * some. */
bool mw_checkpoint_load(const MwCheckpointRun *run, const MwCheckpoint *checkpoint, MwFault *fault);

/* ---- Saving ----
 *
 * A save has three parts: the ranks collect the parts of each tensor on the rank that writes it, in
 * host memory; each writes its files on a thread of its own, while the run goes on; and when all
 * have, rank 0 puts the checkpoint in place. */

typedef struct MwSaver MwSaver;

/* Decides who writes what, and takes the host memory for it: on every rank about its share of all
 * weights and states. NULL after a fault. */
MwSaver *mw_saver_new(MwArena *arena, const MwCheckpointRun *run, const char *dir, uint64_t seed,
                      MwFault *fault);
/* Collective. Collects the weights and states of `step` and begins to write them; no save is under
 * way. */
bool mw_saver_begin(MwSaver *saver, int64_t step, MwFault *fault);
/* True from the beginning of a save to its end. */
bool mw_saver_is_open(const MwSaver *saver);
/* True while this rank writes. */
bool mw_saver_is_writing(const MwSaver *saver);
/* Collective. Ends the save that is open: waits for all ranks and puts the checkpoint in place. A
 * fault of one rank is one of all. */
bool mw_saver_end(MwSaver *saver, MwFault *fault);
/* Waits until this rank writes no more. */
void mw_saver_free(MwSaver **saver);

#endif
