/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In:  numbers of micro-batches with estimates by the even share of the work.
 * Out: estimates by what stages of such pipelines cost. */
#include "passes/stages/probe.h"

#include "base/threads.h"
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

/* ---- Meshes ---- */

typedef MW_VEC(const MwTensor *) Weights;

static Weights weights_of(MwArena *arena, const MwGraph *graph)
{
    Weights weights = {0};
    for (int n = 0; n < graph->nodes.count; n++)
        if (graph->nodes.at[n].op == MW_OP_WEIGHT)
            mw_vec_push(arena, &weights, &graph->values.at[graph->nodes.at[n].first_result].tensor);
    return weights;
}

/* The share of the elements of all weights that are in weights which so many devices divide. */
static double divided_share(const Weights *weights, int devices)
{
    double all = 0, divided = 0;
    for (int w = 0; w < weights->count; w++) {
        const MwTensor *tensor = weights->at[w];
        const double elements = (double)mw_tensor_elements(tensor);
        bool is_divided = false;
        for (int d = 0; d < tensor->rank; d++)
            is_divided |= tensor->dim[d] % devices == 0;
        all += elements;
        divided += is_divided ? elements : 0;
    }
    return all > 0 ? divided / all : 1;
}

/* How many times longer than an even share of the work a stage takes, since all devices of an axis
 * do what they cannot divide: products with other weights, unless the axis is the first one and
 * divides the samples. */
static double repetition(const Weights *weights, const MwMeshShape *mesh, int64_t samples)
{
    double times = 1;
    for (int a = 0; a < mesh->axis_count; a++) {
        const int size = mesh->size[a];
        const double share = a == 0 && samples % size == 0 ? 1 : divided_share(weights, size);
        times *= share + (1 - share) * size;
    }
    return times;
}

/* Devices that hold what one stage keeps in a quarter of their memory, at least those of a node, of
 * which there are `nodes`: a divisor of all devices. Of Llama 2 70B on 32 nodes of dgx-a100, in one
 * stage of 4 micro-batches, that is 64: --mesh 4x64 has a step of 34.8 s, 8x32 36.2, 16x16 38.9. */
static int devices_that_keep(const MwStageProbeQuery *query, const MwStageBatching *batching,
                             int node, int nodes)
{
    int count = 1;
    while (count < nodes && (nodes % count != 0 ||
                             batching->quick.kept_bytes > query->memory_bytes / 4 * count * node))
        count++;
    return count * node;
}

/* Sets the meshes of a probe: as many devices as divide the samples, up to one of each node, times
 * the others; and one of each node times those of a node, or of one stage, whose state takes most
 * memory, so many on the last axis as keep it; but for one that repeats more than the other.
 * Returns the least repetition. */
static double set_shapes(const MwStageProbeQuery *query, MwEvenPipeline *pipeline,
                         const Weights *weights, int devices)
{
    const int node = query->compilation->cluster->devices_per_node;
    const int64_t samples = pipeline->batching->samples;
    const int nodes = (int)mw_max(devices / node, 1);
    const int inner =
        pipeline->meshes == 1 ? devices_that_keep(query, pipeline->batching, node, nodes) : node;
    const int ways[MW_PROBED_MESHES] = {(int)mw_common_divisor(samples, nodes),
                                        (int)mw_max(devices / inner, 1)};
    MwMeshShape shapes[MW_PROBED_MESHES];
    double times[MW_PROBED_MESHES], least = INFINITY;
    for (int i = 0; i < MW_PROBED_MESHES; i++) {
        shapes[i] = ways[i] > 1 && devices > ways[i]
                        ? (MwMeshShape){2, {ways[i], devices / ways[i]}}
                        : (MwMeshShape){1, {devices}};
        times[i] = repetition(weights, &shapes[i], samples);
        least = fmin(least, times[i]);
    }
    for (int i = 0; i < MW_PROBED_MESHES; i++)
        if (times[i] <= least && (i == 0 || ways[i] != ways[0]))
            pipeline->shapes[pipeline->shape_count++] = shapes[i];
    pipeline->shape = pipeline->shapes[0];
    return least;
}

/* ---- Pipelines ---- */

/* Seconds of a step in which all stages take as long as one with the most layers, by the even share
 * of the work. */
static double even_s(const MwStageBatching *batching, int meshes)
{
    const int m = batching->micro_batches, layers = batching->layer_count;
    const double share = (double)meshes * mw_ceil_div(layers, meshes) / layers;
    return mw_stage_batching_even_s(batching) * share * rounds_of(m, meshes) / m;
}

