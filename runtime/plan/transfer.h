/* SPDX-License-Identifier: MIT */
/* Cross-mesh resharding: a tensor lies on one mesh by one spec and is wanted on another mesh by
 * another spec (docs/resharding.md). A transfer says what is moved; the messages that move it
 * follow from it (runtime/plan/messages.h). */
#ifndef MW_RUNTIME_PLAN_TRANSFER_H
#define MW_RUNTIME_PLAN_TRANSFER_H

#include "runtime/plan/box.h"
#include "runtime/plan/plan.h"

/* How the tensor lies on one of the two meshes. It is partial on neither. */
typedef struct {
    MwSpec spec;
    MwMeshShape mesh;
    int first_rank; /* ranks first_rank .. + mw_mesh_devices(mesh) - 1, row-major */
} MwTransferSide;

typedef struct {
    MwTensor global; /* the tensor of one micro-batch, where micro-batches are transferred */
    MwTransferSide from, to;
    /* Among receiving ranks that want the same block, one gets all of it and passes it on, which
     * takes fewer messages. Otherwise each gets a part and they all-gather, which sends fewer bytes
     * one after another. */
    bool broadcast;
} MwTransfer;

/* Transfer `index` of a plan. The meshes that it names exist. */
MwTransfer mw_transfer_of_plan(const MwPlan *plan, int index);

/* True if the specs are valid for the tensor on their meshes, nothing is partial, and no rank is on
 * both sides. Every other function on transfers requires it. */
bool mw_transfer_is_valid(const MwTransfer *transfer);

bool mw_transfer_side_has(const MwTransferSide *side, int rank);

/* The part of the tensor that `rank`, which is on `side`, holds: on the receiving side, at the
 * end. */
MwBox mw_transfer_shard(const MwTransferSide *side, const MwTensor *global, int rank);

/* `box` as a part of the buffer in which a device holds `block`: the runs of the result
 * (mw_box_next_segment) are at `global` in the buffer and at `local` in the packed message. `box`
 * lies within `block`. */
MwBox mw_box_within(const MwBox *box, const MwBox *block);

#endif
