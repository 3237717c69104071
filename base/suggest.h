/* SPDX-License-Identifier: MIT */
/* "Did you mean …?": the known name nearest to a mistyped one. */
#ifndef MW_BASE_SUGGEST_H
#define MW_BASE_SUGGEST_H

#include "base/base.h"

/* The one of `names` (NULL entries are skipped) that differs least from `typed`, counting letters
 * inserted, dropped, changed or swapped with their neighbour; the first of equals. NULL if none is
 * near: at most a third of the letters may differ. */
const char *mw_suggest(const char *typed, const char *const *names, int count);

#endif
