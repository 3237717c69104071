/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In:  the model before `stages`.
 * Out: models cut into micro-batches (model.h), each made on request. */
#include "passes/stages/batching.h"

#include "base/divisors.h"
#include "base/threads.h"
#include "passes/graph/layers.h"

#include <limits.h>
#include <math.h>

/* ---- Numbers of micro-batches ---- */

/* The greatest divisor of the batch dimension of every input; 1 without inputs. */
static int64_t batch_of(const MwGraph *graph)
{
    int64_t batch = 0;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        const MwTensor *tensor = &graph->values.at[node->first_result].tensor;
        if (node->op == MW_OP_INPUT && !mw_input_is_whole(graph, node))
            batch = mw_common_divisor(tensor->dim[0], batch);
    }
    return mw_max(batch, 1);
}

/* Adds one like `like`, for so many micro-batches. */
static void add_batching(MwStageBatchings *list, MwStageBatching like, MwStageKnown *known,
                         int count, int64_t batch)
{
    like.solved = mw_stage_known_of(known, count);
    like.micro_batches = count;
    like.samples = mw_max(batch / count, 1);
    mw_vec_push(like.compilation->arena, list, like);
}

MwStageBatchings mw_stage_batchings(const MwCompilation *compilation, MwStageKnown *known,
                                    int threads)
{
    MwStageBatchings list = {0};
    int wanted = mw_wanted_micro_batches(compilation);
    int64_t batch = batch_of(compilation->graph);
    MwLayerFold *fold = MW_NEW(compilation->arena, MwLayerFold, 1);
    *fold =
        mw_layer_fold(compilation->arena, compilation->graph, mw_layer_count(compilation->graph));
    const MwStageBatching like = {.compilation = compilation, .fold = fold, .threads = threads};
    if (wanted > 0)
        add_batching(&list, like, known, wanted, batch);
    const MwDivisors counts = mw_divisors(compilation->arena, batch);
    for (int i = 0; i < counts.count && counts.at[i] <= INT_MAX && wanted == 0; i++)
        add_batching(&list, like, known, (int)counts.at[i], batch);
    return list;
}

void mw_stage_batchings_free(MwStageBatchings *batchings)
{
    for (int i = 0; i < batchings->count; i++)
        mw_stage_model_free(&batchings->at[i].model);
    batchings->count = 0;
}

bool mw_stage_batching_make(MwStageBatching *batching)
{
    const MwCompilation *compilation = batching->compilation;
    if (batching->model || (batching->is_made && !batching->is_possible))
        return batching->is_possible;
    MwArena *scratch = mw_arena_new();
    batching->is_made = true;
    batching->model = mw_stage_model_new(compilation, batching->fold, batching->micro_batches,
                                         mw_diags_new(scratch));
    mw_arena_free(&scratch);
    batching->is_possible = batching->model != NULL;
    if (!batching->is_possible)
        return false;
    batching->layer_count = batching->model->layer_count;
    batching->costs = mw_stage_costs_new(batching->model->arena, batching->model, batching->solved,
                                         batching->threads);
    batching->quick = mw_stage_costs_whole(batching->costs, mw_least_remat(compilation));
    batching->lean = mw_stage_costs_whole(batching->costs, mw_most_remat(compilation));
    return true;
}

bool mw_stage_batching_measure(MwStageBatching *batching)
{
    if (!batching->is_made && mw_stage_batching_make(batching)) {
        mw_stage_model_free(&batching->model);
        batching->costs = NULL;
    }
    return batching->is_possible;
}

/* Models that are made at once, for the sake of memory. */
enum { MOST_MODELS = 16 };

static void measure_one(void *context, int i)
{
    MwStageBatchings *batchings = context;
    mw_stage_batching_measure(&batchings->at[i]);
}

void mw_stage_batchings_measure(MwStageBatchings *batchings)
{
    if (batchings->count > 0)
        mw_parallel((int)mw_min(batchings->at[0].threads, MOST_MODELS), batchings->count,
                    measure_one, batchings);
}

/* ---- Estimates ---- */

/* Whether all devices together can hold the model with so many micro-batches in flight. */
static bool is_enough(const MwStageBatching *batching, const MwStageCost *all, double memory_bytes,
                      int in_flight)
{
    double bytes = all->kept_bytes + in_flight * (all->saved_bytes + all->late_bytes);
    return bytes <= memory_bytes * mw_cluster_devices(batching->compilation->cluster);
}

bool mw_stage_batching_fits(const MwStageBatching *batching, double memory_bytes, int in_flight)
{
    return is_enough(batching, &batching->lean, memory_bytes, in_flight);
}

/* Seconds of `rounds` rounds of micro-batches and the update, shared evenly by all devices. */
static double even_pipeline_s(const MwStageBatching *batching, const MwStageCost *all, int rounds)
{
    const int devices = mw_cluster_devices(batching->compilation->cluster);
    const MwStageCost with = mw_stage_cost_with_copies(*all);
    return (mw_stage_cost_time_s(&with) * rounds + with.step_s) / devices;
}

double mw_stage_batching_even_s(const MwStageBatching *batching)
{
    return even_pipeline_s(batching, &batching->quick, batching->micro_batches);
}

void mw_stage_batching_estimate(MwStageBatching *batching, double memory_bytes)
{
    const MwStageCost *const ways[] = {&batching->quick, &batching->lean};
    int devices = mw_cluster_devices(batching->compilation->cluster);
    int most = (int)mw_min(batching->layer_count, devices), count = batching->micro_batches;
    MwStageEstimate best = {INFINITY, INFINITY};
    for (int i = 0; i < MW_COUNT(ways); i++)
        for (int stages = 2; stages <= most; stages++) {
            if (!is_enough(batching, ways[i], memory_bytes, (int)mw_min(stages, count)))
                continue;
            best.usual_s =
                fmin(best.usual_s, even_pipeline_s(batching, ways[i], count + stages - 1));
            best.least_s = fmin(best.least_s, even_pipeline_s(batching, ways[i], count));
        }
    batching->estimate = best;
}
