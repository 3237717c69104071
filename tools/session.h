/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `check`, `plan` and `compile` share: options, the compilation, and its diagnostics. */
#ifndef MW_TOOLS_SESSION_H
#define MW_TOOLS_SESSION_H

#include "runtime/plan/plan.h"
#include "tools/compile_options.h"

typedef struct {
    MwToolOptions options;
    /* for plans to record; its model is the word of the command line, its hashes are there once
     * what they are of was loaded */
    MwPlanCommand command;
    MwCompilation compilation;
    MwDiags *diags;
    bool names_output; /* options.output was not given */
} MwSession;

/* Parses the command line (mw_tool_options_parse). */
void mw_session_begin(MwSession *session, const MwToolCommand *command, int argc, char **argv);
/* Takes the model and the options of a command that made a plan (mw_tool_options_take). */
bool mw_session_take(MwSession *session, const MwPlanCommand *command);
/* Begins a session with options that were parsed, in an arena of its own, so that it may run beside
 * others that have copies of the same options. The caller ends it by freeing options.arena. */
void mw_session_begin_with(MwSession *session, const MwToolOptions *options);
/* Shows what went wrong, if anything did, frees everything, and gives the exit status. */
int mw_session_end(MwSession *session);

/* Each adds errors and gives false where it fails. */
bool mw_session_load_model(MwSession *session);
bool mw_session_load_cluster(MwSession *session);
bool mw_session_load(MwSession *session); /* both */
bool mw_session_run_passes(MwSession *session);

/* The plan of the model and the cluster that were loaded, with other options and diagnostics than
 * those of the session. NULL after errors. */
const MwPlan *mw_session_plan_with(MwSession *session, const MwCompileOptions *options,
                                   MwDiags *diags);
/* All of them, and the checked plan. NULL after errors, and where --stop-after ends the pipeline.
 * The result goes to options.output, which unless it is given is named after the model, with the
 * suffix of the command. */
const MwPlan *mw_session_plan(MwSession *session);

#endif
