/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/session.h"

#include "codegen/plan/plan_model.h"
#include "frontend/cluster/cluster.h"
#include "ir/verify.h"
#include "runtime/check/check.h"
#include "tools/data_files.h"
#include "tools/output_name.h"

void mw_session_begin(MwSession *session, const MwToolCommand *command, int argc, char **argv)
{
    MwArena *arena = mw_arena_new();
    *session = (MwSession){.options = {.arena = arena}, .diags = mw_diags_new(arena)};
    mw_tool_options_parse(&session->options, command, argc, argv);
    session->options.model = mw_data_file(arena, &mw_data_models, session->options.model);
    session->compilation.arena = arena;
    session->compilation.options = session->options.compile;
}

int mw_session_end(MwSession *session)
{
    mw_diags_print(session->diags, stderr);
    int status = mw_diags_error_count(session->diags) != 0;
    if (status == 0 && session->names_output)
        fprintf(stderr, "meshwright: wrote %s\n", session->options.output);
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
    return session->compilation.graph &&
           mw_graph_check_model(session->compilation.graph, session->diags);
}

bool mw_session_load_cluster(MwSession *session)
{
    const MwToolOptions *options = &session->options;
    const char *path = mw_data_file(options->arena, &mw_data_clusters, options->cluster);
    MwCluster *cluster = mw_cluster_load(options->arena, path, session->diags);
    if (cluster && options->backend)
        cluster->backend = options->backend;
    session->compilation.cluster = cluster;
    return cluster != NULL;
}

bool mw_session_run_passes(MwSession *session)
{
    return mw_pipeline_run(&session->compilation, &session->options.pipeline, session->diags);
}

const MwPlan *mw_session_plan_with(MwSession *session, const MwCompileOptions *options,
                                   MwDiags *diags)
{
    const MwPlanRequest request = {.graph = session->compilation.graph,
                                   .source = session->options.model,
                                   .cluster = session->compilation.cluster,
                                   .options = options,
                                   .pipeline = &session->options.pipeline};
    return mw_plan_model(session->options.arena, &request, diags).plan;
}

/* Chooses a name for the result, if there is one and none is given. */
static bool name_output(MwSession *session)
{
    MwToolOptions *options = &session->options;
    const char *suffix = options->command->suffix;
    if (!suffix || options->output || options->pipeline.stop_after != MW_PASS_COUNT)
        return true;
    options->output = mw_output_name(options->arena, options->model, suffix, session->diags);
    session->names_output = true;
    return options->output != NULL;
}

const MwPlan *mw_session_plan(MwSession *session)
{
    if (!name_output(session) || !mw_session_load_cluster(session) ||
        !mw_session_load_model(session))
        return NULL;
    return mw_session_plan_with(session, &session->options.compile, session->diags);
}
