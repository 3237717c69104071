/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One compilation: the graph, and what the passes have found out about it.
 *
 * Every field says which pass fills it and how it is indexed. A pass that replaces the graph
 * invalidates tables that are indexed by ids of the old one, so it runs before the passes that
 * fill such tables. */
#ifndef MW_PASSES_COMPILATION_H
#define MW_PASSES_COMPILATION_H

#include "ir/cluster.h"
#include "ir/ir.h"
#include "passes/progress.h"
#include "passes/staging.h"
#include "schedule/schedule.h"

/* What layers recompute in the backward: what the search chooses, or all on one level
 * (MwRematLevel), in the order of the levels. */
typedef enum {
    MW_REMAT_SEARCH,
    MW_REMAT_NONE,
    MW_REMAT_SELECTIVE,
    MW_REMAT_ALL,
    MW_REMAT_STREAM
} MwRemat;

/* What the user asks for on the command line. No pass changes it. */
typedef struct {
    int layers;        /* number of layers; 0: as the model suggests */
    int micro_batches; /* 0: as the train statements say */
    int stages;        /* number of meshes of the pipeline; 0: the search chooses */
    int chunks;        /* stages on each mesh; 0: 1 */
    bool has_schedule; /* false: the search chooses */
    MwPipelineKind schedule;
    MwRemat remat;
    bool has_offload; /* false: as the train statements say */
    MwOffload offload;
    int offload_quarters;    /* of the layers, of which that is so, evenly spread; 0: of all */
    bool may_stream;         /* activations may wait on the host; they may beside states there */
    MwMeshShape mesh;        /* logical mesh of every stage; axis_count 0: the best one */
    MwAxisRolePins roles;    /* of its axes */
    int64_t memory_bytes;    /* of one device; 0: as the cluster says */
    const char *const *pins; /* texts of `--pin`: "layers.*.mlp.w1=[R, S1]" */
    int pin_count;
    /* limit of the intra-operator solver for all stages and their logical meshes, as counted work
     * (solver/stop.h); 0: none */
    double solve_time_s;
    bool takes_any;           /* any plan that fits will do: none that is quicker is sought */
    const char *save_problem; /* path for the intra-operator problems as JSON; NULL: not wanted */
    /* path for the problems as integer linear programs; NULL: not wanted */
    const char *save_ilp;
} MwCompileOptions;

/* The SPMD program of one mesh: the global graph rewritten to local shapes, which all devices of
 * the mesh run. */
typedef struct {
    const MwGraph *global;
    MwGraph *graph; /* local shapes */
    MwMeshShape mesh;
    MwSpec *value_spec; /* [local values] how the value lies on the mesh */
    /* [local values] the global value that the local value is a form of; none for what stands
     * between a node and its weighed results (partition.c) */
    MwValueId *value_global;
    /* [local nodes] the global node that it computes; for a collective or shard, the global node
     * whose operand or result it reshards */
    MwNodeId *node_global;
} MwLocalGraph;

/* One stage of the pipeline: consecutive layers of the model that run on one mesh. */
typedef struct {
    MwGraph *graph; /* by split, then share: the nodes of the stage; global shapes */
    /* by sharding: the intra-operator problem (passes/sharding/intra_problem.h), kept also if it
     * has no solution */
    struct MwIntraProblem *problem;
    /* by sharding: a strategy for each node (passes/sharding/result.h) */
    struct MwSharding *sharding;
    /* by sharding: its decisions and predicted costs (passes/sharding/report.h) */
    struct MwReport *report;
    MwLocalGraph *local; /* by partition: what each device of the mesh runs */
} MwStage;

/* A value that one stage makes and another uses. */
typedef struct {
    const char *name;
    /* global; of one micro-batch, or of a step if it crosses in the update phase */
    MwTensor tensor;
    MwPhase phase; /* the phase in which it is sent and received */
    int from_stage, to_stage;
} MwCrossing;

/* The step of planning that ran out of memory. */
typedef enum {
    MW_EXCESS_NONE,
    MW_EXCESS_LAYOUT,   /* stages: no layout of the whole model fits */
    MW_EXCESS_SHARDING, /* sharding: no strategies fit for the stages of a mesh */
    /* the plan builder: the buffers of a mesh do not fit, with the gaps between them */
    MW_EXCESS_ARENA,
} MwExcessKind;

