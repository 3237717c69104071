/* SPDX-License-Identifier: MIT */
/* Checkpoints on disk:
 *
 *     DIR/step-00000020/NAME.npy    one global tensor
 *     DIR/step-00000020/manifest    model, step, seed, checksums; written last
 *
 * A checkpoint is written to a folder of another name, which is renamed when it is complete; the
 * two newest checkpoints are kept. Where a checkpoint of the same step is replaced, one of the two
 * can be found at every moment: what a killed run leaves is put in place by the next run. */
#ifndef MW_RUNTIME_DATA_CHECKPOINT_FILES_H
#define MW_RUNTIME_DATA_CHECKPOINT_FILES_H

#include "base/arena.h"
#include "base/tensor.h"
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

/* The name of a tensor's file in the folder of a checkpoint. */
enum { MW_CHECKPOINT_FILE_BYTES = 512 };
const char *mw_checkpoint_file_name(const char *name, char file[MW_CHECKPOINT_FILE_BYTES]);
/* The text of the manifest, in `arena`, after its checksum was verified; sets model, step and seed
 * of `checkpoint`. NULL after a fault. Every tensor has a line "file HASH NAME" in it. */
const char *mw_checkpoint_manifest(MwArena *arena, MwCheckpoint *checkpoint, MwFault *fault);

/* Begins the checkpoint of a step: sets checkpoint->folder to a new folder for its files. */
bool mw_checkpoint_begin(const char *dir, int64_t step, uint64_t seed, MwCheckpoint *checkpoint,
                         MwFault *fault);
/* Writes the manifest, puts the checkpoint in place, and removes all but the two newest. */
bool mw_checkpoint_commit(const char *dir, const char *model, MwCheckpoint *checkpoint,
                          MwFault *fault);
/* Removes a checkpoint that was begun. */
void mw_checkpoint_drop(const MwCheckpoint *checkpoint);

/* `data` has MW_NPY_HEADER_BYTES of room, then the tensor's elements. */
bool mw_checkpoint_write_tensor(const MwCheckpoint *checkpoint, const char *name,
                                const MwTensor *tensor, char *data, MwFault *fault);
/* The elements of the tensor, in `arena`; NULL after a fault. */
const char *mw_checkpoint_read_tensor(MwArena *arena, const MwCheckpoint *checkpoint,
                                      const char *name, const MwTensor *tensor, MwFault *fault);

#endif
