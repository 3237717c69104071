/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Diagnostics as the user sees them, for tests to compare. */
#ifndef MW_TESTS_UNIT_DIAGS_TEXT_H
#define MW_TESTS_UNIT_DIAGS_TEXT_H

#include "base/diag.h"

#include <stdlib.h>

/* What mw_diags_print prints, in `arena`. */
static inline const char *diags_text(MwArena *arena, const MwDiags *diags)
{
    char *shown = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&shown, &bytes);
    MW_ASSERT(out);
    mw_diags_print(diags, out);
    fclose(out);
    const char *text = mw_arena_strdup(arena, shown);
    free(shown);
    return text;
}

#endif
