/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line of meshwright-solve. */
#ifndef MW_TOOLS_SOLVE_OPTIONS_H
#define MW_TOOLS_SOLVE_OPTIONS_H

#include "solver/solver.h"

enum {
    MW_SOLVE_EXIT_ANSWER = 0,
    MW_SOLVE_EXIT_ERROR = 1,      /* the input cannot be used, or the output not be written */
    MW_SOLVE_EXIT_INFEASIBLE = 2, /* it is proven that no answer keeps the limit */
    MW_SOLVE_EXIT_UNKNOWN = 3,    /* no answer was found in time */
    MW_SOLVE_EXIT_RELAXED = 4,    /* with --relax: the answer exceeds the limit */
};

typedef struct {
    const char *problem;
    const char *output;   /* NULL: standard output */
    const char *dump_ilp; /* file to write instead of solving; NULL: solve */
    bool has_usage_limit; /* usage_limit replaces that of the problem */
    int64_t usage_limit;
    bool quiet, verbose;
    MwSolveOptions solve;
} MwSolveToolOptions;

/* Parses the command line; ends the process with a message for wrong usage. */
MwSolveToolOptions mw_solve_options_parse(int argc, char **argv);

#endif
