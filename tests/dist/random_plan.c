/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A plan in which every node runs in a strategy drawn at random, of all legal choices:
 *
 *     random_plan SEED [options of `meshwright plan`, --mesh among them] MODEL.graph
 *
 * All but the choice is done by the passes and the code generator of `meshwright plan`. */
#include "base/file.h"
#include "codegen/plan_build.h"
#include "ir/verify.h"
#include "passes/report.h"
#include "tests/reference/random_choice.h"
#include "tools/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* In place of the sharding pass. False after errors. */
static bool shard(MwCompilation *compilation, uint64_t seed, MwDiags *diags)
{
    const MwIntraQuery query = {.graph = compilation->stages[0].graph,
                                .cluster = compilation->cluster,
                                .mesh = compilation->options.mesh,
                                .micro_batches = compilation->staging.micro_batches,
                                .memory_bytes = MW_USAGE_UNLIMITED};
    MwSharding *sharding = MW_NEW(compilation->arena, MwSharding, 1);
    sharding->problem = mw_intra_problem(compilation->arena, &query, diags);
    if (!sharding->problem)
        return false;
    sharding->choice = random_choice(compilation->arena, &sharding->problem->problem, &seed);
    compilation->stages[0].sharding = sharding;
    compilation->stages[0].report = mw_report(compilation->arena, sharding);
    return true;
}

static const MwPlan *make_plan(MwSession *session, uint64_t seed)
{
    MwCompilation *compilation = &session->compilation;
    session->options.pipeline.stop_after = MW_PASS_share;
    if (!mw_session_load_model(session) || !mw_session_load_cluster(session) ||
        !mw_session_run_passes(session) || !shard(compilation, seed, session->diags) ||
        !mw_pass_partition(compilation, session->diags))
        return NULL;
    const MwPlan *plan = mw_plan_build(compilation, session->options.model, session->diags);
    return plan && mw_plan_check(plan, session->diags) ? plan : NULL;
}

int main(int argc, char **argv)
{
    MW_ASSERT(argc > 2);
    MwSession session;
    const uint64_t seed = strtoull(argv[1], NULL, 10);
    mw_session_begin(&session, true, "Plans a model at random.", argc - 1, argv + 1);
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
