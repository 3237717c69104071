/* SPDX-License-Identifier: MIT */
#include "base/cache.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A relative folder does not count (XDG Base Directory Specification). */
const char *mw_cache_folder(MwArena *arena)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && *cache == '/')
        return mw_arena_printf(arena, "%s/meshwright", cache);
    return home && *home == '/' ? mw_arena_printf(arena, "%s/.cache/meshwright", home) : NULL;
}

void mw_cache_make_folder(MwArena *arena, const char *folder)
{
    char *parent = mw_arena_strdup(arena, folder);
    *strrchr(parent, '/') = '\0';
    mkdir(parent, 0700);
    mkdir(folder, 0700);
}
