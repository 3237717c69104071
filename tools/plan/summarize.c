/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/plan/summarize.h"

#include "tools/inspect/summary.h"

#include <stdio.h>
#include <sys/stat.h>

/* The result is a file, and not standard output or a pipe. */
static bool is_file(const char *path)
{
    struct stat info;
    return path && stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

int mw_session_summarize(MwSession *session, const MwPlan *plan)
{
    const MwToolOptions *options = &session->options;
    MwText text = {.arena = options->arena};
    if (plan && mw_diags_error_count(session->diags) == 0 && !options->quiet &&
        options->pipeline.dump_after == MW_PASS_COUNT && is_file(options->output)) {
        mw_inspect_summary(&text, plan);
        fputs(text.at, stdout);
    }
    return mw_session_end(session);
}
