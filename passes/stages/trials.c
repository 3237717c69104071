/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In:  the model with its layers, and what is pinned.
 * Out: the layout with the least step time that fits the memory, and the others that were tried.
 *
 * Numbers of micro-batches are tried in the order of an estimate (mw_stage_batching_estimate).
 * The search skips those whose lower bound is no better than the incumbent, the best layout so
 * far, and stops once SEARCH_EFFORT is spent. Schedules other than 1F1B are
 * tried where the bubble of 1F1B is worth removing, late ones (schedule.def) after everything else
 * and only below the step time of the incumbent, so that they cost little where they are of no use.
 * A single stage has one micro-batch, unless memory or the user demands more. */
#include "passes/stages/trials.h"

#include "base/clock.h"
#include "base/quantity.h"
#include "base/text.h"
#include "passes/memory_target.h"
#include "passes/stages/batching.h"
#include "passes/stages/probe.h"
#include "passes/tuning.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A number of micro-batches in the ranking by estimate. */
typedef struct {
    MwStageBatching *batching;
    double step_s, ideal_s;               /* of the best layout with it; INFINITY: none yet */
    bool lacks_memory[MW_PIPELINE_COUNT]; /* schedules for which memory does not suffice */
} RankedBatching;

typedef MW_VEC(MwStageTrial) TrialList;

struct MwStageFound {
    TrialList trials;
    MwStageTrials out;
};

typedef struct {
    const MwStageTrialsQuery *query;
    const MwCompilation *compilation;
    MwArena *arena;
    MwArena *kept; /* of the layouts, which outlive the compilation where `known` does */
    int devices;
    MwMemoryTarget target; /* of the memory of a device */
    MwStageBatchings batchings;
    MwStageKnown *known;
    double begin_s; /* of the search, and the effort that was known of before it */
    int64_t begin_effort;
    /* of one stage in the last trial of it: least step time, whatever its memory; micro-batches;
     * memory that it needed, and the part of it that does not depend on their number */
    double one_stage_s, one_stage_bytes, one_stage_kept_bytes;
    int one_stage_micro_batches;
    TrialList trials;
    RankedBatching *ranking; /* the numbers of micro-batches that were tried with several stages */
    int tried;
    MwStageTrials *out;
} Trials;

static double target_bytes(const Trials *t)
{
    return (double)t->target.target_bytes;
}

static bool make_batching(const Trials *t, MwStageBatching *batching)
{
    return mw_stage_batching_make(batching, t->compilation, t->known, t->query->threads);
}

static bool measure_batching(const Trials *t, MwStageBatching *batching)
{
    return mw_stage_batching_measure(batching, t->compilation, t->known, t->query->threads);
}

/* The effort of a number of micro-batches at which its search ends: it may take STAGE_EFFORT, and
 * no more than is left of SEARCH_EFFORT. */
static int64_t most_effort(const Trials *t, const MwStageBatching *batching)
{
    int64_t left = MW_TUNED_SEARCH_EFFORT - mw_stage_known_effort(t->known);
    return mw_min(MW_TUNED_STAGE_EFFORT, mw_stage_costs_effort(batching->costs) + left);
}

/* ---- Trying ---- */

/* Copies the stages to the arena that outlives the models. */
static MwStageLayout keep_layout(const Trials *t, MwStageLayout layout)
{
    layout.stages =
        mw_arena_dup(t->kept, layout.stages, sizeof *layout.stages * (size_t)layout.stage_count);
    return layout;
}

/* The best layout so far that fits; NULL: none does. */
static const MwStageLayout *incumbent(const Trials *t)
{
    int best = mw_stage_trials_best(t->trials.at, t->trials.count);
    return best < 0 ? NULL : &t->trials.at[best].layout;
}

/* Whether what there is will do. */
static bool will_do(const Trials *t)
{
    return t->compilation->options.takes_any && incumbent(t);
}

static bool has_layout(const Trials *t)
{
    for (int i = 0; i < t->trials.count; i++)
        if (t->trials.at[i].layout.stage_count > 0)
            return true;
    return false;
}

