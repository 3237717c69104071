/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/stages/extrapolate.h"

#include "passes/stages/runs.h"
#include "passes/tuning.h"

struct MwExtrapolation {
    const MwStageModel *model;
    MwLayerRuns runs;
    int span;               /* layers of the longest sample */
    MwArena *arena;         /* of the terms, which another span replaces */
    MwIntervalTerms *terms; /* [interval classes] none: not yet */
    /* [interval classes] where the sample of that class is in the terms that grow, if it is */
    int *place;
};

/* ---- Terms ---- */

static int class_of_term(const MwExtrapolation *e, const MwIntervalTerm *term)
{
    return mw_stage_model_class(e->model, term->begin, term->end);
}

/* Terms while they grow, in an arena of their own. */
typedef struct {
    MwArena *arena;
    MwIntervalTerms list;
} Sum;

static void add_term(MwExtrapolation *e, Sum *sum, int begin, int end, double weight)
{
    const MwIntervalTerm term = {begin, end, weight};
    int *place = &e->place[class_of_term(e, &term)];
    if (*place < sum->list.count &&
        class_of_term(e, &sum->list.at[*place]) == class_of_term(e, &term)) {
        sum->list.at[*place].weight += weight;
        return;
    }
    *place = sum->list.count;
    mw_vec_push(sum->arena, &sum->list, term);
}

/* Adds the samples of layers [begin, end), which have no run, or are two periods. The whole model
 * is one sample. */
static void add_samples(MwExtrapolation *e, Sum *sum, int begin, int end, double weight)
{
    int span = e->span;
    if (end - begin <= span || end - begin == e->model->layer_count) {
        add_term(e, sum, begin, end, weight);
        return;
    }
    for (int i = begin; i + span <= end; i++)
        add_term(e, sum, i, i + span, weight);
    for (int i = begin + 1; i + span <= end; i++)
        add_term(e, sum, i, i + span - 1, -weight);
}

/* Adds samples, with weights, whose costs add up to `weight` times that of layers [begin, end). */
static void decompose(MwExtrapolation *e, Sum *sum, int begin, int end, double weight)
{
    MwLayerRun run;
    if (!mw_layer_runs_longest(&e->runs, begin, end, &run) ||
        (end - begin == 2 * run.period && run.end - run.begin == 2 * run.period)) {
        add_samples(e, sum, begin, end, weight);
        return;
    }
    int period = run.period, boundaries = (run.end - run.begin) / period - 1;
    decompose(e, sum, begin, run.begin + period, weight);
    decompose(e, sum, run.end - period, end, weight);
    decompose(e, sum, run.begin, run.begin + period, weight * (-1 - boundaries));
    decompose(e, sum, run.begin, run.begin + 2 * period, weight * boundaries);
}

const MwIntervalTerms *mw_extrapolation_terms(MwExtrapolation *e, int begin, int end)
{
    MwIntervalTerms *terms = &e->terms[mw_stage_model_class(e->model, begin, end)];
    if (terms->count > 0)
        return terms;
    Sum sum = {.arena = mw_arena_new()};
    decompose(e, &sum, begin, end, 1);
    *terms = sum.list;
    terms->at = mw_arena_dup(e->arena, terms->at, sizeof *terms->at * (size_t)terms->count);
    mw_arena_free(&sum.arena);
    return terms;
}

/* ---- The span ---- */

/* Nodes of the samples that all intervals need together, each counted once. */
static int64_t sampled_nodes(MwExtrapolation *e)
{
    MwArena *scratch = mw_arena_new();
    bool *is_counted = MW_NEW(scratch, bool, e->model->class_count + 1);
    int64_t nodes = 0;
    for (int begin = 0; begin < e->model->layer_count; begin++)
        for (int end = begin + 1; end <= e->model->layer_count; end++) {
            const MwIntervalTerms *terms = mw_extrapolation_terms(e, begin, end);
            for (int i = 0; i < terms->count; i++) {
                bool *counted = &is_counted[class_of_term(e, &terms->at[i])];
                for (int l = terms->at[i].begin; l < terms->at[i].end && !*counted; l++)
                    nodes += e->model->layer_nodes[l];
                *counted = true;
            }
        }
    mw_arena_free(&scratch);
    return nodes;
}

/* Begins the table of terms for a span. */
static void set_span(MwExtrapolation *e, MwArena *around, int span)
{
    mw_arena_free(&e->arena);
    e->arena = mw_arena_new_within(around);
    e->span = span;
    e->terms = MW_NEW(e->arena, MwIntervalTerms, e->model->class_count + 1);
}

/* Halves the span, which begins with all layers, until the samples are small enough. */
static void choose_span(MwExtrapolation *e, MwArena *around, int meshes)
{
    set_span(e, around, e->model->layer_count);
    while (meshes * sampled_nodes(e) > MW_TUNED_SPAN_NODES && e->span > 2)
        set_span(e, around, (int)mw_max(2, e->span / 2));
}

MwExtrapolation *mw_extrapolation_new(MwArena *arena, const MwStageModel *model, int meshes)
{
    MwExtrapolation *e = MW_NEW(arena, MwExtrapolation, 1);
    *e = (MwExtrapolation){.model = model, .place = MW_NEW(arena, int, model->class_count + 1)};
    e->runs = mw_layer_runs(arena, model->layer_class, model->layer_count);
    choose_span(e, arena, meshes);
    return e;
}
