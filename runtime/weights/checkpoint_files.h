/* SPDX-License-Identifier: MIT */
/* Checkpoints on disk:
 *
 *     DIR/step-00000020/model.safetensors             the weights, or in several files:
 *     DIR/step-00000020/model-00001-of-00004.safetensors
 *     DIR/step-00000020/model.safetensors.index.json  which file holds which
 *     DIR/step-00000020/optimizer...                  the optimizer's states, in the same way
 *     DIR/step-00000020/manifest                      model, step, seed, checksums; written last
 *
 * Version 1 of the format, which is still read, has a file NAME.npy for each tensor.
 *
 * A checkpoint is written to a folder of another name, which is renamed when it is complete; the
 * two newest checkpoints are kept. Where a checkpoint of the same step is replaced, one of the two
 * can be found at every moment: what a killed run leaves is put in place by the next run. */
#ifndef MW_RUNTIME_WEIGHTS_CHECKPOINT_FILES_H
#define MW_RUNTIME_WEIGHTS_CHECKPOINT_FILES_H

#include "base/arena.h"
#include "runtime/exec/fault.h"

enum { MW_CHECKPOINT_PATH_BYTES = 1024, MW_CHECKPOINT_MODEL_BYTES = 256 };

typedef struct {
    char folder[MW_CHECKPOINT_PATH_BYTES]; /* "DIR/step-00000020" */
    char model[MW_CHECKPOINT_MODEL_BYTES];
    int64_t step;
    uint64_t seed;
} MwCheckpoint;

/* ---- The folder of all checkpoints ---- */

/* Makes `dir` if it does not exist, proves that files can be created in it, and puts in place or
 * removes what killed runs left. */
bool mw_checkpoint_prepare(const char *dir, MwFault *fault);
/* The newest complete checkpoint in `dir`. */
bool mw_checkpoint_find(const char *dir, MwCheckpoint *checkpoint, MwFault *fault);
/* The greatest step that `dir` has a checkpoint of; -1: none. */
int64_t mw_checkpoint_newest(const char *dir);

/* ---- One checkpoint ---- */

/* A file of a checkpoint. */
typedef struct {
    uint64_t hash; /* of all its bytes (base/hash.h) */
    const char *name;
} MwCheckpointFile;

/* The name of the tensor in a file of version 1, NAME.npy, in `arena`; NULL: it is no such file. */
const char *mw_checkpoint_tensor_name(MwArena *arena, const char *file);

/* Reads the manifest after its checksum was verified: sets model, step and seed of `checkpoint`,
 * and `*files`, in `arena`. Returns their number; -1 after a fault. */
int mw_checkpoint_read_manifest(MwArena *arena, MwCheckpoint *checkpoint, MwCheckpointFile **files,
                                MwFault *fault);
/* Compares files part, part + parts, ... of the manifest with their checksums. A fault names one
 * that differs. */
bool mw_checkpoint_verify(const MwCheckpoint *checkpoint, int part, int parts, MwFault *fault);

/* Begins the checkpoint of a step: sets checkpoint->folder to a new folder for its files. */
bool mw_checkpoint_begin(const char *dir, const char *model, int64_t step, uint64_t seed,
                         MwCheckpoint *checkpoint, MwFault *fault);
/* Writes the manifest of the files, puts the checkpoint in place, and removes all but the two
 * newest. */
bool mw_checkpoint_commit(const char *dir, MwCheckpoint *checkpoint, const MwCheckpointFile *files,
                          int file_count, MwFault *fault);
/* Removes a checkpoint that was begun. */
void mw_checkpoint_drop(const MwCheckpoint *checkpoint);

#endif
