/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers of micro-batches are tried in the order of an estimate (mw_stage_batching_estimate); on
 * many devices, where probes tell more (probe.h), the best numbers of equal meshes with each of
 * them are tried before, one after another, each with all schedules, and one stage among them; then
 * meshes of any sizes with as many micro-batches as the best of these, if their stages are uneven.
 * Those whose lower bound is no better than the incumbent, the best layout so far, are left out,
 * and all once the effort is spent (SEARCH_EFFORT; where probes rank equal meshes, EVEN_EFFORT of
 * it for these and as much for any). Schedules other than 1F1B are tried where the bubble of 1F1B
 * is worth removing, late ones (schedule.def) only below the step time of the incumbent, so that
 * they cost little where they are of no use. On few devices a single stage has one micro-batch,
 * unless memory or the user demands more. */
#include "passes/stages/pipelines.h"

#include "passes/stages/single.h"
#include "passes/tuning.h"

#include <limits.h>
#include <math.h>

struct MwVeeFound {
    int micro_batches, meshes;
    double ideal_s; /* the least of their layouts without a bubble */
};

/* The effort of a number of micro-batches at which its search ends: it may take STAGE_EFFORT, and
 * no more than is left of it all. */
static int64_t most_effort(const MwStageTries *t, const MwStageBatching *batching)
{
    int64_t left = t->most_effort - mw_stage_known_effort(t->known);
    return mw_min(MW_TUNED_STAGE_EFFORT, mw_stage_costs_effort(batching->costs) + left);
}

/* ---- Schedules ---- */

/* Bounds the number of devices of a stage: those of the mesh that the user asks for. Otherwise,
 * if the incumbent is a pipeline with another number of micro-batches, from half its smallest
 * stage to twice its largest; or any number. */
static void set_devices(const MwStageTries *t, MwStageChoiceQuery *query)
{
    const MwMeshShape *wanted = &t->compilation->options.mesh;
    query->least_devices = query->most_devices = wanted->axis_count ? mw_mesh_devices(wanted) : 0;
    const MwStageLayout *best = mw_stage_tries_incumbent(t);
    if (query->are_equal || wanted->axis_count || !best || best->stage_count == 1 ||
        best->micro_batches == query->model->micro_batches)
        return;
    query->least_devices = INT_MAX;
    for (int i = 0; i < best->stage_count; i++) {
        int devices = mw_mesh_devices(&best->stages[i].cost.mesh);
        query->least_devices = (int)mw_min(query->least_devices, devices / 2);
        query->most_devices = (int)mw_max(query->most_devices, 2 * devices);
    }
}

/* Whether a schedule is tried after all that are not late; the one that the user names is not. */
static bool is_late(const MwStageTries *t, MwPipelineKind kind)
{
    return mw_pipeline_info(kind)->late && !mw_wants_schedule(&t->compilation->options);
}

/* Keeps the first reason in the order of MwStageReason, which is the most informative. */
static void note_reason(MwStageTries *t, const MwStageChoiceAnswer *answer)
{
    MwStageTrials *out = t->out;
    if (out->reason == MW_STAGES_POSSIBLE || answer->reason < out->reason)
        out->reason = answer->reason;
}

/* Adds what the search for a schedule found, or that it lacks memory. */
static void add_answer(MwStageTries *t, MwRankedPipeline *ranked, const MwStageChoiceQuery *query,
                       const MwStageChoiceAnswer *answer)
{
    if (answer->reason == MW_STAGES_POSSIBLE) {
        if (answer->layout.step_s < ranked->step_s) {
            ranked->step_s = answer->layout.step_s;
            ranked->ideal_s = answer->layout.ideal_s;
        }
        if (query->chunks == 1)
            ranked->even_s = fmin(ranked->even_s, mw_stage_layout_even_s(&answer->layout));
        mw_stage_tries_add_layout(t, &answer->layout);
    } else {
        note_reason(t, answer);
    }
    if (answer->reason == MW_STAGES_MEMORY) {
        const int stages =
            query->meshes ? mw_pipeline_stages(query->kind, query->meshes, query->chunks) : 0;
        MwStageLayout asked = {.kind = query->kind,
                               .micro_batches = ranked->batching->micro_batches,
                               .chunks = query->chunks,
                               .stage_count = stages};
        mw_stage_tries_add(t, (MwStageTrial){.name = mw_stage_layout_name(t->kept, &asked),
                                             .needed_bytes = answer->needed_bytes});
    }
}

