/* SPDX-License-Identifier: MIT */
/* Gradients of filters as matrix products. Arguments and operands are those of the routine
 * conv_filter_grad (runtime/plan/routine.h). */
#ifndef MW_RUNTIME_CPU_FILTER_GRAD_H
#define MW_RUNTIME_CPU_FILTER_GRAD_H

#include "runtime/exec/fault.h"
#include "runtime/plan/routine.h"

/* Whether a product is faster than oneDNN's convolution: by the shapes, and where oneDNN has no
 * kernels for AVX-512. */
bool mw_filter_grad_is_product(const MwKernelArg *args);
/* Stores the gradient. One call at a time. False with `fault` set if there is no memory. */
bool mw_filter_grad(void *const *operands, const MwKernelArg *args, MwFault *fault);

#endif
