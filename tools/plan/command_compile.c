/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `meshwright compile MODEL.graph [-o OUT]`. */
#include "codegen/link/driver.h"
#include "tools/commands.h"
#include "tools/plan/summarize.h"
#include "tools/version.h"

int mw_command_compile(int argc, char **argv)
{
    static const MwToolCommand command = {
        .what = "Makes a parallel executable of a model, for a cluster.",
        .plans = true,
        .suffix = ""};
    MwSession session;
    mw_session_begin(&session, &command, argc, argv);
    const MwPlan *plan = mw_session_plan(&session);
    if (plan)
        mw_codegen_executable(session.options.arena, plan, session.options.cuda_arch, mw_version,
                              session.options.output, session.diags);
    return mw_session_summarize(&session, plan);
}
