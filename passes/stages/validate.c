/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In:  trials with estimated costs (cost.h).
 * Out: the best trial whose stages fit the memory when they are solved (check.h).
 *
 * Stages that turn out to need more than was estimated get solutions whose estimates are smaller
 * by the excess. The layout then has the time of these, and another trial may become the best.
 * Where no trial fits by estimate, those whose estimates exceed the limit by little are solved. */
#include "passes/stages/validate.h"

#include "passes/stages/check.h"
#include "passes/tuning.h"

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
        if (trials[i].fits && !trials[i].is_taken &&
            (best < 0 || trials[i].layout.step_s < trials[best].layout.step_s))
            best = i;
    return best;
}

/* The trial with the smallest estimate among those that may fit although their estimates do not. A
 * search that goes on with what was found has the models of trials that fit alone. */
static int find_near_miss(const MwStageValidation *s, const MwStageTrial *trials, int count)
{
    int best = -1;
    for (int i = 0; i < count; i++)
        if (trials[i].layout.stage_count > 0 && !trials[i].is_solved &&
            mw_stage_batching_of(s->batchings, &trials[i].layout)->model &&
            trials[i].needed_bytes <= (1 + MW_TUNED_ESTIMATE_MARGIN) * s->memory_bytes &&
            (best < 0 || trials[i].needed_bytes < trials[best].needed_bytes))
            best = i;
    return best;
}

/* Gives a stage the fastest solution that needs no more than `most_bytes` by estimate; false if
 * there is none. */
static bool find_leaner(MwStageCosts *costs, MwStageLayout *layout,
                        const MwPipelineSchedule *schedule, int stage, double most_bytes)
{
    MwStageCostQuery cost_query = mw_stage_layout_cost_query(layout, stage);
    MwStageCostList list;
    mw_stage_costs_query(costs, &cost_query, 1, &list);
    const MwStageCost *best = NULL;
    for (int i = 0; i < list.count; i++) {
        layout->stages[stage].cost = list.at[i];
        if ((!best || mw_stage_cost_step_s(&list.at[i], layout->micro_batches) <
                          mw_stage_cost_step_s(best, layout->micro_batches)) &&
            mw_stage_layout_bytes(layout, schedule, stage) <= most_bytes)
            best = &list.at[i];
    }
    if (best)
        layout->stages[stage].cost = *best;
    return best != NULL;
}

/* Gives every stage that needs too much a solution that needs less. False, and the trial stays
 * as it is, if some stage has none. */
static bool reduce_memory(const MwStageValidation *s, MwStageTrial *trial, const double *needed)
{
    MwStageLayout layout = trial->layout;
    MwStageBatching *batching = mw_stage_batching_of(s->batchings, &layout);
    MwArena *scratch = mw_arena_new();
    const MwPipelineSchedule *schedule = mw_stage_layout_schedule(scratch, &layout);
    bool is_found = true;
    layout.stages =
        mw_arena_dup(s->kept, layout.stages, sizeof *layout.stages * (size_t)layout.stage_count);
    for (int i = 0; i < layout.stage_count && is_found; i++) {
        const double memory = s->memory_bytes * mw_stage_layout_memory_share(&trial->layout, i);
        double estimate = layout.stages[i].needed_bytes;
        is_found = needed[i] <= memory || find_leaner(batching->costs, &layout, schedule, i,
                                                      memory - (needed[i] - estimate));
    }
    mw_arena_free(&scratch);
    if (!is_found)
        return false;
    mw_stage_layout_price(batching->model, &layout);
    trial->layout = layout;
    return true;
}

/* Solves the stages of a trial and updates it. A trial that still fits by estimate after
 * reduce_memory remains unsolved. */
static void solve_trial(const MwStageValidation *s, MwStageTrial *trial)
{
    MwArena *scratch = mw_arena_new();
    double *needed = MW_NEW(scratch, double, trial->layout.stage_count);
    MwStaging staging = mw_stage_layout_staging(
        scratch, mw_stage_batching_of(s->batchings, &trial->layout)->costs, &trial->layout);
    trial->checked = MW_NEW(s->kept, MwStageChecked, trial->layout.stage_count);
    MwStageCheckRequest check = {.compilation = s->compilation,
                                 .layout = &trial->layout,
                                 .staging = &staging,
                                 .memory_bytes = s->memory_bytes,
                                 .threads = s->threads,
                                 .checked = trial->checked,
                                 .kept = s->kept,
                                 .solved_entries = s->solved_entries};
    double most = mw_stage_check(scratch, &check, needed);
    bool was_thought_to_fit = trial->fits;
    trial->is_solved = true;
    trial->fits = most <= s->memory_bytes;
    if (most > 0)
        trial->needed_bytes = most;
    if (!trial->fits && was_thought_to_fit && reduce_memory(s, trial, needed)) {
        trial->fits = true;
        trial->is_solved = false;
    }
    mw_arena_free(&scratch);
}

int mw_stage_trials_validate(const MwStageValidation *validation, MwStageTrial *trials, int count)
{
    for (int i = 0; i < 1 + MW_TUNED_MEMORY_CORRECTIONS; i++) {
        int best = mw_stage_trials_best(trials, count);
        if (best < 0)
            best = find_near_miss(validation, trials, count);
        if (best < 0 || trials[best].is_solved)
            return best;
        solve_trial(validation, &trials[best]);
    }
    int best = mw_stage_trials_best(trials, count);
    return best >= 0 && trials[best].is_solved ? best : -1;
}
