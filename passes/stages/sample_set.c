/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/stages/sample_set.h"

#include <math.h>
#include <stddef.h>

/* ---- Samples ---- */

static const MwStageGraph *graph_of(MwStageSampleSet *set, int begin, int end, MwRematLevel remat)
{
    int key[] = {mw_stage_model_class(set->model, begin, end), remat};
    void **at = mw_key_map_at(set->arena, &set->graphs, key, sizeof key);
    if (!*at) {
        const MwStageGraph graph = mw_stage_model_graph(set->model, begin, end, remat);
        *at = mw_arena_dup(set->arena, &graph, sizeof graph);
    }
    return *at;
}

MwStageSample *mw_stage_sample_of(MwStageSampleSet *set, int begin, int end,
                                  const MwStageSample *like)
{
    int key[4 + MW_MAX_AXES] = {mw_stage_model_class(set->model, begin, end), like->remat,
                                like->is_sequential, like->mesh.axis_count};
    for (int a = 0; a < like->mesh.axis_count; a++)
        key[4 + a] = like->mesh.size[a];
    MwStageSolved *solved = set->solved;
    void **at = mw_key_map_at(solved->arena, &solved->samples, key, sizeof key);
    if (*at)
        return *at;
    MwStageSample *sample = *at = MW_NEW(solved->arena, MwStageSample, 1);
    *sample = *like;
    sample->begin = begin;
    sample->end = end;
    return sample;
}

void mw_stage_sample_request(MwStageSampleSet *set, MwStageSample *sample, int price)
{
    if (sample->solved[price] || sample->wanted[price])
        return;
    bool is_queued = false;
    for (int i = 0; i < MW_MEMORY_PRICES; i++)
        is_queued |= sample->wanted[i];
    sample->wanted[price] = true;
    sample->graph = graph_of(set, sample->begin, sample->end, sample->remat);
    set->solved->work += sample->graph->graph->nodes.count;
    if (is_queued)
        return;
    mw_vec_push(set->arena, &set->queue, sample);
}

void mw_stage_sample_set_solve(MwStageSampleSet *set)
{
    mw_stage_samples_solve(set->queue.at, set->queue.count, &set->pricing, set->threads);
    for (int i = 0; i < set->queue.count; i++)
        set->solved->effort += set->queue.at[i]->effort;
    set->queue.count = 0;
}

/* ---- Extrapolation ---- */

/* What adds up over layers: times, and bytes between tasks. */
static const size_t ADDING[] = {
    offsetof(MwStageCost, forward_s),
    offsetof(MwStageCost, backward_s),
    offsetof(MwStageCost, weight_s),
    offsetof(MwStageCost, step_s),
    offsetof(MwStageCost, host_s),
    offsetof(MwStageCost, kept_bytes),
    offsetof(MwStageCost, saved_bytes),
    offsetof(MwStageCost, late_bytes),
    offsetof(MwStageCost, weight_bytes),
    offsetof(MwStageCost, host_bytes),
    offsetof(MwStageCost, copy_bytes),
    offsetof(MwStageCost, cast_s[MW_PHASE_FORWARD]),
    offsetof(MwStageCost, cast_s[MW_PHASE_BACKWARD]),
    offsetof(MwStageCost, cast_s[MW_PHASE_BACKWARD_WEIGHT]),
};

/* What does so only where it holds what is saved, too. */
static const size_t PEAKS[] = {offsetof(MwStageCost, peak_bytes),
                               offsetof(MwStageCost, joint_peak_bytes)};

static double *part(MwStageCost *cost, size_t offset)
{
    return (double *)((char *)cost + offset);
}

static double part_of(const MwStageCost *cost, size_t offset)
{
    return *(const double *)((const char *)cost + offset);
}

static MwStageSample *sample_of(MwStageSampleSet *set, const MwIntervalTerm *term,
                                const MwStageSample *like)
{
    return mw_stage_sample_of(set, term->begin, term->end, like);
}

static void add_weighted(const MwStageSample *like, double weight, const MwStageCost *cost,
                         MwStageCost *sum)
{
    sum->recomputed += (int)weight * cost->recomputed;
    for (int i = 0; i < MW_COUNT(ADDING); i++)
        *part(sum, ADDING[i]) += weight * part_of(cost, ADDING[i]);
    for (int i = 0; i < MW_COUNT(PEAKS); i++) {
        double *peak = part(sum, PEAKS[i]);
        *peak = like->is_sequential ? *peak + weight * part_of(cost, PEAKS[i])
                                    : fmax(*peak, part_of(cost, PEAKS[i]));
    }
}

bool mw_stage_terms_sum(MwStageSampleSet *set, const MwIntervalTerms *terms,
                        const MwStageSample *like, int price, MwStageCost *sum)
{
    *sum = (MwStageCost){.mesh = like->mesh, .price = price, .remat = like->remat};
    for (int i = 0; i < terms->count; i++) {
        const MwIntervalTerm *term = &terms->at[i];
        const MwStageSample *sample = sample_of(set, term, like);
        if (!sample->possible[price])
            return false;
        add_weighted(like, term->weight,
                     term->is_half ? &sample->half[price] : &sample->cost[price], sum);
    }
    for (int i = 0; i < MW_COUNT(ADDING); i++)
        *part(sum, ADDING[i]) = fmax(0, part_of(sum, ADDING[i]));
    for (int i = 0; i < MW_COUNT(PEAKS); i++)
        *part(sum, PEAKS[i]) = fmax(0, part_of(sum, PEAKS[i]));
    return true;
}

void mw_stage_terms_request(MwStageSampleSet *set, const MwIntervalTerms *terms,
                            const MwStageSample *like, int price)
{
    for (int i = 0; i < terms->count; i++)
        mw_stage_sample_request(set, sample_of(set, &terms->at[i], like), price);
}

bool mw_stage_terms_are_solved(MwStageSampleSet *set, const MwIntervalTerms *terms,
                               const MwStageSample *like, int price)
{
    for (int i = 0; i < terms->count; i++)
        if (!sample_of(set, &terms->at[i], like)->solved[price])
            return false;
    return true;
}
