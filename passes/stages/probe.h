/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Probes: which numbers of micro-batches and of equal meshes promise most on many devices.
 *
 * On few devices the even share of the work tells (batching.h). On thousands, what a micro-batch
 * has too little of for its stage tells more: samples for data parallelism, memory, bandwidth for
 * gradients. A probe solves one stage in the middle of the model, of a pipeline of equal stages, on
 * one or two logical meshes; of one stage on all devices, half of the layers.
 * What a probe takes above an even share of the layers is expected of pipelines that are not probed
 * too, of each less the less it is like the probed one. The pipelines that promise most are probed
 * next, several at once, until none promises nearly as much as the best that was probed.
 *
 * There are at most PROBES probes, of few samples each; their samples serve the search. The table
 * grows with the numbers of micro-batches times those of equal stages, a few hundred. */
#ifndef MW_PASSES_STAGES_PROBE_H
#define MW_PASSES_STAGES_PROBE_H

#include "passes/stages/batching.h"

enum { MW_PROBED_MESHES = 2 };

/* A pipeline of so many equal meshes with one number of micro-batches; one mesh: a single stage. */
typedef struct {
    MwStageBatching *batching;
    int meshes;
    MwMeshShape shapes[MW_PROBED_MESHES]; /* logical meshes of a probe */
    int shape_count;
    MwMeshShape shape; /* the best of them, or one of which nothing is known */
    double even_s;     /* of a step, by an even share of the layers, and what devices repeat */
    double probed_s;   /* INFINITY: not probed; DBL_MAX: no stage can be run */
    double expected_s; /* what probes make of it */
} MwEvenPipeline;

typedef MW_VEC(MwEvenPipeline) MwEvenPipelines;

typedef struct {
    const MwCompilation *compilation;
    MwStageBatchings *batchings; /* measured; those that are possible have estimates */
    double memory_bytes;         /* of a device */
    int least_stages;            /* 1, or more where stages are pinned */
    MwStageKnown *known;
} MwStageProbeQuery;

/* Whether the cluster has so many devices that probes pay. */
bool mw_stage_probe_pays(const MwCompilation *compilation);

/* Corrects `usual_s` of the estimates, and lists the pipelines by what is expected of them, in
 * `arena`. Makes models of batchings. */
MwEvenPipelines mw_stage_probe(MwArena *arena, const MwStageProbeQuery *query);

#endif
