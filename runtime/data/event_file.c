/* SPDX-License-Identifier: MIT */
#include "runtime/data/event_file.h"

#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Bytes in a record besides its message, and the most of an event and of a value in it besides
 * their texts. */
enum { HEAD_BYTES = 12, TAIL_BYTES = 4, EVENT_BYTES = 64, VALUE_BYTES = 32 };
enum { HOST_BYTES = 256 };

struct MwEventFile {
    const char *path;
    int descriptor;
    const char *const *tags;
    int count;
    uint8_t *record; /* room for the largest */
};

/* ---- Messages ---- */

/* The numbers of the fields, and what the first byte of a field says of the bytes that follow. */
enum {
    EVENT_WALL_TIME = 1,
    EVENT_STEP = 2,
    EVENT_VERSION = 3,
    EVENT_SUMMARY = 5,
    EVENT_SESSION = 7,
    SUMMARY_VALUE = 1,
    VALUE_TAG = 1,
    VALUE_NUMBER = 2,
    SESSION_STATUS = 1,
};
enum { SESSION_START = 1 };
enum { WIRE_INTEGER = 0, WIRE_8_BYTES = 1, WIRE_BYTES = 2, WIRE_4_BYTES = 5 };

static uint8_t *put_little(uint8_t *at, uint64_t bits, int bytes)
{
    for (int i = 0; i < bytes; i++)
        *at++ = (uint8_t)(bits >> 8 * i);
    return at;
}

/* Seven bits a byte, the lowest first. */
static uint8_t *put_integer(uint8_t *at, uint64_t value)
{
    for (; value > 127; value >>= 7)
        *at++ = (uint8_t)(value | 128);
    *at++ = (uint8_t)value;
    return at;
}

static uint8_t *put_key(uint8_t *at, int field, int wire)
{
    return put_integer(at, (uint64_t)(field << 3 | wire));
}

static uint8_t *put_bytes(uint8_t *at, int field, const void *bytes, size_t size)
{
    at = put_integer(put_key(at, field, WIRE_BYTES), size);
    memcpy(at, bytes, size);
    return at + size;
}

static size_t integer_bytes(uint64_t value)
{
    uint8_t scratch[10];
    return (size_t)(put_integer(scratch, value) - scratch);
}

/* The fields that every event begins with. */
static uint8_t *put_event(uint8_t *at, int64_t step)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const double time_s = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    uint64_t bits;
    memcpy(&bits, &time_s, sizeof bits);
    at = put_little(put_key(at, EVENT_WALL_TIME, WIRE_8_BYTES), bits, 8);
    return put_integer(put_key(at, EVENT_STEP, WIRE_INTEGER), (uint64_t)step);
}

/* The bytes of a value, without its key and size. */
static size_t value_bytes(const char *tag)
{
    const size_t length = strlen(tag);
    return 1 + integer_bytes(length) + length + 1 + 4;
}

static uint8_t *put_value(uint8_t *at, const char *tag, double value)
{
    const float number = (float)value;
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    at = put_integer(put_key(at, SUMMARY_VALUE, WIRE_BYTES), value_bytes(tag));
    at = put_bytes(at, VALUE_TAG, tag, strlen(tag));
    return put_little(put_key(at, VALUE_NUMBER, WIRE_4_BYTES), bits, 4);
}

/* ---- Records ---- */

/* The CRC of Castagnoli's polynomial, its bits reversed, turned and offset, as TFRecord has it. */
static uint32_t masked_crc(const uint8_t *data, size_t bytes)
{
    const uint32_t polynomial = 0x82f63b78, offset = 0xa282ead8;
    uint32_t crc = ~0u;
    for (size_t i = 0; i < bytes; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
    }
    crc = ~crc;
    return (crc >> 15 | crc << 17) + offset;
}

static uint8_t *message_of(const MwEventFile *file)
{
    return file->record + HEAD_BYTES;
}

