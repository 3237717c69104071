/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the commands that show plans share: which format, how much, where to; and reading a plan. */
#ifndef MW_TOOLS_SHOW_OPTIONS_H
#define MW_TOOLS_SHOW_OPTIONS_H

#include "runtime/plan/plan.h"

#include <argp.h>

/* `formats` is set before parsing. */
typedef struct {
    const char *formats; /* "text|json", as --help has them; the first is the default */
    int format;          /* the index of one */
    bool all;
    const char *output; /* NULL: standard output */
} MwShowOptions;

enum { MW_OPTION_FORMAT = 1024, MW_OPTION_ALL };

/* What is in braces in a row of a list of options. `what` is what --all does, for --help. */
#define MW_SHOW_FORMAT(formats) "format", MW_OPTION_FORMAT, formats, 0, "What to write (text)", 0
#define MW_SHOW_ALL(what) "all", MW_OPTION_ALL, NULL, 0, what, 0
#define MW_SHOW_OUTPUT "output", 'o', "FILE", 0, "Write to FILE instead of standard output", 0

/* Parses one of these options; ARGP_ERR_UNKNOWN: it is another. */
error_t mw_show_parse(MwShowOptions *options, int key, char *arg, const struct argp_state *state);

/* The plan in a plan file or an executable, checked. NULL after errors. */
const MwPlan *mw_show_plan(MwArena *arena, const char *path, MwDiags *diags);

#endif
