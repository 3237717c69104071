/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where tests make files. */
#ifndef MW_TESTS_UNIT_SCRATCH_H
#define MW_TESTS_UNIT_SCRATCH_H

#include "base/file.h"

#include <stdlib.h>

/* A fresh folder for files of a test, where the user wants such files; its path is in `arena`. */
static inline char *scratch_folder(MwArena *arena)
{
    char *folder = mw_arena_printf(arena, "%s/mwtestXXXXXX", mw_file_scratch());
    char *made = mkdtemp(folder);
    MW_ASSERT(made);
    return made;
}

#endif
