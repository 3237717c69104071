/* SPDX-License-Identifier: MIT */
/* Runs other programs, such as the compilers of kernels. */
#ifndef MW_BASE_PROCESS_H
#define MW_BASE_PROCESS_H

#include "base/base.h"

/* Runs a command and waits for it. `words` ends with NULL; the first is searched in PATH.
 * `output` is a file descriptor for its standard output, or -1 for that of this process. Returns
 * its exit status, 1 if a signal ended it, or -1 with errno set if it cannot be run. */
int mw_process_run(const char *const *words, int output);

#endif
