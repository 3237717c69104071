/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In:  the model with its layers, and what is pinned.
 * Out: the layout with the least step time that has memory enough, and what else was tried.
 *
 * Numbers of micro-batches are tried in the order of an estimate: the time of a pipeline whose stages
 * share the work of one device evenly, the best of all lengths for which there is memory. Those
 * that even without a bubble are no better than the best layout so far are left out, and so are all
 * after the first few once much has been solved. Other schedules than 1f1b are tried where its
 * bubble is worth it. One stage has one micro-batch, unless memory or the user wants more. */
#include "passes/stages/trials.h"

#include "passes/memory_target.h"
#include "passes/stages/batching.h"
#include "passes/tuning.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of micro-batches that are tried in any case, and how many nodes are solved
 * (mw_stage_costs_work) before no more are. */
enum { FEW_CUTS = 3, MUCH_WORK = 200000 };

enum { MOST_CHUNKS = 4 };

/* Numbers of stages that are all tried. */
enum { FEW_COUNTS = 8 };

/* The share of a step that a bubble must be for other schedules to be tried. */
static const double WORTHWHILE = 0.01;

/* The model in one number of micro-batches. */
typedef struct {
    MwStageBatching *batching;
    MwStageEstimate estimate;
    double step_s, ideal_s;        /* of the best layout in it; INFINITY: none yet */
    bool lacks[MW_PIPELINE_COUNT]; /* there is not the memory for that schedule */
} Cut;

typedef struct {
    const MwStageTrialsQuery *query;
    const MwCompilation *compilation;
    MwArena *arena;
    int devices;
    MwMemoryTarget target; /* the memory of a device that layouts are sought for */
    MwStageBatchings batchings;
    double one_stage_s; /* that one stage took at least, whatever its memory, when tried last */
    MW_VEC(MwStageTrial) trials;
    MwStageTrials *out;
} Trials;

static double target_bytes(const Trials *t)
{
    return (double)t->target.target_bytes;
}

static bool make(const Trials *t, MwStageBatching *batching)
{
    return mw_stage_batching_make(batching, t->compilation, t->query->threads);
}

/* ---- Trying ---- */

/* In the arena of the compilation, which outlives the models. */
static MwStageLayout keep_layout(const Trials *t, MwStageLayout layout)
{
    layout.stages =
        mw_arena_dup(t->arena, layout.stages, sizeof *layout.stages * (size_t)layout.stage_count);
    return layout;
}

/* The best so far; NULL: none fits. */
static const MwStageLayout *best_of(const Trials *t)
{
    int best = mw_stage_trials_best(t->trials.at, t->trials.count);
    return best < 0 ? NULL : &t->trials.at[best].layout;
}

static bool has_layout(const Trials *t)
{
    for (int i = 0; i < t->trials.count; i++)
        if (t->trials.at[i].layout.stage_count > 0)
            return true;
    return false;
}

/* The same may be asked again, to be told of or with less memory. */
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
    mw_vec_push(t->arena, &t->trials, trial);
}

static void offer(Trials *t, const MwStageLayout *layout)
{
    add_trial(t, (MwStageTrial){.name = mw_stage_layout_name(t->arena, layout),
                                .layout = keep_layout(t, *layout),
                                .fits = layout->needed_bytes <= target_bytes(t),
                                .needed_bytes = layout->needed_bytes});
}

/* ---- One stage ---- */

static bool is_better(const Trials *t, const MwStageLayout *a, const MwStageLayout *b)
{
    bool fits = a->needed_bytes <= target_bytes(t), other = b->needed_bytes <= target_bytes(t);
    if (fits != other)
        return fits;
    return fits ? a->step_s < b->step_s : a->needed_bytes < b->needed_bytes;
}

/* The best way of the whole model on all devices; without stages if there is none. */
static MwStageLayout best_of_one(Trials *t, const MwStageBatching *batching)
{
    int layers = batching->model->layer_count;
    MwStageQuestion question = {0, layers, t->devices, true};
    MwStageCostList list;
    mw_stage_costs_ask(batching->costs, &question, 1, &list);
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
    return best;
}

