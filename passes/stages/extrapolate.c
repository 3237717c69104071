/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/stages/extrapolate.h"

#include "passes/stages/runs.h"
#include "passes/tuning.h"

struct MwExtrapolation {
    MwArena *arena;
    const MwStageModel *model;
    MwLayerRuns runs;
    int span;               /* layers of the longest sample */
    MwIntervalTerms *terms; /* [interval classes] none: not yet */
};

/* ---- Terms ---- */

static void add_term(MwExtrapolation *e, MwIntervalTerms *terms, int begin, int end, double weight)
{
    for (int i = 0; i < terms->count; i++)
        if (mw_stage_model_class(e->model, terms->at[i].begin, terms->at[i].end) ==
            mw_stage_model_class(e->model, begin, end)) {
            terms->at[i].weight += weight;
            return;
        }
    mw_vec_push(e->arena, terms, ((MwIntervalTerm){begin, end, weight}));
}

/* Adds the samples of layers [begin, end), which have no run, or are two periods. The whole model
 * is one sample. */
static void add_samples(MwExtrapolation *e, MwIntervalTerms *terms, int begin, int end,
                        double weight)
{
    int span = e->span;
    if (end - begin <= span || end - begin == e->model->layer_count) {
        add_term(e, terms, begin, end, weight);
        return;
    }
    for (int i = begin; i + span <= end; i++)
        add_term(e, terms, i, i + span, weight);
    for (int i = begin + 1; i + span <= end; i++)
        add_term(e, terms, i, i + span - 1, -weight);
}

/* Adds samples, with weights, whose costs add up to `weight` times that of layers [begin, end). */
static void decompose(MwExtrapolation *e, MwIntervalTerms *terms, int begin, int end, double weight)
{
    MwLayerRun run;
    if (!mw_layer_runs_longest(&e->runs, begin, end, &run) ||
        (end - begin == 2 * run.period && run.end - run.begin == 2 * run.period)) {
        add_samples(e, terms, begin, end, weight);
        return;
    }
    int period = run.period, boundaries = (run.end - run.begin) / period - 1;
    decompose(e, terms, begin, run.begin + period, weight);
    decompose(e, terms, run.end - period, end, weight);
    decompose(e, terms, run.begin, run.begin + period, weight * (-1 - boundaries));
    decompose(e, terms, run.begin, run.begin + 2 * period, weight * boundaries);
}

const MwIntervalTerms *mw_extrapolation_terms(MwExtrapolation *e, int begin, int end)
{
    MwIntervalTerms *terms = &e->terms[mw_stage_model_class(e->model, begin, end)];
    if (terms->count == 0)
        decompose(e, terms, begin, end, 1);
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
                bool *counted = &is_counted[mw_stage_model_class(e->model, terms->at[i].begin,
                                                                 terms->at[i].end)];
                for (int l = terms->at[i].begin; l < terms->at[i].end && !*counted; l++)
                    nodes += e->model->layer_nodes[l];
                *counted = true;
            }
        }
    mw_arena_free(&scratch);
    return nodes;
}

/* Halves the span, which begins with all layers, until the samples are small enough. */
static void choose_span(MwExtrapolation *e, int meshes)
{
    e->span = e->model->layer_count;
    e->terms = MW_NEW(e->arena, MwIntervalTerms, e->model->class_count + 1);
    while (meshes * sampled_nodes(e) > MW_TUNED_SPAN_NODES && e->span > 2) {
        e->span = (int)mw_max(2, e->span / 2);
        e->terms = MW_NEW(e->arena, MwIntervalTerms, e->model->class_count + 1);
    }
}

MwExtrapolation *mw_extrapolation_new(MwArena *arena, const MwStageModel *model, int meshes)
{
    MwExtrapolation *e = MW_NEW(arena, MwExtrapolation, 1);
    *e = (MwExtrapolation){.arena = arena, .model = model};
    e->runs = mw_layer_runs(arena, model->layer_class, model->layer_count);
    choose_span(e, meshes);
    return e;
}
