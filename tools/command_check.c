/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `meshwright check MODEL.graph`. */
#include "tools/commands.h"
#include "tools/session.h"

int mw_command_check(int argc, char **argv)
{
    static const MwToolCommand command = {
        .what = "Parses a .graph file, infers shapes and runs the passes that need no cluster."};
    MwSession session;
    mw_session_begin(&session, &command, argc, argv);
    MwPipelineOptions *pipeline = &session.options.pipeline;
    const MwPass last = MW_PASS_quantise; /* the passes after it need a cluster */
    if (pipeline->stop_after > last)
        pipeline->stop_after = last;
    if (mw_session_load_model(&session) && mw_session_run_passes(&session) &&
        pipeline->dump_after == MW_PASS_COUNT)
        printf("%s: good\n", session.options.model);
    return mw_session_end(&session);
}
