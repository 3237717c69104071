/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What follows from a schedule for the memory of a stage. */
#include "passes/staging.h"

/* True if no task of another micro-batch, or of another stage, runs between those of one. */
static bool is_chain(const MwStageTasks *tasks, int stage)
{
    for (int i = 0; i < tasks->count; i++) {
        if (tasks->at[i].stage != stage)
            return false;
        for (int k = i + 2; k < tasks->count; k++)
            if (tasks->at[k].micro_batch == tasks->at[i].micro_batch &&
                tasks->at[k - 1].micro_batch != tasks->at[i].micro_batch)
                return false;
    }
    return true;
}

/* The most micro-batches of which `from` has begun and `to` has not ended. Micro-batches go through
 * each phase in order, so those are neighbours. */
static int most_between(const MwStageTasks *tasks, int stage, MwPhase from, MwPhase to)
{
    int most = 1, begun = 0, ended = 0;
    for (int i = 0; i < tasks->count; i++) {
        const MwStageTask *task = &tasks->at[i];
        if (task->stage != stage)
            continue;
        begun += task->phase == from;
        most = (int)mw_max(most, begun - ended);
        ended += task->phase == to;
    }
    return most;
}

MwFlight mw_staging_flight(const MwStaging *staging, int stage)
{
    const MwStageTasks *tasks = &staging->tasks[mw_staging_mesh(staging, stage)];
    MwFlight flight = {.micro_batches = staging->micro_batches, .is_chain = is_chain(tasks, stage)};
    for (int from = 0; from < MW_PHASE_COUNT; from++)
        for (int to = 0; to < MW_PHASE_COUNT; to++)
            flight.slots[from][to] = from >= to || to == MW_PHASE_UPDATE
                                         ? 1
                                         : most_between(tasks, stage, (MwPhase)from, (MwPhase)to);
    return flight;
}
