/* SPDX-License-Identifier: MIT */
/* Runs the compilers of kernels, as other processes. */
#ifndef MW_RUNTIME_COMPILER_H
#define MW_RUNTIME_COMPILER_H

#include "runtime/exec/fault.h"

/* Runs a command whose words end with NULL, and waits for it. False after a fault, which calls the program
 * of the first word `what`, as "a C compiler". */
bool mw_compiler_run(const char *what, const char *const *words, MwFault *fault);

#endif
