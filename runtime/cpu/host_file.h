/* SPDX-License-Identifier: MIT */
/* What ranks on CPUs have as the memory of the host: a file, mapped. It has no name, so that
 * nothing is left behind however the process ends. */
#ifndef MW_RUNTIME_CPU_HOST_FILE_H
#define MW_RUNTIME_CPU_HOST_FILE_H

#include "runtime/exec/fault.h"

/* Maps a new file of `bytes` in `folder`; NULL: that of TMPDIR, or /tmp. The space is taken at
 * once. NULL after a fault. */
void *mw_host_file_map(const char *folder, int64_t bytes, MwFault *fault);
void mw_host_file_unmap(void *memory, int64_t bytes);

#endif