/* Adds a trial. It replaces an unsolved trial of the same name that does not fit: the search
 * asks again for comparison, and with a smaller memory target. */
static void add_trial(Trials *t, MwStageTrial trial)
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
static double most_left_s(const Trials *t)
{
    const int64_t effort = mw_stage_known_effort(t->known);
    const int64_t spent = effort - t->begin_effort, left = MW_TUNED_SEARCH_EFFORT - effort;
    return spent > 0 && left > 0 ? (mw_clock_s() - t->begin_s) * (double)left / (double)spent : 0;
}

/* Says on a terminal how far the search is, and what it has. */
static void show_progress(const Trials *t)
{
    MwText text = {.arena = t->arena};
    const MwStageLayout *best = incumbent(t);
    const double left_s = most_left_s(t);
    mw_text_printf(&text, "stages: %d layout%s", t->trials.count, t->trials.count == 1 ? "" : "s");
    if (left_s > 0)
        mw_text_printf(&text, ", at most %s left", mw_seconds_text(t->arena, left_s));
    if (best)
        mw_text_printf(&text, "; best %s: %s", mw_seconds_text(t->arena, best->step_s),
                       mw_stage_layout_name(t->arena, best));
    mw_pass_progress_show(&t->compilation->progress, "%s", text.at);
}

static void add_layout(Trials *t, const MwStageLayout *layout)
{
    add_trial(t, (MwStageTrial){.name = mw_stage_layout_name(t->kept, layout),
                                .layout = keep_layout(t, *layout),
                                .fits = layout->needed_bytes <= target_bytes(t),
                                .needed_bytes = layout->needed_bytes});
    show_progress(t);
}

/* ---- One stage ---- */

static bool is_better(const Trials *t, const MwStageLayout *a, const MwStageLayout *b)
{
    bool fits = a->needed_bytes <= target_bytes(t), other = b->needed_bytes <= target_bytes(t);
    if (fits != other)
        return fits;
    return fits ? a->step_s < b->step_s : a->needed_bytes < b->needed_bytes;
}

/* The best way to run the whole model as one stage on all devices; a layout without stages if
 * there is none. */
static MwStageLayout best_single_stage(Trials *t, const MwStageBatching *batching)
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
            best = keep_layout(t, layout);
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
static bool one_stage_is_no_faster(const Trials *t)
{
    const MwStageLayout *best = incumbent(t);
    return best && t->one_stage_s >= (1 - MW_TUNED_STAGE_GAP) * best->step_s;
}

/* Whether one stage lacks memory with so many micro-batches, as far as the last trial of it tells:
 * what each micro-batch needs shrinks as their number grows. */
static bool one_stage_lacks_memory(const Trials *t, int micro_batches)
{
    if (t->one_stage_micro_batches == 0)
        return false;
    double shrunk = (double)t->one_stage_micro_batches / micro_batches;
    double bytes =
        t->one_stage_kept_bytes + (t->one_stage_bytes - t->one_stage_kept_bytes) * shrunk;
    return bytes > (1 + MW_TUNED_ESTIMATE_MARGIN) * target_bytes(t);
}

/* Tries one stage with up to `most` more numbers of micro-batches, from index `next` on, for
 * which memory may suffice. */
static void try_single_stage(Trials *t, int *next, int most)
{
    if (t->compilation->options.stages > 1 || t->query->least_stages > 1)
        return;
    for (int left = most; *next < t->batchings.count && left > 0 && !one_stage_is_no_faster(t);
         (*next)++) {
        MwStageBatching *batching = &t->batchings.at[*next];
        bool is_last = *next == t->batchings.count - 1;
        if (!measure_batching(t, batching) ||
            ((!mw_stage_batching_fits(batching, target_bytes(t), 1) ||
              one_stage_lacks_memory(t, batching->micro_batches)) &&
             (has_layout(t) || !is_last)))
            continue;
        left--;
        make_batching(t, batching);
        MwStageLayout best = best_single_stage(t, batching);
        if (best.stage_count)
            add_layout(t, &best);
    }
}

