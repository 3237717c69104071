/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/solve/progress.h"

#include "solver/stop.h"
#include "tools/solve/text.h"

/* Least seconds between lines that are not overwritten, on a terminal. */
static const double IN_PLACE_S = 0.2;
/* In a file: least seconds between lines, plus this fraction of the time elapsed. */
static const double FILE_S = 1, FILE_SHARE = 0.1;

MwSolveProgress mw_solve_progress_new(FILE *out, bool in_place, double start_s)
{
    return (MwSolveProgress){.out = out, .in_place = in_place, .start_s = start_s};
}

static void show_line(MwSolveProgress *progress)
{
    if (!progress->begun)
        fprintf(progress->out, "%10s  %20s  %20s  %12s\n", "time", "incumbent", "bound", "gap");
    progress->begun = true;
    fputs(progress->line, progress->out);
}

void mw_solve_progress_report(void *context, const MwSolution *so_far, double time_s)
{
    (void)time_s; /* leaves out the time of reading the problem */
    MwSolveProgress *progress = context;
    char cost[MW_COST_TEXT_BYTES] = "-", bound[MW_COST_TEXT_BYTES], gap[MW_GAP_TEXT_BYTES] = "-";
    double now_s = mw_clock_s(), gone_s = now_s - progress->start_s;
    double pause_s = progress->in_place ? IN_PLACE_S : FILE_S + FILE_SHARE * gone_s;
    bool soon = progress->begun && now_s - progress->shown_s < pause_s;
    if (so_far->choice) {
        mw_cost_text(so_far->cost, cost);
        mw_gap_text(so_far, gap);
    }
    if (progress->in_place && progress->pending)
        fputc(soon ? '\r' : '\n', progress->out);
    snprintf(progress->line, sizeof progress->line, "%8.1f s  %20s  %20s  %12s", gone_s, cost,
             mw_cost_text(so_far->lower_bound, bound), gap);
    progress->pending = progress->in_place || soon;
    if (!soon)
        progress->shown_s = now_s;
    if (progress->in_place || !soon)
        show_line(progress);
    if (!progress->pending)
        fputc('\n', progress->out);
    fflush(progress->out);
}

void mw_solve_progress_end(MwSolveProgress *progress)
{
    if (progress->pending && !progress->in_place)
        show_line(progress);
    if (progress->pending)
        fputc('\n', progress->out);
    progress->pending = false;
}