/* Writes the record whose message ends at `end`. */
static bool write_record(const MwEventFile *file, uint8_t *end, MwFault *fault)
{
    const size_t bytes = (size_t)(end - message_of(file));
    put_little(file->record, bytes, 8);
    put_little(file->record + 8, masked_crc(file->record, 8), 4);
    end = put_little(end, masked_crc(message_of(file), bytes), TAIL_BYTES);
    return mw_file_write_bytes(file->descriptor, file->record, (size_t)(end - file->record)) ||
           mw_fault_set(fault, "cannot write %s: %s", file->path, strerror(errno));
}

/* The first record of a file names the version of what follows. */
static bool write_version(const MwEventFile *file, MwFault *fault)
{
    static const char version[] = "brain.Event:2";
    return write_record(
        file, put_bytes(put_event(message_of(file), 0), EVENT_VERSION, version, strlen(version)),
        fault);
}

/* Says that a session starts at step `first`: what was written of later steps is out of date. */
static bool write_start(const MwEventFile *file, int64_t first, MwFault *fault)
{
    uint8_t session[2];
    put_integer(put_key(session, SESSION_STATUS, WIRE_INTEGER), SESSION_START);
    return write_record(
        file, put_bytes(put_event(message_of(file), first), EVENT_SESSION, session, sizeof session),
        fault);
}

/* ---- Files ---- */

/* Makes the folder with those that it is in; false with errno set. */
static bool make_folders(MwArena *arena, const char *dir)
{
    char *path = mw_arena_printf(arena, "%s", dir);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return false;
        *slash = '/';
    }
    return mkdir(path, 0777) == 0 || errno == EEXIST;
}

/* Readers take the files of a folder in the order of their names. Where one has the second already,
 * the new file takes one that is free. */
static bool create_file(MwArena *arena, MwEventFile *file, const char *dir)
{
    char host[HOST_BYTES] = "";
    gethostname(host, sizeof host - 1);
    long long second = (long long)time(NULL);
    do {
        file->path = mw_arena_printf(arena, "%s/events.out.tfevents.%lld.%s", dir, second++, host);
        file->descriptor = open(file->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (file->descriptor < 0 && errno == EEXIST);
    return file->descriptor >= 0;
}

MwEventFile *mw_event_file_open(MwArena *arena, const char *dir, const char *const *tags, int count,
                                int64_t first, MwFault *fault)
{
    MwEventFile *file = MW_NEW(arena, MwEventFile, 1);
    size_t bytes = HEAD_BYTES + TAIL_BYTES + EVENT_BYTES;
    for (int i = 0; i < count; i++)
        bytes += VALUE_BYTES + strlen(tags[i]);
    *file = (MwEventFile){.path = dir,
                          .descriptor = -1,
                          .tags = tags,
                          .count = count,
                          .record = mw_arena_alloc(arena, bytes)};
    if (!make_folders(arena, dir) || !create_file(arena, file, dir)) {
        mw_fault_set(fault, "cannot write %s: %s", file->path, strerror(errno));
        return NULL;
    }
    MwFault ignored;
    if (write_version(file, fault) && write_start(file, first, fault))
        return file;
    mw_event_file_close(&file, &ignored);
    return NULL;
}

bool mw_event_file_add(MwEventFile *file, int64_t step, MwEventTags tags, const double *values,
                       MwFault *fault)
{
    const int end = tags.first + tags.count;
    size_t bytes = 0;
    MW_ASSERT(tags.first >= 0 && end <= file->count);
    for (int i = tags.first; i < end; i++)
        bytes += 1 + integer_bytes(value_bytes(file->tags[i])) + value_bytes(file->tags[i]);
    uint8_t *at = put_event(message_of(file), step);
    at = put_integer(put_key(at, EVENT_SUMMARY, WIRE_BYTES), bytes);
    for (int i = tags.first; i < end; i++)
        at = put_value(at, file->tags[i], values[i - tags.first]);
    return write_record(file, at, fault);
}

bool mw_event_file_close(MwEventFile **file, MwFault *fault)
{
    MwEventFile *closed = *file;
    *file = NULL;
    return !closed || close(closed->descriptor) == 0 ||
           mw_fault_set(fault, "cannot write %s: %s", closed->path, strerror(errno));
}
