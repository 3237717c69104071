/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an interval of layers costs as a stage of its own on some devices, for each way of
 * running it there.
 *
 * The intra-operator problem of the layers is solved on every logical mesh of the devices
 * (sample.h), at several prices of memory, so that solutions that need less memory are among the
 * results. Where consecutive layers have the same class, only two of them are solved, and the costs
 * of more are extrapolated from these: an estimate. Intervals of the same class on the same number
 * of devices share their samples. */
#ifndef MW_PASSES_STAGES_COST_H
#define MW_PASSES_STAGES_COST_H

#include "passes/sharding/meshes.h"
#include "passes/stages/known.h"
#include "passes/stages/sample.h"

typedef MW_VEC(MwStageCost) MwStageCostList;

/* Layers [begin, end) on the first `devices` of the cluster. */
typedef struct {
    int begin, end, devices;
    bool is_sequential; /* no other task runs between the tasks of a micro-batch */
} MwStageCostQuery;

/* The samples of one model, each solved once. */
typedef struct MwStageCosts MwStageCosts;

/* Lies in `arena`; the model and `solved`, which receives what is solved with as many
 * micro-batches, must outlive it. The results do not depend on `threads`. */
MwStageCosts *mw_stage_costs_new(MwArena *arena, const MwStageModel *model, MwStageSolved *solved,
                                 int threads);

/* Fills lists[i] with the ways of running queries[i], in an order that depends on that query
 * alone. The lists lie in the arena of `costs`. A list is empty if the pins cannot be met. It
 * has solutions that need less memory than the fastest only where the fastest lacks memory for
 * the most micro-batches that a stage on so many devices may have in flight. */
void mw_stage_costs_query(MwStageCosts *costs, const MwStageCostQuery *queries, int count,
                          MwStageCostList *lists);

/* The cost of the layers of a query on one logical mesh of its devices, all on one level of
 * recomputation, at one level of the price of memory. False if the pins cannot be met. */
bool mw_stage_costs_on(MwStageCosts *costs, const MwStageCostQuery *cost_query,
                       const MwMeshShape *mesh, MwRematLevel remat, int price, MwStageCost *cost);

/* The logical meshes on which a stage of `devices` devices is tried; in `arena`. */
MwMeshList mw_stage_costs_meshes(const MwStageCosts *costs, MwArena *arena, int devices);

/* Sets what the layers recompute in `cost`, one of the results of `query`. layers: [end - begin].
 */
void mw_stage_costs_recomputed(MwStageCosts *costs, const MwStageCostQuery *query,
                               const MwStageCost *cost, MwRematLevel *layers);

/* A lower bound of every cost of layers [begin, end) on `devices` devices: the work of one device,
 * divided evenly. It does not count that smaller operands may profit from caches. */
MwStageCost mw_stage_costs_bound(MwStageCosts *costs, int begin, int end, int devices);

/* The whole model on one device, without a memory limit. */
MwStageCost mw_stage_costs_whole(MwStageCosts *costs, MwRematLevel remat);

/* Whether the samples that the answer depends on are solved, also by another search, so that it
 * takes little time. */
bool mw_stage_costs_is_known(MwStageCosts *costs, const MwStageCostQuery *cost_query);

/* How much has been solved to answer queries, in entries of cost tables; about a tenth of a
 * microsecond each. */
int64_t mw_stage_costs_effort(const MwStageCosts *costs);

/* Work so far: the number of graph nodes in all problems solved. */
int64_t mw_stage_costs_work(const MwStageCosts *costs);

#endif
