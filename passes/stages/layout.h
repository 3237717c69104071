/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A layout: which layers run on which devices, by which schedule; its step time and memory. */
#ifndef MW_PASSES_STAGES_LAYOUT_H
#define MW_PASSES_STAGES_LAYOUT_H

#include "passes/stages/cost.h"
#include "schedule/timeline.h"

typedef struct {
    int begin, end; /* layers [begin, end) */
    int first_device;
    MwStageCost cost;
    double needed_bytes; /* of a device for this stage alone; set by mw_stage_layout_price */
    MwStageTimes times;  /* set by mw_stage_layout_price; the order of tasks may follow from them */
} MwLayoutStage;

typedef struct {
    MwPipelineKind kind;
    int micro_batches;
    int chunks;            /* the most stages of a mesh */
    int stage_count;       /* that of a number of meshes; `kind` places them */
    MwLayoutStage *stages; /* in order; stages of one mesh have the same logical mesh */
    double step_s;         /* step time; set by mw_stage_layout_price */
    double ideal_s;        /* step time if no mesh ever waited; set by mw_stage_layout_price */
    double needed_bytes;   /* of the device that needs most; set by mw_stage_layout_price */
} MwStageLayout;

/* Number of meshes; 0 if the layout has no stages. */
int mw_stage_layout_meshes(const MwStageLayout *layout);

/* Devices of the cluster, from `first` on. */
typedef struct {
    int first, count;
} MwStageDevices;

/* Seconds of bringing a tensor between the devices of two stages that are not solved yet: as if
 * those of each divided its first dimension, and where that leaves some of them, its second. */
double mw_stage_transfer_s(const MwCluster *cluster, const MwTensor *tensor, MwStageDevices from,
                           MwStageDevices to);

/* The step time of a layout that has a price, if its stages shared the work as evenly as can be. */
double mw_stage_layout_even_s(const MwStageLayout *layout);

/* Computes the step time, from the timeline of the schedule and the update after it, and the
 * memory of the layout. */
void mw_stage_layout_price(const MwStageModel *model, MwStageLayout *layout);

/* The part of the memory of its mesh that a stage may use: what it needs of what all chunks need.
 * What is used while a task runs is in the part of each chunk, and chunks share it, so that parts
 * add up to more than 1. */
double mw_stage_layout_memory_share(const MwStageLayout *layout, int stage);

/* The staging of the layout for the passes after `stages`, in `arena` and without alternatives.
 * `costs` are those that the costs of its stages come from. */
MwStaging mw_stage_layout_staging(MwArena *arena, MwStageCosts *costs, const MwStageLayout *layout);

/* The order of tasks of a layout that has a price, in `arena`. */
MwPipelineSchedule *mw_stage_layout_schedule(MwArena *arena, const MwStageLayout *layout);

/* Bytes that a device needs for one stage alone, by that order. */
double mw_stage_layout_bytes(const MwStageLayout *layout, const MwPipelineSchedule *schedule,
                             int stage);

/* The query whose results the cost of a stage is one of. */
MwStageCostQuery mw_stage_layout_cost_query(const MwStageLayout *layout, int stage);

/* "4 stages, 1f1b, 16 micro-batches"; "several stages, ..." if the layout has no stages. */
const char *mw_stage_layout_name(MwArena *arena, const MwStageLayout *layout);

#endif
