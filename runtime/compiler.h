/* SPDX-License-Identifier: MIT */
/* Runs the compilers of kernels, as other processes. */
#ifndef MW_RUNTIME_COMPILER_H
#define MW_RUNTIME_COMPILER_H

#include "base/backend.h"
#include "runtime/exec/fault.h"

/* The compiler of a backend's kernels: as the environment says, else `fallback`. */
const char *mw_compiler_of(MwBackendId backend, const char *fallback);

/* Runs a command whose words end with NULL, and waits for it. False after a fault, which calls the
 * program of the first word `what`, as "a C compiler". */
bool mw_compiler_run(const char *what, const char *const *words, MwFault *fault);

#endif
