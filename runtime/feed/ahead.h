/* SPDX-License-Identifier: MIT */
/* Data read ahead: a thread reads the inputs of the next step while this one runs. What a step gets
 * is what the feeds give it, and zeros in place of what they cannot give: the ranks need each other
 * in a step, so that the run ends after it. There is room for the inputs of two steps: the one that
 * runs and the next. */
#ifndef MW_RUNTIME_FEED_AHEAD_H
#define MW_RUNTIME_FEED_AHEAD_H

#include "runtime/exec/executor.h"
#include "runtime/feed/feed.h"

typedef struct MwAhead MwAhead;

/* Allocates the room and starts the thread, which waits. `boxes`, in the order in which a step asks
 * for them, and `feeds` outlive it. NULL after a fault. */
MwAhead *mw_ahead_new(MwArena *arena, const MwFeeds *feeds, const MwInputBox *boxes, int count,
                      MwFault *fault);
/* Begins to read the steps from `first` to `last`, and drops what was read before. */
void mw_ahead_begin(MwAhead *ahead, int64_t first, int64_t last);
/* As mw_feeds_input, which it calls for what is not read ahead; where that fails, `to` gets zeros.
 * Steps are asked for in order. */
void mw_ahead_input(MwAhead *ahead, int input, int64_t step, const MwBox *box, void *to);
/* The first fault of those that were asked for; NULL: none. */
const MwFault *mw_ahead_fault(const MwAhead *ahead);
/* Ends the thread. */
void mw_ahead_close(MwAhead **ahead);

#endif
