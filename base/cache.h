/* SPDX-License-Identifier: MIT */
/* The folder of what is kept from one process to the next to save time: $XDG_CACHE_HOME/meshwright,
 * or ~/.cache/meshwright. */
#ifndef MW_BASE_CACHE_H
#define MW_BASE_CACHE_H

#include "base/arena.h"

/* The folder, which may not be there yet; NULL: the environment says none. */
const char *mw_cache_folder(MwArena *arena);
/* Makes the folder and the folder around it, as far as that is possible. */
void mw_cache_make_folder(MwArena *arena, const char *folder);

#endif
