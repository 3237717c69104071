/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a model is laid out over devices and time: the answer of the inter-operator pass. */
#ifndef MW_PASSES_STAGING_H
#define MW_PASSES_STAGING_H

#include "ir/ir.h"
#include "schedule/schedule.h"

/* Devices first_device .. first_device + device_count - 1 of the cluster, which are also the ranks. */
typedef struct {
    int first_device, device_count;
    MwMeshShape shape; /* its logical mesh; axis_count 0: as sharding finds best */
} MwSubmesh;

/* A layout that was considered and not taken. */
typedef struct {
    const char *name;     /* "4 stages, 1f1b, 16 micro-batches" */
    const char *reason;   /* "time" or "memory" */
    double step_s;        /* predicted, or a lower bound; 0: not known */
    int64_t needed_bytes; /* of a device, where memory is the reason; 0: not known */
} MwStagingAlternative;

typedef struct {
    int stage_count;
    int mesh_count; /* stage s runs on mesh s % mesh_count */
    const MwSubmesh *meshes;
    const int *layer_stage;  /* [layers] ascending; the first is 0, the last stage_count - 1 */
    const bool *layer_remat; /* [layers] its values are made again in the backward; NULL: none is */
    int layer_count;
    int micro_batches;
    const MwPipelineSchedule *schedule; /* of one mesh, too: one micro-batch after another */
    const MwStagingAlternative *alternatives;
    int alternative_count;
} MwStaging;

static inline int mw_staging_mesh(const MwStaging *staging, int stage)
{
    return stage % staging->mesh_count;
}

static inline int mw_staging_stage(const MwStaging *staging, const MwNode *node)
{
    return staging->layer_stage ? staging->layer_stage[node->origin.layer] : 0;
}

/* Gradients of weights run apart from the backward, in the phase backward_weight. */
static inline bool mw_staging_splits_backward(const MwStaging *staging)
{
    return mw_pipeline_info(staging->schedule->kind)->splits;
}

/* The phase whose nodes a kind of task runs. */
static inline MwPhase mw_task_phase(MwTaskKind kind)
{
    return kind == MW_TASK_FORWARD  ? MW_PHASE_FORWARD
           : kind == MW_TASK_WEIGHT ? MW_PHASE_BACKWARD_WEIGHT
                                    : MW_PHASE_BACKWARD;
}

static inline bool mw_staging_remat(const MwStaging *staging, const MwNode *node)
{
    return staging->layer_remat && staging->layer_remat[node->origin.layer];
}

/* For how many micro-batches at once the values of one stage are alive. */
typedef struct {
    int micro_batches;
    /* The update of other stages of the mesh runs among that of this one. */
    bool shares_update;
    /* No other task runs between those of one micro-batch: then one slot is enough for all. */
    bool is_sequential;
    /* Of a value made in phase a and last used in phase b. */
    int slots[MW_PHASE_COUNT][MW_PHASE_COUNT];
} MwFlight;

MwFlight mw_staging_flight(const MwStaging *staging, int stage);

#endif
