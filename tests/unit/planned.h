/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models as plans, and the commands of their steps. */
#ifndef MW_TESTS_UNIT_PLANNED_H
#define MW_TESTS_UNIT_PLANNED_H

#include "frontend/frontend.h"
#include "passes/pass.h"
#include "runtime/order/commands.h"

/* A model with what it is compiled for. */
typedef struct {
    const char *path, *mesh, *backend;
    const MwDefine *defines;
    int define_count;
    MwType precision;
    MwCompileOptions options;
} PlannedModel;

/* A plan that passes the checker. */
MwPlan *planned(MwArena *arena, const PlannedModel *model);
/* gpt in stages of two devices that split the batch alone, by 1f1b; with 32 rows, or more where
 * there are more micro-batches. */
MwPlan *planned_stages(MwArena *arena, int stages, int micro_batches, const char *backend);

/* gpt on a row of `ways` devices, on which keys and values go round; nothing is recomputed. */
MwPlan *planned_ring(MwArena *arena, int ways, int layers, int micro_batches, const char *backend);

MwCommandList planned_commands(MwArena *arena, const MwPlan *plan, int mesh, MwQueue collectives,
                               bool has_graphs);
const MwPlanInstr *planned_instr(const MwPlanMesh *mesh, const MwCommand *command);

/* Whether a command of the update sums over the devices: gradients, or the loss. */
bool planned_is_sum(const MwPlanMesh *mesh, const MwCommand *command);
/* Instructions of the backward between a sum and the first that uses its first part. */
int planned_overlap(const MwPlanMesh *mesh, const MwCommandList *commands, int sum);

#endif
