/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The best cut of a model into two or more stages, for one number of micro-batches and one
 * schedule. */
#ifndef MW_PASSES_STAGES_CHOICE_H
#define MW_PASSES_STAGES_CHOICE_H

#include "passes/stages/layout.h"
#include "solver/stages/stages.h"

typedef struct {
    const MwStageModel *model;
    MwStageCosts *costs; /* of the model */
    MwPipelineKind kind;
    int chunks;             /* stages on each mesh; with more than 1 all meshes have one size */
    int meshes;             /* number of meshes; 0: any from 2 on (allowed with 1 chunk only) */
    int least_stages;       /* lower bound of the number of stages */
    int least_devices;      /* fewest devices of a stage */
    int most_devices;       /* most devices of a stage; 0: no limit */
    const int *layer_stage; /* [layers] pinned stage, -1: free; NULL: all are free */
    int64_t most_effort;    /* of `costs`, beyond which only layouts of stages whose costs are known
                               are compared */
    bool is_optional;       /* no layout need be found beyond that */
    double memory_bytes;    /* of a device */
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

/* The answer lies in `arena`. */
MwStageChoiceAnswer mw_stage_choice(MwArena *arena, const MwStageChoiceQuery *query);

/* Devices of each mesh if `meshes` equal meshes fill the cluster; 0: they cannot. */
int mw_stage_equal_devices(MwStageCluster cluster, int meshes);

#endif
