/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/argument_schedule.h"

#include "tools/argument.h"

MwPipelineKind mw_argument_schedule(const struct argp_state *state, const char *text)
{
    const char *names[MW_PIPELINE_COUNT], *similar = mw_pipeline_suggest(text);
    MwPipelineKind kind;
    if (mw_pipeline_parse(text, &kind))
        return kind;
    if (similar)
        argp_error(state, "there is no schedule '%s'; did you mean '%s'?", text, similar);
    for (int i = 0; i < MW_PIPELINE_COUNT; i++)
        names[i] = mw_pipeline_info((MwPipelineKind)i)->name;
    return (MwPipelineKind)mw_argument_choice(state, "schedule", names, MW_PIPELINE_COUNT, text);
}