/* How the memory of a device is exceeded. */
typedef struct {
    MwExcessKind kind;
    int mesh;                          /* -1: no mesh in particular */
    int64_t needed_bytes, limit_bytes; /* needed 0: not known */
    int64_t wanted_bytes;              /* for collectives beside kernels, too; 0: not known */
    int64_t estimated_bytes;           /* that the passes thought it needs; 0: not known */
} MwExcess;

/* A tensor of the model that is padded. */
typedef struct {
    const char *name; /* interned: of an input, weight or state, or of an output */
    bool is_output;
    MwTensor tensor; /* without the padding */
} MwPadding;
typedef MW_VEC(MwPadding) MwPaddings;

/* A dimension of an input or weight that the devices do not divide, and that is not padded: an
 * operator needs it as it is, or little work goes over it. */
typedef struct {
    const char *name; /* interned */
    int dim;
    MwSpan span;    /* of the operator that needs it as it is */
    const char *op; /* its name; NULL: little work */
} MwPadBarrier;

/* States of the scale of the loss (passes/graph/loss_scale.h): the scale, f32[], and how many steps
 * went well since it changed or the last was skipped, and how many were skipped, i32[]. No values:
 * the loss is not scaled. */
typedef struct {
    MwValueId scale, good_steps, skipped_steps;
} MwLossStates;

typedef struct {
    MwArena *arena;
    MwCompileOptions options;
    MwPassProgress progress;
    const MwCluster *cluster; /* what is compiled for; NULL if no pass needs it */
    MwGraph *graph;           /* the model; global shapes */
    /* of the graph alone, which the pipeline frees with it once a pass has replaced it; NULL: the
     * graph lies with other data */
    MwArena *graph_arena;
    /* by differentiate: the work of a step, forward and backward (cost/model_work.h) */
    double model_flops, model_peak_s;
    /* by differentiate, for update: [values of graph] the gradient by each weight of the loss that
     * trains it; no value where there is none */
    const MwValueId *gradient;
    MwLossStates loss_states; /* by differentiate, for update */
    /* by pad: the inputs, weights, states and outputs of which the graph holds more than the model
     * has, each with its shape in the model */
    MwPaddings paddings;
    MW_VEC(MwPadBarrier) barriers; /* by pad */
    /* for stages, which adds to it: what it solved in other compilations of the same model, for
     * another memory (passes/stages/known.h); NULL: nothing */
    struct MwStageKnown *known;
    /* stages takes the best layout after those that it took in compilations with the same `known`
     * and the same memory */
    bool takes_next_layout;
    /* memory that the layout which stages took last turned out to need, where that is more than
     * there is; 0: it has a plan */
    int64_t taken_layout_bytes;
    const bool *is_again; /* by remat and stream, for late_remat: [nodes] makes a value again */
    bool sums_gradients_early; /* by stages, for share: see mw_share */
    MwStaging staging;         /* by stages */
    /* by split, and from then on in place of `graph`: [staging.stage_count]; NULL before */
    MwStage *stages;
    MwCrossing *crossings; /* by split: [the attribute `transfer` of a send and its receive] */
    int crossing_count;
    /* memory of a device that the passes plan for (passes/memory_target.h); 0: all of it */
    int64_t memory_target_bytes;
    /* fraction by which the pass pad may let a size grow; 0: it pads none */
    double most_padding;
    double padding;  /* by pad: the greatest fraction by which a size grew */
    double solved_s; /* by stages and sharding: to solve whole stages, as counted work */
    MwExcess excess; /* by stages, sharding or the plan builder */
} MwCompilation;

/* The graphs that the last pass made: the model, or after split that of each stage, or after
 * partition what each device of the stage runs. */
int mw_compilation_graph_count(const MwCompilation *compilation);
const MwGraph *mw_compilation_graph(const MwCompilation *compilation, int index);

/* The tensor without padding of the source or output with that name; NULL: it is not padded. */
const MwTensor *mw_unpadded(const MwCompilation *compilation, const char *name, bool is_output);

