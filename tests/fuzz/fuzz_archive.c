/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Archives of any bytes: their members are listed or there is a message, and a member that opens is
 * read to its end. */
#include "runtime/data/npy.h"
#include "runtime/data/npz.h"
#include "tests/fuzz/fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

static void read_member(MwArena *arena, const MwFeedFile *archive, const MwMember *member)
{
    MwFault fault = {0};
    MwFeedFile file;
    MwNpy npy;
    char begin[MW_NPY_MOST_HEADER_BYTES];
    if (!mw_archive_open(arena, archive, member, &file, &fault)) {
        MW_ASSERT(*fault.text);
        return;
    }
    const int64_t bytes = mw_min(file.bytes, sizeof begin);
    MW_ASSERT(mw_feed_file_read(&file, 0, bytes, begin, &fault));
    MW_ASSERT(mw_feed_file_read(&file, file.bytes - bytes, bytes, begin, &fault));
    mw_feed_file_read(&file, 0, bytes, begin, &fault);
    if (mw_npy_read(begin, file.bytes, &npy, &fault)) {
        int64_t elements = 1;
        for (int d = 0; d < npy.rank; d++)
            elements *= npy.dim[d];
        MW_ASSERT(npy.offset + elements * npy.type.bytes <= file.bytes);
    }
    mw_feed_file_close(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    MwArena *arena = mw_arena_new();
    MwFault fault = {0};
    MwMembers members;
    MwFeedFile archive = {.path = "fuzz.npz", .descriptor = memfd_create("fuzz", MFD_CLOEXEC)};
    MW_ASSERT(archive.descriptor >= 0 && write(archive.descriptor, data, bytes) == (ssize_t)bytes);
    archive.bytes = (int64_t)bytes;
    if (mw_archive_list(arena, &archive, &members, &fault))
        for (int i = 0; i < members.count; i++)
            read_member(arena, &archive, &members.at[i]);
    else
        MW_ASSERT(*fault.text);
    mw_feed_file_close(&archive);
    mw_arena_free(&arena);
    return 0;
}