/* Memory of a device that a layout may take by estimate. */
static double bytes_for(const MwStageTries *t, MwPipelineKind kind)
{
    return (is_late(t, kind) ? 1 - MW_TUNED_LATE_MARGIN : 1) * mw_stage_tries_bytes(t);
}

/* The step time that a layout of a schedule must be below; INFINITY: any. On many devices, where
 * that takes long, nothing is sought that is not nearly as good as the incumbent by estimate, save
 * with the schedule of turn 1, which tells whether others can gain. */
static double limit_of(const MwStageTries *t, MwPipelineKind kind)
{
    const MwStageLayout *best = mw_stage_tries_incumbent(t);
    if (best && is_late(t, kind))
        return (1 - MW_TUNED_LATE_GAIN) * best->step_s;
    if (best && mw_stage_tries_are_probed(t) && mw_pipeline_info(kind)->turn != 1)
        return (1 + MW_TUNED_ESTIMATE_MARGIN) * best->step_s;
    return INFINITY;
}

/* What such schedules have found on so many meshes. */
static MwVeeFound *vee_found(MwStageTries *t, int micro_batches, int meshes)
{
    for (int i = 0; i < t->vees.count; i++)
        if (t->vees.at[i].micro_batches == micro_batches && t->vees.at[i].meshes == meshes)
            return &t->vees.at[i];
    mw_vec_push(t->arena, &t->vees, ((MwVeeFound){micro_batches, meshes, INFINITY}));
    return &t->vees.at[t->vees.count - 1];
}

/* `meshes` 0: any number. */
static MwStageReason try_schedule(MwStageTries *t, MwRankedPipeline *ranked, MwPipelineKind kind,
                                  int chunks, int meshes)
{
    mw_stage_batching_make(ranked->batching);
    MwStageChoiceQuery query = {.model = ranked->batching->model,
                                .costs = ranked->batching->costs,
                                .threads = ranked->batching->threads,
                                .kind = kind,
                                .chunks = chunks,
                                .meshes = meshes,
                                .are_equal = ranked->meshes > 0,
                                .least_stages = t->query->least_stages,
                                .layer_stage = t->query->layer_stage,
                                .is_optional = mw_stage_tries_incumbent(t) != NULL,
                                .most_effort = most_effort(t, ranked->batching),
                                .needs_no_reason = is_late(t, kind),
                                .below_s = limit_of(t, kind),
                                .memory_bytes = bytes_for(t, kind)};
    set_devices(t, &query);
    MwVeeFound *found = NULL;
    if (mw_pipeline_info(kind)->placement == MW_PLACE_VEE && is_late(t, kind)) {
        found = vee_found(t, ranked->batching->micro_batches, meshes);
        if (isfinite(found->ideal_s))
            query.ideal_below_s = (1 - MW_TUNED_STAGE_GAP) * found->ideal_s;
    }
    MwArena *scratch = mw_arena_new();
    MwStageChoiceAnswer answer = mw_stage_choice(scratch, &query);
    if (found && answer.reason == MW_STAGES_POSSIBLE)
        found->ideal_s = fmin(found->ideal_s, answer.layout.ideal_s);
    if (isinf(query.below_s))
        t->out->left_out_s = fmin(t->out->left_out_s, answer.left_out_s);
    const bool is_better = answer.reason == MW_STAGES_POSSIBLE &&
                           answer.layout.step_s < query.below_s &&
                           answer.layout.needed_bytes <= query.memory_bytes;
    if (is_better || isinf(query.below_s))
        add_answer(t, ranked, &query, &answer);
    mw_arena_free(&scratch);
    return answer.reason;
}

/* Whether to try a schedule: options, memory of a leaner schedule, memory for what it keeps. */
static bool is_schedule_wanted(const MwStageTries *t, const MwRankedPipeline *ranked,
                               MwPipelineKind kind)
{
    const MwCompileOptions *options = &t->compilation->options;
    if (mw_trains(t->compilation) != mw_pipeline_info(kind)->trains)
        return false;
    if (mw_wants_schedule(options) && mw_pipeline_info(kind)->trains)
        return mw_wanted_schedule(options) == kind;
    if (mw_pipeline_info(kind)->turn == 0 || ranked->lacks_memory[mw_pipeline_info(kind)->leaner])
        return false;
    return mw_pipeline_info(kind)->held > 0 ||
           mw_stage_batching_fits(ranked->batching, mw_stage_tries_bytes(t),
                                  ranked->batching->micro_batches);
}

