/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/stages/runs.h"

MwLayerRuns mw_layer_runs(MwArena *arena, const int *class, int layers)
{
    MwLayerRuns runs = {0};
    for (int period = 1; 2 * period <= layers; period++)
        for (int begin = 0, i; begin + 2 * period <= layers; begin = i + 1) {
            for (i = begin; i + period < layers && class[i] == class[i + period]; i++)
                ;
            if (i - begin >= period)
                mw_vec_push(arena, &runs, ((MwLayerRun){period, begin, i + period}));
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
