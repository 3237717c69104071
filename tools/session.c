/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/session.h"

#include "base/file.h"
#include "codegen/plan/plan_model.h"
#include "frontend/cluster/cluster.h"
#include "ir/verify.h"
#include "runtime/check/check.h"
#include "tools/cheapest.h"
#include "tools/data_files.h"
#include "tools/output_name.h"

/* After parsing: finds the model, which the options have by its name. */
static void use_options(MwSession *session)
{
    MwToolOptions *options = &session->options;
    session->command = (MwPlanCommand){.model = options->model,
                                       .options = options->asked.at,
                                       .option_count = options->asked.count};
    options->model = mw_data_file(options->arena, &mw_data_models, options->model);
    session->compilation.options = options->compile;
}

static const char *hash_text(MwArena *arena, uint64_t hash)
{
    return mw_arena_printf(arena, "%016llx", (unsigned long long)hash);
}

void mw_session_begin(MwSession *session, const MwToolCommand *command, int argc, char **argv)
{
    MwArena *arena = mw_arena_new();
    *session = (MwSession){.options = {.arena = arena}, .diags = mw_diags_new(arena)};
    session->compilation.arena = arena;
    mw_tool_options_parse(&session->options, command, argc, argv);
    use_options(session);
}

void mw_session_begin_with(MwSession *session, const MwToolOptions *options)
{
    MwArena *arena = mw_arena_new();
    *session = (MwSession){.options = *options, .diags = mw_diags_new(arena)};
    session->options.arena = session->compilation.arena = arena;
    use_options(session);
}

bool mw_session_take(MwSession *session, const MwPlanCommand *command)
{
    if (!mw_tool_options_take(&session->options, command, session->diags))
        return false;
    use_options(session);
    return true;
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
    MwGraph *graph = session->compilation.graph;
    if (!graph)
        return false;
    session->command.model_hash = hash_text(options->arena, graph->source_hash);
    if (options->has_precision && options->precision != mw_graph_precision(graph))
        mw_graph_set_precision(graph, options->precision);
    return mw_graph_check_model(graph, session->diags);
}

bool mw_session_load_cluster(MwSession *session)
{
    const MwToolOptions *options = &session->options;
    const char *path = mw_data_file(options->arena, &mw_data_clusters, options->cluster);
    MwCluster *cluster = mw_cluster_load(options->arena, path, session->diags);
    session->compilation.cluster = cluster;
    if (!cluster)
        return false;
    session->command.cluster_hash = hash_text(options->arena, cluster->source_hash);
    if (options->backend)
        cluster->backend = options->backend;
    return true;
}

bool mw_session_load(MwSession *session)
{
    return mw_session_load_cluster(session) && mw_session_load_model(session);
}

bool mw_session_run_passes(MwSession *session)
{
    return mw_pipeline_run(&session->compilation, &session->options.pipeline, session->diags);
}

const MwPlan *mw_session_plan_with(MwSession *session, const MwCompileOptions *options,
                                   MwDiags *diags)
{
    MwPlanRequest request = {.graph = session->compilation.graph,
                             .source = session->options.model,
                             .command = session->command,
                             .cluster = session->compilation.cluster,
                             .options = options,
                             .pipeline = &session->options.pipeline};
    if (session->options.objective == MW_OBJECTIVE_COST)
        request.cluster = mw_cheapest_cluster(session->options.arena, &request, diags);
    if (!request.cluster)
        return NULL;
    return mw_plan_model(session->options.arena, &request, diags).plan;
}

/* Chooses a name for the result, if there is one and none is given, which is not the model's. */
static bool name_output(MwSession *session)
{
    MwToolOptions *options = &session->options;
    const char *suffix = options->command->suffix;
    if (options->output && mw_file_is_same(options->output, options->model)) {
        mw_diag_error(session->diags, mw_span_none(), "cannot write %s: it is the model",
                      options->output);
        return false;
    }
    if (!suffix || options->output || options->pipeline.stop_after != MW_PASS_COUNT)
        return true;
    options->output = mw_output_name(options->arena, options->model, suffix, session->diags);
    session->names_output = true;
    return options->output != NULL;
}

const MwPlan *mw_session_plan(MwSession *session)
{
    if (!name_output(session) || !mw_session_load(session))
        return NULL;
    return mw_session_plan_with(session, &session->options.compile, session->diags);
}
