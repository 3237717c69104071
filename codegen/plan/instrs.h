/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Units as instructions of the plan, and the kernels they call. */
#ifndef MW_CODEGEN_PLAN_INSTRS_H
#define MW_CODEGEN_PLAN_INSTRS_H

#include "base/text.h"
#include "codegen/lower/lower.h"
#include "codegen/plan/storage.h"
#include "codegen/print/printer.h"
#include "cost/cost.h"
#include "passes/sharding/partition.h"

typedef struct {
    uint64_t hash;
    const char *body;
    int index;
} MwEmittedKernel;

/* The kernels of a plan, equal ones once, whichever mesh they run on. */
typedef struct {
    MwArena *arena;
    const MwKernelPrinter *printer;
    MW_VEC(MwPlanKernel) kernels;
    MW_VEC(MwEmittedKernel) bodies; /* by kernel */
    MwText source;                  /* functions so far */
} MwKernelPool;

MwKernelPool *mw_kernel_pool_new(MwArena *arena, const MwKernelPrinter *printer);
/* The whole unit: prelude, functions, table. */
const char *mw_kernel_pool_source(MwKernelPool *pool);

typedef struct {
    MwArena *arena;
    const MwLegal *legal;
    const MwUnits *units;
    const MwStorage *storage;
    MwKernelDef *const *kernels; /* [units] NULL: not a kernel */
    MwCostModel model;
    MwKernelPool *pool;
} MwEmitter;

MwEmitter mw_instr_begin(const MwLocalGraph *local, const MwLegal *legal, const MwUnits *units,
                         const MwStorage *storage, MwKernelDef *const *kernels,
                         const MwCluster *cluster, MwKernelPool *pool);

/* The instruction of a unit, but for operator_index; false if there is nothing to do. A kernel that was
 * there before is called again. The target of a send or receive is the number of its transfer. */
bool mw_instr_of_unit(MwEmitter *e, int unit, MwPlanInstr *instr);

/* Copies a buffer to another. */
MwPlanInstr mw_instr_of_copy(MwEmitter *e, int from, int to, int64_t bytes);

#endif
