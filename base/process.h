/* SPDX-License-Identifier: MIT */
/* Other programs, as the compilers of kernels. */
#ifndef MW_BASE_PROCESS_H
#define MW_BASE_PROCESS_H

#include "base/base.h"

/* Runs a command and waits for it: `words` ends with NULL; the first is looked for in PATH.
 * `output` is a file descriptor for what it prints on standard output, or -1 for this process's.
 * Its exit status, 1 where a signal ended it, or -1 with errno set where it cannot be run. */
int mw_process_run(const char *const *words, int output);

#endif
