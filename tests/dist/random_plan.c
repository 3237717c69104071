/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A plan in which every node runs in a strategy drawn at random, of all legal choices, and without
 * --mesh also the layout is drawn, which it prints:
 *
 *     random_plan SEED [options of `meshwright plan`, --mesh among them] MODEL.graph
 *
 * All but the choice is done by the passes and the code generator of `meshwright plan`. */
#include "base/file.h"
#include "codegen/plan/build.h"
#include "passes/sharding/report.h"
#include "passes/stages/lower.h"
#include "runtime/check/check.h"
#include "tests/dist/random_layout.h"
#include "tests/reference/random_choice.h"
#include "tests/reference/spread.h"
#include "tools/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LAYERS = 8 };

/* In place of the sharding pass. False after errors. */
static bool shard(MwCompilation *compilation, int index, uint64_t *random, MwDiags *diags)
{
    const MwStaging *staging = &compilation->staging;
    const MwMeshShape *wanted = &compilation->options.mesh;
    MwStage *stage = &compilation->stages[index];
    const MwIntraQuery query = {
        .graph = stage->graph,
        .cluster = compilation->cluster,
        .mesh =
            wanted->axis_count ? *wanted : staging->meshes[mw_staging_mesh(staging, index)].shape,
        .micro_batches = staging->micro_batches,
        .memory_bytes = MW_USAGE_UNLIMITED};
    MwSharding *sharding = MW_NEW(compilation->arena, MwSharding, 1);
    sharding->problem = mw_intra_problem(compilation->arena, &query, diags);
    if (!sharding->problem)
        return false;
    sharding->choice = random_choice(compilation->arena, &sharding->problem->problem, random);
    stage->sharding = sharding;
    stage->report = mw_report(compilation->arena, sharding);
    return true;
}

/* The layout, the strategies, and what each device runs. */
static bool lay_out(MwCompilation *compilation, uint64_t *random, MwDiags *diags)
{
    const bool is_pinned = compilation->options.mesh.axis_count > 0;
    if (!is_pinned)
        compilation->options.layers = 2 + random_below(random, MOST_LAYERS - 1);
    const MwPipelineOptions before = {.stop_after = MW_PASS_update, .dump_after = MW_PASS_COUNT};
    if (!mw_pipeline_run(compilation, &before, diags))
        return false;
    if (!is_pinned) {
        MwText text = {.arena = compilation->arena};
        random_layout(compilation, random);
        random_layout_print(&text, &compilation->staging);
        printf("%s\n", text.at);
    } else if (!mw_pass_stages(compilation, diags)) {
        return false;
    }
    if (!mw_stage_lower_batching(compilation, diags) || !mw_stage_lower_remat(compilation, diags) ||
        !mw_stage_lower_layout(compilation, diags))
        return false;
    for (int s = 0; s < compilation->staging.stage_count; s++)
        if (!shard(compilation, s, random, diags))
            return false;
    return mw_pass_partition(compilation, diags);
}

static const MwPlan *make_plan(MwSession *session, uint64_t seed)
{
    MwCompilation *compilation = &session->compilation;
    if (!mw_session_load_model(session) || !mw_session_load_cluster(session) ||
        !lay_out(compilation, &seed, session->diags))
        return NULL;
    const MwPlan *plan = mw_plan_build(compilation, session->options.model, session->diags);
    return plan && mw_plan_check(plan, session->diags) ? plan : NULL;
}

int main(int argc, char **argv)
{
    MW_ASSERT(argc > 2);
    static const MwToolCommand command = {
        .what = "Plans a model at random.", .plans = true, .suffix = ".plan"};
    MwSession session;
    const uint64_t seed = strtoull(argv[1], NULL, 10);
    mw_session_begin(&session, &command, argc - 1, argv + 1);
    const MwPlan *plan = make_plan(&session, seed);
    if (plan) {
        MwText text = {.arena = session.options.arena};
        mw_plan_print(&text, plan);
        if (!mw_file_write(session.options.output, text.at, text.bytes, 0644))
            mw_diag_error(session.diags, mw_span_none(), "cannot write %s: %s",
                          session.options.output, strerror(errno));
    }
    return mw_session_end(&session);
}
