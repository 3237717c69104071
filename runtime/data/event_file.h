/* SPDX-License-Identifier: MIT */
/* Event files of TensorBoard: numbers by step, under tags.
 *
 * Such a file is a TFRecord file, whose records are messages `Event` in the encoding of protocol
 * buffers. A record is the number of its bytes (64 bits), the masked CRC32C of that number, the
 * bytes, and their masked CRC32C, all little-endian. Each record is written by one call, so that a
 * reader never waits long for the rest of one. */
#ifndef MW_RUNTIME_DATA_EVENT_FILE_H
#define MW_RUNTIME_DATA_EVENT_FILE_H

#include "base/arena.h"
#include "runtime/exec/fault.h"

typedef struct MwEventFile MwEventFile;

/* Creates a file in the folder `dir`, which is made where it is not there, after those that the
 * folder has. Readers forget what these say of the steps from `first` on, which are done anew.
 * tags: [count] of the numbers that follow, which stay the caller's. NULL after a fault. */
MwEventFile *mw_event_file_open(MwArena *arena, const char *dir, const char *const *tags, int count,
                                int64_t first, MwFault *fault);
/* A range of the tags. */
typedef struct {
    int first, count;
} MwEventTags;

/* Writes numbers of a step, as floats. values: [tags.count] */
bool mw_event_file_add(MwEventFile *file, int64_t step, MwEventTags tags, const double *values,
                       MwFault *fault);
bool mw_event_file_close(MwEventFile **file, MwFault *fault);

#endif
