/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mirrored halves: strategies in which devices share the work of an uneven factor evenly
 * (MwShardingRule.uneven). With a causal mask later queries see more keys, so of n devices with
 * equal blocks of queries the last one has nearly twice the mean work. Here each device has the
 * early half of its own block and the late half of the block in the mirror: blocks 2i and 2n - 1 -
 * 2i of 2n halves, the pairs of Llama Team: The Llama 3 Herd of Models, 2024, section 3.3.2, in
 * another order.
 *
 * Around the node, devices exchange the late halves of its operands with the device in the mirror,
 * the node runs on either half, and the late halves of its results go back, so that nothing outside
 * of the node can tell. Along several axes the halves go along one after another. Results that do
 * not run over the factor, as the gradients of keys and values, are added up in f32.
 *
 * Where the devices run collectives while kernels run, the operands come while the device works on
 * the early half. */
#ifndef MW_PASSES_SHARDING_MIRROR_H
#define MW_PASSES_SHARDING_MIRROR_H

#include "cost/reshard.h"
#include "passes/sharding/strategy.h"

/* Whether the strategy has mirrored halves. The other functions want them. */
static inline bool mw_is_mirrored(const MwStrategy *strategy)
{
    return strategy->mirror.axes != 0;
}

/* Seconds of a run of the node: its work on both halves, the exchanges, and the copies that they
 * take. */
double mw_mirror_s(MwArena *arena, const MwGraph *graph, MwNodeId id, const MwStrategy *strategy,
                   const MwCostModel *model);
/* The exchanges, in `arena`; each costs what the work does not hide. */
MwReshardPath mw_mirror_path(MwArena *arena, const MwGraph *graph, MwNodeId id,
                             const MwStrategy *strategy, const MwCostModel *model);
/* Bytes of a device while the node runs, besides operands and results: the halves. */
int64_t mw_mirror_bytes(const MwGraph *graph, MwNodeId id, const MwStrategy *strategy,
                        const MwMeshShape *mesh);

/* Adds the node `spec` to a local graph, once for each half, with the exchanges and what joins its
 * results. results: [results of the node]. */
void mw_mirror_build(MwGraph *local, const MwMeshShape *mesh, const MwStrategy *strategy,
                     const MwNodeSpec *spec, MwValueId *results);

#endif
