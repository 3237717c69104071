/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/inspect/summary.h"

#include "base/quantity.h"
#include "tools/inspect/pipeline.h"
#include "tools/inspect/roles.h"
#include "tools/inspect/totals.h"

#include <math.h>
#include <string.h>

enum { SECONDS_PER_HOUR = 3600 };

static void add_line(MwText *text, const char *title, const char *what)
{
    mw_text_printf(text, "  %-14s%s\n", title, what);
}

/* ---- What was chosen ---- */

/* Whether all meshes have the same text of roles. */
static bool are_alike(MwArena *arena, const MwPlan *plan)
{
    const char *first = mw_inspect_roles_text(arena, &plan->meshes[0]);
    for (int m = 1; m < plan->mesh_count; m++)
        if (strcmp(first, mw_inspect_roles_text(arena, &plan->meshes[m])) != 0)
            return false;
    return true;
}

const char *mw_inspect_parallelism(MwArena *arena, const MwPlan *plan)
{
    MwText text = {.arena = arena};
    if (plan->mesh_count == 1)
        return mw_inspect_roles_text(arena, &plan->meshes[0]);
    if (are_alike(arena, plan)) {
        const char *roles = mw_inspect_roles_text(arena, &plan->meshes[0]);
        return mw_arena_printf(arena, "%s x pipeline %d", roles, plan->mesh_count);
    }
    mw_text_printf(&text, "pipeline %d:", plan->mesh_count);
    for (int m = 0, end; m < plan->mesh_count; m = end) {
        const char *roles = mw_inspect_roles_text(arena, &plan->meshes[m]);
        for (end = m + 1; end < plan->mesh_count; end++)
            if (strcmp(roles, mw_inspect_roles_text(arena, &plan->meshes[end])) != 0)
                break;
        mw_text_printf(&text, "%s mesh%s %s %s", m ? "," : "", end - m > 1 ? "es" : "",
                       mw_inspect_range(arena, m, end - m), roles);
    }
    return text.at;
}

static const char *pipeline_text(MwArena *arena, const MwPlan *plan)
{
    const char *batches = mw_arena_printf(arena, "%d micro-batch%s", plan->micro_batches,
                                          plan->micro_batches == 1 ? "" : "es");
    if (plan->mesh_count == 1)
        return mw_arena_printf(arena, "one stage, %s", batches);
    const MwInspectPipeline pipeline = mw_inspect_pipeline(arena, plan);
    return mw_arena_printf(arena, "%d stages, %s, %s, bubble %.1f %%", plan->stage_count,
                           plan->schedule, batches, 100 * pipeline.bubble_rate);
}

int mw_inspect_plan_zero_level(const MwPlan *plan)
{
    int level = 3;
    for (int m = 0; m < plan->mesh_count; m++)
        level = mw_min(level, mw_inspect_zero_level(&plan->meshes[m]));
    return level;
}

static const char *memory_text(MwArena *arena, const MwPlan *plan)
{
    MwText text = {.arena = arena};
    int64_t most = 0, host = 0;
    const int zero = mw_inspect_plan_zero_level(plan);
    int layers = 0, recomputed = 0, selective = 0, streamed = 0;
    for (int m = 0; m < plan->mesh_count; m++)
        most = mw_max(most, plan->meshes[m].arena_bytes);
    for (int m = 0; m < plan->mesh_count; m++)
        host = mw_max(host, plan->meshes[m].host_bytes);
    for (int s = 0; s < plan->stage_count; s++) {
        layers += plan->stages[s].layer_count;
        recomputed += plan->stages[s].remat_layers;
        selective += plan->stages[s].selective_layers;
        streamed += plan->stages[s].streamed_layers;
    }
    mw_text_printf(&text, "%s", mw_bytes_text(arena, (double)most));
    mw_text_printf(&text, " of %s per device", mw_bytes_text(arena, (double)plan->device_bytes));
    if (host)
        mw_text_printf(&text, ", %s on the host", mw_bytes_text(arena, (double)host));
    if (zero)
        mw_text_printf(&text, ", ZeRO %d", zero);
    if (recomputed)
        mw_text_printf(&text, ", %d of %d layers recomputed", recomputed, layers);
    if (selective)
        mw_text_printf(&text, ", %d of %d selectively", selective, layers);
    if (streamed)
        mw_text_printf(&text, ", %d of %d streamed", streamed, layers);
    return text.at;
}

/* ---- What it gives ---- */

static const char *step_text(MwArena *arena, const MwPlan *plan)
{
    double compute_s = 0, communication_s = 0;
    for (int m = 0; m < plan->mesh_count; m++) {
        compute_s = fmax(compute_s, plan->meshes[m].costs.compute_s);
        communication_s = fmax(communication_s, plan->meshes[m].costs.communication_s);
    }
    return mw_arena_printf(arena, "%s predicted; of a mesh at most: compute %s, communication %s",
                           mw_seconds_text(arena, plan->step_s), mw_seconds_text(arena, compute_s),
                           mw_seconds_text(arena, communication_s));
}

