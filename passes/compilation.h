/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One compilation: the graph, and what the passes have found out about it so far.
 *
 * Every field says which pass fills it and how it is indexed. A pass that replaces the graph by
 * another makes what was indexed by the old one's ids void; it stands before the passes that fill
 * such tables. */
#ifndef MW_PASSES_COMPILATION_H
#define MW_PASSES_COMPILATION_H

#include "ir/cluster.h"
#include "ir/ir.h"
#include "passes/staging.h"
#include "schedule/schedule.h"

/* Which layers make their values again in the backward. */
typedef enum { MW_REMAT_SEARCH, MW_REMAT_NONE, MW_REMAT_ALL } MwRemat;

/* What the user asked for on the command line. Nothing changes it. */
typedef struct {
    int layers;        /* 0: as the model suggests */
    int micro_batches; /* 0: as the train statement says */
    int stages;        /* meshes that the pipeline goes through; 0: as the search finds best */
    int chunks;        /* stages on each mesh; 0: 1 */
    bool has_schedule; /* else as the search finds best */
    MwPipelineKind schedule;
    MwRemat remat;
    MwMeshShape mesh;        /* axis_count 0: the best of all */
    int64_t memory_bytes;    /* of one device; 0: as the cluster says */
    const char *const *pins; /* texts of `--pin`: "layers.*.mlp.w1=[R, S1]" */
    int pin_count;
    double solve_time_s;      /* limit of the intra-op solver for one mesh; 0: none */
    const char *save_problem; /* path for the intra-op problems as JSON; NULL: not wanted */
    const char *save_ilp;     /* path for them as integer linear programs; NULL: not wanted */
} MwCompileOptions;

/* The SPMD program of one mesh: the global graph rewritten to local shapes. All devices of the mesh run
 * it. */
typedef struct {
    const MwGraph *global;
    MwGraph *graph; /* local shapes */
    MwMeshShape mesh;
    MwSpec *value_spec;      /* [local values] how the value lies on the mesh */
    MwValueId *value_global; /* [local values] the global value it is a form of */
    MwNodeId *node_global; /* [local nodes] the global node it computes; for a collective or shard,
                              the global node whose operand it prepares */
} MwLocalGraph;

/* One stage of the pipeline: layers of the model that run one after another on one mesh. */
typedef struct {
    MwGraph *graph; /* by split, then share: its part of the model; global shapes */
    /* By sharding: the choice of strategies as numbers (passes/sharding/intra_problem.h), also where
     * it found none. */
    struct MwIntraProblem *problem;
    struct MwSharding
        *sharding;           /* by sharding: a strategy for each node (passes/sharding/result.h) */
    struct MwReport *report; /* by sharding: what it reckoned (passes/sharding/report.h) */
    MwLocalGraph *local;     /* by partition: what each device of its mesh runs */
} MwStage;

/* A value that one stage makes and another uses. */
typedef struct {
    const char *name;
    MwTensor tensor; /* global; of one micro-batch, unless it crosses in the update phase */
    MwPhase phase;   /* in which it is sent and received */
    int from_stage, to_stage;
} MwCrossing;

/* Which step of planning ran out of memory. */
typedef enum {
    MW_EXCESS_NONE,
    MW_EXCESS_LAYOUT,   /* stages: no layout of the whole model fits */
    MW_EXCESS_SHARDING, /* sharding: no strategies for the stages of a mesh do */
    MW_EXCESS_ARENA, /* the plan builder: the buffers of a mesh do not, with the gaps between them */
} MwExcessKind;

/* What was exceeded: the memory of a device. */
typedef struct {
    MwExcessKind kind;
    int mesh;                          /* -1: no mesh in particular */
    int64_t needed_bytes, limit_bytes; /* needed 0: it is not known how much */
} MwExcess;

typedef struct {
    MwArena *arena;
    MwCompileOptions options;
    const MwCluster *cluster; /* what is compiled for; NULL where no pass asks */
    MwGraph *graph;           /* the model; global shapes */
    /* By differentiate, for update: [values of graph] the gradient of the loss by each weight; no
     * value where there is none. */
    const MwValueId *gradient;
    MwStaging staging;     /* by stages */
    MwStage *stages;       /* by split, from where on they stand for `graph`: [staging.stage_count];
                          NULL before */
    MwCrossing *crossings; /* by split: [transfer attribute of send and receive] */
    int crossing_count;
    int64_t
        memory_target_bytes; /* of a device, that the passes plan for, in place of all it has; 0: all */
    MwExcess excess;         /* by stages, sharding or the plan builder */
} MwCompilation;

/* The graphs that the last pass made: the model, or that of each stage, and once it is partitioned what
 * each device of the stage runs. */
int mw_compilation_graph_count(const MwCompilation *compilation);
const MwGraph *mw_compilation_graph(const MwCompilation *compilation, int index);

/* Checks all of them; false after errors, which name `pass` as the culprit. */
bool mw_compilation_verify(const MwCompilation *compilation, const char *pass, MwDiags *diags);

/* Memory of one device: what the user says, else the cluster; 0: not known. */
static inline int64_t mw_device_bytes(const MwCompilation *compilation)
{
    int64_t wanted = compilation->options.memory_bytes;
    return wanted ? wanted : compilation->cluster->device.memory_bytes;
}

/* The part of it that values may take at once; 0: not known. */
static inline int64_t mw_memory_bytes(const MwCompilation *compilation)
{
    int64_t target = compilation->memory_target_bytes;
    return target ? target : mw_device_bytes(compilation);
}

static inline bool mw_trains(const MwCompilation *compilation)
{
    return mw_has_value(compilation->graph->train.loss);
}

/* What is asked for, on the command line or else in the source; 0: nothing. */
static inline int mw_wanted_micro_batches(const MwCompilation *compilation)
{
    int wanted = compilation->options.micro_batches;
    return wanted ? wanted : compilation->graph->train.micro_batches;
}

/* Stages on each mesh: a schedule with chunks has two at least. */
static inline int mw_wanted_chunks(const MwCompileOptions *options)
{
    if (options->chunks > 0)
        return options->chunks;
    return options->has_schedule && mw_pipeline_info(options->schedule)->chunked ? 2 : 1;
}

/* Whether a schedule is asked for: by its name, or by several chunks, which one schedule has. */
static inline bool mw_wants_schedule(const MwCompileOptions *options)
{
    return options->has_schedule || options->chunks > 1;
}

/* The schedule that is asked for, if one is. */
static inline MwPipelineKind mw_wanted_schedule(const MwCompileOptions *options)
{
    return options->has_schedule ? options->schedule : mw_pipeline_chunked();
}

/* The schedule that is asked for, or else usual. */
static inline MwPipelineKind mw_usual_schedule(const MwCompilation *compilation)
{
    bool trains = mw_trains(compilation);
    return trains && mw_wants_schedule(&compilation->options)
               ? mw_wanted_schedule(&compilation->options)
               : mw_pipeline_first(trains);
}

#endif
