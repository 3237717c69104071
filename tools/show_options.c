/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/show_options.h"

#include "runtime/check/check.h"
#include "tools/argument.h"

#include <string.h>

enum { MOST_FORMATS = 8, FORMATS_BYTES = 64 };

/* The index of `text` among the formats. */
static int parse_format(const struct argp_state *state, const char *formats, const char *text)
{
    char words[FORMATS_BYTES], *rest;
    const char *names[MOST_FORMATS];
    int count = 0;
    MW_ASSERT(strlen(formats) < sizeof words);
    strcpy(words, formats);
    for (char *name = strtok_r(words, "|", &rest); name; name = strtok_r(NULL, "|", &rest)) {
        MW_ASSERT(count < MOST_FORMATS);
        names[count++] = name;
    }
    return mw_argument_choice(state, "format", names, count, text);
}

error_t mw_show_parse(MwShowOptions *options, int key, char *arg, const struct argp_state *state)
{
    switch (key) {
    case MW_OPTION_FORMAT:
        options->format = parse_format(state, options->formats, arg);
        return 0;
    case MW_OPTION_ALL:
        options->all = true;
        return 0;
    case 'o':
        options->output = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const MwPlan *mw_show_plan(MwArena *arena, const char *path, MwDiags *diags)
{
    const MwPlan *plan = mw_plan_read(arena, path, diags);
    return plan && mw_plan_check(plan, diags) ? plan : NULL;
}
