/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In:  a layout whose costs are estimates (stage_cost.h).
 * Out: whether its stages have memory enough when each is solved as it will be, with as many
 *      micro-batches in flight as its schedule has, and a memory limit. */
#include "passes/stage_check.h"

#include "passes/parallel.h"
#include "passes/sharding.h"

#include <math.h>

/* The share of the memory above which an estimate is looked into. */
static const double CLOSE = 0.85;
static const double GAP = 0.001;

/* Solutions that are tried with less memory each, as copies that resharding makes are not in the
 * problem. */
enum { TRIES = 4 };

typedef struct {
    MwArena *arena;
    const MwStageModel *model;
    const MwStageLayout *layout;
    MwStaging staging;
    double limit_bytes; /* of a stage */
    MwGraph **graphs;   /* [stages] NULL: not looked into */
    double *needed;     /* [stages] */
} Check;

static double solve_stage(MwArena *arena, MwIntraProblem *intra, int64_t limit)
{
    int64_t needed = 0;
    intra->problem.usage_limit = limit;
    for (int i = 0; i < TRIES; i++) {
        MwSolution solution =
            mw_solve(arena, &intra->problem, &(MwSolveOptions){.gap = GAP, .quick = true});
        if (!solution.choice)
            return (double)mw_max(mw_max(needed, solution.peak_usage), limit + 1);
        MwSharding sharding = {.problem = intra, .choice = solution.choice};
        needed = mw_sharding_peak(&sharding);
        if (needed <= limit)
            return (double)needed;
        intra->problem.usage_limit -= mw_min((needed - limit + 1) / 2, limit / TRIES);
    }
    return (double)needed;
}

static void check_stage(void *context, int i)
{
    const Check *check = context;
    if (!check->graphs[i])
        return;
    MwArena *arena = mw_arena_new();
    MwGraph graph = *check->graphs[i];
    graph.arena = arena;
    MwFlight flight = mw_staging_flight(&check->staging, i);
    MwIntraQuery query = {.graph = &graph,
                          .cluster = check->model->cut[0].cluster,
                          .mesh = check->layout->stages[i].cost.mesh,
                          .micro_batches = check->model->micro_batches,
                          .flight = &flight};
    MwIntraProblem *intra = mw_intra_problem(arena, &query, mw_diags_new(arena));
    if (intra)
        check->needed[i] = solve_stage(arena, intra, (int64_t)check->limit_bytes);
    mw_arena_free(&arena);
}

double mw_stage_check(const MwStageModel *model, const MwStageLayout *layout, double memory_bytes,
                      int threads)
{
    MwArena *arena = mw_arena_new();
    int meshes = layout->stage_count / layout->chunks;
    Check check = {.arena = arena,
                   .model = model,
                   .layout = layout,
                   .staging = {.stage_count = layout->stage_count, .mesh_count = meshes},
                   .limit_bytes = memory_bytes / layout->chunks,
                   .graphs = MW_NEW(arena, MwGraph *, layout->stage_count),
                   .needed = MW_NEW(arena, double, layout->stage_count)};
    check.staging.micro_batches = layout->micro_batches;
    check.staging.schedule = mw_pipeline_schedule_new(arena, layout->kind, meshes,
                                                      layout->micro_batches, layout->chunks);
    for (int i = 0; i < layout->stage_count; i++) {
        const MwLayoutStage *stage = &layout->stages[i];
        if (stage->needed_bytes * layout->chunks > CLOSE * memory_bytes)
            check.graphs[i] =
                mw_stage_model_graph(model, stage->begin, stage->end, stage->cost.recomputed > 0);
    }
    mw_parallel(threads, layout->stage_count, check_stage, &check);
    double most = 0;
    for (int i = 0; i < layout->stage_count; i++)
        most = fmax(most, check.needed[i] * layout->chunks);
    mw_arena_free(&arena);
    return most;
}
