/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Units as instructions of the plan. */
#ifndef MW_CODEGEN_PLAN_INSTRS_H
#define MW_CODEGEN_PLAN_INSTRS_H

#include "codegen/plan/kernel_pool.h"
#include "codegen/plan/reuse.h"
#include "codegen/plan/storage.h"
#include "cost/cost.h"

/* The data from which the instructions of a stage are made. */
typedef struct {
    MwArena *arena;
    const MwLegal *legal;
    const MwUnits *units;
    const MwStorage *storage;
    const MwKernelCall *calls; /* [units] of those that are kernels */
    MwCostModel model;         /* of the mesh: predicts how long each instruction takes */
    MwKernelPool *pool;
    MwReuse *reuse; /* of the instructions so far */
} MwEmitter;

/* The instruction of a unit, but for operator_index; false if there is nothing to do. The target of
 * a send or receive is the number of its transfer. */
bool mw_instr_of_unit(MwEmitter *e, int unit, MwPlanInstr *instr);

/* Collectives of one kind, axis, type and combination, at least two, as one instruction. */
MwPlanInstr mw_instr_of_bucket(MwEmitter *e, const MwPlanInstr *const *parts, int count);

/* Copies a buffer to another. */
MwPlanInstr mw_instr_of_copy(MwEmitter *e, int from, int to, int64_t bytes);

#endif
