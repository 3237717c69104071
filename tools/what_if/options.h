/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options that all commands that plan many times share. */
#ifndef MW_TOOLS_WHAT_IF_OPTIONS_H
#define MW_TOOLS_WHAT_IF_OPTIONS_H

#include "tools/show_options.h"
#include "tools/what_if/formats.h"

typedef struct {
    MwShowOptions show; /* `formats` is set before parsing */
    int jobs;           /* plans made at a time; 0: as many as there are cores */
} MwWhatIfOptions;

/* The rows of a list of options. */
#define MW_WHAT_IF_JOBS                                                                            \
    "jobs", 'j', "N", 0, "Make at most N plans at a time (as many as there are cores)", 0
#define MW_WHAT_IF_ROWS                                                                            \
    {MW_WHAT_IF_JOBS}, {MW_SHOW_FORMAT(MW_WHAT_IF_FORMATS)}, {MW_SHOW_OUTPUT},                     \
    {                                                                                              \
        0                                                                                          \
    }

/* Parses one of these options; ARGP_ERR_UNKNOWN: it is another. */
error_t mw_what_if_parse(MwWhatIfOptions *options, int key, char *arg,
                         const struct argp_state *state);

/* Writes the table where the options say. */
void mw_what_if_show(const MwWhatIfOptions *options, const MwWhatIfTable *table, MwDiags *diags);

#endif
