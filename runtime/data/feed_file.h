/* SPDX-License-Identifier: MIT */
/* A data file of a run. It is read, not mapped, so that a file that is truncated or a disk that
 * fails during the run is a fault, not a signal. */
#ifndef MW_RUNTIME_DATA_FEED_FILE_H
#define MW_RUNTIME_DATA_FEED_FILE_H

#include "runtime/exec/fault.h"

typedef struct {
    const char *path; /* owned by the caller */
    int descriptor;
    int64_t bytes; /* size when it was opened */
    int64_t begin; /* where it begins in what the descriptor is of, as a member of an archive */
} MwFeedFile;

/* A data set may have more files than shells let a process open. After a call that failed with
 * errno EMFILE, takes the limit that the system sets. True if the call may be tried again. */
bool mw_feed_file_allow_more(void);

/* Regular files only, since each rank reads at positions of its own. */
bool mw_feed_file_open(MwFeedFile *file, const char *path, MwFault *fault);
/* Reads bytes [offset, offset + bytes), which the file had when it was opened. */
bool mw_feed_file_read(const MwFeedFile *file, int64_t offset, int64_t bytes, void *to,
                       MwFault *fault);
void mw_feed_file_close(MwFeedFile *file);

#endif
