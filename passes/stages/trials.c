/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In:  the model with its layers, and what is pinned.
 * Out: the layout with the least step time that fits the memory, and the others that were tried
 *      (single.h, pipelines.h).
 *
 * The best by estimate is validated. Late schedules (schedule.def) are tried after everything else.
 * A search goes on with what an earlier one of the same model found, where that is asked for. */
#include "passes/stages/trials.h"

#include "base/clock.h"
#include "passes/stages/pipelines.h"
#include "passes/stages/single.h"
#include "passes/tuning.h"

#include <limits.h>
#include <math.h>

struct MwStageFound {
    MwStageTrialList trials;
    MwStageTrials out;
    double memory_bytes; /* of a device, that it was found for */
    MwTriedPipelines tried;
};

/* One stage comes first, as the incumbent that pipelines must improve on. After the pipelines it is
 * tried with more micro-batches: with one more number if a layout fits and much work is done, else
 * all. Where probes rank one stage among pipelines, it is tried with these, unless any layout will
 * do. */
static void search_layouts(MwStageTries *t)
{
    int next = 0;
    if (!mw_stage_tries_are_probed(t) || t->compilation->options.takes_any)
        mw_stage_try_single(t, &next, 1);
    if (!mw_stage_tries_will_do(t))
        mw_stage_try_pipelines(t);
    if (mw_stage_tries_will_do(t))
        return;
    if (!mw_stage_tries_incumbent(t) || !mw_stage_tries_are_probed(t))
        mw_stage_try_single(
            t, &next, mw_stage_tries_incumbent(t) && !mw_stage_tries_has_effort(t) ? 1 : INT_MAX);
    mw_stage_try_other_counts(t);
}

static int leanest(const MwStageTries *t)
{
    int best = -1;
    for (int i = 0; i < t->trials.count; i++) {
        const MwStageTrial *trial = &t->trials.at[i];
        if (trial->layout.stage_count > 0 &&
            (best < 0 || trial->needed_bytes < t->trials.at[best].needed_bytes))
            best = i;
    }
    return best;
}

/* What a device needs for a trial: as solved, or by estimate. */
static double needed_bytes(const MwStageTrial *trial)
{
    return fmax(trial->needed_bytes, trial->layout.needed_bytes);
}

/* The least memory of a device that a trial needs beyond the limit; INFINITY: not known. */
static double least_excessive_bytes(const MwStageTries *t)
{
    double least = INFINITY;
    for (int i = 0; i < t->trials.count; i++)
        if (t->trials.at[i].needed_bytes > t->query->memory_bytes)
            least = fmin(least, t->trials.at[i].needed_bytes);
    return least;
}

/* Sets the memory target after no trial was validated. False if there is no other target to try. */
static bool correct_target(MwStageTries *t, bool may_fit)
{
    double needed = least_excessive_bytes(t);
    return may_fit && isfinite(needed)
               ? mw_memory_target_exceeded(&t->target, (int64_t)ceil(needed), 0)
               : mw_memory_target_empty(&t->target);
}

static MwStageValidation validation_of(MwStageTries *t)
{
    return (MwStageValidation){.compilation = t->compilation,
                               .batchings = &t->batchings,
                               .memory_bytes = t->query->memory_bytes,
                               .threads = t->query->threads,
                               .kept = t->kept,
                               .solved_entries = &t->out->solved_entries};
}

/* Validates the trials; while none that fits by estimate does fit, searches again with another
 * memory target. */
static int validate(MwStageTries *t)
{
    const MwStageValidation validation = validation_of(t);
    for (;;) {
        bool may_fit = mw_stage_tries_incumbent(t) != NULL;
        int chosen = mw_stage_trials_validate(&validation, t->trials.at, t->trials.count);
        if (chosen >= 0 || !correct_target(t, may_fit))
            return chosen;
        for (int k = 0; k < t->trials.count; k++)
            t->trials.at[k].fits = false;
        mw_stage_note_tried(t);
        search_layouts(t);
    }
}

