/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/session.h"

#include "codegen/plan/build.h"
#include "frontend/cluster/cluster.h"
#include "runtime/check/check.h"

void mw_session_begin(MwSession *session, bool plans, const char *what, int argc, char **argv)
{
    MwArena *arena = mw_arena_new();
    *session = (MwSession){.options = {.arena = arena}, .diags = mw_diags_new(arena)};
    mw_tool_options_parse(&session->options, plans, what, argc, argv);
    session->compilation.arena = arena;
    session->compilation.options = session->options.compile;
}

int mw_session_end(MwSession *session)
{
    mw_diags_print(session->diags, stderr);
    int status = mw_diags_error_count(session->diags) != 0;
    mw_arena_free(&session->options.arena);
    return status;
}

bool mw_session_load_model(MwSession *session)
{
    const MwToolOptions *options = &session->options;
    MwInterner *interner = mw_interner_new(options->arena);
    session->compilation.graph =
        mw_graph_load(options->arena, interner, options->model, options->defines.at,
                      options->defines.count, session->diags);
    if (session->compilation.graph && options->has_precision)
        session->compilation.graph->precision = options->precision;
    return session->compilation.graph != NULL;
}

bool mw_session_load_cluster(MwSession *session)
{
    const MwToolOptions *options = &session->options;
    MwCluster *cluster = mw_cluster_load(options->arena, options->cluster, session->diags);
    if (cluster && options->backend)
        cluster->backend = options->backend;
    session->compilation.cluster = cluster;
    return cluster != NULL;
}

bool mw_session_run_passes(MwSession *session)
{
    return mw_pipeline_run(&session->compilation, &session->options.pipeline, session->diags);
}

/* Plans the model anew, with so much of the memory left free. */
static const MwPlan *plan_once(MwSession *session, int64_t reserve_bytes)
{
    MwCompilation *compilation = &session->compilation;
    *compilation = (MwCompilation){.arena = session->options.arena,
                                   .options = session->options.compile,
                                   .cluster = compilation->cluster,
                                   .reserve_bytes = reserve_bytes};
    if (!mw_session_load_model(session) || !mw_session_run_passes(session) ||
        session->options.pipeline.stop_after != MW_PASS_COUNT)
        return NULL;
    const MwPlan *plan = mw_plan_build(compilation, session->options.model, session->diags);
    return plan && mw_plan_check(plan, session->diags) ? plan : NULL;
}

/* Where what the passes chose takes more in the arena than they knew, they choose again with less
 * memory: less by what was too much, and from the second time on by a margin too. What is said of
 * such a plan counts only if it fits; dumps are of the first. */
static const MwPlan *plan_leaner(MwSession *session)
{
    enum { TRIES = 4, MARGIN = 50 };
    MwDiags *said = session->diags;
    int64_t reserve_bytes = 0;
    const MwPlan *plan = NULL;
    session->options.pipeline.dump_after = MW_PASS_COUNT;
    for (int i = 0; i < TRIES && !plan && session->compilation.excess_bytes; i++) {
        int64_t memory_bytes = mw_device_bytes(&session->compilation);
        reserve_bytes += session->compilation.excess_bytes + (i > 0 ? memory_bytes / MARGIN : 0);
        if (reserve_bytes >= memory_bytes)
            break;
        session->diags = mw_diags_new(session->options.arena);
        plan = plan_once(session, reserve_bytes);
    }
    if (!plan)
        session->diags = said;
    return plan;
}

const MwPlan *mw_session_plan(MwSession *session)
{
    if (!mw_session_load_cluster(session))
        return NULL;
    const MwPlan *plan = plan_once(session, 0);
    return !plan && session->compilation.excess_bytes ? plan_leaner(session) : plan;
}
