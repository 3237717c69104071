/* SPDX-License-Identifier: MIT */
/* A new file that replaces the file at its path when it is complete. Until then it has no name,
 * so that nothing is left of it however the process ends. Where the file system or the operating
 * system has no files without names, it has a temporary name beside its target. A path that is
 * no regular file, such as /dev/stdout, is written directly. */
#ifndef MW_BASE_NEW_FILE_H
#define MW_BASE_NEW_FILE_H

#include "base/base.h"

typedef struct {
    int fd;          /* to write to */
    char *target;    /* its final path, with links followed; NULL: the path is written directly */
    char *temporary; /* its temporary path; NULL: it has no name */
} MwNewFile;

/* Opens the file. False with errno set. An open file ends by keep, drop or fill. */
bool mw_new_file_open(MwNewFile *file, const char *path);
/* Syncs the file, sets its permission bits, e.g. 0644, and moves it to its target. False with
 * errno set; the file at the target is then unchanged. */
bool mw_new_file_keep(MwNewFile *file, unsigned mode);
/* Discards the file; leaves errno unchanged. */
void mw_new_file_drop(MwNewFile *file);
/* Writes the whole contents and keeps the file. If that fails, drops it and returns false with
 * errno set. */
bool mw_new_file_fill(MwNewFile *file, const void *data, size_t bytes, unsigned mode);

/* Writes all bytes to an open file, in as many calls as it takes. False with errno set. */
bool mw_file_write_bytes(int fd, const void *data, size_t bytes);

#endif
