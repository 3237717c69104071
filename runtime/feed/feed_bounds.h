/* SPDX-License-Identifier: MIT */
/* Whether the integers of an input are what the model takes, such as numbers of rows of a table. */
#ifndef MW_RUNTIME_FEED_FEED_BOUNDS_H
#define MW_RUNTIME_FEED_FEED_BOUNDS_H

#include "runtime/feed/feed_kinds.h"
#include "runtime/plan/box.h"

/* Checks the values of `box`, whose padding is zeros, against all bounds of the feed's input. A
 * fault names the value and its place in its file. */
bool mw_feed_check_bounds(const MwFeed *feed, int64_t step, const MwBox *box, const void *values,
                          MwFault *fault);

#endif
