/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line of meshwright-solve. */
#ifndef MW_TOOLS_SOLVE_OPTIONS_H
#define MW_TOOLS_SOLVE_OPTIONS_H

#include "solver/solver.h"

enum {
    MW_SOLVE_EXIT_ANSWER = 0,
    MW_SOLVE_EXIT_ERROR = 1,      /* input that cannot be used, output that cannot be written */
    MW_SOLVE_EXIT_INFEASIBLE = 2, /* proven: no answer keeps the limit */
    MW_SOLVE_EXIT_UNKNOWN = 3,    /* none was found in time */
    MW_SOLVE_EXIT_RELAXED = 4,    /* one that exceeds the limit, with --relax */
};

typedef struct {
    const char *problem;
    const char *output;   /* NULL: standard output */
    const char *dump_ilp; /* write that instead of solving; NULL: solve */
    bool has_usage_limit; /* instead of the file's: */
    int64_t usage_limit;
    bool quiet, verbose;
    MwSolveOptions solve;
} MwSolveToolOptions;

/* Ends the process with a message for wrong usage. */
MwSolveToolOptions mw_solve_options_parse(int argc, char **argv);

#endif
