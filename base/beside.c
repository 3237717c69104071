/* SPDX-License-Identifier: MIT */
#include "base/beside.h"

#include <limits.h>
#include <unistd.h>

const char *mw_beside_program(MwArena *arena, const char *path)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self);
    while (length > 0 && self[length - 1] != '/')
        length--;
    return mw_arena_printf(arena, "%.*s%s", (int)mw_max(length, 0), self, path);
}
