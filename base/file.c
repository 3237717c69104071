/* SPDX-License-Identifier: MIT */
#include "base/file.h"

#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads everything up to the end of `fd`, with a NUL after it: in one go if `room` is large
 * enough, as for a file of known size, or into a growing buffer, as for a pipe. NULL with errno
 * set. */
static char *read_to_end(MwArena *arena, int fd, size_t room, size_t *bytes)
{
    char *text = mw_arena_alloc(arena, room);
    for (*bytes = 0;;) {
        ssize_t n = read(fd, text + *bytes, room - *bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return NULL;
        if (n == 0)
            break;
        *bytes += (size_t)n;
        if (*bytes == room) {
            char *more = mw_arena_alloc(arena, room *= 2);
            text = memcpy(more, text, *bytes);
        }
    }
    text[*bytes] = '\0';
    return text;
}

/* Whether a file may have no end: a device that is not a terminal, on which a person types it.
 * Sets errno if so. */
static bool is_endless(int fd, const struct stat *info)
{
    bool is = S_ISBLK(info->st_mode) || (S_ISCHR(info->st_mode) && !isatty(fd));
    errno = is ? ENOTSUP : errno;
    return is;
}

char *mw_file_read(MwArena *arena, const char *path, size_t *bytes)
{
    enum { LEAST_ROOM = 4096 }; /* a pipe has size 0 */
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    struct stat info;
    char *text = NULL;
    if (fstat(fd, &info) == 0 && !is_endless(fd, &info))
        text = read_to_end(arena, fd, (size_t)mw_max(info.st_size + 1, LEAST_ROOM), bytes);
    int saved = errno;
    close(fd);
    errno = saved;
    return text;
}

bool mw_file_write(const char *path, const void *data, size_t bytes, unsigned mode)
{
    MwNewFile file;
    return mw_new_file_open(&file, path) && mw_new_file_fill(&file, data, bytes, mode);
}

bool mw_file_is_same(const char *a, const char *b)
{
    struct stat one, other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

const char *mw_path_beside(MwArena *arena, const char *from, const char *path)
{
    const char *slash = strrchr(from, '/');
    if (*path == '/' || !slash)
        return mw_arena_strdup(arena, path);
    return mw_arena_printf(arena, "%.*s/%s", (int)(slash - from), from, path);
}

const char *mw_file_scratch(void)
{
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/tmp";
}