/* 0: any number. */
static int wanted_meshes(const MwStageTries *t, const MwRankedPipeline *ranked)
{
    return ranked->meshes > 0 ? ranked->meshes : t->compilation->options.stages;
}

/* Whether pipelines of so many equal meshes were tried before those of any. */
static bool is_tried_before(const MwStageTries *t, const MwRankedPipeline *ranked, int meshes)
{
    for (int i = 0; i < t->considered && ranked->meshes == 0; i++) {
        const MwRankedPipeline *other = &t->ranking.at[i];
        if (other->is_tried && other->batching == ranked->batching && other->meshes == meshes)
            return true;
    }
    return false;
}

/* Tries a schedule with so many chunks, for all numbers of meshes that are allowed. */
static void try_chunks(MwStageTries *t, MwRankedPipeline *ranked, MwPipelineKind kind, int chunks)
{
    const int wanted = wanted_meshes(t, ranked);
    int most = (int)mw_min(t->devices, ranked->batching->layer_count / chunks);
    if (wanted > 0 || chunks == 1)
        try_schedule(t, ranked, kind, chunks, wanted);
    for (int meshes = 2; meshes <= most && wanted == 0 && chunks > 1; meshes++)
        if (t->devices % meshes == 0 && !is_tried_before(t, ranked, meshes) &&
            mw_pipeline_stages(kind, meshes, chunks) >= t->query->least_stages)
            try_schedule(t, ranked, kind, chunks, meshes);
}

/* Tries a schedule, for all numbers of chunks that are allowed. */
static void try_schedule_kind(MwStageTries *t, MwRankedPipeline *ranked, MwPipelineKind kind)
{
    const int wanted = t->compilation->options.chunks, meshes = wanted_meshes(t, ranked);
    if (!is_schedule_wanted(t, ranked, kind))
        return;
    if (!mw_pipeline_info(kind)->chunked) {
        ranked->lacks_memory[kind] = try_schedule(t, ranked, kind, 1, meshes) == MW_STAGES_MEMORY;
        return;
    }
    if (wanted > 0)
        try_chunks(t, ranked, kind, wanted);
    const int most = (int)mw_min(MW_TUNED_MAX_CHUNKS, mw_pipeline_most_chunks(kind));
    for (int chunks = 2; chunks <= most && wanted == 0; chunks++)
        try_chunks(t, ranked, kind, chunks);
}

/* Tries the schedules whose column `turn` is `turn`, but for late ones. */
static void try_turn(MwStageTries *t, MwRankedPipeline *ranked, int turn)
{
    for (int kind = 0; kind < MW_PIPELINE_COUNT; kind++)
        if (mw_pipeline_info((MwPipelineKind)kind)->turn == turn && !is_late(t, kind))
            try_schedule_kind(t, ranked, (MwPipelineKind)kind);
}

/* Whether a shorter bubble can yield a better layout, and is worth trying. */
static bool bubble_is_worth_it(const MwStageTries *t, const MwRankedPipeline *ranked)
{
    const MwStageLayout *best = mw_stage_tries_incumbent(t);
    double best_s = best ? best->step_s : INFINITY;
    return ranked->ideal_s < best_s && ranked->ideal_s < (1 - MW_TUNED_STAGE_GAP) * ranked->step_s;
}

/* Tries the schedules after the first turn; those with turn 0 come last, and only if the user
 * names a schedule. */
static void try_later_schedules(MwStageTries *t, MwRankedPipeline *ranked)
{
    bool is_asked = mw_wants_schedule(&t->compilation->options);
    for (int turn = 2; turn <= MW_PIPELINE_COUNT; turn++)
        if (is_asked || bubble_is_worth_it(t, ranked))
            try_turn(t, ranked, turn);
    if (is_asked)
        try_turn(t, ranked, 0);
}

/* Whether the devices can hold what the model keeps, and one micro-batch. */
static bool may_fit(const MwStageTries *t, const MwStageBatching *batching)
{
    return mw_stage_batching_fits(batching, mw_stage_tries_bytes(t), 1);
}

/* Whether a late schedule can yield a better layout. One that needs no less memory than that of
 * turn 1 gains the bubble alone. The others may do without recomputation, or split tensors less, so
 * that what counts is the least step that there can be. */
