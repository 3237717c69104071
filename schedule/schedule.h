/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pipeline schedules as data: the order in which each mesh runs its tasks in one step.
 *
 * Stage s of the model is chunk s / meshes of mesh s % meshes. A schedule states only the order:
 * a task begins when the previous task of its mesh has ended and its inputs have arrived from
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

/* A row of schedule.def, whose head gives the meaning of the columns. */
typedef struct {
    const char *name, *what;
    bool splits, chunked, trains;
    int turn;
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
    int *slots;    /* [chunks]: the most micro-batches in flight at once in each chunk */
} MwMeshSchedule;

typedef struct {
    MwPipelineKind kind;
    int mesh_count, micro_batches, chunks;
    MwMeshSchedule *meshes; /* [mesh_count] */
} MwPipelineSchedule;

static inline int mw_pipeline_stage(const MwPipelineSchedule *schedule, int mesh, int chunk)
{
    return chunk * schedule->mesh_count + mesh;
}

/* The most micro-batches that are at once between the beginning of their task of kind `from` and
 * the end of their task of kind `to` in a chunk of a mesh: the slots of a buffer that these two
 * tasks share. The schedule has both kinds, and `from` runs first. */
int mw_pipeline_slots(const MwPipelineSchedule *schedule, int mesh, int chunk, MwTaskKind from,
                      MwTaskKind to);

#endif
