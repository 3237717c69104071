/* SPDX-License-Identifier: MIT */
/* Data read ahead: a thread reads the inputs of the next step while this one runs. What a step gets
 * is what the feeds give it, and a fault comes with the input and the step that it is of. There is
 * room for the inputs of two steps: the one that runs and the next. */
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
/* As mw_feeds_input, which it calls for what is not read ahead. Steps are asked for in order. */
bool mw_ahead_input(MwAhead *ahead, int input, int64_t step, const MwBox *box, void *to,
                    MwFault *fault);
/* Ends the thread. */
void mw_ahead_close(MwAhead **ahead);

#endif