/* All pipelines of equal meshes that have memory enough by the even share, and one stage. */
static MwEvenPipelines list_pipelines(MwArena *arena, const MwStageProbeQuery *query)
{
    const MwCluster *cluster = query->compilation->cluster;
    const int wanted = query->compilation->options.stages;
    const Weights weights = weights_of(arena, query->compilation->graph);
    MwEvenPipelines list = {0};
    for (int i = 0; i < query->batchings->count; i++) {
        MwStageBatching *batching = &query->batchings->at[i];
        const int most = (int)mw_min(batching->layer_count, mw_cluster_devices(cluster));
        for (int meshes = query->least_stages > 1 ? 2 : 1; meshes <= most && batching->is_possible;
             meshes++) {
            const int in_flight = (int)mw_min(meshes, batching->micro_batches);
            const int devices = mw_stage_equal_devices(size_of(cluster), meshes);
            if ((wanted > 0 && meshes != wanted) || devices == 0 ||
                !mw_stage_batching_fits(batching, query->memory_bytes, in_flight))
                continue;
            MwEvenPipeline pipeline = {.batching = batching,
                                       .meshes = meshes,
                                       .probed_s = INFINITY,
                                       .expected_s = INFINITY};
            pipeline.even_s =
                even_s(batching, meshes) * set_shapes(query, &pipeline, &weights, devices);
            mw_vec_push(arena, &list, pipeline);
        }
    }
    return list;
}

/* Devices of the last axis, along which samples are not divided. */
static int inner_devices(const MwEvenPipeline *pipeline)
{
    return pipeline->shape.size[pipeline->shape.axis_count - 1];
}

/* How unlike two pipelines are: doublings of micro-batches, of meshes, and of devices that samples
 * are not divided among. */
static double distance(const MwEvenPipeline *a, const MwEvenPipeline *b)
{
    const double micro_batches = (double)a->batching->micro_batches / b->batching->micro_batches;
    return fabs(log2(micro_batches)) + fabs(log2((double)a->meshes / b->meshes)) +
           fabs(log2((double)inner_devices(a) / inner_devices(b)));
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
        if (other->probed_s >= DBL_MAX) /* not probed, or without a way to run it */
            continue;
        const double weight = pow(MW_TUNED_PROBE_SHARE, distance(pipeline, other));
        sum += weight * log(other->probed_s / other->even_s);
        weights += weight;
    }
    return pipeline->even_s * exp(sum / weights);
}

/* The layers that a probe solves: as many as a stage has, or half of the model for one stage, since
 * layers in the middle are alike and take few samples. */
static MwStageCostQuery probed_layers(const MwEvenPipeline *pipeline)
{
    const int layers = pipeline->batching->layer_count;
    const int count = mw_ceil_div(layers, (int)mw_max(pipeline->meshes, 2));
    const int begin = (layers - count) / 2;
    return (MwStageCostQuery){begin, begin + count, mw_mesh_devices(&pipeline->shape),
                              .is_sequential = pipeline->meshes == 1};
}

/* How many times as much as the probed layers a stage is. */
static double stage_times(const MwEvenPipeline *pipeline)
{
    const MwStageCostQuery probed = probed_layers(pipeline);
    return pipeline->meshes == 1
               ? (double)pipeline->batching->layer_count / (probed.end - probed.begin)
               : 1;
}

/* Bytes of a device, of a stage of which the probed layers have such costs, but for its peak. */
static double held_bytes(const MwEvenPipeline *pipeline, const MwStageCost *cost)
{
    const double in_flight = (double)mw_min(pipeline->batching->micro_batches, pipeline->meshes);
    return stage_times(pipeline) *
           (cost->kept_bytes + in_flight * (cost->saved_bytes + cost->late_bytes));
}

/* Whether a stage lacks memory, however the devices share what it holds on such a level of
 * recomputation. */
static bool is_hopeless(const MwStageProbeQuery *query, const MwEvenPipeline *pipeline,
                        MwRematLevel remat)
{
    const MwMeshShape one = {1, {1}};
    const MwStageCostQuery probed = probed_layers(pipeline);
    MwStageCost cost;
    return mw_stage_costs_on(pipeline->batching->costs, &probed, &one, remat, 0, &cost) &&
           held_bytes(pipeline, &cost) > query->memory_bytes * mw_mesh_devices(&pipeline->shape);
}

/* A way to run a stage. */
typedef struct {
    double step_s; /* of the pipeline in which all stages are like it; 0: there is none */
    double bytes;  /* of a device */
} Way;

static Way way_of(const MwStageProbeQuery *query, const MwEvenPipeline *pipeline, MwStageCost cost)
{
    const double rounds = rounds_of(pipeline->batching->micro_batches, pipeline->meshes);
    const double times = stage_times(pipeline);
    const double bytes = held_bytes(pipeline, &cost) + times * cost.joint_peak_bytes;
    if (bytes + times * cost.copy_bytes <= query->memory_bytes)
        cost = mw_stage_cost_with_copies(cost);
    return (Way){times * (rounds * mw_stage_cost_time_s(&cost) + cost.step_s), bytes};
}

/* Seconds of a step where no more layers go the leaner way than memory demands; the other way may
 * be missing. */
