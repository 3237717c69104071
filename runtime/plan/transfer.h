/* SPDX-License-Identifier: MIT */
/* Cross-mesh resharding: the messages that bring a tensor from one mesh, where it lies by one spec,
 * to another mesh, where it is to lie by another spec (docs/resharding.md).
 *
 * A transfer says what is moved; its messages follow from it by one deterministic function, so that
 * every rank computes its own ones. Hop 0 crosses from the sending mesh to the receiving mesh: every
 * element crosses once, though many ranks may hold it and many may want it. Later hops pass on,
 * within the receiving mesh, what came before. A rank posts all its receives, and sends what
 * belongs to a hop as soon as its receives of the hops before are there; since a message needs
 * messages of earlier hops only, that cannot deadlock. */
#ifndef MW_RUNTIME_PLAN_TRANSFER_H
#define MW_RUNTIME_PLAN_TRANSFER_H

#include "base/vec.h"
#include "runtime/plan/block.h"
#include "runtime/plan/plan.h"

/* How the tensor lies on one of the two meshes: nothing is partial. */
typedef struct {
    MwSpec spec;
    MwMeshShape mesh;
    int first_rank; /* ranks first_rank .. + mw_mesh_devices(mesh) - 1, row-major */
} MwTransferSide;

typedef struct {
    MwTensor global; /* of one micro-batch, where micro-batches are transferred */
    MwTransferSide from, to;
    /* Of receiving ranks that want the same block, one gets all of it and passes it on: fewer
     * messages. Else each gets a part and they gather: fewer bytes one after another. */
    bool broadcast;
} MwTransfer;

typedef struct {
    int from, to; /* ranks */
    int hop;
    MwBlock box; /* of the global tensor; never empty */
} MwMessage;

/* In order of hop, then sender, then receiver: at most one message for each three. */
typedef MW_VEC(MwMessage) MwMessages;

/* Transfer `index` of a plan whose meshes it names are there. */
MwTransfer mw_transfer_of_plan(const MwPlan *plan, int index);

/* True if the specs are valid for the tensor on their meshes, nothing is partial, and no rank is
 * on both sides. Every function below relies on it. */
bool mw_transfer_is_valid(const MwTransfer *transfer);

bool mw_transfer_side_has(const MwTransferSide *side, int rank);

/* All messages, in the arena. */
MwMessages mw_transfer_messages(MwArena *arena, const MwTransfer *transfer);

/* Those that `rank` sends and those that it receives; none where it is on neither side. Takes time
 * in their number, not in that of the ranks. */
typedef struct {
    MwMessages sends, receives;
} MwRankMessages;

MwRankMessages mw_transfer_of_rank(MwArena *arena, const MwTransfer *transfer, int rank);

/* What `rank`, which is on `side`, holds of the tensor in the end. */
MwBlock mw_transfer_block(const MwTransferSide *side, const MwTensor *global, int rank);

/* `box` as a part of the buffer in which a device holds `block`: the runs of the result
 * (mw_block_next_run) are at `global` in the buffer and at `local` in the packed message. `box` lies
 * within `block`. */
MwBlock mw_box_in_block(const MwBlock *box, const MwBlock *block);

/* What crosses from mesh to mesh, all messages given; and the least that can: every element
 * once. */
int64_t mw_transfer_crossing_bytes(const MwMessages *messages);
int64_t mw_transfer_least_bytes(const MwTransfer *transfer);

/* Proves, without trusting what made `messages`, that they are the transfer: in order, every element
 * crosses once, every receiving rank gets every element of its block once, and whoever sends a box
 * has it by then. NULL, or what is wrong, in the arena. */
const char *mw_transfer_check(MwArena *arena, const MwTransfer *transfer,
                              const MwMessages *messages);

#endif
