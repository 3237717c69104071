/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What layers cost as a stage of their own on some devices, in the ways in which they can run there.
 *
 * The intra-op problem of the layers is solved on every logical mesh of the devices, quickly: within
 * about a hundredth, without a memory limit but at several prices of memory, so that answers that
 * need less of it are among the candidates. Of layers that are alike only one and two are solved;
 * what more of them cost is reckoned from that: an estimate. Layers that are alike on as many
 * devices are asked once. */
#ifndef MW_PASSES_STAGES_COST_H
#define MW_PASSES_STAGES_COST_H

#include "passes/sharding/meshes.h"
#include "passes/stages/cell.h"

typedef MW_VEC(MwStageCost) MwStageCostList;

/* Layers [begin, end) on the first `devices` of the cluster. */
typedef struct {
    int begin, end, devices;
    /* Nothing runs between the tasks of a micro-batch: what is saved is in `peak_bytes`. */
    bool is_chain;
} MwStageQuestion;

/* Remembers what it found. In `arena`; the model must outlive it. */
typedef struct MwStageCosts MwStageCosts;

/* Works on `threads` threads, which make no difference to the answers. */
MwStageCosts *mw_stage_costs_new(MwArena *arena, const MwStageModel *model, int threads);

/* The ways for each question, in an order that depends on it alone; in the arena. Empty if there is
 * none: pins that cannot be met. Where the quickest way has memory for as many micro-batches as stages
 * on such devices may have in flight, others are not sought. */
void mw_stage_costs_ask(MwStageCosts *costs, const MwStageQuestion *questions, int count,
                        MwStageCostList *lists);

/* The logical meshes that layers are tried on, where they are a stage on so many devices. */
MwMeshList mw_stage_costs_meshes(const MwStageCosts *costs, MwArena *arena, int devices);

/* Which layers recompute in one of the ways of a question. layers: [end - begin]. */
void mw_stage_costs_recomputed(MwStageCosts *costs, const MwStageQuestion *question,
                               const MwStageCost *cost, bool *layers);

/* Of which no way is better, but for what smaller parts gain from caches: the work of one device,
 * divided evenly. */
MwStageCost mw_stage_costs_bound(MwStageCosts *costs, int begin, int end, int devices);

/* The whole model on one device, without memory limit. */
MwStageCost mw_stage_costs_whole(MwStageCosts *costs, bool recomputes);

/* How much has been done till now: nodes of all problems that were solved. */
int64_t mw_stage_costs_work(const MwStageCosts *costs);

static inline double mw_stage_cost_time_s(const MwStageCost *cost)
{
    return cost->forward_s + cost->backward_s + cost->weight_s;
}

#endif
