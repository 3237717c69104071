/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In:  numbers of micro-batches with estimates by the even share of the work.
 * Out: estimates by what stages of such pipelines cost. */
#include "passes/stages/probe.h"

#include "passes/stages/choice.h"
#include "passes/tuning.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

static MwStageCluster size_of(const MwCluster *cluster)
{
    return (MwStageCluster){cluster->nodes, cluster->devices_per_node};
}

bool mw_stage_probe_pays(const MwCompilation *compilation)
{
    return compilation->options.mesh.axis_count == 0 &&
           mw_cluster_devices(compilation->cluster) > MW_TUNED_STAGE_UNITS;
}

/* Micro-batches and the bubble: half of that of 1F1B, since schedules of less bubble need more
 * memory, or transfers, or micro-batches, which a probe does not tell. */
static double rounds_of(int micro_batches, int meshes)
{
    return micro_batches + (meshes - 1) / 2.;
}

/* The logical mesh of a probe: an axis of as many devices as divide the samples, up to one of each
 * node, times the others. */
static MwMeshShape mesh_of(const MwCluster *cluster, int devices, int64_t samples)
{
    const int node = (int)mw_min(cluster->devices_per_node, devices);
    const int ways = (int)mw_common_divisor(samples, devices / node);
    return ways > 1 && devices > ways ? (MwMeshShape){2, {ways, devices / ways}}
                                      : (MwMeshShape){1, {devices}};
}

/* Seconds of a step in which all stages take as long as one with the most layers, by the even share
 * of the work. */
static double even_s(const MwStageBatching *batching, int meshes)
{
    const int m = batching->micro_batches, layers = batching->layer_count;
    const double share = (double)meshes * mw_ceil_div(layers, meshes) / layers;
    return mw_stage_batching_even_s(batching) * share * rounds_of(m, meshes) / m;
}

/* All pipelines of equal meshes that have memory enough by the even share. */
static MwEvenPipelines list_pipelines(MwArena *arena, const MwStageProbeQuery *query)
{
    const MwCluster *cluster = query->compilation->cluster;
    const int wanted = query->compilation->options.stages;
    MwEvenPipelines list = {0};
    for (int i = 0; i < query->batchings->count; i++) {
        MwStageBatching *batching = &query->batchings->at[i];
        const int most = (int)mw_min(batching->layer_count, mw_cluster_devices(cluster));
        for (int meshes = 2; meshes <= most && batching->is_possible; meshes++) {
            const int in_flight = (int)mw_min(meshes, batching->micro_batches);
            const int devices = mw_stage_equal_devices(size_of(cluster), meshes);
            if ((wanted > 0 && meshes != wanted) || devices == 0 ||
                !mw_stage_batching_fits(batching, query->memory_bytes, in_flight))
                continue;
            mw_vec_push(arena, &list,
                        ((MwEvenPipeline){.batching = batching,
                                          .meshes = meshes,
                                          .mesh = mesh_of(cluster, devices, batching->samples),
                                          .even_s = even_s(batching, meshes),
                                          .probed_s = INFINITY,
                                          .expected_s = INFINITY}));
        }
    }
    return list;
}

/* Devices of the last axis, along which samples are not divided. */
static int inner_devices(const MwEvenPipeline *pipeline)
{
    return pipeline->mesh.size[pipeline->mesh.axis_count - 1];
}

/* How unlike two pipelines are: doublings of micro-batches, of meshes, and of devices that samples
 * are not divided among. */
static double distance(const MwEvenPipeline *a, const MwEvenPipeline *b)
{
    const double micro_batches = (double)a->batching->micro_batches / b->batching->micro_batches;
    return fabs(log2(micro_batches)) + fabs(log2((double)a->meshes / b->meshes)) +
           fabs(log2((double)inner_devices(a) / inner_devices(b)));
}

/* Whether what a probe found is hardly possible, as where devices do not divide the samples and the
 * weights: that tells nothing of others. */
static bool is_hardly_possible(const MwEvenPipeline *pipeline)
{
    return pipeline->probed_s >= MW_TUNED_PROBE_EXCESS * pipeline->even_s;
}

/* What the step of a pipeline is expected to take: as many times the even share as the geometric
 * mean of what was probed, each with a weight that falls with its distance, and of the even share
 * itself, which counts as a probe of twice the stages. */
static double expected_s(const MwEvenPipelines *list, const MwEvenPipeline *pipeline)
{
    double sum = 0, weights = MW_TUNED_PROBE_SHARE;
    if (isfinite(pipeline->probed_s))
        return pipeline->probed_s;
    for (int i = 0; i < list->count; i++) {
        const MwEvenPipeline *other = &list->at[i];
        if (!isfinite(other->probed_s) || is_hardly_possible(other))
            continue;
        const double weight = pow(MW_TUNED_PROBE_SHARE, distance(pipeline, other));
        sum += weight * log(other->probed_s / other->even_s);
        weights += weight;
    }
    return pipeline->even_s * exp(sum / weights);
}

