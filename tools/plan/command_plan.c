/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `meshwright plan MODEL.graph [-o OUT.plan]`. */
#include "base/file.h"
#include "tools/commands.h"
#include "tools/plan/summarize.h"

#include <errno.h>
#include <string.h>

static void write_plan(MwSession *session, const MwPlan *plan)
{
    MwText text = {.arena = session->options.arena};
    mw_plan_print(&text, plan);
    if (!mw_file_write(session->options.output, text.at, text.bytes, 0644))
        mw_diag_error(session->diags, mw_span_none(), "cannot write %s: %s",
                      session->options.output, strerror(errno));
}

int mw_command_plan(int argc, char **argv)
{
    static const MwToolCommand command = {.what =
                                              "Plans a model for a cluster and writes the plan.",
                                          .plans = true,
                                          .suffix = ".plan"};
    MwSession session;
    mw_session_begin(&session, &command, argc, argv);
    const MwPlan *plan = mw_session_plan(&session);
    if (plan)
        write_plan(&session, plan);
    return mw_session_summarize(&session, plan);
}
