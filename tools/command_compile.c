/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `meshwright check`, `plan` and `compile`: the road from a .graph file, as far as each goes. */
#include "tools/commands.h"
#include "tools/compile_options.h"

#include "codegen/codegen.h"

#include "base/file.h"

#include <errno.h>
#include <string.h>

typedef struct {
    MwToolOptions options;
    MwCompilation compilation;
    MwDiags *diags;
} Session;

static Session session_begin(bool plans, const char *what, int argc, char **argv)
{
    MwArena *arena = mw_arena_new();
    Session session = {.options = {.arena = arena}, .diags = mw_diags_new(arena)};
    mw_tool_options_parse(&session.options, plans, what, argc, argv);
    session.compilation.arena = arena;
    session.compilation.options = session.options.compile;
    return session;
}

/* Shows what went wrong, if anything did, and gives the exit status. */
static int session_end(Session *session)
{
    mw_diags_print(session->diags, stderr);
    int status = mw_diags_error_count(session->diags) != 0;
    mw_arena_free(&session->options.arena);
    return status;
}

static bool load_model(Session *session)
{
    const MwToolOptions *options = &session->options;
    MwInterner *interner = mw_interner_new(options->arena);
    session->compilation.graph =
        mw_graph_load(options->arena, interner, options->model, options->defines.at,
                      options->defines.count, session->diags);
    return session->compilation.graph != NULL;
}

static bool load_cluster(Session *session)
{
    session->compilation.cluster =
        mw_cluster_load(session->options.arena, session->options.cluster, session->diags);
    return session->compilation.cluster != NULL;
}

static bool run_passes(Session *session)
{
    return mw_pipeline_run(&session->compilation, &session->options.pipeline, session->diags);
}

/* Loads, runs the passes and makes the plan; NULL after errors, or if the user wants to stop
 * before. */
static MwPlan *make_plan(Session *session)
{
    const MwToolOptions *options = &session->options;
    if (!load_cluster(session) || !load_model(session) || !run_passes(session) ||
        options->pipeline.stop_after != MW_PASS_COUNT)
        return NULL;
    MwCodegenQuery query = {.source = options->model, .backend = options->backend};
    return mw_codegen_plan(&session->compilation, &query, session->diags);
}

int mw_command_check(int argc, char **argv)
{
    Session session = session_begin(
        false, "Parses a .graph file, infers shapes and runs the passes that need no cluster.",
        argc, argv);
    MwPipelineOptions *pipeline = &session.options.pipeline;
    const MwPass last = MW_PASS_update; /* what follows asks for a cluster */
    if (pipeline->stop_after > last)
        pipeline->stop_after = last;
    if (load_model(&session) && run_passes(&session) && pipeline->dump_after == MW_PASS_COUNT)
        printf("%s: good\n", session.options.model);
    return session_end(&session);
}

int mw_command_plan(int argc, char **argv)
{
    Session session = session_begin(
        true, "Decides how a model runs on a cluster and writes the plan.", argc, argv);
    MwPlan *plan = make_plan(&session);
    const char *path = session.options.output;
    if (plan) {
        MwText text = {.arena = session.options.arena};
        mw_plan_print(&text, plan);
        if (!mw_file_write(path, text.at, text.bytes, 0644))
            mw_diag_error(session.diags, mw_span_none(), "cannot write %s: %s", path,
                          strerror(errno));
    }
    return session_end(&session);
}

int mw_command_compile(int argc, char **argv)
{
    Session session =
        session_begin(true, "Compiles a model to an executable that mpirun starts.", argc, argv);
    MwPlan *plan = make_plan(&session);
    if (plan)
        mw_codegen_executable(plan, session.options.output, session.diags);
    return session_end(&session);
}
