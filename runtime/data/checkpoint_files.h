/* SPDX-License-Identifier: MIT */
/* The files of a checkpoint (checkpoint.h), as rank 0 sees them. */
#ifndef MW_RUNTIME_DATA_CHECKPOINT_FILES_H
#define MW_RUNTIME_DATA_CHECKPOINT_FILES_H

#include "runtime/data/checkpoint.h"

/* What the file of a tensor is called in the folder of a checkpoint. */
enum { MW_CHECKPOINT_FILE_BYTES = 512 };
const char *mw_checkpoint_file_name(const char *name, char file[MW_CHECKPOINT_FILE_BYTES]);
/* The manifest, in `arena`, proven to be undamaged; model, step and seed go into `checkpoint`. NULL
 * after a fault. Every tensor has a line "file HASH NAME" in it. */
const char *mw_checkpoint_manifest(MwArena *arena, MwCheckpoint *checkpoint, MwFault *fault);

/* Starts the checkpoint of a step: `checkpoint->folder` is a fresh one for its files. */
bool mw_checkpoint_begin(const char *dir, int64_t step, uint64_t seed, MwCheckpoint *checkpoint,
                         MwFault *fault);
/* Puts it in place, with its manifest, and removes all but the two newest. */
bool mw_checkpoint_commit(const char *dir, const char *model, MwCheckpoint *checkpoint,
                          MwFault *fault);
/* Removes what was begun. */
void mw_checkpoint_drop(const MwCheckpoint *checkpoint);

/* `data` is room for MW_NPY_HEADER_BYTES, then the tensor. */
bool mw_checkpoint_write_tensor(const MwCheckpoint *checkpoint, const char *name,
                                const MwTensor *tensor, char *data, MwFault *fault);
/* The elements of the tensor, in `arena`; NULL after a fault. */
const char *mw_checkpoint_read_tensor(MwArena *arena, const MwCheckpoint *checkpoint,
                                      const char *name, const MwTensor *tensor, MwFault *fault);

#endif
