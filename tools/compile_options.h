/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options that `check`, `plan` and `compile` share, for argp. */
#ifndef MW_TOOLS_COMPILE_OPTIONS_H
#define MW_TOOLS_COMPILE_OPTIONS_H

#include "frontend/frontend.h"
#include "passes/pass.h"
#include "runtime/plan/plan.h"

#include <argp.h>

/* A command that takes a model. */
typedef struct {
    const char *what;       /* it does, for --help */
    const char *arguments;  /* for --help, a line for each way to call it; NULL: the model alone */
    bool plans;             /* it says what to plan for */
    const char *suffix;     /* what the name of its result ends in; NULL: it has none */
    const struct argp *own; /* options of its own; NULL: none */
    void *own_input;        /* of their parser */
} MwToolCommand;

/* What is planned for: the least time of a step, or its least cost, for which devices may stay
 * unused. */
typedef enum { MW_OBJECTIVE_TIME, MW_OBJECTIVE_COST } MwObjective;

/* `arena` is set before parsing; what is parsed lives there or in argv. */
typedef struct {
    MwArena *arena;
    const char *model; /* path of the .graph file */
    const char *output;
    bool quiet; /* nothing is printed but what is wrong */
    const char *cluster;
    const char *backend;   /* NULL: that of the cluster */
    const char *cuda_arch; /* NULL: not given */
    MwObjective objective;
    bool has_precision; /* false: the model says it */
    MwType precision;
    MW_VEC(MwDefine) defines;
    MW_VEC(const char *) pins;
    MW_VEC(MwPlanOption) asked; /* what a plan records of the command line (MwPlanCommand) */
    MwCompileOptions compile;
    MwPipelineOptions pipeline;
    const MwToolCommand *command; /* that is parsed for */
} MwToolOptions;

/* Parses the whole command line of the command. Ends the process on wrong usage and on --help. */
void mw_tool_options_parse(MwToolOptions *options, const MwToolCommand *command, int argc,
                           char **argv);

/* Takes the model and the options of a command that made a plan, in place of the model that was
 * parsed. False after an error: this meshwright has no such option. Ends the process on values that
 * are wrong, of which plans hold none unless they were made for that. */
bool mw_tool_options_take(MwToolOptions *options, const MwPlanCommand *command, MwDiags *diags);

/* Whether there is an option of that name, as "--stages", that decides what is planned. */
bool mw_tool_option_is_known(MwArena *arena, const char *name);
/* Sets such an option to a value in place of the one that it has, in a copy of options that were
 * parsed: `options` shares no list with others from then on. Ends the process on values that are
 * wrong. */
void mw_tool_options_set(MwToolOptions *options, const char *name, const char *value);
/* Sets a size of the model likewise. */
void mw_tool_options_define(MwToolOptions *options, const char *size, const char *value);

#endif
