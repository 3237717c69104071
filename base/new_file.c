/* SPDX-License-Identifier: MIT */
#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FD_PATH_BYTES = 40 };

/* The path by which a file without a name can be linked. */
static const char *fd_path(int fd, char path[FD_PATH_BYTES])
{
    snprintf(path, FD_PATH_BYTES, "/proc/self/fd/%d", fd);
    return path;
}

/* A file without a name in the folder of `target`; -1 if there can be none. */
static int open_nameless(const char *target)
{
    char path[FD_PATH_BYTES];
    const char *slash = strrchr(target, '/');
    char *folder = slash ? strndup(target, (size_t)(slash - target) + 1) : strdup(".");
    int fd = folder ? open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600) : -1;
    free(folder);
    if (fd >= 0 && access(fd_path(fd, path), F_OK) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static int open_named(MwNewFile *file)
{
    if (asprintf(&file->temporary, "%s.tmpXXXXXX", file->target) < 0) {
        file->temporary = NULL;
        return -1;
    }
    return mkostemp(file->temporary, O_CLOEXEC);
}

static void free_names(MwNewFile *file)
{
    int saved = errno;
    free(file->target);
    free(file->temporary);
    *file = (MwNewFile){.fd = -1};
    errno = saved;
}

bool mw_new_file_open(MwNewFile *file, const char *path)
{
    struct stat info;
    bool exists = stat(path, &info) == 0;
    *file = (MwNewFile){.fd = -1};
    if (!*path) { /* an empty path names nothing, not a file without a name in this folder */
        errno = ENOENT;
        return false;
    }
    if (exists && !S_ISREG(info.st_mode)) {
        file->fd = open(path, O_WRONLY | O_CLOEXEC);
        return file->fd >= 0;
    }
    file->target = exists ? realpath(path, NULL) : strdup(path); /* links stay links */
    if (file->target)
        file->fd = open_nameless(file->target);
    if (file->target && file->fd < 0)
        file->fd = open_named(file);
    if (file->fd < 0)
        free_names(file);
    return file->fd >= 0;
}

static bool rename_or_unlink(const char *from, const char *to)
{
    if (rename(from, to) == 0)
        return true;
    int saved = errno;
    unlink(from);
    errno = saved;
    return false;
}

/* Gives the target's name to a file without a name. A link cannot replace a file, so if the
 * target exists, the file is linked beside it and renamed. */
static bool link_nameless(const MwNewFile *file)
{
    char from[FD_PATH_BYTES], *temporary = NULL;
    fd_path(file->fd, from);
    if (linkat(AT_FDCWD, from, AT_FDCWD, file->target, AT_SYMLINK_FOLLOW) == 0)
        return true;
    if (errno != EEXIST || asprintf(&temporary, "%s.tmp%ld", file->target, (long)getpid()) < 0)
        return false;
    unlink(temporary); /* left by an earlier process with this number */
    bool good = linkat(AT_FDCWD, from, AT_FDCWD, temporary, AT_SYMLINK_FOLLOW) == 0 &&
                rename_or_unlink(temporary, file->target);
    free(temporary);
    return good;
}

/* Syncs the file, sets its mode and gives it its final name. */
static bool put_in_place(MwNewFile *file, unsigned mode)
{
    bool good = fchmod(file->fd, mode) == 0 && fsync(file->fd) == 0;
    if (good && !file->temporary)
        return link_nameless(file);
    if (good)
        return rename_or_unlink(file->temporary, file->target);
    int saved = errno;
    if (file->temporary)
        unlink(file->temporary);
    errno = saved;
    return false;
}

bool mw_new_file_keep(MwNewFile *file, unsigned mode)
{
    bool good = !file->target || put_in_place(file, mode);
    int saved = errno;
    if (close(file->fd) != 0 && good) {
        saved = errno;
        good = false;
    }
    errno = saved;
    free_names(file);
    return good;
}

void mw_new_file_drop(MwNewFile *file)
{
    int saved = errno;
    if (file->temporary)
        unlink(file->temporary);
    close(file->fd);
    free_names(file);
    errno = saved;
}

bool mw_file_write_bytes(int fd, const void *data, size_t bytes)
{
    for (const char *at = data; bytes > 0;) {
        const ssize_t n = write(fd, at, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        at += n;
        bytes -= (size_t)n;
    }
    return true;
}

bool mw_new_file_fill(MwNewFile *file, const void *data, size_t bytes, unsigned mode)
{
    if (mw_file_write_bytes(file->fd, data, bytes))
        return mw_new_file_keep(file, mode);
    mw_new_file_drop(file);
    return false;
}
