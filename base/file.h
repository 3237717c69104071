/* SPDX-License-Identifier: MIT */
/* Whole files. Reading returns the bytes with a NUL after them. Writing goes to a new file that
 * is synced and then renamed (base/new_file.h), so that a full disk or a crash never leaves half
 * a file in place of a good one. */
#ifndef MW_BASE_FILE_H
#define MW_BASE_FILE_H

#include "base/arena.h"

/* The contents of `path` in `arena`, or NULL with errno set. Devices are refused, because some
 * (/dev/zero) never end. */
char *mw_file_read(MwArena *arena, const char *path, size_t *bytes);

/* False with errno set; the file at `path` is then unchanged. `mode` is the permission bits,
 * e.g. 0644. */
bool mw_file_write(const char *path, const void *data, size_t bytes, unsigned mode);

/* Whether two paths lead to one file or folder, which is there. */
bool mw_file_is_same(const char *a, const char *b);

/* `path` as it is meant in the file `from`: relative to the folder of that file, in `arena`,
 * unless it begins with '/'. */
const char *mw_path_beside(MwArena *arena, const char *from, const char *path);

/* The folder for temporary files: $TMPDIR, or /tmp. */
const char *mw_file_scratch(void);

#endif
