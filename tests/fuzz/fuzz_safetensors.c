/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reader of safetensors files on any bytes: it gives tensors that lie in the file and do not
 * overlap, whose elements can be read, or a fault. What it read is written to a header that gives
 * the same tensors. */
#include "runtime/weights/store.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static MwFeedFile open_bytes(MwArena *arena, const void *data, size_t bytes, int *fd)
{
    MwFeedFile file;
    MwFault fault;
    *fd = memfd_create("fuzz.safetensors", 0);
    MW_ASSERT(*fd >= 0 && write(*fd, data, bytes) == (ssize_t)bytes);
    MW_ASSERT(mw_feed_file_open(&file, mw_arena_printf(arena, "/proc/self/fd/%d", *fd), &fault));
    return file;
}

static void close_bytes(MwFeedFile *file, int fd)
{
    mw_feed_file_close(file);
    close(fd);
}

static void check_places(const MwFeedFile *file, const MwSafetensor *tensors, int count)
{
    int64_t end = 8;
    for (int i = 0; i < count; i++) {
        MW_ASSERT(tensors[i].offset >= end);
        end = tensors[i].offset + mw_safetensor_bytes(&tensors[i]);
        MW_ASSERT(end <= file->bytes);
    }
}

/* The tensors in the order of a new file, which has no gaps. */
static void check_written(MwArena *arena, const MwSafetensor *tensors, int count)
{
    MwSafetensor *copies = mw_arena_dup(arena, tensors, sizeof *tensors * (size_t)count), *again;
    const MwSafetensorsHeader header = mw_safetensors_header(arena, copies, count);
    int64_t bytes = (int64_t)header.bytes;
    MwFault fault;
    int fd;
    for (int i = 0; i < count; i++)
        bytes += mw_safetensor_bytes(&tensors[i]);
    char *data = mw_arena_alloc(arena, (size_t)bytes);
    memcpy(data, header.text, header.bytes);
    MwFeedFile file = open_bytes(arena, data, (size_t)bytes, &fd);
    MW_ASSERT(mw_safetensors_read(arena, &file, &again, &fault) == count);
    for (int i = 0; i < count; i++) {
        MW_ASSERT(strcmp(again[i].name, tensors[i].name) == 0);
        MW_ASSERT(mw_file_type_equal(again[i].type, tensors[i].type));
        MW_ASSERT(again[i].offset == copies[i].offset && again[i].rank == tensors[i].rank);
        MW_ASSERT(memcmp(again[i].dim, tensors[i].dim, sizeof again[i].dim) == 0);
    }
    close_bytes(&file, fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    MwArena *arena = mw_arena_new();
    MwSafetensor *tensors;
    MwFault fault = {0};
    int fd;
    MwFeedFile file = open_bytes(arena, data, bytes, &fd);
    const int count = mw_safetensors_read(arena, &file, &tensors, &fault);
    MW_ASSERT((count < 0) == (*fault.text != '\0'));
    if (count >= 0) {
        check_places(&file, tensors, count);
        check_written(arena, tensors, count);
    }
    close_bytes(&file, fd);
    mw_arena_free(&arena);
    return 0;
}