static bool late_is_worth_it(const MwStageTries *t, const MwRankedPipeline *ranked,
                             MwPipelineKind kind)
{
    const MwStageLayout *best = mw_stage_tries_incumbent(t);
    if (!may_fit(t, ranked->batching))
        return false;
    if (mw_pipeline_info(kind)->leaner == mw_pipeline_first(true))
        return bubble_is_worth_it(t, ranked);
    return !best || ranked->batching->estimate.least_s < (1 - MW_TUNED_LATE_GAIN) * best->step_s;
}

static bool is_tried_pipeline(const MwRankedPipeline *ranked)
{
    return ranked->is_tried && ranked->meshes != 1;
}

void mw_stage_try_late(MwStageTries *t)
{
    for (int i = 0; i < t->considered; i++)
        for (int kind = 0; kind < MW_PIPELINE_COUNT && is_tried_pipeline(&t->ranking.at[i]); kind++)
            if (is_late(t, (MwPipelineKind)kind) &&
                late_is_worth_it(t, &t->ranking.at[i], (MwPipelineKind)kind))
                try_schedule_kind(t, &t->ranking.at[i], (MwPipelineKind)kind);
}

static void rank_pipelines(MwStageTries *t)
{
    t->ranking =
        mw_stage_rank(t->arena, &(MwStageProbeQuery){.compilation = t->compilation,
                                                     .batchings = &t->batchings,
                                                     .memory_bytes = mw_stage_tries_bytes(t),
                                                     .least_stages = t->query->least_stages,
                                                     .known = t->known});
    t->ranked_effort = mw_stage_known_effort(t->known);
}

/* ---- What is in turn ---- */

/* Whether an earlier search of the model tried it. */
static bool was_tried(const MwStageTries *t, const MwRankedPipeline *ranked)
{
    for (int i = 0; i < t->before.count; i++)
        if (t->before.at[i].micro_batches == ranked->batching->micro_batches &&
            t->before.at[i].meshes == ranked->meshes)
            return true;
    return false;
}

void mw_stage_note_tried(MwStageTries *t)
{
    for (int i = 0; i < t->considered; i++) {
        const MwRankedPipeline *ranked = &t->ranking.at[i];
        if (ranked->is_tried && !was_tried(t, ranked))
            mw_vec_push(t->kept, &t->before,
                        ((MwTriedPipeline){ranked->batching->micro_batches, ranked->meshes}));
    }
}

/* The best of the pipelines of equal meshes that were tried; NULL: none has a layout. */
static const MwRankedPipeline *best_equal(const MwStageTries *t)
{
    const MwRankedPipeline *best = NULL;
    for (int i = 0; i < t->considered; i++) {
        const MwRankedPipeline *ranked = &t->ranking.at[i];
        if (ranked->is_tried && ranked->meshes > 1 &&
            ranked->step_s < (best ? best->step_s : INFINITY))
            best = ranked;
    }
    return best;
}

/* Whether meshes of any sizes are worth trying with a number of micro-batches: where equal meshes
 * were tried, with as many as the best of them, if it would be much better than the incumbent were
 * its stages twice as even. Of 17 models on 128 to 16,384 A100 or H100 Gemma 2 27B on 17 nodes
 * gains by them, a fifth of the step; GPT-3 175B on 16 nodes would gain 3 % for 4 s of CPU, but is
 * no less even than those of bench/planning, which would gain nothing for 2 to 3 s. */
static bool any_is_worth_it(const MwStageTries *t, const MwStageBatching *batching)
{
    const MwStageLayout *best = mw_stage_tries_incumbent(t);
    const MwRankedPipeline *equal = best_equal(t);
    if (!mw_stage_tries_are_probed(t) || !best || !equal)
        return true;
    return equal->batching == batching &&
           (equal->step_s + equal->even_s) / 2 < (1 - MW_TUNED_ESTIMATE_MARGIN) * best->step_s;
}

/* Whether equal meshes are in turn: while there is effort for them, and while they may be better
 * than the first, both being expected wrongly by ESTIMATE_MARGIN; those that the probes left out,
 * since others promised more, only until a pipeline is found: bench/planning gpt-1t takes 17.4 s of
 * CPU instead of 22.8 s, with the same step. The best number of micro-batches of one stage is tried
 * whatever effort is left: it is unlike all others. */
