/* SPDX-License-Identifier: MIT */
#include "runtime/epochs.h"

bool mw_epoch_agree(MwArena *arena, MwTransport *transport, const MwFeeds *feeds, MwEpoch *epoch,
                    MwFault *fault)
{
    const MwEpoch own = {mw_feeds_rows(feeds), mw_feeds_batch(feeds)};
    MwEpoch *all = MW_NEW(arena, MwEpoch, transport->size);
    *epoch = (MwEpoch){0};
    if (!transport->table->allgather(transport, &own, sizeof own, all, fault))
        return false;
    for (int r = 0; r < transport->size; r++) {
        if (epoch->rows && all[r].rows && all[r].rows != epoch->rows)
            return mw_fault_set(fault,
                                "rank %d has %lld rows of data, and one before it has %lld: their "
                                "files differ",
                                r, (long long)all[r].rows, (long long)epoch->rows);
        if (all[r].rows)
            *epoch = all[r];
    }
    return true;
}

bool mw_epoch_steps(const MwEpoch *epoch, int64_t epochs, int64_t *steps, MwFault *fault)
{
    int64_t rows;
    if (!epoch->rows)
        return mw_fault_set(fault,
                            "the data has no rows to count epochs by: no feed is of files of "
                            "rows (tokens:, npy:, npz:)");
    if (__builtin_mul_overflow(epoch->rows, epochs, &rows) ||
        __builtin_add_overflow(rows, epoch->batch - 1, &rows))
        return mw_fault_set(fault, "these are too many steps");
    *steps = rows / epoch->batch;
    return true;
}
