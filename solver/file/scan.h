/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A scanner for lists of plain integers, which are nearly all of a problem file. It replaces the
 * JSON parser there for speed. */
#ifndef MW_SOLVER_FILE_SCAN_H
#define MW_SOLVER_FILE_SCAN_H

#include "base/vec.h"

typedef MW_VEC(int64_t) MwIntegers;

typedef enum {
    MW_SCAN_END,   /* at the bracket that ends the list */
    MW_SCAN_MORE,  /* at the end of the text, or at a number that may continue after it */
    MW_SCAN_OTHER, /* at something else: not a plain integer, or out of place */
} MwScanStop;

/* Scans within a list of integers: appends the integers of the text to `row`, up to `most`, as long
 * as they are plain: no sign, no leading zero, at most 64 bits, separated by single commas.
 * `value_next` says, before and after the call, whether a value comes next rather than a comma or
 * the end. Returns the position at which the scan stopped. */
const char *mw_scan_integers(MwArena *arena, MwIntegers *row, int most, bool *value_next,
                             const char *at, const char *end, MwScanStop *why);

#endif