MwInspectBatch mw_inspect_batch(const MwPlan *plan)
{
    MwInspectBatch batch = {0};
    for (int m = 0; m < plan->mesh_count; m++) {
        for (int i = 0; i < plan->meshes[m].input_count; i++) {
            const MwPlanInput *input = &plan->meshes[m].inputs[i];
            if (strcmp(input->name, "tokens") == 0)
                batch.tokens = (double)mw_tensor_elements(&input->global);
            if (!input->whole && input->global.rank > 0)
                batch.samples = (double)input->global.dim[0];
        }
    }
    return batch;
}

const char *mw_inspect_rate(MwArena *arena, double rate)
{
    const double unit = rate > 0 ? pow(10, floor(log10(rate)) - 3) : 1;
    return mw_arena_printf(arena, "%.*f", unit < 1 ? (int)ceil(-log10(unit)) : 0,
                           round(rate / unit) * unit);
}

double mw_inspect_step_usd(const MwPlan *plan)
{
    return plan->has_price ? plan->step_s / SECONDS_PER_HOUR * plan->usd_per_h : 0;
}

double mw_inspect_sample_usd(const MwPlan *plan)
{
    const MwInspectBatch batch = mw_inspect_batch(plan);
    return batch.samples > 0 ? mw_inspect_step_usd(plan) / batch.samples : 0;
}

const char *mw_inspect_cost(MwArena *arena, const MwPlan *plan)
{
    MwText text = {.arena = arena};
    mw_text_printf(&text, "%s a step", mw_usd_text(arena, mw_inspect_step_usd(plan)));
    if (mw_inspect_sample_usd(plan) > 0)
        mw_text_printf(&text, ", %s a million samples",
                       mw_usd_text(arena, 1e6 * mw_inspect_sample_usd(plan)));
    mw_text_printf(&text, ", at %s/h", mw_usd_text(arena, plan->usd_per_h));
    return text.at;
}

static const char *speed_text(MwArena *arena, const MwPlan *plan)
{
    MwText text = {.arena = arena};
    const MwInspectBatch batch = mw_inspect_batch(plan);
    const double devices = plan->rank_count;
    if (batch.tokens > 0)
        mw_text_printf(&text, "%s tokens/s", mw_inspect_rate(arena, batch.tokens / plan->step_s));
    else
        mw_text_printf(&text, "%s samples/s", mw_inspect_rate(arena, batch.samples / plan->step_s));
    if (plan->model_flops > 0)
        mw_text_printf(&text, ", %.3g TFLOP/s per device",
                       1e-12 * plan->model_flops / (plan->step_s * devices));
    if (plan->model_peak_s > 0)
        mw_text_printf(&text, ", model FLOP utilisation %.1f %%",
                       100 * plan->model_peak_s / (plan->step_s * devices));
    return text.at;
}

static const char *gap_text(MwArena *arena, const MwPlan *plan)
{
    double gap = 0;
    for (int m = 0; m < plan->mesh_count; m++)
        gap = fmax(gap, mw_inspect_gap(&plan->meshes[m].costs));
    return gap > 0
               ? mw_arena_printf(arena, "shardings within %.2g %% of the lower bound", 100 * gap)
               : "shardings are optimal by the cost model";
}

/* The quickest layout that was rejected for its time. */
static const char *next_best_text(MwArena *arena, const MwPlan *plan)
{
    const MwPlanAlternative *best = NULL;
    for (int i = 0; i < plan->alternative_count; i++) {
        const MwPlanAlternative *alternative = &plan->alternatives[i];
        if (strcmp(alternative->reason, "time") == 0 && alternative->step_s > 0 &&
            (!best || alternative->step_s < best->step_s))
            best = alternative;
    }
    if (!best)
        return NULL;
    const char *how = best->step_s < plan->step_s ? "estimated at" : "step at least";
    return mw_arena_printf(arena, "%s: %s x %.3g", best->name, how, best->step_s / plan->step_s);
}

void mw_inspect_summary(MwText *text, const MwPlan *plan)
{
    MwArena *arena = text->arena;
    const char *next = next_best_text(arena, plan);
    mw_text_printf(text, "model %s (%s) for %d rank%s of %s, backend %s\n", plan->model,
                   plan->source, plan->rank_count, plan->rank_count == 1 ? "" : "s", plan->cluster,
                   plan->backend);
    add_line(text, "parallelism", mw_inspect_parallelism(arena, plan));
    add_line(text, "pipeline", pipeline_text(arena, plan));
    add_line(text, "memory", memory_text(arena, plan));
    add_line(text, "step", step_text(arena, plan));
    if (plan->step_s > 0)
        add_line(text, "speed", speed_text(arena, plan));
    if (plan->has_price)
        add_line(text, "cost", mw_inspect_cost(arena, plan));
    add_line(text, "optimality", gap_text(arena, plan));
    if (next)
        add_line(text, "next best", next);
}
