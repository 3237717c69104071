/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line of `meshwright simulate`. */
#ifndef MW_TOOLS_SIMULATE_OPTIONS_H
#define MW_TOOLS_SIMULATE_OPTIONS_H

#include "base/vec.h"
#include "codegen/simulate/simulation.h"
#include "tools/show_options.h"

typedef enum { MW_SIMULATE_TEXT, MW_SIMULATE_JSON, MW_SIMULATE_FORMATS } MwSimulateFormat;

/* Failures, checkpoints, how long the run is; seconds. */
typedef struct {
    double mtbf_s; /* of a device; 0: devices do not fail */
    double checkpoint_s, restart_s;
    double every_s; /* 0: not given */
    double horizon_s;
} MwSimulateRunOptions;

/* `arena` is set before parsing; what is parsed lives there or in argv. */
typedef struct {
    MwArena *arena;
    const char *plan, *cluster; /* NULL: not given */
    const char *measured;       /* the trace of a run; NULL: times are predicted */
    const char *trace;          /* NULL: none is written */
    MwShowOptions show;
    MwSimulateOptions simulate; /* without its cluster */
    MW_VEC(MwStraggler) stragglers;
    MwSimulateRunOptions run;
} MwSimulateCommand;

/* Parses the whole command line. Ends the process on wrong usage and on --help. */
void mw_simulate_parse(MwSimulateCommand *command, int argc, char **argv);

#endif
