/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What meshwright-solve shows while it works: a line of time, incumbent, bound and gap when one of
 * them is better than before. On a terminal all of them, those in quick succession in one place;
 * in a file as many as can be read: the more time has gone by, the fewer. */
#ifndef MW_TOOLS_SOLVE_PROGRESS_H
#define MW_TOOLS_SOLVE_PROGRESS_H

#include "solver/solver.h"

typedef struct {
    FILE *out;
    double start_s;      /* of mw_clock_s; times are shown from then on */
    bool in_place;       /* of lines in quick succession, the later overwrite the earlier */
    bool begun, pending; /* the heading is out; `line` is not, or it is not yet final */
    double shown_s;      /* when the last line was */
    char line[128];
} MwSolveProgress;

MwSolveProgress mw_solve_progress_new(FILE *out, bool in_place, double start_s);
/* For MwSolveOptions.report; `context` is the progress. */
void mw_solve_progress_report(void *context, const MwSolution *so_far, double time_s);
/* Shows what is still to be shown. */
void mw_solve_progress_end(MwSolveProgress *progress);

#endif
