/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/stages/sample_set.h"

#include <math.h>

/* ---- Samples ---- */

static const MwGraph *graph_of(MwStageSampleSet *set, int begin, int end, MwRematLevel remat)
{
    int key[] = {mw_stage_model_class(set->model, begin, end), remat};
    void **at = mw_key_map_at(set->arena, &set->graphs, key, sizeof key);
    if (!*at)
        *at = mw_stage_model_graph(set->model, begin, end, remat);
    return *at;
}

MwStageSample *mw_stage_sample_of(MwStageSampleSet *set, const MwIntervalTerm *term,
                                  const MwStageSample *like)
{
    int key[4 + MW_MAX_AXES] = {mw_stage_model_class(set->model, term->begin, term->end),
                                like->remat, like->is_sequential, like->mesh.axis_count};
    for (int a = 0; a < like->mesh.axis_count; a++)
        key[4 + a] = like->mesh.size[a];
    MwStageSolved *solved = set->solved;
    void **at = mw_key_map_at(solved->arena, &solved->samples, key, sizeof key);
    if (*at)
        return *at;
    MwStageSample *sample = *at = MW_NEW(solved->arena, MwStageSample, 1);
    *sample = *like;
    sample->begin = term->begin;
    sample->end = term->end;
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
    set->solved->work += sample->graph->nodes.count;
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

/* Adds the peak of a sample: where it holds what is saved, too, it adds up. */
static void add_peak(const MwStageSample *like, double weight, double bytes, double *sum)
{
    *sum = like->is_sequential ? *sum + weight * bytes : fmax(*sum, bytes);
}

bool mw_stage_terms_sum(MwStageSampleSet *set, const MwIntervalTerms *terms,
                        const MwStageSample *like, int price, MwStageCost *sum)
{
    *sum = (MwStageCost){.mesh = like->mesh, .price = price, .remat = like->remat};
    for (int i = 0; i < terms->count; i++) {
        const MwStageSample *sample = mw_stage_sample_of(set, &terms->at[i], like);
        const MwStageCost *cost = &sample->cost[price];
        double weight = terms->at[i].weight;
        if (!sample->possible[price])
            return false;
        sum->recomputed += (int)weight * cost->recomputed;
        sum->forward_s += weight * cost->forward_s;
        sum->backward_s += weight * cost->backward_s;
        sum->weight_s += weight * cost->weight_s;
        sum->step_s += weight * cost->step_s;
        sum->host_s += weight * cost->host_s;
        sum->kept_bytes += weight * cost->kept_bytes;
        sum->saved_bytes += weight * cost->saved_bytes;
        sum->late_bytes += weight * cost->late_bytes;
        sum->weight_bytes += weight * cost->weight_bytes;
        add_peak(like, weight, cost->peak_bytes, &sum->peak_bytes);
        add_peak(like, weight, cost->joint_peak_bytes, &sum->joint_peak_bytes);
    }
    double *const parts[] = {&sum->forward_s,   &sum->backward_s,      &sum->weight_s,
                             &sum->step_s,      &sum->host_s,          &sum->kept_bytes,
                             &sum->saved_bytes, &sum->late_bytes,      &sum->weight_bytes,
                             &sum->peak_bytes,  &sum->joint_peak_bytes};
    for (int i = 0; i < MW_COUNT(parts); i++)
        *parts[i] = fmax(0, *parts[i]);
    return true;
}

void mw_stage_terms_request(MwStageSampleSet *set, const MwIntervalTerms *terms,
                            const MwStageSample *like, int price)
{
    for (int i = 0; i < terms->count; i++)
        mw_stage_sample_request(set, mw_stage_sample_of(set, &terms->at[i], like), price);
}

bool mw_stage_terms_are_solved(MwStageSampleSet *set, const MwIntervalTerms *terms,
                               const MwStageSample *like, int price)
{
    for (int i = 0; i < terms->count; i++)
        if (!mw_stage_sample_of(set, &terms->at[i], like)->solved[price])
            return false;
    return true;
}
