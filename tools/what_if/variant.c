/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/what_if/variant.h"

#include "base/threads.h"
#include "tools/inspect/summary.h"

#include <pthread.h>
#include <string.h>

MwVariant mw_variant(const MwToolOptions *options)
{
    return (MwVariant){.options = *options};
}

void mw_variant_set(MwArena *arena, MwVariant *variant, const MwWhatIfAxis *axis, const char *value)
{
    switch (axis->kind) {
    case MW_WHAT_IF_SIZE:
        mw_tool_options_define(&variant->options, axis->name, value);
        return;
    case MW_WHAT_IF_FIGURE:
        mw_vec_push(arena, &variant->figures, ((MwVariantFigure){axis, value}));
        return;
    case MW_WHAT_IF_OPTION:
        mw_tool_options_set(&variant->options, axis->name, value);
        return;
    }
    MW_UNREACHABLE();
}

bool mw_variants_can_plan(const MwToolOptions *options, MwDiags *diags)
{
    const MwPipelineOptions *pipeline = &options->pipeline;
    const bool can = pipeline->dump_after == MW_PASS_COUNT &&
                     pipeline->stop_after == MW_PASS_COUNT && !pipeline->times &&
                     !options->compile.save_problem && !options->compile.save_ilp;
    if (!can)
        mw_diag_error(diags, mw_span_none(),
                      "many plans are made: --dump-after, --stop-after, --time-passes, "
                      "--save-problem and --dump-ilp are for `meshwright plan`, which makes one");
    return can;
}

/* ---- Planning ---- */

typedef struct {
    MwVariants *variants;
    MwArena **arenas; /* [variants] of what stays of each */
    MwPassProgress progress;
    pthread_mutex_t lock; /* of what follows, and of the line of the terminal */
    int done;
} Work;

/* Sets the figures of the cluster that was loaded. */
static bool change_cluster(MwSession *session, const MwVariant *variant)
{
    MwArena *arena = session->options.arena;
    MwCluster *cluster = mw_arena_dup(arena, session->compilation.cluster, sizeof *cluster);
    session->compilation.cluster = cluster;
    for (int i = 0; i < variant->figures.count; i++) {
        const MwVariantFigure *set = &variant->figures.at[i];
        if (!mw_cluster_figure_set(arena, cluster, set->axis->figure,
                                   mw_what_if_axis_source(arena, set->axis, set->value),
                                   session->diags))
            return false;
    }
    return variant->figures.count == 0 || mw_cluster_figures_agree(arena, cluster, session->diags);
}

static const char *meshes_text(MwArena *arena, const MwPlan *plan)
{
    MwText text = {.arena = arena};
    char shape[MW_MESH_TEXT_BYTES], last[MW_MESH_TEXT_BYTES] = "";
    for (int m = 0; m < plan->mesh_count; m++) {
        mw_mesh_text(&plan->meshes[m].shape, shape);
        if (strcmp(shape, last) != 0)
            mw_text_printf(&text, "%s%s", m ? ", " : "", shape);
        strcpy(last, shape);
    }
    return text.at;
}

typedef MW_VEC(MwVariantWeight) Weights;

static bool has_weight(const Weights *weights, const char *name)
{
    for (int i = 0; i < weights->count; i++)
        if (strcmp(weights->at[i].name, name) == 0)
            return true;
    return false;
}

static void list_weights(MwArena *arena, const MwPlan *plan, Weights *weights)
{
    for (int m = 0; m < plan->mesh_count; m++) {
        const MwPlanMesh *mesh = &plan->meshes[m];
        for (int i = 0; i < mesh->weight_count; i++) {
            const MwPlanWeight *weight = &mesh->weights[i];
            if (weight->is_copy || weight->reset_each_step || has_weight(weights, weight->name))
                continue;
            mw_vec_push(arena, weights,
                        ((MwVariantWeight){mw_arena_strdup(arena, weight->name),
                                           *mw_plan_held(weight), weight->is_state}));
        }
    }
}

