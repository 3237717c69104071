/* SPDX-License-Identifier: MIT */
/* The part of a global tensor that one device holds, and the runs of elements that it is made of:
 * what weights, feeds and checkpoints need to know of sharding. */
#ifndef MW_RUNTIME_PLAN_BLOCK_H
#define MW_RUNTIME_PLAN_BLOCK_H

#include "base/spec.h"

typedef struct {
    MwTensor global;
    int64_t start[MW_MAX_RANK], size[MW_MAX_RANK]; /* per dimension */
} MwBlock;

/* The part that `spec` gives the device at `coordinate`. */
MwBlock mw_block(const MwTensor *global, MwSpec spec, const MwMeshShape *mesh,
                 const int coordinate[MW_MAX_AXES]);
/* The same, of micro-batch `micro` of `micros`, which is a block of dimension 0. */
MwBlock mw_block_micro(const MwTensor *global, MwSpec spec, const MwMeshShape *mesh,
                       const int coordinate[MW_MAX_AXES], int micro, int micros);
int64_t mw_block_elements(const MwBlock *block);
/* True for one device among those that hold equal blocks: the one at 0 on every axis not in
 * `spec`. */
bool mw_block_is_first(const MwTensor *global, MwSpec spec, const MwMeshShape *mesh,
                       const int coordinate[MW_MAX_AXES]);

/* Elements next to each other both in the global tensor and in the block, row-major in both. */
typedef struct {
    int64_t global, local, count; /* indices of the first element */
} MwRun;

/* Walks the runs in order of `local`: start with *run = (MwRun){0}; false after the last. */
bool mw_block_next_run(const MwBlock *block, MwRun *run);

#endif
