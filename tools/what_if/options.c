/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/what_if/options.h"

#include "tools/argument.h"

error_t mw_what_if_parse(MwWhatIfOptions *options, int key, char *arg,
                         const struct argp_state *state)
{
    if (key != 'j')
        return mw_show_parse(&options->show, key, arg, state);
    options->jobs = mw_argument_count(state, "the number of plans at a time", arg);
    return 0;
}

void mw_what_if_show(const MwWhatIfOptions *options, const MwWhatIfTable *table, MwDiags *diags)
{
    MwText text = {.arena = table->arena};
    mw_what_if_write(&text, table, (MwWhatIfFormat)options->show.format);
    mw_result_write(options->show.output, &text, diags);
}
