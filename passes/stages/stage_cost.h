/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an interval of layers costs as a stage. */
#ifndef MW_PASSES_STAGES_STAGE_COST_H
#define MW_PASSES_STAGES_STAGE_COST_H

#include "ir/ir.h"
#include "passes/staging.h"
#include "schedule/schedule.h"

/* What a stage costs on one logical mesh. Times are seconds; bytes are of one device. */
typedef struct {
    MwMeshShape mesh;
    int price; /* level at which this is the best solution; 0: memory is free */
    /* `recomputed` layers are on this level of recomputation (mw_stage_costs_recomputed says
     * which), and the others on the one below (mw_remat_below); all keep what they make where it is
     * 0 */
    MwRematLevel remat;
    int recomputed;
    double forward_s;  /* of a micro-batch */
    double backward_s; /* of a micro-batch, without the gradients of weights */
    double weight_s;   /* of a micro-batch: gradients of weights */
    double step_s;     /* once per step: synchronisation of gradients, update of weights */
    double host_s;     /* of step_s: copies to and from the host, and the update there */
    /* of the times of a micro-batch, by phase: casts of weights, which copies of these that are
     * kept from step to step save */
    double cast_s[MW_PHASE_UPDATE];
    double copy_bytes;   /* of these copies, in addition to kept_bytes */
    double kept_bytes;   /* all through the step */
    double saved_bytes;  /* of each micro-batch, from forward to backward */
    double late_bytes;   /* of each micro-batch, from forward to the gradients of weights */
    double weight_bytes; /* of each micro-batch, from backward to the gradients of weights */
    double host_bytes;   /* of each micro-batch, from forward to backward, on the host */
    double peak_bytes;   /* in addition to all but those, while a task runs */
    /* the same, in addition to all but `weight_bytes`, where gradients of weights are computed in
     * the task of the backward */
    double joint_peak_bytes;
} MwStageCost;

/* Seconds of the tasks of one micro-batch. */
static inline double mw_stage_cost_time_s(const MwStageCost *cost)
{
    return cost->forward_s + cost->backward_s + cost->weight_s;
}

/* The cost with copies of weights in shorter types, kept from step to step. */
static inline MwStageCost mw_stage_cost_with_copies(MwStageCost cost)
{
    cost.forward_s -= cost.cast_s[MW_PHASE_FORWARD];
    cost.backward_s -= cost.cast_s[MW_PHASE_BACKWARD];
    cost.weight_s -= cost.cast_s[MW_PHASE_BACKWARD_WEIGHT];
    cost.kept_bytes += cost.copy_bytes;
    cost.copy_bytes = 0;
    for (int phase = 0; phase < MW_PHASE_UPDATE; phase++)
        cost.cast_s[phase] = 0;
    return cost;
}

/* Seconds of a step of the stage alone. */
static inline double mw_stage_cost_step_s(const MwStageCost *cost, int micro_batches)
{
    return micro_batches * mw_stage_cost_time_s(cost) + cost->step_s;
}

/* Bytes in addition to those between tasks while a task of a schedule runs. */
static inline double mw_stage_cost_peak_bytes(const MwStageCost *cost, MwPipelineKind kind)
{
    return mw_pipeline_info(kind)->splits ? cost->peak_bytes : cost->joint_peak_bytes;
}

#endif
