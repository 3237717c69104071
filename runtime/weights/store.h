/* SPDX-License-Identifier: MIT */
/* Named tensors in files: those of checkpoints, and of safetensors files as hubs have them, whose
 * elements are read in ranges and converted.
 *
 * Files are opened when a tensor of theirs is asked for, one at a time. Memory grows with the
 * number of tensors, some 200 bytes for each, and not with their elements. */
#ifndef MW_RUNTIME_WEIGHTS_STORE_H
#define MW_RUNTIME_WEIGHTS_STORE_H

#include "runtime/weights/checkpoint_files.h"
#include "runtime/weights/safetensors.h"

typedef struct MwStore MwStore;

MwStore *mw_store_new(MwArena *arena);
void mw_store_close(MwStore **store);

/* Adds the tensors of `path`: a .safetensors file; an index, model.safetensors.index.json, of
 * several; a folder with one of these, or with any number of .safetensors files; a checkpoint, or a
 * folder of checkpoints, of which it takes the newest. A name that the store has is a fault. */
bool mw_store_add(MwStore *store, const char *path, MwFault *fault);
/* Adds the tensors of a checkpoint, whose folder, step and seed are set. */
bool mw_store_add_checkpoint(MwStore *store, const MwCheckpoint *checkpoint, MwFault *fault);

/* Tensors have indices from 0 on, in the order of their names. They hold until more is added. */
int mw_store_count(MwStore *store);
const char *mw_store_name(MwStore *store, int index);
/* The index of a name; -1: there is none. */
int mw_store_find(MwStore *store, const char *name);

/* Its type and shape; NULL after a fault. */
const MwSafetensor *mw_store_tensor(MwStore *store, int index, MwFault *fault);
/* Reads elements [first, first + count) of a tensor, row-major, as elements of `type`. A fault if
 * the file cannot be read, or holds an integer that is too large for the type. */
bool mw_store_read(MwStore *store, int index, int64_t first, int64_t count, MwType type, void *to,
                   MwFault *fault);

#endif
