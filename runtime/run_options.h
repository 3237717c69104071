/* SPDX-License-Identifier: MIT */
/* The command line of a run. */
#ifndef MW_RUNTIME_RUN_OPTIONS_H
#define MW_RUNTIME_RUN_OPTIONS_H

#include "base/vec.h"

#include <stdio.h>

typedef MW_VEC(const char *) MwRunTexts;

typedef struct {
    MwRunTexts feeds, outputs;
    int64_t steps;
    int64_t seed; /* -1: not given */
    int threads;  /* per rank */
    const char *log, *trace, *checkpoint, *resume;
    const char *transport;    /* of devices; NULL: as they can */
    int64_t timeout_s;        /* that ranks wait for each other's devices */
    int64_t checkpoint_every; /* steps; 0: at the end alone */
    bool no_shared_memory, no_graphs, print_plan, check, help;
} MwRunOptions;

/* Sets defaults, then reads the arguments. NULL, or what is wrong with them, in `arena`. */
const char *mw_run_options(MwArena *arena, int argc, char **argv, MwRunOptions *options);
void mw_run_help(FILE *out, const char *program);

#endif
