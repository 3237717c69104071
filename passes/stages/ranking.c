/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/stages/ranking.h"

#include <math.h>
#include <stdlib.h>

/* Orders by estimate, then by number of micro-batches. */
static int by_estimate(const void *a, const void *b)
{
    const MwRankedPipeline *x = a, *y = b;
    if (x->expected_s != y->expected_s)
        return x->expected_s < y->expected_s ? -1 : 1;
    return x->batching->micro_batches - y->batching->micro_batches;
}

static void add(MwArena *arena, MwRanking *ranking, MwStageBatching *batching, int meshes,
                double expected_s)
{
    mw_vec_push(arena, ranking,
                ((MwRankedPipeline){.batching = batching,
                                    .meshes = meshes,
                                    .expected_s = expected_s,
                                    .step_s = INFINITY,
                                    .even_s = INFINITY,
                                    .ideal_s = INFINITY}));
}

MwRanking mw_stage_rank(MwArena *arena, const MwStageProbeQuery *query)
{
    MwStageBatchings *batchings = query->batchings;
    MwRanking ranking = {0};
    MwEvenPipelines even = {0};
    mw_stage_batchings_measure(batchings);
    for (int i = 0; i < batchings->count; i++)
        if (batchings->at[i].is_possible)
            mw_stage_batching_estimate(&batchings->at[i], query->memory_bytes);
    if (mw_stage_probe_pays(query->compilation))
        even = mw_stage_probe(arena, query);
    for (int i = 0; i < even.count; i++) {
        add(arena, &ranking, even.at[i].batching, even.at[i].meshes, even.at[i].expected_s);
        ranking.at[i].is_probed = isfinite(even.at[i].probed_s);
    }
    for (int i = 0; i < batchings->count; i++)
        if (batchings->at[i].is_possible)
            add(arena, &ranking, &batchings->at[i], 0, batchings->at[i].estimate.usual_s);
    MwRankedPipeline *any = ranking.at + even.count;
    qsort(any, (size_t)(ranking.count - even.count), sizeof *any, by_estimate);
    return ranking;
}
