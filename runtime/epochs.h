/* SPDX-License-Identifier: MIT */
/* How many steps go through the data. */
#ifndef MW_RUNTIME_EPOCHS_H
#define MW_RUNTIME_EPOCHS_H

#include "runtime/exec/transport.h"
#include "runtime/feed/feed.h"

typedef struct {
    int64_t rows;  /* of the data; 0: it has no rows, so that it never ends */
    int64_t batch; /* rows that a step takes */
} MwEpoch;

/* What all ranks together know of the data, of which each may have a part. Collective over all
 * ranks. */
bool mw_epoch_agree(MwArena *arena, MwTransport *transport, const MwFeeds *feeds, MwEpoch *epoch,
                    MwFault *fault);
/* Steps until each row was taken `epochs` times at least; the last may begin the next epoch. A
 * fault where the data has no rows, or the steps are too many. */
bool mw_epoch_steps(const MwEpoch *epoch, int64_t epochs, int64_t *steps, MwFault *fault);

#endif
