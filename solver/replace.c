/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solver/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool cannot_write(const char *path, MwDiags *diags)
{
    mw_diag_error(diags, mw_span_none(), "%s: cannot write: %s", path, strerror(errno));
    return false;
}

char *mw_replace_begin(MwArena *arena, const char *path, MwDiags *diags)
{
    const char *name = strrchr(path, '/');
    int folder_length = name ? (int)(name + 1 - path) : 0;
    const char *ending = strchr(path + folder_length, '.');
    if (!ending)
        ending = "";
    char *temporary = mw_arena_printf(arena, "%.*s.mwXXXXXX%s", folder_length, path, ending);
    int fd = mkstemps(temporary, (int)strlen(ending));
    if (fd < 0) {
        cannot_write(path, diags);
        return NULL;
    }
    fchmod(fd, 0644);
    close(fd);
    return temporary;
}

static bool sync_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool good = fsync(fd) == 0;
    close(fd);
    return good;
}

bool mw_replace_end(const char *temporary, const char *path, bool good, MwDiags *diags)
{
    if (good && sync_file(temporary) && rename(temporary, path) == 0)
        return true;
    cannot_write(path, diags);
    unlink(temporary);
    return false;
}
