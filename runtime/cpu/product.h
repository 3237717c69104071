/* SPDX-License-Identifier: MIT */
/* Large matrix products on oneDNN, whose kernels are compiled for the processor at hand: for its
 * AVX-512, and for products of bf16 where it has instructions for them. */
#ifndef MW_RUNTIME_CPU_PRODUCT_H
#define MW_RUNTIME_CPU_PRODUCT_H

#include "runtime/exec/fault.h"
#include "runtime/plan/kernel.h"

typedef struct MwPreparedProduct MwPreparedProduct;

/* oneDNN's product for the arguments of routine gemm, but for their offsets; kept for the process.
 * NULL if the product is small, or oneDNN has no kernel of its own for it. */
const MwPreparedProduct *mw_product_prepared(const MwKernelArg *args);
/* Computes it of operands that begin there. False after a fault. */
bool mw_product_run(const MwPreparedProduct *product, const void *a, const void *b, void *c,
                    MwFault *fault);

#endif
