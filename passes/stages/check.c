/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In:  a layout whose costs are estimates (cost.h).
 * Out: the memory that its stages need when they are solved. The passes between `stages` and
 *      `sharding` run on a copy of the model, and each stage is solved as the pass sharding
 *      solves it, quickly. */
#include "passes/stages/check.h"

#include "base/threads.h"
#include "ir/rewrite.h"
#include "passes/sharding/alike.h"
#include "passes/sharding/footprint.h"
#include "passes/sharding/sharding_fit.h"
#include "passes/stages/lower.h"

#include <math.h>

/* One stage of the layout. */
typedef struct {
    MwArena *arena;
    MwGraph graph; /* in this arena */
    MwFlight flight;
    MwIntraProblem *problem;
    const MwSharding *sharding; /* that fits; NULL: none yet */
    double lower_bound_s;       /* of a step within the memory; 0: not known */
    bool is_done;
    int64_t entries; /* work of solving it */
} StageCheck;

typedef struct {
    const MwCompilation *compilation; /* the lowered copy, with its stages */
    const MwStageLayout *layout;
    int64_t memory_bytes; /* of a device */
    double *needed;
    StageCheck *stages;
    int *wave; /* stages to solve next */
} LayoutCheck;

/* Bytes of a device for stage `i`. */
static int64_t limit_of(const LayoutCheck *check, int i)
{
    return mw_staging_memory_bytes(&check->compilation->staging, i, check->memory_bytes);
}

static double needed_bytes(const MwShardingFit *fit, int64_t limit_bytes)
{
    if (fit->sharding)
        return (double)fit->sharding->peak_bytes;
    return (double)mw_max(limit_bytes + 1, mw_max(fit->needed_bytes, fit->solution.peak_usage));
}

/* Makes the problem of stage `i`, unless it fits however it is sharded. */
static void build_stage(void *context, int i)
{
    const LayoutCheck *check = context;
    const MwStaging *staging = &check->compilation->staging;
    StageCheck *stage = &check->stages[i];
    stage->arena = mw_arena_new();
    stage->graph = *check->compilation->stages[i].graph;
    stage->graph.arena = stage->arena;
    stage->flight = mw_staging_flight(staging, i);
    MwIntraQuery query = {.graph = &stage->graph,
                          .cluster = check->compilation->cluster,
                          .mesh = check->layout->stages[i].cost.mesh,
                          .micro_batches = staging->micro_batches,
                          .flight = &stage->flight};
    stage->problem = mw_intra_problem(stage->arena, &query, mw_diags_new(stage->arena));
    stage->is_done = !stage->problem || mw_sharding_most(stage->problem) <= limit_of(check, i);
}

/* Solves a stage of the wave within the limit. */
static void solve_stage(void *context, int index)
{
    const LayoutCheck *check = context;
    const int i = check->wave[index];
    StageCheck *stage = &check->stages[i];
    const MwShardingFit fit =
        mw_sharding_fit(stage->arena, stage->problem, limit_of(check, i), MW_SHARDING_NEAR);
    check->needed[i] = needed_bytes(&fit, limit_of(check, i));
    stage->sharding = fit.sharding;
    stage->lower_bound_s = fit.lower_bound_s;
    stage->entries = fit.entries;
    stage->is_done = true;
}

/* Whether the choice of an earlier stage that is alike fits stage `i`: most such stages have fewer
 * micro-batches in flight. */
static bool reuse(const LayoutCheck *check, int i)
{
    StageCheck *stage = &check->stages[i];
    for (int k = 0; k < i; k++) {
        const StageCheck *other = &check->stages[k];
        if (!other->sharding || !mw_intra_problems_alike(other->problem, stage->problem))
            continue;
        stage->sharding = mw_sharding_of_choice(stage->arena, stage->problem,
                                                other->sharding->choice, limit_of(check, i));
        stage->is_done = stage->sharding != NULL;
        if (stage->is_done)
            check->needed[i] = (double)stage->sharding->peak_bytes;
        return stage->is_done;
    }
    return false;
}

/* Whether a stage of the wave is alike. */
static bool waits(const LayoutCheck *check, int count, int i)
{
    for (int k = 0; k < count; k++)
        if (mw_intra_problems_alike(check->stages[check->wave[k]].problem,
                                    check->stages[i].problem))
            return true;
    return false;
}

/* Solves the stages in waves, of stages that are alike the first before the others. */
static void solve_stages(LayoutCheck *check, int threads)
{
    int count;
    do {
        count = 0;
        for (int i = 0; i < check->layout->stage_count; i++)
            if (!check->stages[i].is_done && !reuse(check, i) && !waits(check, count, i))
                check->wave[count++] = i;
        mw_parallel(threads, count, solve_stage, check);
    } while (count > 0);
}

/* What is kept of a stage that is solved. */
static MwStageChecked checked_of(MwArena *arena, const StageCheck *stage)
{
    const MwSharding *sharding = stage->sharding;
    if (!sharding)
        return (MwStageChecked){0};
    const int nodes = stage->graph.nodes.count;
    return (MwStageChecked){
        .mesh = sharding->problem->model.mesh,
        .choice = mw_arena_dup(arena, sharding->choice, sizeof *sharding->choice * (size_t)nodes),
        .node_count = nodes,
        .cost = sharding->solution.cost,
        .lower_bound_s = stage->lower_bound_s};
}

double mw_stage_check(MwArena *arena, const MwStageCheckRequest *request, double *needed)
{
    const MwStageLayout *layout = request->layout;
    MwCompilation copy = *request->compilation;
    copy.arena = arena;
    copy.graph_arena = mw_arena_new_within(arena);
    copy.graph = mw_graph_copy(copy.graph_arena, request->compilation->graph);
    copy.staging = *request->staging;
    MwDiags *diags = mw_diags_new(arena);
    bool done = mw_stage_lower_batching(&copy, diags) && mw_stage_lower_remat(&copy, diags) &&
                mw_stage_lower_layout(&copy, diags);
    MW_ASSERT(done); /* the same passes succeeded when the costs were computed */
    const int stages = layout->stage_count;
    LayoutCheck check = {.compilation = &copy,
                         .layout = layout,
                         .memory_bytes = (int64_t)request->memory_bytes,
                         .needed = needed,
                         .stages = MW_NEW(arena, StageCheck, stages),
                         .wave = MW_NEW(arena, int, stages)};
    mw_parallel(request->threads, stages, build_stage, &check);
    solve_stages(&check, request->threads);
    for (int i = 0; i < stages; i++) {
        *request->solved_entries += check.stages[i].entries;
        request->checked[i] = checked_of(request->kept, &check.stages[i]);
        mw_arena_free(&check.stages[i].arena);
    }
    double most = 0;
    for (int i = 0; i < layout->stage_count; i++)
        most = fmax(most, needed[i] / mw_stage_layout_memory_share(layout, i));
    return most;
}
