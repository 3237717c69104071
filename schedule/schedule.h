/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pipeline schedules as data: the order in which each mesh runs its tasks in one step.
 *
 * A mesh holds one or more stages of the model, its chunks, numbered in the order of the pipeline.
 * The placement of a schedule (MwPlacement) says which. A schedule states only the order: a task
 * begins when the previous task of its mesh has ended and its inputs have arrived from
 * the neighbouring stages (schedule/timeline.h computes when). Nothing here knows of graphs or
 * devices.
 *
 * A micro-batch is *in flight* in a chunk of a mesh from the beginning of its forward to the end
 * of its last task there, weight gradients included; for so long it holds memory.
 *
 * Invariant: on a mesh the tasks of one kind and chunk run in the order of the micro-batches.
 * The micro-batches in flight are therefore consecutive, and a buffer with `slots` slots serves
 * them all if micro-batch m uses slot m % slots. */
#ifndef MW_SCHEDULE_SCHEDULE_H
#define MW_SCHEDULE_SCHEDULE_H

#include "base/arena.h"

typedef enum {
#define SCHEDULE(id, ...) MW_PIPELINE_##id,
#include "schedule/schedule.def"
#undef SCHEDULE
    MW_PIPELINE_COUNT
} MwPipelineKind;

/* Which stages a mesh of p holds. */
typedef enum {
    MW_PLACE_ROUND_ROBIN, /* chunk c of mesh i is stage c p + i */
    /* Stages go down the meshes and up again. Chunk 0 of mesh i is stage i, chunk 1 is stage
     * 2p - 2 - i. Mesh p - 1, where the pipeline turns, has one stage, which does the work of two
     * others: its halves would be neighbours in the pipeline and on the mesh, and run one directly
     * after the other. With one chunk on each mesh stages only go down. */
    MW_PLACE_VEE,
} MwPlacement;

/* A row of schedule.def, whose head gives the meaning of the columns. */
typedef struct {
    const char *name, *what;
    bool splits, chunked, trains;
    MwPlacement placement;
    bool timed;
    int turn;
    bool late;
    MwPipelineKind leaner;
    int held;
    int deferred;
    bool returns, by_stages;
} MwPipelineInfo;

const MwPipelineInfo *mw_pipeline_info(MwPipelineKind kind);
/* False if no schedule has that name. */
bool mw_pipeline_parse(const char *name, MwPipelineKind *kind);
/* The name most similar to a mistyped one; NULL if none is similar. */
const char *mw_pipeline_suggest(const char *typed);

/* The schedule with turn 1, for training or inference. */
MwPipelineKind mw_pipeline_first(bool trains);
/* A schedule that is chunked. */
MwPipelineKind mw_pipeline_chunked(void);
/* A schedule that splits the backward. */
MwPipelineKind mw_pipeline_splitting(void);
/* The largest `held` of any schedule; it does not count schedules that keep all micro-batches. */
int mw_pipeline_most_held(void);

typedef enum {
    MW_TASK_FORWARD,        /* activations */
    MW_TASK_BACKWARD,       /* gradients by the stage's inputs and by its weights */
    MW_TASK_BACKWARD_INPUT, /* gradients by its inputs alone, which the previous stage waits for */
    MW_TASK_WEIGHT,         /* gradients by its weights, after BACKWARD_INPUT */
    MW_TASK_KIND_COUNT
} MwTaskKind;

const char *mw_task_kind_name(MwTaskKind kind); /* "backward_input" */
/* Whether schedules of kind `kind` have tasks of kind `task`. */
bool mw_pipeline_has_task(MwPipelineKind kind, MwTaskKind task);

typedef struct {
    MwTaskKind kind;
    int micro_batch, chunk;
} MwTask;

typedef struct {
    MwTask *tasks; /* [task_count], in the order in which they run */
    int task_count;
    int in_flight; /* the most pairs of micro-batch and chunk in flight at once */
    int *slots;    /* [mw_pipeline_mesh_chunks]: the most micro-batches in flight in each chunk */
} MwMeshSchedule;

typedef struct {
    MwPipelineKind kind;
    int mesh_count, micro_batches;
    int chunks;             /* the most of a mesh */
    MwMeshSchedule *meshes; /* [mesh_count] */
    /* how many results a stage must be able to send that the next has not received, so that no
     * mesh waits for ever */
    int sends_ahead;
} MwPipelineSchedule;

/* ---- Placement, of schedules of kind `kind` on `meshes` meshes with `chunks` chunks ---- */

/* The most chunks that a mesh may hold: 1, 2, or INT_MAX. */
int mw_pipeline_most_chunks(MwPipelineKind kind);
/* Number of stages. */
int mw_pipeline_stages(MwPipelineKind kind, int meshes, int chunks);
/* Number of meshes of so many stages; they have the stages of some number of meshes. */
int mw_pipeline_meshes(MwPipelineKind kind, int stages, int chunks);
/* The mesh of a stage. Its chunk there is stage / meshes. */
int mw_pipeline_mesh_of(MwPipelineKind kind, int meshes, int stage);
/* Number of stages that one mesh holds. */
int mw_pipeline_chunks_of(MwPipelineKind kind, int meshes, int chunks, int mesh);
/* The work of a stage, as a multiple of one chunk's, where all meshes have equal work. */
int mw_pipeline_parts_of(MwPipelineKind kind, int meshes, int chunks, int stage);

/* The stage of a part, where the work is cut into meshes * chunks parts in the order of the
 * pipeline. */
int mw_pipeline_stage_of_part(MwPipelineKind kind, int meshes, int chunks, int part);

/* The stage that is a chunk of a mesh. */
int mw_pipeline_stage(const MwPipelineSchedule *schedule, int mesh, int chunk);
/* Number of chunks of a mesh of the schedule; and of stages of all meshes. */
int mw_pipeline_mesh_chunks(const MwPipelineSchedule *schedule, int mesh);
int mw_pipeline_stage_count(const MwPipelineSchedule *schedule);
/* Number of tasks of a mesh of the schedule, whether they are there yet or not. */
int mw_pipeline_mesh_tasks(const MwPipelineSchedule *schedule, int mesh);

/* The most micro-batches that are at once between the beginning of their task of kind `from` and
 * the end of their task of kind `to` in a chunk of a mesh: the slots of a buffer that these two
 * tasks share. The schedule has both kinds, and `from` runs first. */
int mw_pipeline_slots(const MwPipelineSchedule *schedule, int mesh, int chunk, MwTaskKind from,
                      MwTaskKind to);

/* Sets the numbers of micro-batches in flight on a mesh from the order of its tasks, for schedules
 * that split the backward. */
void mw_mesh_schedule_count(MwPipelineSchedule *schedule, int mesh);

#endif
