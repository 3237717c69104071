/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The numbers of a problem file, which are nearly all of it, read without the JSON parser. */
#ifndef MW_SOLVER_FILE_SCAN_H
#define MW_SOLVER_FILE_SCAN_H

#include "base/vec.h"

typedef MW_VEC(int64_t) MwIntegers;

typedef enum {
    MW_SCAN_END,   /* at the bracket that ends the list */
    MW_SCAN_MORE,  /* at the end of the text, or where a number begins that may go on after it */
    MW_SCAN_OTHER, /* at something else: no plain integer, or out of place */
} MwScanStop;

/* Inside a list of integers: adds those of the text to `row`, up to `most`, as long as they are
 * plain: without sign or leading zero, within 64 bits, and separated by single commas. `value_next`
 * says, before and after, whether a value comes next and not a comma or the end. Returns where it
 * stopped. */
const char *mw_scan_integers(MwArena *arena, MwIntegers *row, int most, bool *value_next,
                             const char *at, const char *end, MwScanStop *why);

#endif
