/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stage problem of pipelines that go down the meshes and up again (MW_PLACE_VEE of
 * schedule/schedule.h): p equal meshes, and layers 0 .. layer_count - 1 cut into 2p - 1 stages.
 * Mesh i < p - 1 runs stages i and 2p - 2 - i, mesh p - 1 the one in the middle. A stage runs in
 * one of the ways (candidates) that the caller gives for its layers.
 *
 * The two stages of a mesh need not be alike, as the stages of problem.h must be: what counts is
 *
 *     time of a mesh = t + u + uneven * |t - u|    t, u: the times of its stages; one stage: t
 *
 * The schedules assume that t and u are equal, and meshes wait where they are not. Among all cuts
 * that fit the memory, the least time of the mesh that takes longest is wanted. The schedule's
 * bubble is the same for all, but for what the timeline knows.
 *
 * A mesh holds, for a stage, its kept bytes, and for each kind of life as many slots as the
 * schedule has of it; and, for all its stages together, the largest of their peaks.
 *
 * With L layers and c candidates, a mesh whose layers take the wanted time having d of them, time
 * grows with p L d^2 c for each of the log2(1 / gap) times that are tried; memory with p L^2. */
#ifndef MW_SOLVER_STAGES_VEE_H
#define MW_SOLVER_STAGES_VEE_H

#include "solver/stages/problem.h"

/* Kinds of life of what a micro-batch keeps, such as from forward to backward. */
enum { MW_VEE_LIVES = 3 };

typedef struct {
    int64_t time; /* of all micro-batches of a step, and once per step; picoseconds */
    int64_t kept_bytes;
    int64_t live_bytes[MW_VEE_LIVES]; /* of a micro-batch */
    int64_t peak_bytes;
} MwVeeCandidate;

/* Slots of a mesh, by chunk, as in schedule.h, and kind of life. */
typedef struct {
    int of[2][MW_VEE_LIVES];
} MwVeeSlots;

typedef struct {
    int count; /* 0: the layers cannot run, or it is not known how */
    const MwVeeCandidate *candidates;
} MwVeeAnswer;

typedef struct {
    int layer_count, meshes; /* meshes: at least 2 */
    int64_t memory_bytes;    /* of a device; INT64_MAX: no limit */
    int64_t time_below;      /* only cuts are wanted whose time is below this; 0: all */
    bool needs_no_reason;    /* why there is no cut is not asked for */
    double uneven;           /* 0 to 1, as above */
    double gap;              /* the time may be above the least by so much of it */
    /* of all cuts within it, one is wanted with the least sum of the differences of the stages of
     * each mesh, and not just any */
    bool is_evenest;
    const int *layer_stage;  /* [layer_count] stage of each layer; -1: free. NULL: all free */
    const MwVeeSlots *slots; /* [meshes] */
    /* Answers for layers [begin, end); asked once for each. The answer lives as long as the problem
     * is solved. */
    MwVeeAnswer (*answer)(void *context, int begin, int end);
    void *context;
} MwVeeProblem;

typedef struct {
    /* POSSIBLE; MEMORY: with more memory a cut would exist; PINS: without layer_stage one would,
     * given enough memory; UNANSWERED: no cut has candidates for all stages; TOTAL: none is below
     * `time_below`, or no reason is asked for */
    MwStageReason reason;
    int64_t time;         /* of the mesh that takes longest, if POSSIBLE */
    int64_t needed_bytes; /* if MEMORY: what a device needs, up to a hundredth */
    int *begin;           /* [2 * meshes] stage s has layers [begin[s], begin[s + 1]) */
    int *candidate;       /* [2 * meshes - 1] index into the answer */
} MwVeeCut;

/* The arrays lie in `arena`. Deterministic. */
MwVeeCut mw_vee_cut(MwArena *arena, const MwVeeProblem *problem);

#endif
