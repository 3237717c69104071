/* SPDX-License-Identifier: MIT */
/* Files that stand beside the running program: in a build folder, and where it is installed,
 * wherever that is. */
#ifndef MW_BASE_BESIDE_H
#define MW_BASE_BESIDE_H

#include "base/arena.h"

/* `path` relative to the folder of the running program, in `arena`. Where the system does not say
 * which program runs, relative to the working folder. */
const char *mw_beside_program(MwArena *arena, const char *path);

#endif
