/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The operands and arguments of a kernel, where its functions declare and pass them. */
#ifndef MW_CODEGEN_PRINT_CUDA_SIGNATURE_H
#define MW_CODEGEN_PRINT_CUDA_SIGNATURE_H

#include "base/text.h"
#include "codegen/kernel/kernel.h"

/* "(const float *__restrict__ p0, int64_t a0)" and "(p0, a0)" */
const char *mw_cuda_parameters(MwArena *arena, const MwKernelDef *kernel);
const char *mw_cuda_arguments(MwArena *arena, const MwKernelDef *kernel);
/* The arguments that are passed by their addresses, as first lines of a function: "const int64_t a0
 * = *s0;" */
void mw_cuda_print_loaded_args(MwText *text, const MwKernelDef *kernel);
/* Both as variables of the function that the executor calls (runtime/plan/kernel.h). */
void mw_cuda_print_host_values(MwText *text, const MwKernelDef *kernel);

#endif
