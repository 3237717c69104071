/* SPDX-License-Identifier: MIT */
/* A data file of a run. It is read and not mapped: a file that something cuts off or a disk that
 * fails while the run goes on is then a fault like any other, and not a signal. */
#ifndef MW_RUNTIME_DATA_FEED_FILE_H
#define MW_RUNTIME_DATA_FEED_FILE_H

#include "runtime/exec/fault.h"

typedef struct {
    const char *path; /* the caller's */
    int descriptor;
    int64_t bytes; /* when it was opened */
} MwFeedFile;

/* Only regular files: each rank reads at places of its own. */
bool mw_feed_file_open(MwFeedFile *file, const char *path, MwFault *fault);
/* Bytes [offset, offset + bytes), which were there when it was opened. */
bool mw_feed_file_read(const MwFeedFile *file, int64_t offset, int64_t bytes, void *to,
                       MwFault *fault);
void mw_feed_file_close(MwFeedFile *file);

#endif
