/* SPDX-License-Identifier: MIT */
/* Seconds, bytes and prices as texts for people, in `arena`. */
#ifndef MW_BASE_QUANTITY_H
#define MW_BASE_QUANTITY_H

#include "base/arena.h"

/* "12.3 ms", "480 ns"; "0" for what would be shown as zero. */
const char *mw_seconds_text(MwArena *arena, double seconds);
/* The same of long times: "3.5 min", "12.3 h", "45.6 d". */
const char *mw_duration_text(MwArena *arena, double seconds);
/* "+12.3 ms", "-480 ns"; "+0" for what would be shown as zero. */
const char *mw_seconds_difference_text(MwArena *arena, double seconds);
/* "1.50 MB", "12 B"; powers of 1000. */
const char *mw_bytes_text(MwArena *arena, double bytes);
/* "0.0123 USD", "1234 USD"; three significant digits or all whole ones. */
const char *mw_usd_text(MwArena *arena, double usd);

#endif