static const MwPlanMesh *fullest_mesh(const MwPlan *plan)
{
    const MwPlanMesh *fullest = &plan->meshes[0];
    for (int m = 1; m < plan->mesh_count; m++)
        if (plan->meshes[m].arena_bytes > fullest->arena_bytes)
            fullest = &plan->meshes[m];
    return fullest;
}

static MwVariantResult result_of(MwArena *arena, MwArena *work, const MwPlan *plan,
                                 bool lists_memory)
{
    const MwInspectBatch batch = mw_inspect_batch(plan);
    const double per_s = plan->step_s > 0 ? 1 / plan->step_s : 0;
    MwVariantResult result = {.step_s = plan->step_s,
                              .samples_per_s = batch.samples * per_s,
                              .tokens_per_s = batch.tokens * per_s,
                              .memory_bytes = fullest_mesh(plan)->arena_bytes,
                              .host_bytes = fullest_mesh(plan)->host_bytes,
                              .usd_per_h = plan->has_price ? plan->usd_per_h : 0,
                              .usd_per_step = mw_inspect_step_usd(plan),
                              .usd_per_sample = mw_inspect_sample_usd(plan),
                              .devices = plan->rank_count,
                              .stages = plan->stage_count,
                              .micro_batches = plan->micro_batches,
                              .parallelism = mw_inspect_parallelism(arena, plan),
                              .mesh = meshes_text(arena, plan),
                              .schedule = mw_arena_strdup(arena, plan->schedule)};
    if (lists_memory) {
        Weights weights = {0};
        result.memory = mw_memory_kinds(work, fullest_mesh(plan));
        list_weights(arena, plan, &weights);
        result.weights = weights.at;
        result.weight_count = weights.count;
    }
    return result;
}

/* The first line of the first error. */
static const char *error_of(MwArena *arena, const MwDiags *diags)
{
    const char *message = mw_diags_first_error(diags);
    return message ? mw_arena_strndup(arena, message, strcspn(message, "\n")) : "there is no plan";
}

static void plan_one(MwArena *arena, MwVariant *variant)
{
    MwSession session;
    const MwPlan *plan = NULL;
    mw_session_begin_with(&session, &variant->options);
    session.options.pipeline.progress.out = NULL; /* lines of several plans at once say nothing */
    if (mw_session_load(&session) && change_cluster(&session, variant))
        plan = mw_session_plan_with(&session, &session.options.compile, session.diags);
    if (plan)
        variant->result = result_of(arena, session.options.arena, plan, variant->lists_memory);
    else
        variant->result.error = error_of(arena, session.diags);
    mw_arena_free(&session.options.arena);
}

static void work_on(void *context, int i)
{
    Work *work = context;
    plan_one(work->arenas[i], &work->variants->at[i]);
    pthread_mutex_lock(&work->lock);
    work->done++;
    mw_pass_progress_show(&work->progress, "%d of %d planned", work->done, work->variants->count);
    pthread_mutex_unlock(&work->lock);
}

void mw_variants_plan(MwArena *arena, MwVariants *variants, int jobs)
{
    const int count = variants->count;
    if (count == 0)
        return;
    Work work = {.variants = variants,
                 .arenas = MW_NEW(arena, MwArena *, count),
                 .progress = variants->at[0].options.pipeline.progress,
                 .lock = PTHREAD_MUTEX_INITIALIZER};
    for (int i = 0; i < count; i++)
        work.arenas[i] = mw_arena_new_within(arena);
    mw_pass_progress_show(&work.progress, "0 of %d planned", count);
    mw_parallel(jobs ? jobs : mw_parallel_threads(), count, work_on, &work);
    mw_pass_progress_clear(&work.progress);
}

void mw_variants_check_any(const MwVariants *variants, MwDiags *diags)
{
    for (int i = 0; i < variants->count; i++)
        if (!variants->at[i].result.error)
            return;
    mw_diag_error(diags, mw_span_none(), "nothing could be planned: %s",
                  variants->count ? variants->at[0].result.error : "there is nothing to plan");
}
