/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/stages/extrapolate.h"

#include "passes/tuning.h"

/* Layers [begin, end), of which each equals the one `period` layers before, from the second period
 * on. */
typedef struct {
    int period, begin, end;
} Run;

typedef MW_VEC(Run) Runs;

struct MwExtrapolation {
    MwArena *arena;
    const MwStageModel *model;
    Runs runs;              /* the longest runs of each period, in order of the period */
    int span;               /* layers of the longest sample */
    MwIntervalTerms *terms; /* [interval classes] none: not yet */
};

/* ---- Runs ---- */

/* Lists the longest runs of the model, each of two periods or more. */
static void list_runs(MwExtrapolation *e)
{
    const int *class = e->model->layer_class;
    int layers = e->model->layer_count;
    for (int period = 1; 2 * period <= layers; period++)
        for (int begin = 0, i; begin + 2 * period <= layers; begin = i + 1) {
            for (i = begin; i + period < layers && class[i] == class[i + period]; i++)
                ;
            if (i - begin >= period)
                mw_vec_push(e->arena, &e->runs, ((Run){period, begin, i + period}));
        }
}

/* The run in [begin, end) that has the most layers, whole periods of it; of equals the one with the
 * shortest period. False if there is none. */
static bool find_run(const MwExtrapolation *e, int begin, int end, Run *longest)
{
    *longest = (Run){0};
    for (int i = 0; i < e->runs.count; i++) {
        Run run = e->runs.at[i];
        run.begin = (int)mw_max(run.begin, begin);
        int periods = ((int)mw_min(run.end, end) - run.begin) / run.period;
        run.end = run.begin + periods * run.period;
        if (periods >= 2 && run.end - run.begin > longest->end - longest->begin)
            *longest = run;
    }
    return longest->period > 0;
}

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
    Run run;
    if (!find_run(e, begin, end, &run) ||
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

/* [layers] nodes of each layer, all phases. */
static int *count_nodes(MwArena *arena, const MwStageModel *model)
{
    const MwGraph *graph = model->lowered[false].graph;
    int *count = MW_NEW(arena, int, model->layer_count);
    for (int n = 0; n < graph->nodes.count; n++)
        count[graph->nodes.at[n].origin.layer]++;
    return count;
}

/* Nodes of the samples that all intervals need together, each counted once. */
static int64_t sampled_nodes(MwExtrapolation *e, const int *layer_nodes)
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
                    nodes += layer_nodes[l];
                *counted = true;
            }
        }
    mw_arena_free(&scratch);
    return nodes;
}

/* Halves the span, which begins with all layers, until the samples are small enough. */
static void choose_span(MwExtrapolation *e, int meshes)
{
    MwArena *scratch = mw_arena_new();
    const int *layer_nodes = count_nodes(scratch, e->model);
    e->span = e->model->layer_count;
    e->terms = MW_NEW(e->arena, MwIntervalTerms, e->model->class_count + 1);
    while (meshes * sampled_nodes(e, layer_nodes) > MW_TUNED_SPAN_NODES && e->span > 2) {
        e->span = (int)mw_max(2, e->span / 2);
        e->terms = MW_NEW(e->arena, MwIntervalTerms, e->model->class_count + 1);
    }
    mw_arena_free(&scratch);
}

MwExtrapolation *mw_extrapolation_new(MwArena *arena, const MwStageModel *model, int meshes)
{
    MwExtrapolation *e = MW_NEW(arena, MwExtrapolation, 1);
    *e = (MwExtrapolation){.arena = arena, .model = model};
    list_runs(e);
    choose_span(e, meshes);
    return e;
}
