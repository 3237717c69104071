/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In:  trials, by estimate (cost.h).
 * Out: the one that is best when stages are solved as they will be (check.h).
 *
 * Stages that turn out to need more than was estimated get ways that are estimated to need as much
 * less; the layout then has the time of these, and another may be better. Where no trial is estimated
 * to fit, those are solved that do not by little. */
#include "passes/stages/settle.h"

#include "passes/stages/check.h"

/* How far above the memory an estimate must be for it to be beyond doubt. */
static const double DOUBT = 1.2;

/* Layouts that are solved, at most. */
enum { MOST_SOLVED = 6 };

MwStageBatching *mw_stage_batching_of(const MwStageBatchings *batchings,
                                      const MwStageLayout *layout)
{
    for (int i = 0; i < batchings->count; i++)
        if (batchings->at[i].micro_batches == layout->micro_batches)
            return &batchings->at[i];
    MW_UNREACHABLE();
}

int mw_stage_trials_best(const MwStageTrial *trials, int count)
{
    int best = -1;
    for (int i = 0; i < count; i++)
        if (trials[i].fits && (best < 0 || trials[i].layout.step_s < trials[best].layout.step_s))
            best = i;
    return best;
}

/* The leanest of those that may fit in spite of their estimate. */
static int find_doubtful(const MwSettling *s, const MwStageTrial *trials, int count)
{
    int best = -1;
    for (int i = 0; i < count; i++)
        if (trials[i].layout.stage_count > 0 && !trials[i].is_solved &&
            trials[i].needed_bytes <= DOUBT * s->memory_bytes &&
            (best < 0 || trials[i].needed_bytes < trials[best].needed_bytes))
            best = i;
    return best;
}

/* Of a stage in a step of so many micro-batches. */
static double step_time_s(const MwStageCost *cost, int micro_batches)
{
    return micro_batches * mw_stage_cost_time_s(cost) + cost->step_s;
}

/* The quickest way of a stage that needs no more than `most_bytes` by the estimate. */
static bool find_leaner(MwStageCosts *costs, MwStageLayout *layout, int stage, double most_bytes)
{
    MwStageQuestion question = mw_stage_layout_question(layout, stage);
    MwStageCostList list;
    mw_stage_costs_ask(costs, &question, 1, &list);
    const MwStageCost *best = NULL;
    for (int i = 0; i < list.count; i++) {
        layout->stages[stage].cost = list.at[i];
        if ((!best || step_time_s(&list.at[i], layout->micro_batches) <
                          step_time_s(best, layout->micro_batches)) &&
            mw_stage_layout_bytes(layout, stage) <= most_bytes)
            best = &list.at[i];
    }
    if (best)
        layout->stages[stage].cost = *best;
    return best != NULL;
}

/* False, and the trial stays as it is, if some stage that needs too much has no leaner way. */
static bool repair(const MwSettling *s, MwStageTrial *trial, const double *needed)
{
    MwStageLayout layout = trial->layout;
    MwStageBatching *batching = mw_stage_batching_of(s->batchings, &layout);
    double memory = s->memory_bytes / layout.chunks;
    layout.stages = mw_arena_dup(s->compilation->arena, layout.stages,
                                 sizeof *layout.stages * (size_t)layout.stage_count);
    for (int i = 0; i < layout.stage_count; i++) {
        double estimate = layout.stages[i].needed_bytes;
        if (needed[i] > memory &&
            !find_leaner(batching->costs, &layout, i, memory - (needed[i] - estimate)))
            return false;
    }
    mw_stage_layout_price(batching->model, &layout);
    trial->layout = layout;
    return true;
}

/* Whether the trial fits, or may after a repair. */
static void solve(const MwSettling *s, MwStageTrial *trial)
{
    MwArena *scratch = mw_arena_new();
    double *needed = MW_NEW(scratch, double, trial->layout.stage_count);
    MwStaging staging = mw_stage_layout_staging(
        scratch, mw_stage_batching_of(s->batchings, &trial->layout)->costs, &trial->layout);
    double most = mw_stage_check(scratch, s->compilation, &staging, &trial->layout, s->memory_bytes,
                                 s->threads, needed);
    bool was_thought_to_fit = trial->fits;
    trial->is_solved = true;
    trial->fits = most <= s->memory_bytes;
    if (most > 0)
        trial->needed_bytes = most;
    if (!trial->fits && was_thought_to_fit && repair(s, trial, needed)) {
        trial->fits = true;
        trial->is_solved = false;
    }
    mw_arena_free(&scratch);
}

int mw_stage_settle(const MwSettling *settling, MwStageTrial *trials, int count)
{
    for (int i = 0; i < MOST_SOLVED; i++) {
        int best = mw_stage_trials_best(trials, count);
        if (best < 0)
            best = find_doubtful(settling, trials, count);
        if (best < 0 || trials[best].is_solved)
            return best;
        solve(settling, &trials[best]);
    }
    int best = mw_stage_trials_best(trials, count);
    return best >= 0 && trials[best].is_solved ? best : -1;
}
