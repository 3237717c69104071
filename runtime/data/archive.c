/* SPDX-License-Identifier: MIT */
#include "runtime/data/archive.h"

#include "base/file.h"
#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum {
    STORED = 0,
    DEFLATED = 8,
    LOCAL_MAGIC = 0x04034b50,
    LOCAL_BYTES = 30,
    ENTRY_MAGIC = 0x02014b50,
    ENTRY_BYTES = 46,
    END_MAGIC = 0x06054b50,
    END_BYTES = 22,
    LOCATOR_MAGIC = 0x07064b50,
    LOCATOR_BYTES = 20,
    END64_MAGIC = 0x06064b50,
    END64_BYTES = 56,
    EXTRA_ZIP64 = 1,
    MOST_COMMENT_BYTES = 65535,
    MOST_DIRECTORY_BYTES = 1 << 26, /* of names and sizes: a million members */
    CHUNK_BYTES = 1 << 16           /* read and inflated at a time; chosen, not measured */
};

static uint64_t number(const unsigned char *at, int bytes)
{
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; i--)
        value = value << 8 | at[i];
    return value;
}

static bool is_broken(const MwFeedFile *archive, const char *what, MwFault *fault)
{
    return mw_fault_set(fault, "%s is no zip archive, or a damaged one: %s", archive->path, what);
}

/* Reads bytes that may lie outside of the archive, which is a fault. */
static bool read_at(const MwFeedFile *archive, uint64_t offset, int64_t bytes, unsigned char *to,
                    MwFault *fault)
{
    if (bytes > archive->bytes || offset > (uint64_t)(archive->bytes - bytes))
        return is_broken(archive, "it is too short", fault);
    return mw_feed_file_read(archive, (int64_t)offset, bytes, to, fault);
}

/* ---- The directory ---- */

typedef struct {
    uint64_t offset, bytes;
} Directory;

/* Where a zip64 archive has its directory; `end` is the offset of the end record. */
static bool find_directory64(const MwFeedFile *archive, int64_t end, Directory *directory,
                             MwFault *fault)
{
    unsigned char locator[LOCATOR_BYTES], record[END64_BYTES];
    if (end < LOCATOR_BYTES)
        return is_broken(archive, "it has no directory", fault);
    if (!read_at(archive, (uint64_t)(end - LOCATOR_BYTES), LOCATOR_BYTES, locator, fault))
        return false;
    if (number(locator, 4) != LOCATOR_MAGIC)
        return is_broken(archive, "it has no directory", fault);
    if (!read_at(archive, number(locator + 8, 8), END64_BYTES, record, fault))
        return false;
    if (number(record, 4) != END64_MAGIC)
        return is_broken(archive, "it has no directory", fault);
    *directory = (Directory){number(record + 48, 8), number(record + 40, 8)};
    return true;
}

/* The end record is the last one whose comment ends with the archive. */
static bool find_directory(const MwFeedFile *archive, Directory *directory, MwFault *fault)
{
    const int64_t bytes = mw_min(archive->bytes, END_BYTES + MOST_COMMENT_BYTES);
    const int64_t begin = archive->bytes - bytes;
    unsigned char *tail = malloc((size_t)bytes + 1);
    MW_ASSERT(tail);
    bool good = read_at(archive, (uint64_t)begin, bytes, tail, fault);
    int64_t at = bytes - END_BYTES;
    while (good && at >= 0 &&
           !(number(tail + at, 4) == END_MAGIC &&
             (int64_t)number(tail + at + 20, 2) == bytes - at - END_BYTES))
        at--;
    if (good && at < 0)
        good = is_broken(archive, "it has no directory", fault);
    if (good) {
        *directory = (Directory){number(tail + at + 16, 4), number(tail + at + 12, 4)};
        if (directory->offset == UINT32_MAX || directory->bytes == UINT32_MAX ||
            number(tail + at + 10, 2) == UINT16_MAX)
            good = find_directory64(archive, begin + at, directory, fault);
    }
    free(tail);
    return good;
}

/* Takes the next number of the zip64 field where `*value` says that it is there. */
static bool take_number64(const unsigned char **field, const unsigned char *end, uint64_t *value)
{
    if (*value != UINT32_MAX)
        return true;
    if (end - *field < 8)
        return false;
    *value = number(*field, 8);
    *field += 8;
    return true;
}

