/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a model is laid out over devices and time: the answer of the inter-operator pass. */
#ifndef MW_PASSES_STAGING_H
#define MW_PASSES_STAGING_H

#include "ir/ir.h"

/* Devices first_device .. first_device + device_count - 1 of the cluster, which are also the ranks. */
typedef struct {
    int first_device, device_count;
} MwSubmesh;

/* One entry of a mesh's schedule: the programs of a stage for a phase, on one micro-batch. */
typedef struct {
    int stage;
    MwPhase phase; /* never update, which follows all of them */
    int micro_batch;
} MwStageTask;

typedef struct {
    MwStageTask *at;
    int count;
} MwStageTasks;

typedef struct {
    int stage_count;
    int mesh_count; /* stage s runs on mesh s % mesh_count */
    const MwSubmesh *meshes;
    const int *layer_stage; /* [layers] ascending; the first is 0, the last stage_count - 1 */
    int layer_count;
    const bool *layer_remat; /* [layers] its values are made again in the backward; NULL: none is */
    int micro_batches;
    bool splits_backward;      /* gradients of weights run apart: phase backward_weight */
    const char *schedule;      /* its name; "none" for one mesh */
    const MwStageTasks *tasks; /* [meshes] of one step, in order */
} MwStaging;

static inline int mw_staging_mesh(const MwStaging *staging, int stage)
{
    return stage % staging->mesh_count;
}

static inline int mw_staging_stage(const MwStaging *staging, const MwNode *node)
{
    return staging->layer_stage ? staging->layer_stage[node->origin.layer] : 0;
}

static inline bool mw_staging_remat(const MwStaging *staging, const MwNode *node)
{
    return staging->layer_remat && staging->layer_remat[node->origin.layer];
}

/* For how many micro-batches at once the values of one stage are alive. */
typedef struct {
    int micro_batches;
    /* No other task runs between those of one micro-batch: then one slot is enough for all. */
    bool is_chain;
    /* Of a value made in phase a and last used in phase b. */
    int slots[MW_PHASE_COUNT][MW_PHASE_COUNT];
} MwFlight;

MwFlight mw_staging_flight(const MwStaging *staging, int stage);

#endif
