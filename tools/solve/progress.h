/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The progress of meshwright-solve: a line of time, incumbent, bound and gap for each improvement.
 * On a terminal, lines in quick succession overwrite each other. In a file, lines become rarer as
 * time goes on. */
#ifndef MW_TOOLS_SOLVE_PROGRESS_H
#define MW_TOOLS_SOLVE_PROGRESS_H

#include "solver/solver.h"

typedef struct {
    FILE *out;
    double start_s; /* time of mw_clock_s from which shown times count */
    bool in_place;  /* a line overwrites one shortly before */
    bool begun;     /* the heading was written */
    bool pending;   /* `line` was not written yet, or may still be overwritten */
    double shown_s; /* time of mw_clock_s of the last line that stays */
    char line[128];
} MwSolveProgress;

MwSolveProgress mw_solve_progress_new(FILE *out, bool in_place, double start_s);
/* A function for MwSolveOptions.report; `context` is the progress. */
void mw_solve_progress_report(void *context, const MwSolution *so_far, double time_s);
/* Shows what is still to be shown. */
void mw_solve_progress_end(MwSolveProgress *progress);

#endif