/* Replaces numbers that need more than 32 bits by those of the zip64 field, in its order. */
static bool read_extra(const unsigned char *extra, const unsigned char *end, uint64_t *values[3])
{
    for (const unsigned char *at = extra; end - at >= 4;) {
        const uint64_t kind = number(at, 2), bytes = number(at + 2, 2);
        const unsigned char *field = at + 4;
        if (bytes > (uint64_t)(end - field))
            return false;
        at = field + bytes;
        for (int i = 0; i < 3 && kind == EXTRA_ZIP64; i++)
            if (!take_number64(&field, at, values[i]))
                return false;
        if (kind == EXTRA_ZIP64)
            return true;
    }
    return true;
}

/* Reads an entry of the directory and moves `*at` after it. */
static bool read_entry(MwArena *arena, const unsigned char **at, const unsigned char *end,
                       MwMember *member)
{
    const unsigned char *entry = *at;
    if (end - entry < ENTRY_BYTES || number(entry, 4) != ENTRY_MAGIC)
        return false;
    const int64_t name = (int64_t)number(entry + 28, 2), extra = (int64_t)number(entry + 30, 2);
    const int64_t comment = (int64_t)number(entry + 32, 2);
    if (end - entry < ENTRY_BYTES + name + extra + comment)
        return false;
    uint64_t packed = number(entry + 20, 4), bytes = number(entry + 24, 4);
    uint64_t header = number(entry + 42, 4);
    const unsigned char *fields = entry + ENTRY_BYTES + name;
    if (!read_extra(fields, fields + extra, (uint64_t *[]){&bytes, &packed, &header}) ||
        bytes > INT64_MAX || packed > INT64_MAX || header > INT64_MAX)
        return false;
    *member =
        (MwMember){.name = mw_arena_strndup(arena, (const char *)entry + ENTRY_BYTES, (size_t)name),
                   .method = (int)number(entry + 10, 2),
                   .is_encrypted = number(entry + 8, 2) & 1,
                   .crc = (uint32_t)number(entry + 16, 4),
                   .bytes = (int64_t)bytes,
                   .packed_bytes = (int64_t)packed,
                   .header = (int64_t)header};
    *at = fields + extra + comment;
    return true;
}

bool mw_archive_list(MwArena *arena, const MwFeedFile *archive, MwMembers *members, MwFault *fault)
{
    Directory directory;
    *members = (MwMembers){0};
    if (!find_directory(archive, &directory, fault))
        return false;
    if (directory.bytes > MOST_DIRECTORY_BYTES)
        return is_broken(archive, "its directory is too large", fault);
    unsigned char *begin = mw_arena_alloc(arena, (size_t)directory.bytes + 1);
    if (!read_at(archive, directory.offset, (int64_t)directory.bytes, begin, fault))
        return false;
    for (const unsigned char *at = begin, *end = begin + directory.bytes; at < end;) {
        MwMember member;
        if (!read_entry(arena, &at, end, &member))
            return is_broken(archive, "its directory makes no sense", fault);
        mw_vec_push(arena, members, member);
    }
    return true;
}

/* ---- Members ---- */

/* The offset of a member's data, which lies in the archive. */
static bool find_data(const MwFeedFile *archive, const MwMember *member, int64_t *offset,
                      MwFault *fault)
{
    unsigned char local[LOCAL_BYTES];
    if (!read_at(archive, (uint64_t)member->header, LOCAL_BYTES, local, fault))
        return false;
    if (number(local, 4) != LOCAL_MAGIC)
        return is_broken(archive, "a member has no header", fault);
    *offset =
        member->header + LOCAL_BYTES + (int64_t)(number(local + 26, 2) + number(local + 28, 2));
    return (*offset <= archive->bytes && member->packed_bytes <= archive->bytes - *offset) ||
           is_broken(archive, "a member is cut off", fault);
}

static bool cannot_unpack(const MwFeedFile *file, const char *why, MwFault *fault)
{
    return mw_fault_set(fault, "cannot unpack %s into %s: %s", file->path, mw_file_scratch(), why);
}

