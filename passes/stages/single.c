/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/stages/single.h"

#include "passes/tuning.h"

#include <math.h>

static bool is_better(const MwStageTries *t, const MwStageLayout *a, const MwStageLayout *b)
{
    bool fits = a->needed_bytes <= mw_stage_tries_bytes(t),
         other = b->needed_bytes <= mw_stage_tries_bytes(t);
    if (fits != other)
        return fits;
    return fits ? a->step_s < b->step_s : a->needed_bytes < b->needed_bytes;
}

/* The best way to run the whole model as one stage on all devices; a layout without stages if
 * there is none. */
static MwStageLayout best_single_stage(MwStageTries *t, const MwStageBatching *batching)
{
    int layers = batching->model->layer_count;
    MwStageCostQuery cost_query = {0, layers, t->devices, true};
    MwStageCostList list;
    mw_stage_costs_query(batching->costs, &cost_query, 1, &list);
    MwStageLayout best = {0};
    for (int i = 0; i < list.count; i++) {
        MwLayoutStage stage = {0, layers, 0, list.at[i], 0};
        MwStageLayout layout = {.kind = mw_usual_schedule(t->compilation),
                                .micro_batches = batching->micro_batches,
                                .chunks = 1,
                                .stage_count = 1,
                                .stages = &stage};
        mw_stage_layout_price(batching->model, &layout);
        t->one_stage_s = i == 0 ? layout.step_s : fmin(t->one_stage_s, layout.step_s);
        if (!best.stage_count || is_better(t, &layout, &best))
            best = mw_stage_tries_keep(t, layout);
    }
    if (best.stage_count) {
        t->one_stage_micro_batches = best.micro_batches;
        t->one_stage_bytes = best.needed_bytes;
        t->one_stage_kept_bytes = best.stages[0].cost.kept_bytes;
    }
    return best;
}

/* Whether more micro-batches cannot help, but by what samples are solved to: they make one stage no
 * faster, so they are of no use if its fastest way fits the memory or a pipeline is faster. */
static bool one_stage_is_no_faster(const MwStageTries *t)
{
    const MwStageLayout *best = mw_stage_tries_incumbent(t);
    return best && t->one_stage_s >= (1 - MW_TUNED_STAGE_GAP) * best->step_s;
}

/* Whether one stage lacks memory with so many micro-batches, as far as the last trial of it tells:
 * what each micro-batch needs shrinks as their number grows. */
static bool one_stage_lacks_memory(const MwStageTries *t, int micro_batches)
{
    if (t->one_stage_micro_batches == 0)
        return false;
    double shrunk = (double)t->one_stage_micro_batches / micro_batches;
    double bytes =
        t->one_stage_kept_bytes + (t->one_stage_bytes - t->one_stage_kept_bytes) * shrunk;
    return bytes > (1 + MW_TUNED_ESTIMATE_MARGIN) * mw_stage_tries_bytes(t);
}

void mw_stage_try_one(MwStageTries *t, MwStageBatching *batching)
{
    mw_stage_batching_make(batching);
    const MwStageLayout best = best_single_stage(t, batching);
    if (best.stage_count)
        mw_stage_tries_add_layout(t, &best);
}

bool mw_stage_one_is_promising(const MwStageTries *t, int micro_batches)
{
    return micro_batches < t->one_stage_micro_batches ||
           (!one_stage_is_no_faster(t) && !one_stage_lacks_memory(t, micro_batches));
}

void mw_stage_try_single(MwStageTries *t, int *next, int most)
{
    if (t->compilation->options.stages > 1 || t->query->least_stages > 1)
        return;
    for (int left = most; *next < t->batchings.count && left > 0 && !one_stage_is_no_faster(t);
         (*next)++) {
        MwStageBatching *batching = &t->batchings.at[*next];
        bool is_last = *next == t->batchings.count - 1;
        if (!mw_stage_batching_measure(batching) ||
            ((!mw_stage_batching_fits(batching, mw_stage_tries_bytes(t), 1) ||
              one_stage_lacks_memory(t, batching->micro_batches)) &&
             (mw_stage_tries_has_layout(t) || !is_last)))
            continue;
        left--;
        mw_stage_try_one(t, batching);
    }
}