/* ---- Pipelines ---- */

/* Bounds the number of devices of a stage: those of the mesh that the user asks for. Otherwise,
 * if the incumbent is a pipeline with another number of micro-batches, from half its smallest
 * stage to twice its largest; or any number. */
static void set_devices(const Trials *t, MwStageChoiceQuery *query)
{
    const MwMeshShape *wanted = &t->compilation->options.mesh;
    query->least_devices = query->most_devices = wanted->axis_count ? mw_mesh_devices(wanted) : 0;
    const MwStageLayout *best = incumbent(t);
    if (wanted->axis_count || !best || best->stage_count == 1 ||
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
static bool is_late(const Trials *t, MwPipelineKind kind)
{
    return mw_pipeline_info(kind)->late && !mw_wants_schedule(&t->compilation->options);
}

/* Keeps the first reason in the order of MwStageReason, which is the most informative. */
static void note_reason(Trials *t, const MwStageChoiceAnswer *answer)
{
    MwStageTrials *out = t->out;
    if (out->reason == MW_STAGES_POSSIBLE || answer->reason < out->reason)
        out->reason = answer->reason;
}

/* Adds what the search for a schedule found, or that it lacks memory. */
static void add_answer(Trials *t, RankedBatching *ranked, const MwStageChoiceQuery *query,
                       const MwStageChoiceAnswer *answer)
{
    if (answer->reason == MW_STAGES_POSSIBLE) {
        if (answer->layout.step_s < ranked->step_s) {
            ranked->step_s = answer->layout.step_s;
            ranked->ideal_s = answer->layout.ideal_s;
        }
        add_layout(t, &answer->layout);
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
        add_trial(t, (MwStageTrial){.name = mw_stage_layout_name(t->kept, &asked),
                                    .needed_bytes = answer->needed_bytes});
    }
}

/* Memory of a device that a layout may take by estimate. */
static double bytes_for(const Trials *t, MwPipelineKind kind)
{
    return (is_late(t, kind) ? 1 - MW_TUNED_LATE_MARGIN : 1) * target_bytes(t);
}

/* The step time that a layout of a schedule must be below; INFINITY: any. */
static double limit_of(const Trials *t, MwPipelineKind kind)
{
    const MwStageLayout *best = incumbent(t);
    return is_late(t, kind) && best ? (1 - MW_TUNED_LATE_GAIN) * best->step_s : INFINITY;
}

/* `meshes` 0: any number. */
static MwStageReason try_schedule(Trials *t, RankedBatching *ranked, MwPipelineKind kind,
                                  int chunks, int meshes)
{
    make_batching(t, ranked->batching);
    MwStageChoiceQuery query = {.model = ranked->batching->model,
                                .costs = ranked->batching->costs,
                                .kind = kind,
                                .chunks = chunks,
                                .meshes = meshes,
                                .least_stages = t->query->least_stages,
                                .layer_stage = t->query->layer_stage,
                                .is_optional = incumbent(t) != NULL,
                                .most_effort = most_effort(t, ranked->batching),
                                .needs_no_reason = is_late(t, kind),
                                .below_s = limit_of(t, kind),
                                .memory_bytes = bytes_for(t, kind)};
    set_devices(t, &query);
    MwArena *scratch = mw_arena_new();
    MwStageChoiceAnswer answer = mw_stage_choice(scratch, &query);
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
static bool is_schedule_wanted(const Trials *t, const RankedBatching *ranked, MwPipelineKind kind)
{
    const MwCompileOptions *options = &t->compilation->options;
    if (mw_trains(t->compilation) != mw_pipeline_info(kind)->trains)
        return false;
    if (mw_wants_schedule(options) && mw_pipeline_info(kind)->trains)
        return mw_wanted_schedule(options) == kind;
    if (mw_pipeline_info(kind)->turn == 0 || ranked->lacks_memory[mw_pipeline_info(kind)->leaner])
        return false;
    return mw_pipeline_info(kind)->held > 0 ||
           mw_stage_batching_fits(ranked->batching, target_bytes(t),
                                  ranked->batching->micro_batches);
}

/* Tries a schedule with so many chunks, for all numbers of meshes that are allowed. */
static void try_chunks(Trials *t, RankedBatching *ranked, MwPipelineKind kind, int chunks)
{
    int wanted = t->compilation->options.stages;
    int most = (int)mw_min(t->devices, ranked->batching->layer_count / chunks);
    if (wanted > 0 || chunks == 1)
        try_schedule(t, ranked, kind, chunks, wanted);
    for (int meshes = 2; meshes <= most && wanted == 0 && chunks > 1; meshes++)
        if (t->devices % meshes == 0 &&
            mw_pipeline_stages(kind, meshes, chunks) >= t->query->least_stages)
            try_schedule(t, ranked, kind, chunks, meshes);
}

/* Tries a schedule, for all numbers of chunks that are allowed. */
static void try_schedule_kind(Trials *t, RankedBatching *ranked, MwPipelineKind kind)
{
    int wanted = t->compilation->options.chunks, meshes = t->compilation->options.stages;
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
static void try_turn(Trials *t, RankedBatching *ranked, int turn)
{
    for (int kind = 0; kind < MW_PIPELINE_COUNT; kind++)
        if (mw_pipeline_info((MwPipelineKind)kind)->turn == turn && !is_late(t, kind))
            try_schedule_kind(t, ranked, (MwPipelineKind)kind);
}

/* Whether a shorter bubble can yield a better layout, and is worth trying. */
static bool bubble_is_worth_it(const Trials *t, const RankedBatching *ranked)
{
    const MwStageLayout *best = incumbent(t);
    double best_s = best ? best->step_s : INFINITY;
    return ranked->ideal_s < best_s && ranked->ideal_s < (1 - MW_TUNED_STAGE_GAP) * ranked->step_s;
}

/* Tries the schedules after the first turn; those with turn 0 come last, and only if the user
 * names a schedule. */
static void try_later_schedules(Trials *t, RankedBatching *ranked)
{
    bool is_asked = mw_wants_schedule(&t->compilation->options);
    for (int turn = 2; turn <= MW_PIPELINE_COUNT; turn++)
        if (is_asked || bubble_is_worth_it(t, ranked))
            try_turn(t, ranked, turn);
    if (is_asked)
        try_turn(t, ranked, 0);
}

/* Whether the devices can hold what the model keeps, and one micro-batch. */
static bool may_fit(const Trials *t, const MwStageBatching *batching)
{
    return mw_stage_batching_fits(batching, target_bytes(t), 1);
}

/* Whether a late schedule can yield a better layout. One that needs no less memory than that of
 * turn 1 gains the bubble alone. The others may do without recomputation, or split tensors less, so
 * that what counts is the least step that there can be. */
static bool late_is_worth_it(const Trials *t, const RankedBatching *ranked, MwPipelineKind kind)
{
    const MwStageLayout *best = incumbent(t);
    if (!may_fit(t, ranked->batching))
        return false;
    if (mw_pipeline_info(kind)->leaner == mw_pipeline_first(true))
        return bubble_is_worth_it(t, ranked);
    return !best || ranked->batching->estimate.least_s < (1 - MW_TUNED_LATE_GAIN) * best->step_s;
}

/* Tries the late schedules with the numbers of micro-batches that the others were tried with. */
static void try_late_schedules(Trials *t)
{
    for (int i = 0; i < t->tried; i++)
        for (int kind = 0; kind < MW_PIPELINE_COUNT; kind++)
            if (is_late(t, (MwPipelineKind)kind) &&
                late_is_worth_it(t, &t->ranking[i], (MwPipelineKind)kind))
                try_schedule_kind(t, &t->ranking[i], (MwPipelineKind)kind);
}

/* Orders batchings by estimate, then by number of micro-batches. */
static int by_estimate(const void *a, const void *b)
{
    const RankedBatching *x = a, *y = b;
    const double a_s = x->batching->estimate.usual_s, b_s = y->batching->estimate.usual_s;
    if (a_s != b_s)
        return a_s < b_s ? -1 : 1;
    return x->batching->micro_batches - y->batching->micro_batches;
}

/* Ranks the numbers of micro-batches by their estimates. */
static RankedBatching *rank_batchings(Trials *t, int *count)
{
    RankedBatching *ranking = MW_NEW(t->arena, RankedBatching, t->batchings.count);
    *count = 0;
    for (int i = 0; i < t->batchings.count; i++) {
        MwStageBatching *batching = &t->batchings.at[i];
        if (!measure_batching(t, batching))
            continue;
        mw_stage_batching_estimate(batching, target_bytes(t));
        ranking[(*count)++] =
            (RankedBatching){.batching = batching, .step_s = INFINITY, .ideal_s = INFINITY};
    }
    if (mw_stage_probe_pays(t->compilation))
        mw_stage_probe(&(MwStageProbeQuery){.compilation = t->compilation,
                                            .batchings = &t->batchings,
                                            .memory_bytes = target_bytes(t),
                                            .known = t->known,
                                            .threads = t->query->threads});
    qsort(ranking, (size_t)*count, sizeof *ranking, by_estimate);
    return ranking;
}

/* Whether what is left of the effort allows to try another number of micro-batches. */
static bool has_effort_left(const Trials *t)
{
    return !will_do(t) && mw_stage_known_effort(t->known) < MW_TUNED_SEARCH_EFFORT;
}

/* Tries pipelines: the schedule of turn 1 with each number of micro-batches; then the other
 * schedules that are not late. */
static void try_pipelines(Trials *t)
{
    int wanted = t->compilation->options.stages, count;
    t->tried = 0;
    if (wanted == 1 || (wanted == 0 && t->devices == 1))
        return;
    t->ranking = rank_batchings(t, &count);
    for (; t->tried < count && (!incumbent(t) || has_effort_left(t)); t->tried++) {
        const MwStageLayout *best = incumbent(t);
        if ((best && t->ranking[t->tried].batching->estimate.least_s >= best->step_s) ||
            (t->tried > 0 && !may_fit(t, t->ranking[t->tried].batching)))
            continue;
        try_turn(t, &t->ranking[t->tried], 1);
    }
    for (int i = 0; i < t->tried && !will_do(t); i++)
        try_later_schedules(t, &t->ranking[i]);
}

/* Tries the best layout with other numbers of stages, to report what they would take: all
 * numbers if there are few, else half and twice as many. */
static void try_other_stage_counts(Trials *t)
{
    const MwStageLayout *best = incumbent(t);
    if (t->compilation->options.stages > 0 || !best || t->devices == 1)
        return;
    int own = mw_stage_layout_meshes(best), ranking_count;
    RankedBatching ranked = rank_batchings(t, &ranking_count)[0];
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
}

/* ---- The search ---- */

/* One stage comes first, as the incumbent that pipelines must improve on. After the pipelines,
 * one stage is tried with more micro-batches: with one more number if a layout fits and much
 * work is done, else all. */
static void search_layouts(Trials *t)
{
    int next = 0;
    try_single_stage(t, &next, 1);
    if (!will_do(t))
        try_pipelines(t);
    if (will_do(t))
        return;
    try_single_stage(t, &next, incumbent(t) && !has_effort_left(t) ? 1 : INT_MAX);
    try_other_stage_counts(t);
}

static int leanest(const Trials *t)
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

/* The least memory of a device that a trial needs beyond the limit; INFINITY: not known. */
static double least_excessive_bytes(const Trials *t)
{
    double least = INFINITY;
    for (int i = 0; i < t->trials.count; i++)
        if (t->trials.at[i].needed_bytes > t->query->memory_bytes)
            least = fmin(least, t->trials.at[i].needed_bytes);
    return least;
}

/* Sets the memory target after no trial was validated. False if there is no other target to try. */
static bool correct_target(Trials *t, bool may_fit)
{
    double needed = least_excessive_bytes(t);
    return may_fit && isfinite(needed)
               ? mw_memory_target_exceeded(&t->target, (int64_t)ceil(needed))
               : mw_memory_target_empty(&t->target);
}

/* Validates the trials; while none that fits by estimate does fit, searches again with another
 * memory target. */
static int validate(Trials *t)
{
    MwStageValidation validation = {t->compilation,    &t->batchings, t->query->memory_bytes,
                                    t->query->threads, t->kept,       &t->out->solved_entries};
    for (;;) {
        bool may_fit = incumbent(t) != NULL;
        int chosen = mw_stage_trials_validate(&validation, t->trials.at, t->trials.count);
        if (chosen >= 0 || !correct_target(t, may_fit))
            return chosen;
        for (int k = 0; k < t->trials.count; k++)
            t->trials.at[k].fits = false;
        search_layouts(t);
    }
}

/* Tries late schedules, once the best of the others is known to fit. One that is better by estimate
 * is chosen if it fits, too; else there is no trace of them. */
static void choose_late(Trials *t)
{
    const MwStageValidation validation = {
        t->compilation,    &t->batchings, t->query->memory_bytes,
        t->query->threads, t->kept,       &t->out->solved_entries};
    const int first = t->trials.count, other = t->out->chosen;
    try_late_schedules(t);
    const int best =
        mw_stage_trials_validate(&validation, t->trials.at + first, t->trials.count - first);
    if (best < 0 || (other >= 0 &&
                     t->trials.at[first + best].layout.step_s >= t->trials.at[other].layout.step_s))
        t->trials.count = first;
    else
        t->out->chosen = first + best;
}

/* Takes the best of the trials after those that were taken. */
static int take_next(Trials *t, MwStageFound *found)
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
            make_batching(t, mw_stage_batching_of(&t->batchings, &t->trials.at[i].layout));
    const MwStageValidation validation = {
        t->compilation,    &t->batchings, t->query->memory_bytes,
        t->query->threads, t->kept,       &t->out->solved_entries};
    return incumbent(t) ? mw_stage_trials_validate(&validation, t->trials.at, t->trials.count) : -1;
}

/* Searches, or goes on with what was found. */
static void choose(Trials *t, MwStageFound *found)
{
    MwStageTrials *out = t->out;
    MwStageBatching *first = &t->batchings.at[0];
    if (found) {
        *out = found->out;
        out->solved_entries = 0;
        out->chosen = take_next(t, found);
    } else if (make_batching(t, first)) {
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
    Trials t = {.query = query,
                .compilation = compilation,
                .arena = compilation->arena,
                .devices = mw_cluster_devices(compilation->cluster),
                .target =
                    mw_memory_target((int64_t)query->memory_bytes, MW_TUNED_MEMORY_CORRECTIONS),
                .out = &out};
    t.known = compilation->known ? compilation->known : mw_stage_known_new(compilation->arena);
    t.kept = mw_stage_known_arena(t.known);
    t.begin_s = mw_clock_s();
    t.begin_effort = mw_stage_known_effort(t.known);
    t.batchings = mw_stage_batchings(compilation);
    MwStageFound **found = mw_stage_known_found(t.known);
    choose(&t, compilation->takes_next_layout ? *found : NULL);
    out.needed_bytes = least_excessive_bytes(&t);
    out.trials = t.trials.at;
    out.trial_count = t.trials.count;
    *found = mw_arena_dup(t.kept, &(MwStageFound){t.trials, out}, sizeof **found);
    if (out.leanest >= 0) {
        const MwStageTrial *taken = &out.trials[out.chosen >= 0 ? out.chosen : out.leanest];
        MwStageBatching *batching = mw_stage_batching_of(&t.batchings, &taken->layout);
        make_batching(&t, batching);
        out.staging = mw_stage_layout_staging(t.arena, batching->costs, &taken->layout);
        out.staging.name = taken->name;
        out.staging.step_s = taken->layout.step_s;
        out.staging.checked = taken->is_solved ? taken->checked : NULL;
    }
    mw_stage_batchings_free(&t.batchings);
    return out;
}
