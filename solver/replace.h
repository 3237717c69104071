/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing a file that a library insists on opening, without ever leaving half of it in place of a
 * good one: it writes to a name beside the target, which then takes the target's place. */
#ifndef MW_SOLVER_REPLACE_H
#define MW_SOLVER_REPLACE_H

#include "base/diag.h"

/* A new empty file beside `path` with the same ending; NULL after an error. */
char *mw_replace_begin(MwArena *arena, const char *path, MwDiags *diags);

/* If `good`, `temporary` becomes `path`; otherwise it is removed and an error is added that gives
 * errno as the reason. False after an error. */
bool mw_replace_end(const char *temporary, const char *path, bool good, MwDiags *diags);

#endif
