/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rings: strategies in which the blocks of some operands go round the devices of a mesh axis, and
 * each device runs the node on every block in turn (MwShardingRule.ring). It is the attention of
 * Liu et al., Ring Attention with Blockwise Transformers, 2023: queries stay where they are, keys
 * and values travel, and no device ever has more of them than the block that it works on and the
 * next one.
 *
 * On the device with coordinate i, step t works on the block of coordinate i + t, round the end of
 * the axis. While it does, the next block comes from the device after this one. The results are
 * combined as they come, in f32: means by their log-sum-exp (the online softmax of Milakov and
 * Gimelshein, 2018), sums by addition. What is a sum for the block that travels, as the gradients
 * of keys and values are, travels with it, one step behind, and one step further at the end, where
 * it comes home. So every sum has one order, that of the devices a block comes to.
 *
 * Where the devices run collectives while kernels run, a step takes the longer of the two; else
 * their sum. */
#ifndef MW_PASSES_SHARDING_RING_H
#define MW_PASSES_SHARDING_RING_H

#include "cost/reshard.h"
#include "passes/sharding/strategy.h"

/* Whether the strategy has a ring. The other functions want one. */
static inline bool mw_has_ring(const MwStrategy *strategy)
{
    return strategy->ring.ways > 1;
}

/* Seconds of a run of the node: its work on all blocks, the combining, and the shifts. */
double mw_ring_s(MwArena *arena, const MwGraph *graph, MwNodeId id, const MwStrategy *strategy,
                 const MwCostModel *model);
/* The shifts, in `arena`; each costs what the work does not hide. The steps have no specs. */
MwReshardPath mw_ring_path(MwArena *arena, const MwGraph *graph, MwNodeId id,
                           const MwStrategy *strategy, const MwCostModel *model);
/* Bytes of a device while the node runs, besides operands and results: the blocks that are on their
 * way, and the results so far. */
int64_t mw_ring_bytes(const MwGraph *graph, MwNodeId id, const MwStrategy *strategy,
                      const MwMeshShape *mesh);

/* Adds the node `spec` to a local graph, once for each block, with the shifts and what combines its
 * results. results: [results of the node]. */
void mw_ring_build(MwGraph *local, const MwMeshShape *mesh, const MwStrategy *strategy,
                   const MwNodeSpec *spec, MwValueId *results);

#endif
