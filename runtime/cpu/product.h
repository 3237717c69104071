/* SPDX-License-Identifier: MIT */
/* Large matrix products on oneDNN, whose kernels are compiled for the processor at hand: for its
 * AVX-512, and for products of bf16 where it has instructions for them. */
#ifndef MW_RUNTIME_CPU_PRODUCT_H
#define MW_RUNTIME_CPU_PRODUCT_H

#include "runtime/plan/kernel.h"

#include <stdbool.h>

/* Computes the product of the arguments of routine gemm, but for their offsets: `a`, `b` and `c`
 * are where the operands begin. False, and nothing is done, if the product is small, or oneDNN has
 * no kernel of its own for it. */
bool mw_product_onednn(const void *a, const void *b, void *c, const MwKernelArg *args);

#endif