/* More micro-batches do not make one stage quicker: they are of no use once its quickest way fits, or
 * several stages are quicker than that. */
static bool is_slow(const Trials *t)
{
    const MwStageLayout *best = best_of(t);
    return best && t->one_stage_s >= best->step_s;
}

/* Tries `most` more numbers of micro-batches, from `next` on, for which there may be memory. */
static void try_one(Trials *t, int *next, int most)
{
    if (t->compilation->options.stages > 1 || t->query->least_stages > 1)
        return;
    for (int left = most; *next < t->batchings.count && left > 0 && !is_slow(t); (*next)++) {
        MwStageBatching *batching = &t->batchings.at[*next];
        bool is_last = *next == t->batchings.count - 1;
        if (!make(t, batching) ||
            (!mw_stage_batching_fits(batching, target_bytes(t), 1) && (has_layout(t) || !is_last)))
            continue;
        left--;
        MwStageLayout best = best_of_one(t, batching);
        if (best.stage_count)
            offer(t, &best);
    }
}

/* ---- Several ---- */

/* Of stages: those of the user's mesh; else once there is a layout of several stages in another number
 * of micro-batches, up to twice as many and down to half as many as its stages have. */
static void set_devices(const Trials *t, MwStageChoiceQuery *query)
{
    const MwMeshShape *wanted = &t->compilation->options.mesh;
    query->least_devices = query->most_devices = wanted->axis_count ? mw_mesh_devices(wanted) : 0;
    const MwStageLayout *best = best_of(t);
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

/* The first in the order of MwStageReason tells most. */
static void note_reason(Trials *t, const MwStageChoiceAnswer *answer)
{
    MwStageTrials *out = t->out;
    if (out->reason == MW_STAGES_POSSIBLE || answer->reason < out->reason)
        out->reason = answer->reason;
}

/* `meshes` 0: any number. */
static MwStageReason try_schedule(Trials *t, Cut *cut, MwPipelineKind kind, int chunks, int meshes)
{
    MwStageChoiceQuery query = {.model = cut->batching->model,
                                .costs = cut->batching->costs,
                                .kind = kind,
                                .chunks = chunks,
                                .meshes = meshes,
                                .least_stages = t->query->least_stages,
                                .layer_stage = t->query->layer_stage,
                                .memory_bytes = target_bytes(t)};
    set_devices(t, &query);
    MwArena *scratch = mw_arena_new();
    MwStageChoiceAnswer answer = mw_stage_choice(scratch, &query);
    if (answer.reason == MW_STAGES_POSSIBLE) {
        if (answer.layout.step_s < cut->step_s) {
            cut->step_s = answer.layout.step_s;
            cut->ideal_s = answer.layout.ideal_s;
        }
        offer(t, &answer.layout);
    } else {
        note_reason(t, &answer);
    }
    if (answer.reason == MW_STAGES_MEMORY) {
        MwStageLayout asked = {.kind = kind,
                               .micro_batches = cut->batching->micro_batches,
                               .chunks = chunks,
                               .stage_count = meshes * chunks};
        add_trial(t, (MwStageTrial){.name = mw_stage_layout_name(t->arena, &asked),
                                    .needed_bytes = answer.needed_bytes});
    }
    mw_arena_free(&scratch);
    return answer.reason;
}

static bool is_wanted(const Trials *t, const Cut *cut, MwPipelineKind kind)
{
    const MwCompileOptions *options = &t->compilation->options;
    if (mw_trains(t->compilation) != mw_pipeline_info(kind)->trains)
        return false;
    if (mw_wants_schedule(options) && mw_pipeline_info(kind)->trains)
        return mw_wanted_schedule(options) == kind;
    if (mw_pipeline_info(kind)->turn == 0 || cut->lacks[mw_pipeline_info(kind)->leaner])
        return false;
    return mw_pipeline_info(kind)->held > 0 ||
           mw_stage_batching_fits(cut->batching, target_bytes(t), cut->batching->micro_batches);
}

static void try_chunks(Trials *t, Cut *cut, MwPipelineKind kind, int chunks)
{
    int wanted = t->compilation->options.stages;
    int most = (int)mw_min(t->devices, cut->batching->model->layer_count / chunks);
    if (wanted > 0 || chunks == 1)
        try_schedule(t, cut, kind, chunks, wanted);
    for (int meshes = 2; meshes <= most && wanted == 0 && chunks > 1; meshes++)
        if (t->devices % meshes == 0 && meshes * chunks >= t->query->least_stages)
            try_schedule(t, cut, kind, chunks, meshes);
}

static void try_kind(Trials *t, Cut *cut, MwPipelineKind kind)
{
    int wanted = t->compilation->options.chunks, meshes = t->compilation->options.stages;
    if (!is_wanted(t, cut, kind))
        return;
    if (!mw_pipeline_info(kind)->chunked) {
        cut->lacks[kind] = try_schedule(t, cut, kind, 1, meshes) == MW_STAGES_MEMORY;
        return;
    }
    if (wanted > 0)
        try_chunks(t, cut, kind, wanted);
    for (int chunks = 2; chunks <= MOST_CHUNKS && wanted == 0; chunks++)
        try_chunks(t, cut, kind, chunks);
}

/* The schedules whose turn it is. */
static void try_turn(Trials *t, Cut *cut, int turn)
{
    for (int kind = 0; kind < MW_PIPELINE_COUNT; kind++)
        if (mw_pipeline_info((MwPipelineKind)kind)->turn == turn)
            try_kind(t, cut, (MwPipelineKind)kind);
}

/* What shortens the bubble is tried where that matters. */
static bool may_gain(const Trials *t, const Cut *cut)
{
    const MwStageLayout *best = best_of(t);
    double best_s = best ? best->step_s : INFINITY;
    return cut->ideal_s < best_s && cut->ideal_s < (1 - WORTHWHILE) * cut->step_s;
}

/* Those without a turn come last, where the user asks for one. */
static void try_others(Trials *t, Cut *cut)
{
    bool is_asked = mw_wants_schedule(&t->compilation->options);
    for (int turn = 2; turn <= MW_PIPELINE_COUNT; turn++)
        if (is_asked || may_gain(t, cut))
            try_turn(t, cut, turn);
    if (is_asked)
        try_turn(t, cut, 0);
}

static int by_estimate(const void *a, const void *b)
{
    const Cut *x = a, *y = b;
    if (x->estimate.usual_s != y->estimate.usual_s)
        return x->estimate.usual_s < y->estimate.usual_s ? -1 : 1;
    return x->batching->micro_batches - y->batching->micro_batches;
}

/* Numbers of micro-batches by their estimates. */
static Cut *rank_cuts(Trials *t, int *count)
{
    Cut *cuts = MW_NEW(t->arena, Cut, t->batchings.count);
    *count = 0;
    for (int i = 0; i < t->batchings.count; i++) {
        MwStageBatching *batching = &t->batchings.at[i];
        if (make(t, batching))
            cuts[(*count)++] =
                (Cut){.batching = batching,
                      .estimate = mw_stage_batching_estimate(batching, target_bytes(t)),
                      .step_s = INFINITY,
                      .ideal_s = INFINITY};
    }
    qsort(cuts, (size_t)*count, sizeof *cuts, by_estimate);
    return cuts;
}

static int64_t work_done(const Trials *t)
{
    int64_t work = 0;
    for (int i = 0; i < t->batchings.count; i++)
        if (t->batchings.at[i].costs)
            work += mw_stage_costs_work(t->batchings.at[i].costs);
    return work;
}

/* The first schedule needs no more memory than any other. */
static void try_several(Trials *t)
{
    int wanted = t->compilation->options.stages, count, tried = 0;
    if (wanted == 1 || (wanted == 0 && t->devices == 1))
        return;
    Cut *cuts = rank_cuts(t, &count);
    for (; tried < count && (tried < FEW_CUTS || work_done(t) < MUCH_WORK); tried++) {
        const MwStageLayout *best = best_of(t);
        if (best && cuts[tried].estimate.least_s >= best->step_s)
            continue;
        try_turn(t, &cuts[tried], 1);
    }
    for (int i = 0; i < tried; i++)
        try_others(t, &cuts[i]);
}

/* The best layout with other numbers of stages, so that it can be told what they would take: all of
 * them where they are few, else half as many and twice as many. */
static void try_other_counts(Trials *t)
{
    const MwStageLayout *best = best_of(t);
    if (t->compilation->options.stages > 0 || !best || t->devices == 1)
        return;
    int own = best->stage_count / best->chunks, cut_count;
    Cut cut = rank_cuts(t, &cut_count)[0];
    if (own > 1)
        cut.batching = mw_stage_batching_of(&t->batchings, best);
    int most = (int)mw_min(cut.batching->model->layer_count, t->devices);
    MwPipelineKind kind = mw_usual_schedule(t->compilation);
    int chunks = mw_wanted_chunks(&t->compilation->options);
    for (int count = 2; count <= most; count++) {
        bool is_near = count == 2 * own || 2 * count == own;
        if (count == own || count * chunks < t->query->least_stages ||
            (most > FEW_COUNTS && !is_near))
            continue;
        try_schedule(t, &cut, kind, chunks, count);
    }
}

/* ---- All of it ---- */

/* One stage first: what several must be better than. Then it is tried with more micro-batches; with two
 * more numbers if several stages fit too and much has been solved. */
static void try_all(Trials *t)
{
    int next = 0;
    try_one(t, &next, 1);
    try_several(t);
    try_one(t, &next, best_of(t) && work_done(t) >= MUCH_WORK ? 2 : INT_MAX);
    try_other_counts(t);
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

/* The least that a device needs of what is more than it has; INFINITY: that is not known. */
static double least_excessive_bytes(const Trials *t)
{
    double least = INFINITY;
    for (int i = 0; i < t->trials.count; i++)
        if (t->trials.at[i].needed_bytes > t->query->memory_bytes)
            least = fmin(least, t->trials.at[i].needed_bytes);
    return least;
}

/* Sets the target after trials of which none turned out to fit; false if there is to be no other. */
static bool correct(Trials *t, bool may_fit)
{
    double needed = least_excessive_bytes(t);
    return may_fit && isfinite(needed)
               ? mw_memory_target_exceeded(&t->target, (int64_t)ceil(needed))
               : mw_memory_target_empty(&t->target);
}

/* Where nothing fits that was estimated to, layouts are sought for another target. */
static int settle(Trials *t)
{
    MwSettling settling = {t->compilation, &t->batchings, t->query->memory_bytes,
                           t->query->threads};
    for (;;) {
        bool may_fit = best_of(t) != NULL;
        int chosen = mw_stage_settle(&settling, t->trials.at, t->trials.count);
        if (chosen >= 0 || !correct(t, may_fit))
            return chosen;
        for (int k = 0; k < t->trials.count; k++)
            t->trials.at[k].fits = false;
        try_all(t);
    }
}

MwStageTrials mw_stage_trials(const MwStageTrialsQuery *query)
{
    const MwCompilation *compilation = query->compilation;
    MwStageTrials out = {.chosen = -1, .leanest = -1, .needed_bytes = INFINITY};
    Trials t = {.query = query,
                .compilation = compilation,
                .arena = compilation->arena,
                .devices = mw_cluster_devices(compilation->cluster),
                .target =
                    mw_memory_target((int64_t)query->memory_bytes, MW_TUNED_LAYOUT_CORRECTIONS),
                .out = &out};
    t.batchings = mw_stage_batchings(compilation);
    MwStageBatching *first = &t.batchings.at[0];
    if (make(&t, first)) {
        out.kept_bytes = mw_stage_costs_whole(first->costs, false).kept_bytes;
        try_all(&t);
        out.chosen = settle(&t);
        out.leanest = leanest(&t);
    }
    out.needed_bytes = least_excessive_bytes(&t);
    out.trials = t.trials.at;
    out.trial_count = t.trials.count;
    if (out.leanest >= 0) {
        const MwStageLayout *taken = &out.trials[out.chosen >= 0 ? out.chosen : out.leanest].layout;
        out.staging = mw_stage_layout_staging(
            t.arena, mw_stage_batching_of(&t.batchings, taken)->costs, taken);
    }
    mw_stage_batchings_free(&t.batchings);
    return out;
}