static double mixed_s(const Way *other, const Way *leaner, double memory_bytes)
{
    if (other->step_s == 0 || other->bytes <= leaner->bytes)
        return leaner->step_s;
    const double share = (other->bytes - memory_bytes) / (other->bytes - leaner->bytes);
    return other->step_s + share * (leaner->step_s - other->step_s);
}

/* Seconds of a step of the pipeline in which all stages are as the one in the middle, on a mesh: by
 * the first way that fits of those at higher and higher prices of memory, on each of levels that
 * recompute more and more, and the one before it; where none does, as many times longer as the last
 * needs more. One stage, which keeps the state of all layers, is not asked for where memory is
 * free. */
static double probe_on(const MwStageProbeQuery *query, const MwEvenPipeline *pipeline,
                       const MwMeshShape *mesh)
{
    const MwRematLevel least = mw_least_remat(query->compilation);
    const MwRematLevel most = mw_most_remat(query->compilation);
    const MwStageCostQuery probed = probed_layers(pipeline);
    const int levels = (int)(most - least) + 1, first = pipeline->meshes == 1 ? levels : 0;
    Way before = {0};
    for (int i = first; i < MW_MEMORY_PRICES * levels; i++) {
        const int price = i / levels;
        const MwRematLevel remat = least + i % levels;
        MwStageCost cost;
        if ((price == MW_MEMORY_PRICES - 1 && remat < most) ||
            (remat < most && is_hopeless(query, pipeline, remat)) ||
            !mw_stage_costs_on(pipeline->batching->costs, &probed, mesh, remat, price, &cost))
            continue;
        const Way way = way_of(query, pipeline, cost);
        if (way.bytes <= query->memory_bytes)
            return mixed_s(&before, &way, query->memory_bytes);
        before = way;
    }
    return before.step_s > 0 ? before.step_s * before.bytes / query->memory_bytes : INFINITY;
}

/* Probes a pipeline. */
static void probe(const MwStageProbeQuery *query, MwEvenPipeline *pipeline)
{
    pipeline->probed_s = DBL_MAX;
    if (!mw_stage_batching_make(pipeline->batching))
        return;
    for (int i = 0; i < pipeline->shape_count; i++) {
        const double step_s = probe_on(query, pipeline, &pipeline->shapes[i]);
        if (step_s < pipeline->probed_s) {
            pipeline->probed_s = step_s;
            pipeline->shape = pipeline->shapes[i];
        }
    }
}

/* Pipelines that are probed at once, each of another number of micro-batches. */
enum { ROUND = 4 };

typedef struct {
    const MwStageProbeQuery *query;
    MwEvenPipeline *at[ROUND];
    int count;
} ProbeRound;

static bool is_in_round(const ProbeRound *round, const MwStageBatching *batching)
{
    for (int i = 0; i < round->count; i++)
        if (round->at[i]->batching == batching)
            return true;
    return false;
}

/* Adds the pipeline that promises most among those that are not probed and may be in the round, if
 * it promises a step of less than `below_s`. */
static bool add_best(ProbeRound *round, const MwEvenPipelines *list, double below_s)
{
    MwEvenPipeline *best = NULL;
    for (int i = 0; i < list->count; i++) {
        MwEvenPipeline *pipeline = &list->at[i];
        if (isfinite(pipeline->probed_s) || is_in_round(round, pipeline->batching) ||
            pipeline->expected_s >= (best ? best->expected_s : below_s))
            continue;
        best = pipeline;
    }
    if (best)
        round->at[round->count++] = best;
    return best != NULL;
}

static void probe_one(void *context, int i)
{
    const ProbeRound *round = context;
    probe(round->query, round->at[i]);
}

static void expect(MwEvenPipelines *list)
{
    for (int i = 0; i < list->count; i++)
        list->at[i].expected_s = expected_s(list, &list->at[i]);
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
    ProbeRound round = {.query = query};
    double least_s = INFINITY;
    for (int left = MW_TUNED_PROBES; left > 0; left -= round.count) {
        expect(&list);
        round.count = 0;
        while (round.count < mw_min(left, ROUND) &&
               add_best(&round, &list, (1 + MW_TUNED_ESTIMATE_MARGIN) * least_s))
            ;
        if (round.count == 0)
            break;
        mw_parallel(round.at[0]->batching->threads, round.count, probe_one, &round);
        for (int i = 0; i < round.count; i++)
            least_s = fmin(least_s, round.at[i]->probed_s);
    }
    mw_stage_known_probed(query->known, before);
    for (int i = 0; i < query->batchings->count; i++)
        query->batchings->at[i].estimate.usual_s = INFINITY;
    expect(&list);
    for (int i = 0; i < list.count; i++) {
        double *usual_s = &list.at[i].batching->estimate.usual_s;
        if (list.at[i].meshes > 1)
            *usual_s = fmin(*usual_s, list.at[i].expected_s);
    }
    if (list.count > 1)
        qsort(list.at, (size_t)list.count, sizeof *list.at, by_expectation);
    return list;
}
