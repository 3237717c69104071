/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The C printer: kernels as C text, for the system's compiler on the CPU. */
#ifndef MW_CODEGEN_PRINT_C_H
#define MW_CODEGEN_PRINT_C_H

#include "base/text.h"
#include "codegen/kernel.h"

/* What every unit of generated C begins with: types, the functions of the expression language. */
void mw_c_print_prelude(MwText *text);

/* The body of the kernel's function, braces included. It names nothing outside the prelude, so
 * equal bodies are equal kernels. */
void mw_c_print_body(MwText *text, const MwKernelDef *kernel);

/* `comment` may hold several lines. */
void mw_c_print_function(MwText *text, const char *name, const char *comment, const char *body);

/* The table that the executor finds kernels in (runtime/kernel.h). */
void mw_c_print_table(MwText *text, const char *const *names, int count);

#endif