/* Inflates what zlib can of the input at hand. `*end`: the stream is complete. */
static bool inflate_some(z_stream *stream, const MwFeedFile *file, uint32_t *crc, bool *end,
                         MwFault *fault)
{
    unsigned char chunk[CHUNK_BYTES];
    do {
        stream->next_out = chunk;
        stream->avail_out = sizeof chunk;
        const int code = inflate(stream, Z_NO_FLUSH);
        const size_t bytes = sizeof chunk - stream->avail_out;
        *end = code == Z_STREAM_END;
        if (!*end && code != Z_OK && code != Z_BUF_ERROR)
            return cannot_unpack(file, "its data is damaged", fault);
        if ((int64_t)stream->total_out > file->bytes)
            return cannot_unpack(file, "it is longer than the archive says", fault);
        *crc = (uint32_t)crc32(*crc, chunk, (uInt)bytes);
        if (!mw_file_write_bytes(file->descriptor, chunk, bytes))
            return cannot_unpack(file, strerror(errno), fault);
    } while (!*end && stream->avail_out == 0);
    return true;
}

static bool inflate_all(z_stream *stream, const MwFeedFile *archive, const MwMember *member,
                        int64_t offset, const MwFeedFile *file, MwFault *fault)
{
    unsigned char chunk[CHUNK_BYTES];
    uint32_t crc = 0;
    bool end = false;
    for (int64_t done = 0, part; done < member->packed_bytes && !end; done += part) {
        part = mw_min(member->packed_bytes - done, CHUNK_BYTES);
        if (!mw_feed_file_read(archive, offset + done, part, chunk, fault))
            return false;
        stream->next_in = chunk;
        stream->avail_in = (uInt)part;
        if (!inflate_some(stream, file, &crc, &end, fault))
            return false;
    }
    return (end && (int64_t)stream->total_out == member->bytes && crc == member->crc) ||
           cannot_unpack(file, "its data is damaged", fault);
}

/* Opens a file without a name and inflates the member into it. */
static bool unpack(const MwFeedFile *archive, const MwMember *member, int64_t offset,
                   MwFeedFile *file, MwFault *fault)
{
    char path[4096];
    z_stream stream = {0};
    do {
        if ((size_t)snprintf(path, sizeof path, "%s/meshwright-XXXXXX", mw_file_scratch()) >=
            sizeof path)
            return cannot_unpack(file, "the path is too long", fault);
        file->descriptor = mkostemp(path, O_CLOEXEC);
    } while (file->descriptor < 0 && mw_feed_file_allow_more());
    if (file->descriptor < 0)
        return cannot_unpack(file, strerror(errno), fault);
    unlink(path);
    file->begin = 0;
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) {
        mw_feed_file_close(file);
        return cannot_unpack(file, "zlib has no memory", fault);
    }
    const bool good = inflate_all(&stream, archive, member, offset, file, fault);
    inflateEnd(&stream);
    if (!good)
        mw_feed_file_close(file);
    return good;
}

bool mw_archive_open(MwArena *arena, const MwFeedFile *archive, const MwMember *member,
                     MwFeedFile *file, MwFault *fault)
{
    int64_t offset = 0;
    *file = (MwFeedFile){.path = mw_arena_printf(arena, "%s[%s]", archive->path, member->name),
                         .descriptor = -1,
                         .bytes = member->bytes};
    if (member->is_encrypted)
        return mw_fault_set(fault, "%s is encrypted", file->path);
    if (member->method != STORED && member->method != DEFLATED)
        return mw_fault_set(fault, "%s is compressed by method %d; 0 and 8 (deflate) are supported",
                            file->path, member->method);
    if (!find_data(archive, member, &offset, fault))
        return false;
    if (member->method == DEFLATED)
        return unpack(archive, member, offset, file, fault);
    if (member->bytes != member->packed_bytes)
        return is_broken(archive, "a stored member has two sizes", fault);
    file->begin = offset;
    do
        file->descriptor = fcntl(archive->descriptor, F_DUPFD_CLOEXEC, 0);
    while (file->descriptor < 0 && mw_feed_file_allow_more());
    return file->descriptor >= 0 ||
           mw_fault_set(fault, "cannot read %s: %s", file->path, strerror(errno));
}
