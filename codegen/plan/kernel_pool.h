/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernels of a plan as text. Kernels with equal bodies are one, whichever stage or mesh calls
 * them. The pool grows with the different bodies, and not with the kernels that are lowered. */
#ifndef MW_CODEGEN_PLAN_KERNEL_POOL_H
#define MW_CODEGEN_PLAN_KERNEL_POOL_H

#include "base/text.h"
#include "codegen/fuse/units.h"
#include "codegen/print/printer.h"

typedef struct {
    uint64_t hash; /* of the text */
    const char *text;
    int kernel; /* index of its kernel; -1: no instruction calls it yet */
    int operand_count, arg_count;
    bool takes_sets, on_host;
} MwKernelBody;

/* How a unit calls its kernel. */
typedef struct {
    int body; /* index in the pool; -1: there is nothing to do */
    MwPlanOperand *operands;
    MwPlanArg *args;
    int operand_count, arg_count;
    double flops, bytes; /* for the cost model */
    MwKernelRows rows;
} MwKernelCall;

typedef struct {
    MwArena *arena;
    /* of the devices, and of the host: the same where devices are the host's processors */
    const MwKernelPrinter *printer, *host_printer;
    MW_VEC(MwPlanKernel) kernels;
    MW_VEC(MwKernelBody) bodies;
    MwText source;      /* the prelude, and the functions so far */
    MwText host_source; /* the same of the host, where its printer is another */
} MwKernelPool;

MwKernelPool *mw_kernel_pool_new(MwArena *arena, const MwKernelPrinter *printer);

/* The printer of a kernel on the devices, or on the host. */
const MwKernelPrinter *mw_kernel_pool_printer(const MwKernelPool *pool, bool on_host);

/* The call of a kernel that is complete, whose body the pool keeps. */
MwKernelCall mw_kernel_pool_call(MwKernelPool *pool, const MwKernelDef *kernel, bool on_host);

/* Index of the kernel with a body. The first time it is named after the operators of `unit`, and
 * its comment says where in the model they stand. */
int mw_kernel_pool_use(MwKernelPool *pool, const MwLegal *legal, const MwUnit *unit, int body);

/* The text of all kernels: prelude, functions, table. To be called once, at the end. */
const char *mw_kernel_pool_source(MwKernelPool *pool);

#endif