/* Bytes of a device, of a stage with such costs, but for its peak. */
static double held_bytes(const MwEvenPipeline *pipeline, const MwStageCost *cost)
{
    return cost->kept_bytes + mw_min(pipeline->batching->micro_batches, pipeline->meshes) *
                                  (cost->saved_bytes + cost->late_bytes);
}

/* Whether the stage of layers [begin, end) lacks memory, however the devices share what it holds
 * on such a level of recomputation. */
static bool is_hopeless(const MwStageProbeQuery *query, const MwEvenPipeline *pipeline, int begin,
                        int end, MwRematLevel remat)
{
    const MwMeshShape one = {1, {1}};
    MwStageCost cost;
    return mw_stage_costs_on(pipeline->batching->costs, begin, end, &one, remat, 0, &cost) &&
           held_bytes(pipeline, &cost) > query->memory_bytes * mw_mesh_devices(&pipeline->mesh);
}

/* Seconds of a step of the pipeline in which all stages are as the one in the middle, in the first
 * way that fits of those that need less and less memory; where none does, as many times longer as
 * it needs more. */
static double probe_s(const MwStageProbeQuery *query, const MwEvenPipeline *pipeline)
{
    const MwRematLevel least = mw_least_remat(query->compilation);
    const MwRematLevel most = mw_most_remat(query->compilation);
    const struct {
        MwRematLevel remat;
        int price;
    } ways[] = {{least, 0}, {most, 0}, {most, MW_MEMORY_PRICES - 1}};
    MwStageBatching *batching = pipeline->batching;
    if (!mw_stage_batching_make(batching))
        return INFINITY;
    const int count = mw_ceil_div(batching->layer_count, pipeline->meshes);
    const int begin = (batching->layer_count - count) / 2, m = batching->micro_batches;
    double step_s = INFINITY;
    for (int i = 0; i < MW_COUNT(ways); i++) {
        MwStageCost cost;
        if ((i + 1 < MW_COUNT(ways) &&
             is_hopeless(query, pipeline, begin, begin + count, ways[i].remat)) ||
            !mw_stage_costs_on(batching->costs, begin, begin + count, &pipeline->mesh,
                               ways[i].remat, ways[i].price, &cost))
            continue;
        const double bytes = held_bytes(pipeline, &cost) + cost.joint_peak_bytes;
        if (bytes + cost.copy_bytes <= query->memory_bytes)
            cost = mw_stage_cost_with_copies(cost);
        step_s = rounds_of(m, pipeline->meshes) * mw_stage_cost_time_s(&cost) + cost.step_s;
        step_s *= fmax(1, bytes / query->memory_bytes);
        if (bytes <= query->memory_bytes)
            break;
    }
    return step_s;
}

/* The pipeline that promises most among those that are not probed; NULL: there is none. */
static MwEvenPipeline *find_best(const MwEvenPipelines *list)
{
    MwEvenPipeline *best = NULL;
    double least_s = INFINITY;
    for (int i = 0; i < list->count; i++) {
        const double step_s = expected_s(list, &list->at[i]);
        if (!isfinite(list->at[i].probed_s) && step_s < least_s) {
            least_s = step_s;
            best = &list->at[i];
        }
    }
    return best;
}

/* Those that were probed come first: the others mostly promise less than the best of these. */
static int by_expectation(const void *a, const void *b)
{
    const MwEvenPipeline *x = a, *y = b;
    if (isfinite(x->probed_s) != isfinite(y->probed_s))
        return isfinite(x->probed_s) ? -1 : 1;
    if (x->expected_s != y->expected_s)
        return x->expected_s < y->expected_s ? -1 : 1;
    if (x->batching->micro_batches != y->batching->micro_batches)
        return x->batching->micro_batches - y->batching->micro_batches;
    return x->meshes - y->meshes;
}

MwEvenPipelines mw_stage_probe(MwArena *arena, const MwStageProbeQuery *query)
{
    MwEvenPipelines list = list_pipelines(arena, query);
    const int64_t before = mw_stage_known_effort(query->known);
    double least_s = INFINITY;
    for (int i = 0; i < MW_TUNED_PROBES; i++) {
        MwEvenPipeline *best = find_best(&list);
        if (!best || expected_s(&list, best) > (1 + MW_TUNED_ESTIMATE_MARGIN) * least_s)
            break;
        best->probed_s = fmin(probe_s(query, best), DBL_MAX);
        least_s = fmin(least_s, best->probed_s);
    }
    mw_stage_known_probed(query->known, before);
    for (int i = 0; i < query->batchings->count; i++)
        query->batchings->at[i].estimate.usual_s = INFINITY;
    for (int i = 0; i < list.count; i++)
        list.at[i].expected_s = expected_s(&list, &list.at[i]);
    for (int i = 0; i < list.count; i++) {
        double *usual_s = &list.at[i].batching->estimate.usual_s;
        *usual_s = fmin(*usual_s, list.at[i].expected_s);
    }
    if (list.count > 1)
        qsort(list.at, (size_t)list.count, sizeof *list.at, by_expectation);
    return list;
}