/* Tries late schedules, once the best of the others is known to fit. One that is better by estimate
 * is chosen if it fits, too; else there is no trace of them. */
static void choose_late(MwStageTries *t)
{
    const MwStageValidation validation = validation_of(t);
    const int first = t->trials.count, other = t->out->chosen;
    mw_stage_try_late(t);
    const int best =
        mw_stage_trials_validate(&validation, t->trials.at + first, t->trials.count - first);
    if (best < 0 || (other >= 0 &&
                     t->trials.at[first + best].layout.step_s >= t->trials.at[other].layout.step_s))
        t->trials.count = first;
    else
        t->out->chosen = first + best;
}

/* Whether a layout on as many meshes as `layout` was taken. One with a late schedule, which comes
 * beside the others, does not count. */
static bool is_like_taken(const MwStageTries *t, const MwStageLayout *layout)
{
    const int meshes = mw_stage_layout_meshes(layout);
    for (int i = 0; i < t->trials.count; i++) {
        const MwStageTrial *trial = &t->trials.at[i];
        if (trial->is_taken && !mw_pipeline_info(trial->layout.kind)->late &&
            mw_stage_layout_meshes(&trial->layout) == meshes)
            return true;
    }
    return false;
}

/* Sets `is_open` [trials] for the trials of which the next is taken: those on another number of
 * meshes than the taken ones, as long as one of these is nearly as good as the best of all, since
 * what estimates do not know of those is alike; else all. */
static void find_open(const MwStageTries *t, bool *is_open)
{
    double best_s = INFINITY, unlike_s = INFINITY;
    for (int i = 0; i < t->trials.count; i++) {
        const MwStageTrial *trial = &t->trials.at[i];
        is_open[i] = trial->fits && !trial->is_taken && !is_like_taken(t, &trial->layout);
        best_s = trial->fits ? fmin(best_s, trial->layout.step_s) : best_s;
        unlike_s = is_open[i] ? fmin(unlike_s, trial->layout.step_s) : unlike_s;
    }
    for (int i = 0; i < t->trials.count; i++)
        is_open[i] |= unlike_s > (1 + MW_TUNED_ESTIMATE_MARGIN) * best_s;
}

/* Validates the trials that are open: the others count as taken meanwhile. */
static int validate_open(MwStageTries *t)
{
    const MwStageValidation validation = validation_of(t);
    bool *is_open = MW_NEW(t->arena, bool, t->trials.count);
    bool *is_taken = MW_NEW(t->arena, bool, t->trials.count);
    find_open(t, is_open);
    for (int i = 0; i < t->trials.count; i++) {
        is_taken[i] = t->trials.at[i].is_taken;
        t->trials.at[i].is_taken |= !is_open[i];
    }
    const int chosen = mw_stage_trials_validate(&validation, t->trials.at, t->trials.count);
    for (int i = 0; i < t->trials.count; i++)
        t->trials.at[i].is_taken = is_taken[i];
    return chosen;
}

/* Takes the best of the trials after those that were taken, of unlike ones first. */
static int take_next(MwStageTries *t, MwStageFound *found)
{
    t->trials = found->trials;
    if (found->out.chosen >= 0) {
        MwStageTrial *taken = &t->trials.at[found->out.chosen];
        taken->is_taken = true;
        if (t->compilation->taken_layout_bytes > 0) {
            taken->fits = false;
            taken->needed_bytes = (double)t->compilation->taken_layout_bytes;
        }
    }
    for (int i = 0; i < t->trials.count; i++)
        if (t->trials.at[i].fits && !t->trials.at[i].is_taken)
            mw_stage_batching_make(mw_stage_batching_of(&t->batchings, &t->trials.at[i].layout));
    return mw_stage_tries_incumbent(t) ? validate_open(t) : -1;
}

