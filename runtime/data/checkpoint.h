/* SPDX-License-Identifier: MIT */
/* Checkpoints: the weights and states of a step, whole, under their names, so that a run on any
 * number of ranks can go on from one. What several meshes hold comes from the first and goes to all.
 *
 *     DIR/step-00000020/NAME.npy    one global tensor
 *     DIR/step-00000020/manifest    model, step, seed, checksums; written last
 *
 * A checkpoint is written under another name and renamed when complete; the two newest are kept. It
 * takes the place of one of the same step without a moment in which neither can be found: what a run
 * that is killed leaves is put in place by the next. Rank 0 reads and writes all files; in memory it holds one tensor at a time. */
#ifndef MW_RUNTIME_DATA_CHECKPOINT_H
#define MW_RUNTIME_DATA_CHECKPOINT_H

#include "runtime/exec/executor.h"

enum { MW_CHECKPOINT_PATH_BYTES = 1024, MW_CHECKPOINT_MODEL_BYTES = 256 };

typedef struct {
    char folder[MW_CHECKPOINT_PATH_BYTES]; /* "DIR/step-00000020" */
    char model[MW_CHECKPOINT_MODEL_BYTES];
    int64_t step;
    uint64_t seed;
} MwCheckpoint;

/* Makes `dir` if it is not there, and proves that files can be made in it. */
bool mw_checkpoint_prepare(const char *dir, MwFault *fault);
/* The newest complete checkpoint in `dir`. */
bool mw_checkpoint_find(const char *dir, MwCheckpoint *checkpoint, MwFault *fault);
/* The greatest step that `dir` has a checkpoint of; -1 if none. */
int64_t mw_checkpoint_newest(const char *dir);
/* Whether it has the weights and states of the plan, of the same shapes, and no others; but a plan
 * that does not train needs no states. A fault names what differs first. */
bool mw_checkpoint_fits(const MwCheckpoint *checkpoint, const MwPlan *plan, MwFault *fault);

/* Both are collective over all ranks. */
bool mw_checkpoint_save(const char *dir, const MwPlan *plan, const MwExecutor *executor,
                        MwDevice *device, MwTransport *transport, int64_t step, uint64_t seed,
                        MwFault *fault);
bool mw_checkpoint_load(const MwCheckpoint *checkpoint, const MwPlan *plan,
                        const MwExecutor *executor, MwDevice *device, MwTransport *transport,
                        MwFault *fault);

#endif
