/* SPDX-License-Identifier: MIT */
/* A file in the making, which takes the place of what is at its path when it is complete. Until then
 * it has no name, so that nothing is left of it whatever ends the process; where the file system or
 * the system has no files without names, it has one beside its target. What is no regular file, as
 * /dev/stdout, is written to as it is. */
#ifndef MW_BASE_NEW_FILE_H
#define MW_BASE_NEW_FILE_H

#include "base/base.h"

typedef struct {
    int fd;          /* to write to */
    char *target;    /* what it becomes, links followed; NULL: written to as it is */
    char *temporary; /* what it is called meanwhile; NULL: nothing */
} MwNewFile;

/* False with errno set. One that was opened ends by keep, drop or fill. */
bool mw_new_file_open(MwNewFile *file, const char *path);
/* Syncs it, gives it its permission bits, e.g. 0644, and puts it in place. False with errno set, and
 * what was there is then as it was. */
bool mw_new_file_keep(MwNewFile *file, unsigned mode);
/* Errno stays. */
void mw_new_file_drop(MwNewFile *file);
/* Writes all that it is to hold, and keeps it; drops it if that fails: false with errno set. */
bool mw_new_file_fill(MwNewFile *file, const void *data, size_t bytes, unsigned mode);

#endif