/* Whether the layout that an earlier search found, for more memory, is the best for less, too: it
 * fits, and no other gains by having less. */
static bool is_best_still(const MwStageTries *t, const MwStageFound *found)
{
    for (int i = 0; i < found->trials.count; i++)
        if (found->trials.at[i].is_taken)
            return false;
    return found->out.chosen >= 0 && found->memory_bytes >= t->query->memory_bytes &&
           needed_bytes(&found->trials.at[found->out.chosen]) <= t->query->memory_bytes;
}

/* Takes what was found for more memory. */
static void keep_found(MwStageTries *t, const MwStageFound *found)
{
    t->trials = found->trials;
    for (int i = 0; i < t->trials.count; i++)
        t->trials.at[i].fits &= needed_bytes(&t->trials.at[i]) <= t->query->memory_bytes;
}

/* Searches, or goes on with what was found. */
static void choose(MwStageTries *t, MwStageFound *found)
{
    MwStageTrials *out = t->out;
    MwStageBatching *first = &t->batchings.at[0];
    const bool takes_next = found && t->compilation->takes_next_layout;
    if (takes_next || (found && is_best_still(t, found))) {
        *out = found->out;
        out->solved_entries = 0;
        if (takes_next)
            out->chosen = take_next(t, found);
        else
            keep_found(t, found);
    } else if (mw_stage_batching_make(first)) {
        out->kept_bytes = mw_stage_costs_whole(first->costs, MW_LAYER_KEEPS).kept_bytes;
        search_layouts(t);
        out->chosen = validate(t);
        if (out->chosen < 0 || !t->compilation->options.takes_any)
            choose_late(t);
        out->leanest = leanest(t);
    }
}

MwStageTrials mw_stage_trials(const MwStageTrialsQuery *query)
{
    const MwCompilation *compilation = query->compilation;
    MwStageTrials out = {
        .chosen = -1, .leanest = -1, .needed_bytes = INFINITY, .left_out_s = INFINITY};
    MwStageTries t = {
        .query = query,
        .compilation = compilation,
        .arena = compilation->arena,
        .devices = mw_cluster_devices(compilation->cluster),
        .target = mw_memory_target((int64_t)query->memory_bytes, MW_TUNED_MEMORY_CORRECTIONS),
        .out = &out};
    t.known = compilation->known ? compilation->known : mw_stage_known_new(compilation->arena);
    t.kept = mw_stage_known_arena(t.known);
    t.begin_s = mw_clock_s();
    t.begin_effort = mw_stage_known_effort(t.known);
    t.most_effort = MW_TUNED_SEARCH_EFFORT;
    t.batchings = mw_stage_batchings(compilation, t.known, query->threads);
    MwStageFound **found = mw_stage_known_found(t.known);
    if (*found)
        t.before = (*found)->tried;
    choose(&t, *found);
    mw_stage_note_tried(&t);
    out.needed_bytes = least_excessive_bytes(&t);
    out.trials = t.trials.at;
    out.trial_count = t.trials.count;
    *found = mw_arena_dup(
        t.kept,
        &(MwStageFound){
            .trials = t.trials, .out = out, .memory_bytes = query->memory_bytes, .tried = t.before},
        sizeof **found);
    if (out.leanest >= 0) {
        const MwStageTrial *taken = &out.trials[out.chosen >= 0 ? out.chosen : out.leanest];
        MwStageBatching *batching = mw_stage_batching_of(&t.batchings, &taken->layout);
        mw_stage_batching_make(batching);
        out.staging = mw_stage_layout_staging(t.arena, batching->costs, &taken->layout);
        out.staging.name = taken->name;
        out.staging.step_s = taken->layout.step_s;
        out.staging.needed_bytes = (int64_t)needed_bytes(taken);
        out.staging.checked = taken->is_solved ? taken->checked : NULL;
    }
    mw_stage_batchings_free(&t.batchings);
    return out;
}
