/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options that `check`, `plan` and `compile` share, for argp. */
#ifndef MW_TOOLS_COMPILE_OPTIONS_H
#define MW_TOOLS_COMPILE_OPTIONS_H

#include "frontend/frontend.h"
#include "passes/pass.h"

#include <argp.h>

/* `arena` is set before parsing; what is parsed lives there or in argv. */
typedef struct {
    MwArena *arena;
    const char *model; /* path of the .graph file */
    const char *output;
    bool quiet; /* nothing is printed but what is wrong */
    const char *cluster;
    const char *backend;   /* NULL: that of the cluster */
    const char *cuda_arch; /* NULL: not given */
    bool has_precision;    /* false: the model says it */
    MwType precision;
    MW_VEC(MwDefine) defines;
    MW_VEC(const char *) pins;
    MwCompileOptions compile;
    MwPipelineOptions pipeline;
} MwToolOptions;

/* Parses the whole command line of a command that takes a model and, if `plans`, says what to plan
 * for and where to write. Ends the process on wrong usage and on --help. */
void mw_tool_options_parse(MwToolOptions *options, bool plans, const char *what, int argc,
                           char **argv);

#endif
