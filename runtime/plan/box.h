/* SPDX-License-Identifier: MIT */
/* Boxes of a global tensor, such as the shard of one device, and the contiguous segments that a box
 * consists of. This is all that weights, feeds, outputs, checkpoints and messages need to know of
 * sharding. */
#ifndef MW_RUNTIME_PLAN_BOX_H
#define MW_RUNTIME_PLAN_BOX_H

#include "base/spec.h"

typedef struct {
    MwTensor global;
    int64_t start[MW_MAX_RANK], size[MW_MAX_RANK]; /* elements, per dimension */
    /* elements that the memory of the box holds after those, per dimension: zeros that are no part
     * of `global` */
    int64_t padding[MW_MAX_RANK];
} MwBox;

/* The shard of the device at `coordinate`, where the tensor is split by `spec`. */
MwBox mw_shard_box(const MwTensor *global, MwSpec spec, const MwMeshShape *mesh,
                   const int coordinate[MW_MAX_AXES]);
/* The shard of micro-batch `micro` of `micros`: the micro-batch is a block of dimension 0, and
 * `spec` splits that block. */
MwBox mw_shard_box_of_micro_batch(const MwTensor *global, MwSpec spec, const MwMeshShape *mesh,
                                  const int coordinate[MW_MAX_AXES], int micro, int micros);
/* What the memory of `box`, a box of a padded tensor, holds of `global`, the tensor without its
 * padding: the elements below its sizes, which may be none. The rest is padding. */
MwBox mw_box_clip(const MwBox *box, const MwTensor *global);
/* Elements of the box, without and with its padding. */
int64_t mw_box_elements(const MwBox *box);
int64_t mw_box_held_elements(const MwBox *box);
/* Bytes of memory that the box takes, with its padding. */
int64_t mw_box_held_bytes(const MwBox *box);
/* True for one device among those that hold the same shard: the one whose coordinate is 0 on every
 * axis that `spec` does not use. */
bool mw_shard_is_first(const MwTensor *global, MwSpec spec, const MwMeshShape *mesh,
                       const int coordinate[MW_MAX_AXES]);

/* Elements that are contiguous both in the global tensor and in the memory of the box, each stored
 * row-major. */
typedef struct {
    int64_t global, local; /* index of the first element in each */
    int64_t count;         /* elements */
} MwSegment;

/* Iterates over the segments in order of `local`: begin with *segment = (MwSegment){0}; false after
 * the last. */
bool mw_box_next_segment(const MwBox *box, MwSegment *segment);

#endif
