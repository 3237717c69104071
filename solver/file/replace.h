/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replacement of an output file: it is written whole or not at all. */
#ifndef MW_SOLVER_FILE_REPLACE_H
#define MW_SOLVER_FILE_REPLACE_H

#include "base/diag.h"

/* Replaces the file at `path` by what `write` writes to `fd` (base/new_file.h). `write` leaves `fd`
 * open; if it returns false, with errno set, the old file stays. Returns false after an error. */
bool mw_file_replace(const char *path, bool (*write)(int fd, const void *context),
                     const void *context, MwDiags *diags);

#endif
