/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Problem files are written whole or not at all. */
#ifndef MW_SOLVER_FILE_REPLACE_H
#define MW_SOLVER_FILE_REPLACE_H

#include "base/diag.h"

/* What `write` writes to `fd`, which it leaves open, takes the place of what is at `path`
 * (base/new_file.h); nothing does if it returns false, with errno set. False after an error. */
bool mw_replace(const char *path, bool (*write)(int fd, const void *context), const void *context,
                MwDiags *diags);

#endif
