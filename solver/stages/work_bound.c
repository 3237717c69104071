/* SPDX-License-Identifier: GPL-3.0-or-later */
/* With w(l, e, k) the least `steady` of layers [l, e) on sub-mesh k times the devices of k, the
 * least work of the layers from l on is
 *
 *   W(l) = min over end e, sub-mesh k:  w(l, e, k) + W(e)
 *
 * Over the stages of a cut, W(0) <= sum of steady_i * devices_i <= max steady_i * all devices. */
#include "solver/stages/work_bound.h"

#include <math.h>

/* The share by which sums of so many rounded values may be above the exact sum. */
static const double ROUNDING = 1e-12;

/* The least `steady` of an entry, whatever its memory; INFINITY if it cannot run. */
static double least_steady(const MwStageEntry *entry, bool asked_only)
{
    double least = INFINITY;
    if (asked_only && !entry->asked)
        return least;
    for (int i = 0; i < entry->option_count; i++)
        if (entry->options[i].most_in_flight > 0)
            least = fmin(least, (double)entry->options[i].steady);
    return least;
}

int64_t mw_stage_work_bound(const MwStageTable *table, int submesh, bool asked_only)
{
    const int layers = table->problem->layer_count;
    MwArena *scratch = mw_arena_new();
    double *work = MW_NEW(scratch, double, layers + 1);
    double *of_entry = MW_NEW(scratch, double, table->entry_count);
    for (int i = 0; i < table->entry_count; i++)
        of_entry[i] = table->packing.submeshes[i % table->packing.count].devices *
                      least_steady(&table->entries[i], asked_only);
    for (int begin = layers - 1; begin >= 0; begin--) {
        work[begin] = INFINITY;
        for (int i = table->first_move[begin]; i < table->first_move[begin + 1]; i++) {
            const MwStageMove *move = &table->moves[i];
            if (submesh < 0 || submesh == move->submesh)
                work[begin] = fmin(work[begin], of_entry[move->entry] + work[move->end]);
        }
    }
    const double share = work[0] * (1 - ROUNDING) / table->device_count;
    mw_arena_free(&scratch);
    return share < (double)MW_FORBIDDEN ? (int64_t)share : MW_FORBIDDEN;
}
