/* SPDX-License-Identifier: MIT */
/* "Did you mean …?": the known name most similar to a mistyped one. */
#ifndef MW_BASE_SUGGEST_H
#define MW_BASE_SUGGEST_H

#include "base/base.h"

/* The element of `names` (NULL elements are skipped) with the least distance to `typed`, the
 * first of equals. The distance counts letters inserted, dropped, changed or swapped with their
 * neighbour. NULL if none is near: at most a third of the letters may differ; of names of four
 * letters one, and of shorter ones one only if it is missing or too many. */
const char *mw_suggest(const char *typed, const char *const *names, int count);

#endif
