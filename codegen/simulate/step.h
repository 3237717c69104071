/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One step of all meshes, event by event. */
#ifndef MW_CODEGEN_SIMULATE_STEP_H
#define MW_CODEGEN_SIMULATE_STEP_H

#include "base/vec.h"
#include "codegen/simulate/links.h"
#include "codegen/simulate/programs.h"
#include "codegen/simulate/simulation.h"

/* What is the same in all steps. */
typedef struct {
    MwTraffic traffic;
    MwSimProgram *programs;
} MwSimMesh;

typedef struct {
    const MwPlan *plan;
    const MwSimulateOptions *options;
    MwSimMesh *meshes; /* [meshes] */
    MwRoutes routes;
} MwSimPlan;

typedef MW_VEC(MwSimulatedTask) MwSimulatedTasks;
typedef MW_VEC(MwSimulatedMessage) MwSimulatedMessages;

/* Records of a step, in an arena that outlives it. */
typedef struct {
    MwArena *arena;
    MwSimulatedTasks tasks;
    MwSimulatedMessages messages;
} MwSimRecord;

typedef struct {
    double step_s;
    int64_t events;
    MwSimulatedMesh *meshes; /* [meshes] */
    MwSimulatedPath path;
} MwSimStep;

/* Simulates step `step`, counted from 0. `record` may be NULL. */
MwSimStep mw_sim_step(MwArena *arena, const MwSimPlan *of, int step, MwSimRecord *record);

#endif
