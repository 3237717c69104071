/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stage problem: the cut of a row of layers into pipeline stages, each with its sub-mesh.
 *
 * Layers 0 .. layer_count - 1 are cut into stages of consecutive layers; the stages use every
 * device of the cluster once. A stage is run in one of the ways (candidates) that the caller
 * answers for its layers and sub-mesh. Of all that fit the memory, the least
 *
 *     total  = fill + steady + step
 *     fill   = sum over stages of fill_i + sum over cuts of latency
 *     fill_i = max(0, time_i - deferred * weight_time_i) / chunks, rounded down
 *     steady = max of  micro_batches * time_i - fill_i     over stages
 *                      (micro_batches - 1) * busy           over cuts
 *                      (micro_batches - 1) * round_i / n_i  over stages, rounded up, if `returns`
 *                                                           and n_i < micro_batches
 *     step   = max over stages of step_time_i
 *
 * With fill_i = time_i and no cuts that is Alpa's sum of t_i + (B - 1) max t_j (Zheng et al., OSDI
 * 2022, section 5.2). n_i are the micro-batches stage i has in flight at most and round_i the time
 * from a micro-batch's start on it to its return: fill_i and all fills and latencies after it. By
 * Little's law no more than n_i start in a round; this is what transfers cost a 1F1B pipeline even
 * when they overlap with computation. `step` holds that every stage's update follows the last
 * backward of the step; what of it hides behind the draining of earlier stages is not counted.
 *
 * All times are picoseconds, >= 0, and small enough that a step stays below MW_FORBIDDEN of
 * solver/cost.h (26 days). Bytes are of one device. The solver knows nothing of graphs. */
#ifndef MW_SOLVER_STAGES_PROBLEM_H
#define MW_SOLVER_STAGES_PROBLEM_H

#include "solver/stages/submesh.h"

/* One way to run some layers on some sub-mesh. */
typedef struct {
    int64_t time;        /* of a micro-batch: forward and backward, collectives included */
    int64_t weight_time; /* the part of `time` that makes gradients of weights */
    int64_t step_time;   /* once per step: gradient synchronisation, update */
    int64_t kept_bytes;  /* all through the step: weights, states, accumulators */
    int64_t saved_bytes; /* per micro-batch in flight */
    int64_t peak_bytes;  /* beside these while a task runs */
} MwStageCandidate;

typedef struct {
    int begin, end, submesh;            /* asked: layers [begin, end) on a sub-mesh, by index */
    int count;                          /* answered: how many candidates; 0: none */
    const MwStageCandidate *candidates; /* the caller's; read before the next question only */
} MwStageQuery;

/* A cut between two layers, of all transfers of a micro-batch there. */
typedef struct {
    int64_t latency; /* forth and back, added to `fill` */
    int64_t busy;    /* how long a micro-batch occupies the link (its busier direction) */
} MwStageCut;

/* The schedule's coefficients: those of a training step are `deferred`, `returns` and `by_stages`
 * of schedule/schedule.def. For inference, times are those of the forward pass.
 *
 * Where a mesh holds V stages (chunks), `chunks` is V * V: each of the V counts as all of them
 * together, V times its own time. They share what one of them waits, so that `fill` has a V-th of
 * its own time, a V * V-th of that. */
typedef struct {
    int64_t micro_batches; /* at least 1 */
    int chunks;            /* at least 1; the fill is divided by it */
    int deferred;          /* how many weight_times of the fill are filled with work */
    bool returns;          /* needs chunks 1 and deferred 0 */
    bool by_stages;        /* in_flight looks at `stages`, not at `remaining` alone */
    /* Micro-batches that a stage keeps, `remaining` stages being after it; at least 1. */
    int64_t (*in_flight)(const void *context, int stages, int remaining);
    const void *context;
} MwStageSchedule;

typedef struct {
    int layer_count;
    MwStageCluster cluster;
    int64_t memory_bytes;   /* of a device; INT64_MAX: no limit */
    const MwStageCut *cuts; /* [layer_count]: cuts[l] is before layer l (cuts[0]: never read);
                               NULL: cuts are free */
    MwStageSchedule schedule;
    /* Same class, same answers on every sub-mesh: intervals_class[begin * (layer_count + 1) + end]
     * in [0, class_count). Only one interval of a class is asked. NULL: all differ. */
    const int *interval_class;
    int class_count;

    /* Pins. */
    int least_stages, most_stages; /* 0: free */
    int submesh;                   /* the index that all stages have; -1: free */
    const int *layer_stage;        /* [layer_count]: the stage of a layer; -1: free. NULL: all */

    /* Fills in the answers to `count` different questions; may work on them at the same time. */
    void (*answer)(void *context, MwStageQuery *queries, int count);
    /* A candidate that is no worse in any respect than any of the answer (no greater; weight_time
     * no less), in far less time than the answer takes; false if there will be none. Intervals
     * whose bound cannot be in a better cut are never asked. NULL: all are asked, at once. */
    bool (*bound)(void *context, int begin, int end, int submesh, MwStageCandidate *bound);
    void *context;
} MwStageProblem;

/* Why there is no answer, the first that holds. */
typedef enum {
    MW_STAGES_POSSIBLE,
    MW_STAGES_MEMORY,     /* with more memory there would be one */
    MW_STAGES_PINS,       /* without layer_stage there would be one, given more memory */
    MW_STAGES_UNANSWERED, /* every cut has a stage without candidates */
    MW_STAGES_DEVICES,    /* no allowed number of stages uses up the devices */
} MwStageReason;

#endif
