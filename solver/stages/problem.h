/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stage problem: a sequence of layers is cut into pipeline stages, each with its sub-mesh.
 *
 * Layers 0 .. layer_count - 1 are cut into stages of consecutive layers; together the stages use
 * every device of the cluster once. A stage runs in one of the ways (candidates) that the caller
 * gives for its layers and sub-mesh. Among all solutions that fit the memory, the least total is
 * wanted:
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
 * With fill_i = time_i and no cuts this is Alpa's sum of t_i + (B - 1) max t_j (Zheng et al., OSDI
 * 2022, section 5.2). n_i is the greatest number of micro-batches that stage i has in flight.
 * round_i is the time from the start of a micro-batch on the stage to its return: fill_i and all
 * fills and latencies after it. By Little's law at most n_i micro-batches start in a round; this is
 * what transfers cost a 1F1B pipeline even if they overlap with computation. `step` assumes that
 * every stage's update follows the last backward of the step; an update that overlaps with the
 * draining of earlier stages is not credited.
 *
 * All times are picoseconds, at least 0, and small enough that a step stays below MW_FORBIDDEN of
 * solver/cost.h (26 days). Bytes are per device. */
#ifndef MW_SOLVER_STAGES_PROBLEM_H
#define MW_SOLVER_STAGES_PROBLEM_H

#include "solver/stages/submesh.h"

/* One way to run some layers on some sub-mesh. */
typedef struct {
    int64_t time;        /* time of a micro-batch: forward and backward, collectives included */
    int64_t weight_time; /* the part of `time` that computes gradients of weights */
    int64_t step_time;   /* time once per step: gradient synchronisation, update */
    int64_t kept_bytes;  /* bytes used throughout the step: weights, states, accumulators */
    int64_t saved_bytes; /* bytes per micro-batch in flight */
    int64_t peak_bytes;  /* further bytes while a task runs */
} MwStageCandidate;

typedef struct {
    int begin, end, submesh; /* the question: layers [begin, end) on a sub-mesh, by index */
    int count;               /* the answer: number of candidates; 0: the layers cannot run there */
    const MwStageCandidate *candidates; /* owned by the caller; read before the next question
                                           only */
} MwStageQuery;

/* A cut between two layers: the sum of all transfers of a micro-batch there. */
typedef struct {
    int64_t latency; /* time forward and back, added to `fill` */
    int64_t busy;    /* time that a micro-batch occupies the link, in its busier direction */
} MwStageCut;

/* The schedule's coefficients. For a training step, `deferred`, `returns` and `by_stages` come from
 * schedule/schedule.def. For inference, times are those of the forward pass.
 *
 * If a mesh holds V stages (chunks), `chunks` is V * V: each of the V counts as all of them
 * together, with V times its own time. They share the wait of one of them, so that `fill` has a
 * V-th of its own time, which is a V * V-th of the counted time. */
typedef struct {
    int64_t micro_batches; /* at least 1 */
    int chunks;            /* at least 1; divisor of the fill */
    int deferred;          /* number of weight_times of the fill in which deferred work runs */
    bool returns;          /* the round trip limits the rate (`steady` above); requires chunks 1.
                              With `deferred`, fill_i is less than what the round has of a stage,
                              so that the limit is a bound */
    bool by_stages;        /* in_flight depends on `stages`, not on `remaining` alone */
    /* Returns the micro-batches that a stage keeps when `remaining` stages follow it; at least
     * 1. */
    int64_t (*in_flight)(const void *context, int stages, int remaining);
    const void *context;
} MwStageSchedule;

typedef struct {
    int layer_count;
    MwStageCluster cluster;
    int64_t memory_bytes;   /* bytes of a device; INT64_MAX: no limit */
    const MwStageCut *cuts; /* [layer_count] cuts[l] is before layer l (cuts[0] is never read);
                               NULL: cuts are free */
    /* Where each `stages_of_node` stages lie in one node, [layer_count] the cuts within a node:
     * those after which a number of stages comes that it does not divide. NULL: `cuts` has all. */
    const MwStageCut *inner_cuts;
    int stages_of_node; /* at least 1 with inner_cuts */
    MwStageSchedule schedule;
    /* Intervals of one class have the same answers on every sub-mesh: interval_class[begin *
     * (layer_count + 1) + end] is in [0, class_count). Only one interval of a class is asked. NULL:
     * all classes differ. */
    const int *interval_class;
    int class_count;

    int64_t total_below; /* only solutions are wanted whose total is below this; 0: all */

    /* Pins. */
    int least_stages, most_stages; /* 0: no limit */
    int submesh;                   /* index of the sub-mesh that all stages have; -1: free */
    const int *layer_stage;        /* [layer_count] stage of each layer; -1: free. NULL: all free */

    /* Answers `count` different questions; may work on them in parallel. */
    void (*answer)(void *context, MwStageQuery *queries, int count);
    /* Gives a candidate that bounds all candidates of the answer: no value is greater, and
     * weight_time is not less. It takes far less time than the answer. Returns false if the answer
     * will have no candidates. An interval whose bound excludes it from better solutions is never
     * asked. NULL: all intervals are asked at once. */
    bool (*bound)(void *context, int begin, int end, int submesh, MwStageCandidate *bound);
    /* Whether answers have taken as much time as they may. The search then asks only intervals
     * whose answers take none; if these make no cut, those of one more cut after another, unless
     * no cut is needed. NULL: never. */
    bool (*is_spent)(void *context);
    bool is_optional; /* no cut is needed */
    /* Whether the answer takes no time; read only if there is `is_spent`. */
    bool (*is_known)(void *context, int begin, int end, int submesh);
    void *context;
} MwStageProblem;

/* Why no solution exists; the first reason that holds. */
typedef enum {
    MW_STAGES_POSSIBLE,
    MW_STAGES_MEMORY,     /* with more memory a solution would exist */
    MW_STAGES_PINS,       /* without layer_stage a solution would exist, given enough memory */
    MW_STAGES_UNANSWERED, /* every cut has a stage without candidates */
    MW_STAGES_DEVICES,    /* no allowed number of stages uses all devices */
    MW_STAGES_TOTAL,      /* `total_below` is given, and none below it was found */
} MwStageReason;

#endif
