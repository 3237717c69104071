/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/stages/tries.h"

#include "base/clock.h"
#include "base/quantity.h"
#include "base/text.h"

#include <string.h>

MwStageLayout mw_stage_tries_keep(const MwStageTries *t, MwStageLayout layout)
{
    layout.stages =
        mw_arena_dup(t->kept, layout.stages, sizeof *layout.stages * (size_t)layout.stage_count);
    return layout;
}

const MwStageLayout *mw_stage_tries_incumbent(const MwStageTries *t)
{
    int best = mw_stage_trials_best(t->trials.at, t->trials.count);
    return best < 0 ? NULL : &t->trials.at[best].layout;
}

bool mw_stage_tries_will_do(const MwStageTries *t)
{
    return t->compilation->options.takes_any && mw_stage_tries_incumbent(t);
}

bool mw_stage_tries_are_probed(const MwStageTries *t)
{
    return t->compilation->options.stages != 1 && mw_stage_probe_pays(t->compilation);
}

bool mw_stage_tries_has_layout(const MwStageTries *t)
{
    for (int i = 0; i < t->trials.count; i++)
        if (t->trials.at[i].layout.stage_count > 0)
            return true;
    return false;
}

void mw_stage_tries_add(MwStageTries *t, MwStageTrial trial)
{
    for (int i = 0; i < t->trials.count; i++) {
        MwStageTrial *other = &t->trials.at[i];
        if (other->is_solved || strcmp(other->name, trial.name) != 0)
            continue;
        if (!other->fits)
            *other = trial;
        return;
    }
    mw_vec_push(t->kept, &t->trials, trial);
}

/* The time that the effort which is left takes, if each part of it takes as long as so far. 0: none
 * is left, or none was spent yet. */
static double most_left_s(const MwStageTries *t)
{
    const int64_t effort = mw_stage_known_effort(t->known);
    const int64_t spent = effort - t->begin_effort, left = t->most_effort - effort;
    return spent > 0 && left > 0 ? (mw_clock_s() - t->begin_s) * (double)left / (double)spent : 0;
}

/* Says on a terminal how far the search is, and what it has. */
static void show_progress(const MwStageTries *t)
{
    MwText text = {.arena = t->arena};
    const MwStageLayout *best = mw_stage_tries_incumbent(t);
    const double left_s = most_left_s(t);
    mw_text_printf(&text, "stages: %d layout%s", t->trials.count, t->trials.count == 1 ? "" : "s");
    if (left_s > 0)
        mw_text_printf(&text, ", at most %s left", mw_seconds_text(t->arena, left_s));
    if (best)
        mw_text_printf(&text, "; best %s: %s", mw_seconds_text(t->arena, best->step_s),
                       mw_stage_layout_name(t->arena, best));
    mw_pass_progress_show(&t->compilation->progress, "%s", text.at);
}

void mw_stage_tries_add_layout(MwStageTries *t, const MwStageLayout *layout)
{
    mw_stage_tries_add(t, (MwStageTrial){.name = mw_stage_layout_name(t->kept, layout),
                                         .layout = mw_stage_tries_keep(t, *layout),
                                         .fits = layout->needed_bytes <= mw_stage_tries_bytes(t),
                                         .needed_bytes = layout->needed_bytes});
    show_progress(t);
}

bool mw_stage_tries_has_effort(const MwStageTries *t)
{
    return !mw_stage_tries_will_do(t) && mw_stage_known_effort(t->known) < t->most_effort;
}
