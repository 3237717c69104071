/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/stages/runs.h"

/* Whether the run is one of whole periods of another, which has as many layers in any interval. */
static bool is_of_another(const MwLayerRuns *runs, MwLayerRun run)
{
    for (int i = 0; i < runs->count; i++) {
        const MwLayerRun *other = &runs->at[i];
        if (run.period % other->period == 0 && other->begin <= run.begin && run.end <= other->end)
            return true;
    }
    return false;
}

MwLayerRuns mw_layer_runs(MwArena *arena, const int *class, int layers)
{
    MwLayerRuns runs = {0};
    for (int period = 1; 2 * period <= layers; period++)
        for (int begin = 0, i; begin + 2 * period <= layers; begin = i + 1) {
            for (i = begin; i + period < layers && class[i] == class[i + period]; i++)
                ;
            const MwLayerRun run = {period, begin, i + period};
            if (i - begin >= period && !is_of_another(&runs, run))
                mw_vec_push(arena, &runs, run);
        }
    return runs;
}

bool mw_layer_runs_longest(const MwLayerRuns *runs, int begin, int end, MwLayerRun *longest)
{
    *longest = (MwLayerRun){0};
    for (int i = 0; i < runs->count; i++) {
        MwLayerRun run = runs->at[i];
        run.begin = (int)mw_max(run.begin, begin);
        const int periods = ((int)mw_min(run.end, end) - run.begin) / run.period;
        run.end = run.begin + periods * run.period;
        if (periods >= 2 && run.end - run.begin > longest->end - longest->begin)
            *longest = run;
    }
    return longest->period > 0;
}
