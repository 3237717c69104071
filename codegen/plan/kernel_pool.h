/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernels of a plan as text. Kernels with equal bodies are one, whichever stage or mesh calls
 * them. */
#ifndef MW_CODEGEN_PLAN_KERNEL_POOL_H
#define MW_CODEGEN_PLAN_KERNEL_POOL_H

#include "base/text.h"
#include "codegen/fuse/units.h"
#include "codegen/print/printer.h"

typedef struct {
    uint64_t hash; /* of the body */
    const char *body;
} MwKernelBody;

typedef struct {
    MwArena *arena;
    const MwKernelPrinter *printer;
    MW_VEC(MwPlanKernel) kernels;
    MW_VEC(MwKernelBody) bodies; /* [kernels] */
    MwText source;               /* the prelude, and the functions so far */
} MwKernelPool;

MwKernelPool *mw_kernel_pool_new(MwArena *arena, const MwKernelPrinter *printer);

/* Index of the kernel whose body `kernel` has, a new one if there is none; it is named after the
 * operators of `unit`, and its comment says where in the model they stand. */
int mw_kernel_pool_add(MwKernelPool *pool, const MwLegal *legal, const MwUnit *unit,
                       const MwKernelDef *kernel);

/* The text of all kernels: prelude, functions, table. To be called once, at the end. */
const char *mw_kernel_pool_source(MwKernelPool *pool);

#endif
