/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options that `check`, `plan` and `compile` share, for argp. */
#ifndef MW_TOOLS_COMPILE_OPTIONS_H
#define MW_TOOLS_COMPILE_OPTIONS_H

#include "frontend/frontend.h"
#include "passes/pass.h"

#include <argp.h>

/* A command that takes a model. */
typedef struct {
    const char *what;       /* it does, for --help */
    bool plans;             /* it says what to plan for */
    const char *suffix;     /* what the name of its result ends in; NULL: it has none */
    const struct argp *own; /* options of its own; NULL: none */
    void *own_input;        /* of their parser */
} MwToolCommand;

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
    const MwToolCommand *command; /* that is parsed for */
} MwToolOptions;

/* Parses the whole command line of the command. Ends the process on wrong usage and on --help. */
void mw_tool_options_parse(MwToolOptions *options, const MwToolCommand *command, int argc,
                           char **argv);

#endif
