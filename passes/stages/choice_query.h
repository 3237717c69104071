/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is asked of the search for the best cut of a model into two or more stages, for one number
 * of micro-batches and one schedule, and its answer. */
#ifndef MW_PASSES_STAGES_CHOICE_QUERY_H
#define MW_PASSES_STAGES_CHOICE_QUERY_H

#include "passes/stages/layout.h"
#include "solver/stages/stages.h"

typedef struct {
    const MwStageModel *model;
    MwStageCosts *costs; /* of the model */
    int threads;         /* on which several logical meshes may be compared at once */
    MwPipelineKind kind;
    int chunks;             /* stages on each mesh; with more than 1 all meshes have one size */
    int meshes;             /* number of meshes; 0: any from 2 on (allowed with 1 chunk only) */
    bool are_equal;         /* meshes of one size alone are wanted */
    int least_stages;       /* lower bound of the number of stages */
    int least_devices;      /* fewest devices of a stage */
    int most_devices;       /* most devices of a stage; 0: no limit */
    const int *layer_stage; /* [layers] pinned stage, -1: free; NULL: all are free */
    int64_t most_effort;    /* of `costs`, beyond which only layouts of stages whose costs are known
                               are compared */
    bool is_optional;       /* no layout need be found beyond that */
    bool needs_no_reason;   /* why there is no layout is not asked for, where that takes long */
    /* only layouts are wanted whose step is shorter; INFINITY, 0: all */
    double below_s;
    /* where stages go down the meshes and up again: only those are wanted that are shorter without
     * a bubble, as a schedule with a shorter one has a layout of that; 0: all */
    double ideal_below_s;
    double memory_bytes; /* of a device */
} MwStageChoiceQuery;

typedef struct {
    MwStageReason reason;
    /* if reason is POSSIBLE; with its time and memory (mw_stage_layout_price) */
    MwStageLayout layout;
    double needed_bytes; /* if reason is MEMORY: a device needs at least this; 0: not known */
    /* a lower bound of the step time of the layouts that the search did not compare, because that
     * would have taken too long; INFINITY: it compared all */
    double left_out_s;
} MwStageChoiceAnswer;

/* Whether there is a layout, and it fits the memory. */
static inline bool mw_stage_choice_fits(const MwStageChoiceQuery *query,
                                        const MwStageChoiceAnswer *answer)
{
    return answer->reason == MW_STAGES_POSSIBLE &&
           answer->layout.needed_bytes <= query->memory_bytes;
}

/* Whether the first is better: a layout that fits, one that takes less time, or a more informative
 * reason. */
static inline bool mw_stage_choice_is_better(const MwStageChoiceQuery *query,
                                             const MwStageChoiceAnswer *a,
                                             const MwStageChoiceAnswer *b)
{
    if (a->reason != b->reason)
        return a->reason < b->reason;
    if (a->reason != MW_STAGES_POSSIBLE)
        return a->needed_bytes < b->needed_bytes;
    const bool fits = mw_stage_choice_fits(query, a);
    return fits != mw_stage_choice_fits(query, b) ? fits : a->layout.step_s < b->layout.step_s;
}

#endif