/* After a pass that may have replaced the graph `before`: moves the graph to an arena of its own
 * and frees what it was made from and on the way; unless the graph lies with other data, or split
 * has made graphs that depend on it. */
void mw_compilation_keep_graph(MwCompilation *compilation, const MwGraph *before);

/* Verifies all graphs. False after errors, which name `pass` as the cause. */
bool mw_compilation_verify(const MwCompilation *compilation, const char *pass, MwDiags *diags);

/* Memory of one device: as the user says, else as the cluster says; 0: not known. */
static inline int64_t mw_device_bytes(const MwCompilation *compilation)
{
    int64_t wanted = compilation->options.memory_bytes;
    return wanted ? wanted : compilation->cluster->device.memory_bytes;
}

/* The memory of one device that planning may use: the target if there is one; 0: not known. */
static inline int64_t mw_memory_bytes(const MwCompilation *compilation)
{
    int64_t target = compilation->memory_target_bytes;
    return target ? target : mw_device_bytes(compilation);
}

static inline bool mw_trains(const MwCompilation *compilation)
{
    return compilation->graph->trains.count > 0;
}

/* The levels of recomputation, from least to most, that the layers may have; and the last one in
 * the order of the levels, where layers may stream that of those. */
static inline MwRematLevel mw_least_remat(const MwCompilation *compilation)
{
    const MwRemat remat = compilation->options.remat;
    return remat == MW_REMAT_SEARCH ? MW_LAYER_KEEPS : (MwRematLevel)(remat - MW_REMAT_NONE);
}

static inline MwRematLevel mw_most_remat(const MwCompilation *compilation)
{
    const bool may = mw_trains(compilation) && compilation->options.remat == MW_REMAT_SEARCH;
    return may ? MW_LAYER_RECOMPUTES : mw_least_remat(compilation);
}

static inline MwRematLevel mw_last_remat(const MwCompilation *compilation)
{
    const MwCompileOptions *options = &compilation->options;
    const bool may_stream =
        mw_most_remat(compilation) > mw_least_remat(compilation) && compilation->cluster &&
        compilation->cluster->host.memory_bytes > 0 &&
        (options->may_stream || (options->has_offload && options->offload != MW_OFFLOAD_NONE));
    return may_stream ? MW_LAYER_STREAMS : mw_most_remat(compilation);
}

/* Whether the pass update has run, or the graph is a dump after it: some node that is no rate of a
 * train statement runs in the update phase. */
static inline bool mw_is_updated(const MwGraph *graph)
{
    return mw_graph_has_phase(graph, MW_PHASE_UPDATE) && graph->rates.count == 0;
}

/* The number that the user asks for, on the command line or else in the source, where no two train
 * statements differ; 0: none. */
static inline int mw_wanted_micro_batches(const MwCompilation *compilation)
{
    int wanted = compilation->options.micro_batches;
    for (int i = 0; i < compilation->graph->trains.count && !wanted; i++)
        wanted = compilation->graph->trains.at[i].micro_batches;
    return wanted;
}

/* Stages on each mesh. A chunked schedule that the user names has at least two. */
static inline int mw_wanted_chunks(const MwCompileOptions *options)
{
    if (options->chunks > 0)
        return options->chunks;
    return options->has_schedule && mw_pipeline_info(options->schedule)->chunked ? 2 : 1;
}

/* Whether the user asks for a schedule: by its name, or by several chunks, which only one
 * schedule has. */
static inline bool mw_wants_schedule(const MwCompileOptions *options)
{
    return options->has_schedule || options->chunks > 1;
}

/* The schedule that the user asks for, if any. */
static inline MwPipelineKind mw_wanted_schedule(const MwCompileOptions *options)
{
    return options->has_schedule ? options->schedule : mw_pipeline_chunked();
}

/* The schedule that the user asks for, or the one that is tried first. */
static inline MwPipelineKind mw_usual_schedule(const MwCompilation *compilation)
{
    bool trains = mw_trains(compilation);
    return trains && mw_wants_schedule(&compilation->options)
               ? mw_wanted_schedule(&compilation->options)
               : mw_pipeline_first(trains);
}

#endif
