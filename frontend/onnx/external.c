/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/onnx/external.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *find(const MwOnnx__TensorProto *proto, const char *key)
{
    for (size_t i = 0; i < proto->n_external_data; i++)
        if (proto->external_data[i]->key && strcmp(proto->external_data[i]->key, key) == 0)
            return proto->external_data[i]->value;
    return NULL;
}

/* A number of bytes; `fallback` if there is none. */
static bool read_number(const char *text, uint64_t fallback, uint64_t *number)
{
    *number = fallback;
    if (!text)
        return true;
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && !errno && *number <= INT64_MAX;
}

/* The path of the file, links followed; NULL where it is not in the folder of the model. */
static const char *resolve(MwArena *arena, const char *path, const char *location)
{
    if (!location || !*location || *location == '/' || strlen(location) >= PATH_MAX)
        return NULL;
    char folder[PATH_MAX], file[PATH_MAX];
    if (!realpath(mw_path_beside(arena, path, "."), folder) ||
        !realpath(mw_path_beside(arena, path, location), file))
        return NULL;
    const size_t length = strlen(folder);
    const bool inside =
        strncmp(file, folder, length) == 0 && (file[length] == '/' || strcmp(folder, "/") == 0);
    return inside ? mw_arena_strdup(arena, file) : NULL;
}

static bool read_range(int fd, char *to, size_t bytes, uint64_t offset)
{
    for (size_t done = 0; done < bytes;) {
        const ssize_t got = pread(fd, to + done, bytes - done, (off_t)(offset + done));
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

/* Whether the file has them, without making room for what it has not. */
static bool has_range(int fd, size_t bytes, uint64_t offset)
{
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
           (uint64_t)status.st_size >= offset && (uint64_t)status.st_size - offset >= bytes;
}

const void *mw_onnx_external_read(MwArena *arena, const MwOnnx__TensorProto *proto,
                                  const char *path, size_t bytes, const char *what, MwDiags *diags)
{
    const char *location = find(proto, "location");
    uint64_t offset, length;
    if (!read_number(find(proto, "offset"), 0, &offset) ||
        !read_number(find(proto, "length"), bytes, &length) || length != bytes) {
        mw_diag_error(diags, mw_span_none(),
                      "%s: offset or length of its external data are not those of its shape", what);
        return NULL;
    }
    const char *file = resolve(arena, path, location);
    if (!file) {
        mw_diag_error(diags, mw_span_none(),
                      "%s: its external data '%s' are no file in the folder of the model", what,
                      location ? location : "");
        return NULL;
    }
    const int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char *data = fd >= 0 && has_range(fd, bytes, offset) ? mw_arena_alloc(arena, bytes) : NULL;
    if (!data || !read_range(fd, data, bytes, offset)) {
        mw_diag_error(diags, mw_span_none(), "%s: its external data are not all in %s", what, file);
        data = NULL;
    }
    if (fd >= 0)
        close(fd);
    return data;
}
