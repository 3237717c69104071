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
    /* [interval classes][is_half] where the term of that class is among those that grow, if it
     * is */
    int (*place)[2];
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

/* Whether terms differ in their weights alone. */
static bool are_alike(const MwExtrapolation *e, const MwIntervalTerm *a, const MwIntervalTerm *b)
{
    return a->is_half == b->is_half && class_of_term(e, a) == class_of_term(e, b);
}

static void add_term(MwExtrapolation *e, Sum *sum, MwIntervalTerm term)
{
    int *place = &e->place[class_of_term(e, &term)][term.is_half];
    if (*place < sum->list.count && are_alike(e, &sum->list.at[*place], &term)) {
        sum->list.at[*place].weight += term.weight;
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
        add_term(e, sum, (MwIntervalTerm){begin, end, false, weight});
        return;
    }
    for (int i = begin; i + span <= end; i++)
        add_term(e, sum, (MwIntervalTerm){i, i + span, false, weight});
    for (int i = begin + 1; i + span <= end; i++)
        add_term(e, sum, (MwIntervalTerm){i, i + span - 1, false, -weight});
}

/* Finds the longest run of layers [begin, end). False if they have none, or are two periods. */
static bool find_run(const MwExtrapolation *e, int begin, int end, MwLayerRun *run)
{
    return mw_layer_runs_longest(&e->runs, begin, end, run) && end - begin > 2 * run->period;
}

/* Whether layers [begin, end) are one sample. */
static bool is_sample(const MwExtrapolation *e, int begin, int end)
{
    MwLayerRun run;
    return end - begin <= e->span && !find_run(e, begin, end, &run);
}

static void decompose(MwExtrapolation *e, Sum *sum, int begin, int end, double weight);

/* Adds `ones` times C(one) and `halves` times H of a run (extrapolate.h). */
static void add_periods(MwExtrapolation *e, Sum *sum, const MwLayerRun *run, double ones,
                        double halves)
{
    const int begin = run->begin, one = begin + run->period, two = one + run->period;
    if (is_sample(e, begin, two)) {
        add_term(e, sum, (MwIntervalTerm){begin, two, false, ones});
        add_term(e, sum, (MwIntervalTerm){begin, two, true, halves - ones});
    } else {
        decompose(e, sum, begin, two, halves);
        decompose(e, sum, begin, one, ones - halves);
    }
}

/* Adds samples, with weights, whose costs add up to `weight` times that of layers [begin, end). */
static void decompose(MwExtrapolation *e, Sum *sum, int begin, int end, double weight)
{
    MwLayerRun run;
    if (!find_run(e, begin, end, &run)) {
        add_samples(e, sum, begin, end, weight);
        return;
    }
    const bool has_left = begin < run.begin, has_right = run.end < end;
    const int boundaries = (run.end - run.begin) / run.period - 1;
    if (has_left)
        decompose(e, sum, begin, run.begin + run.period, weight);
    if (has_right)
        decompose(e, sum, run.end - run.period, end, weight);
    add_periods(e, sum, &run, weight * (1 - has_left - has_right), weight * boundaries);
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
    *e = (MwExtrapolation){.model = model};
    e->place = mw_arena_alloc(arena, sizeof *e->place * (size_t)(model->class_count + 1));
    e->runs = mw_layer_runs(arena, model->layer_class, model->layer_count);
    choose_span(e, arena, meshes);
    return e;
}
