/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/explain/again.h"

#include "tools/diff/differences.h"
#include "tools/show_options.h"

#include <string.h>

/* "models/gpt.graph --cluster local:4", as a shell takes it. */
static const char *command_line(MwArena *arena, const MwPlanCommand *command)
{
    MwText text = {.arena = arena};
    mw_text_add_word(&text, command->model);
    for (int i = 0; i < command->option_count; i++) {
        mw_text_printf(&text, " %s ", command->options[i].name);
        mw_text_add_word(&text, command->options[i].value);
    }
    return text.at;
}

/* Whether the session can do what the plan says of itself. */
static bool takes_plan(MwSession *session, const char *path, const MwPlan *plan)
{
    if (!*plan->command.model) {
        mw_diag_error(session->diags, mw_span_none(), "%s does not say what it was made from",
                      path);
        return false;
    }
    if (session->command.option_count) {
        mw_diag_error(session->diags, mw_span_none(),
                      "%s says with what options it was planned: leave out %s, or give the model "
                      "in place of the plan",
                      path, session->command.options[0].name);
        return false;
    }
    return mw_session_take(session, &plan->command);
}

/* Whether the model and the cluster are those of the plan. */
static bool is_unchanged(MwSession *session, const char *path, const MwPlanCommand *made_by)
{
    const char *const cluster = session->options.cluster, *const model = session->options.model;
    const bool same_model = strcmp(session->command.model_hash, made_by->model_hash) == 0;
    const bool same_cluster = strcmp(session->command.cluster_hash, made_by->cluster_hash) == 0;
    if (!same_model)
        mw_diag_error(session->diags, mw_span_none(),
                      "%s, or what it imports, has changed since %s was made", model, path);
    if (!same_cluster)
        mw_diag_error(session->diags, mw_span_none(),
                      "the cluster %s has changed since %s was made", cluster, path);
    return same_model && same_cluster;
}

/* What the session plans now; NULL also where that is another plan. */
static const MwPlan *plan_same(MwSession *session, const char *path, const MwPlan *plan)
{
    MwDifferences differences = {.arena = session->options.arena};
    if (!mw_session_load(session) || !is_unchanged(session, path, &plan->command))
        return NULL;
    const MwPlan *again = mw_session_plan_with(session, &session->options.compile, session->diags);
    if (again)
        mw_diff_plans(&differences, plan, again);
    if (differences.all.count == 0)
        return again;
    mw_diag_error(session->diags, mw_span_none(),
                  "this meshwright plans %s otherwise than the one that made %s",
                  session->options.model, path);
    return NULL;
}

const MwPlan *mw_explain_again(MwSession *session, const char *path)
{
    MwArena *arena = session->options.arena;
    const MwPlan *plan = mw_show_plan(arena, path, session->diags);
    if (!plan || !takes_plan(session, path, plan))
        return NULL;
    const MwPlan *again = plan_same(session, path, plan);
    if (mw_diags_error_count(session->diags))
        mw_diag_note(session->diags, mw_span_none(),
                     "%s was made from `%s`, with paths as they were then; `meshwright explain` "
                     "takes these words in place of the plan",
                     path, command_line(arena, &plan->command));
    return again;
}
