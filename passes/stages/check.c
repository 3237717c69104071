/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In:  a layout whose costs are estimates (cost.h).
 * Out: the memory that its stages need when they are solved. The passes between `stages` and
 *      `sharding` run on a copy of the model, and each stage is solved as the pass sharding
 *      solves it, quickly. */
#include "passes/stages/check.h"

#include "base/threads.h"
#include "ir/rewrite.h"
#include "passes/sharding/footprint.h"
#include "passes/sharding/sharding_fit.h"
#include "passes/stages/lower.h"

#include <math.h>

typedef struct {
    const MwCompilation *compilation; /* the lowered copy, with its stages */
    const MwStageLayout *layout;
    int64_t limit_bytes; /* of a device for one stage */
    double *needed;
} LayoutCheck;

static double needed_bytes(const MwShardingFit *fit, int64_t limit_bytes)
{
    if (fit->sharding)
        return (double)fit->sharding->peak_bytes;
    return (double)mw_max(limit_bytes + 1, mw_max(fit->needed_bytes, fit->solution.peak_usage));
}

/* Solves stage `i` within the limit, unless it fits however it is sharded. */
static void check_stage(void *context, int i)
{
    const LayoutCheck *check = context;
    const MwStaging *staging = &check->compilation->staging;
    MwArena *arena = mw_arena_new();
    MwGraph graph = *check->compilation->stages[i].graph;
    graph.arena = arena;
    MwFlight flight = mw_staging_flight(staging, i);
    MwIntraQuery query = {.graph = &graph,
                          .cluster = check->compilation->cluster,
                          .mesh = check->layout->stages[i].cost.mesh,
                          .micro_batches = staging->micro_batches,
                          .flight = &flight};
    MwIntraProblem *intra = mw_intra_problem(arena, &query, mw_diags_new(arena));
    if (intra && mw_sharding_most(intra) > check->limit_bytes) {
        MwShardingFit fit = mw_sharding_fit(arena, intra, check->limit_bytes, MW_SHARDING_QUICK);
        check->needed[i] = needed_bytes(&fit, check->limit_bytes);
    }
    mw_arena_free(&arena);
}

double mw_stage_check(MwArena *arena, const MwStageCheckRequest *request, double *needed)
{
    const MwStageLayout *layout = request->layout;
    MwCompilation copy = *request->compilation;
    copy.arena = arena;
    copy.graph = mw_graph_copy(arena, request->compilation->graph);
    copy.staging = *request->staging;
    MwDiags *diags = mw_diags_new(arena);
    bool done = mw_stage_lower_batching(&copy, diags) && mw_stage_lower_remat(&copy, diags) &&
                mw_stage_lower_layout(&copy, diags);
    MW_ASSERT(done); /* the same passes succeeded when the costs were computed */
    LayoutCheck check = {&copy, layout, (int64_t)request->memory_bytes / layout->chunks, needed};
    mw_parallel(request->threads, layout->stage_count, check_stage, &check);
    double most = 0;
    for (int i = 0; i < layout->stage_count; i++)
        most = fmax(most, needed[i] * layout->chunks);
    return most;
}