static bool equal_is_in_turn(const MwStageTries *t, const MwRankedPipeline *next)
{
    const MwStageLayout *best = mw_stage_tries_incumbent(t);
    const int64_t effort = mw_stage_known_effort(t->known) - t->ranked_effort;
    const bool is_first_single = next->meshes == 1 && t->one_stage_micro_batches == 0;
    if (next->meshes == 1 && !mw_stage_one_is_promising(t, next->batching->micro_batches))
        return false;
    if (!next->is_probed && best && best->stage_count > 1)
        return false;
    if ((1 - MW_TUNED_ESTIMATE_MARGIN) * next->expected_s >
        (1 + MW_TUNED_ESTIMATE_MARGIN) * t->ranking.at[0].expected_s)
        return false;
    return is_first_single ||
           (double)effort < MW_TUNED_EVEN_EFFORT * (double)MW_TUNED_SEARCH_EFFORT;
}

/* Whether the next of the ranking may be better than the incumbent, and is in turn: equal meshes,
 * then those of any sizes. */
static bool is_next_promising(const MwStageTries *t)
{
    const MwRankedPipeline *next = &t->ranking.at[t->considered];
    const MwStageLayout *best = mw_stage_tries_incumbent(t);
    if ((best && next->batching->estimate.least_s >= best->step_s) ||
        (t->considered > 0 && !may_fit(t, next->batching)))
        return false;
    if (was_tried(t, next))
        return true;
    if (best && !mw_stage_tries_has_effort(t))
        return false;
    return next->meshes == 0 ? any_is_worth_it(t, next->batching) : equal_is_in_turn(t, next);
}

/* What equal meshes leave of their share of the effort is not for meshes of any sizes, unless there
 * is no layout of equal ones. */
static void keep_effort_of_any(MwStageTries *t)
{
    const double share = best_equal(t) ? MW_TUNED_EVEN_EFFORT : 1;
    const int64_t effort = mw_stage_known_effort(t->known);
    t->most_effort =
        mw_min(t->most_effort, effort + (int64_t)(share * (double)MW_TUNED_SEARCH_EFFORT));
}

void mw_stage_try_pipelines(MwStageTries *t)
{
    int wanted = t->compilation->options.stages;
    t->considered = 0;
    if (wanted == 1 || (wanted == 0 && t->devices == 1))
        return;
    rank_pipelines(t);
    for (; t->considered < t->ranking.count && !mw_stage_tries_will_do(t); t->considered++) {
        MwRankedPipeline *next = &t->ranking.at[t->considered];
        if (!is_next_promising(t))
            continue;
        if (next->meshes == 0)
            keep_effort_of_any(t);
        next->is_tried = true;
        if (next->meshes == 1) {
            mw_stage_try_one(t, next->batching);
            continue;
        }
        try_turn(t, next, 1);
        if (next->meshes > 0)
            try_later_schedules(t, next);
    }
    for (int i = 0; i < t->considered && !mw_stage_tries_will_do(t); i++)
        if (t->ranking.at[i].is_tried && t->ranking.at[i].meshes == 0)
            try_later_schedules(t, &t->ranking.at[i]);
}

void mw_stage_try_other_counts(MwStageTries *t)
{
    const MwStageLayout *best = mw_stage_tries_incumbent(t);
    if (t->compilation->options.stages > 0 || !best || t->devices == 1)
        return;
    int own = mw_stage_layout_meshes(best);
    if (t->ranking.count == 0)
        rank_pipelines(t);
    const int64_t allowed = t->most_effort;
    if (mw_stage_tries_are_probed(t))
        t->most_effort = mw_stage_known_effort(t->known);
    MwRankedPipeline ranked = t->ranking.at[0];
    ranked.meshes = 0;
    if (own > 1)
        ranked.batching = mw_stage_batching_of(&t->batchings, best);
    int most = (int)mw_min(ranked.batching->layer_count, t->devices);
    MwPipelineKind kind = mw_usual_schedule(t->compilation);
    int chunks = mw_wanted_chunks(&t->compilation->options);
    for (int count = 2; count <= most; count++) {
        bool is_near = count == 2 * own || 2 * count == own;
        if (count == own || mw_pipeline_stages(kind, count, chunks) < t->query->least_stages ||
            (most > MW_TUNED_MAX_STAGE_COUNTS && !is_near))
            continue;
        try_schedule(t, &ranked, kind, chunks, count);
    }
    t->most_effort = allowed;
}
