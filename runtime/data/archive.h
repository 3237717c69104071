/* SPDX-License-Identifier: MIT */
/* The members of a zip archive, as files: the .npz files of NumPy are such archives of .npy files.
 * A stored member is read in place. A deflated one is inflated once, into a file without a name in
 * the folder for temporary files, since rows are read in any order. Archives and members may be
 * larger than 4 GiB (zip64). PKWARE, ".ZIP File Format Specification", 6.3.9. */
#ifndef MW_RUNTIME_DATA_ARCHIVE_H
#define MW_RUNTIME_DATA_ARCHIVE_H

#include "base/vec.h"
#include "runtime/data/feed_file.h"

typedef struct {
    const char *name;
    int method; /* 0: stored, 8: deflated */
    bool is_encrypted;
    uint32_t crc;  /* of its bytes */
    int64_t bytes; /* of it, and as it is in the archive */
    int64_t packed_bytes;
    int64_t header; /* offset of its local header */
} MwMember;

typedef MW_VEC(MwMember) MwMembers;

/* Lists the members of an open archive. */
bool mw_archive_list(MwArena *arena, const MwFeedFile *archive, MwMembers *members, MwFault *fault);
/* Opens a member of that list. The file's path is "ARCHIVE[NAME]". */
bool mw_archive_open(MwArena *arena, const MwFeedFile *archive, const MwMember *member,
                     MwFeedFile *file, MwFault *fault);

#endif
