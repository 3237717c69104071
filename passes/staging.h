/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The staging: how a model is laid out over devices and time. The result of the inter-operator
 * pass. */
#ifndef MW_PASSES_STAGING_H
#define MW_PASSES_STAGING_H

#include "ir/ir.h"
#include "schedule/schedule.h"

/* Devices first_device .. first_device + device_count - 1 of the cluster; their numbers are also
 * their ranks. */
typedef struct {
    int first_device, device_count;
    MwMeshShape shape; /* its logical mesh; axis_count 0: sharding chooses */
} MwSubmesh;

/* What a layer recomputes in the backward instead of keeping it on the device. */
typedef enum {
    MW_LAYER_KEEPS,      /* no more than is quicker so */
    MW_LAYER_SELECTIVE,  /* what no product, convolution, attention or gather gives */
    MW_LAYER_RECOMPUTES, /* all that it makes */
    MW_LAYER_STREAMS,    /* as a selective one, but what it keeps waits on the host */
    MW_REMAT_LEVELS
} MwRematLevel;

/* The level from which a layer comes to another, above the first, that saves more memory. */
static inline MwRematLevel mw_remat_below(MwRematLevel level)
{
    return level == MW_LAYER_STREAMS ? MW_LAYER_SELECTIVE : level - 1;
}

/* A layout that was considered and not taken. */
typedef struct {
    const char *name;     /* "4 stages, 1f1b, 16 micro-batches" */
    const char *reason;   /* why not: "time", "memory" or "effort" */
    double step_s;        /* predicted, or a lower bound; 0: not known */
    int64_t needed_bytes; /* of a device, if memory is the reason; 0: not known */
} MwStagingAlternative;

/* How the search for stages solved one of them, quickly, so that it fits. */
typedef struct {
    MwMeshShape mesh;
    const int *choice;    /* [nodes] the strategies, by index; NULL: it was not solved */
    int node_count;       /* of the graph of the stage */
    int64_t cost;         /* of the choice, in units of the solver */
    double lower_bound_s; /* of a step within the memory; 0: not known */
} MwStageChecked;

typedef struct {
    int stage_count;
    int mesh_count; /* mw_staging_mesh gives that of a stage */
    const MwSubmesh *meshes;
    const int *layer_stage; /* [layers] the stage of each, ascending from 0 to stage_count - 1 */
    const MwRematLevel *layer_remat; /* [layers]; NULL: none recomputes */
    int layer_count;
    int micro_batches;
    /* [stages] the part of the memory of its mesh that a stage may use, with what its tasks use
     * while they run, which stages of a mesh share; NULL: equal parts */
    const double *memory_share;
    const MwPipelineSchedule *schedule; /* also with one mesh: one micro-batch after another */
    const char
        *name;     /* "4 stages, 1f1b, 16 micro-batches"; NULL: nothing was chosen among layouts */
    double step_s; /* as the search estimates it */
    int64_t needed_bytes;          /* of the device that needs most, likewise; 0: not known */
    const MwStageChecked *checked; /* [stages]; NULL: none was solved */
    const MwStagingAlternative *alternatives;
    int alternative_count;
} MwStaging;

static inline int mw_staging_mesh(const MwStaging *staging, int stage)
{
    return mw_pipeline_mesh_of(staging->schedule->kind, staging->mesh_count, stage);
}

/* Number of stages on a mesh, and the stage that is chunk `chunk` there. */
static inline int mw_staging_chunks(const MwStaging *staging, int mesh)
{
    return mw_pipeline_mesh_chunks(staging->schedule, mesh);
}

static inline int mw_staging_stage_at(const MwStaging *staging, int mesh, int chunk)
{
    return mw_pipeline_stage(staging->schedule, mesh, chunk);
}

/* Bytes of a device that the stage may use, of `memory_bytes` for all stages of its mesh. */
int64_t mw_staging_memory_bytes(const MwStaging *staging, int stage, int64_t memory_bytes);

static inline int mw_staging_stage(const MwStaging *staging, const MwNode *node)
{
    return staging->layer_stage ? staging->layer_stage[node->origin.layer] : 0;
}

/* Whether gradients of weights run apart from the backward, in the phase backward_weight. */
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

/* What the layer of a node recomputes. */
static inline MwRematLevel mw_staging_remat(const MwStaging *staging, const MwNode *node)
{
    return staging->layer_remat ? staging->layer_remat[node->origin.layer] : MW_LAYER_KEEPS;
}

/* For how many micro-batches at once the values of one stage are live. */
typedef struct {
    int micro_batches;
    /* Updates of other stages of the mesh run between nodes of this stage's update. */
    bool shares_update;
    /* No other task runs between the tasks of one micro-batch, so that one slot serves all. */
    bool is_sequential;
    /* The next task of the mesh after each forward of the stage is the backward of the same
     * micro-batch, which waits for no other stage. */
    bool backward_follows;
    /* [from][to] slots of a value that is made in phase `from` and last used in phase `to`. */
    int slots[MW_PHASE_COUNT][MW_PHASE_COUNT];
    int sends_ahead; /* the fewest slots of a value that is sent or received */
} MwFlight;

/* The slots of a value that spans tasks of the micro-batches; `moves`: it is sent or received, and
 * needs one more while it does. */
int mw_flight_slots(const MwFlight *flight, MwPhase from, MwPhase to, bool moves);

/* The flight of one stage, from the order of the tasks of its mesh. */
MwFlight mw_staging_flight(const MwStaging *staging, int stage);

#endif
