/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In:  the model with its layers; queries for intervals of layers on numbers of devices.
 * Out: their costs (cost.h), extrapolated (extrapolate.h) from samples (sample.h).
 *
 * Between no recomputation and recomputation of all layers lie candidates in which some layers
 * recompute: those first that save the most memory per second. The gain of a layer is estimated
 * from samples of single layers. */
#include "passes/stages/cost.h"

#include "ir/key_map.h"
#include "passes/stages/extrapolate.h"
#include "passes/tuning.h"
#include "solver/stages/submesh.h"

#include <math.h>
#include <stdlib.h>

typedef MW_VEC(MwStageSample *) Samples;

/* The costs of an interval on one device: with the least time, and with the least memory. */
typedef struct {
    bool is_made;
    MwStageCost quick, lean;
} OneDevice;

struct MwStageCosts {
    MwArena *arena;
    const MwStageModel *model;
    int threads;
    MwStageSolved *solved;
    MwKeyMap graphs;  /* by interval class and recomputation */
    MwKeyMap answers; /* by interval class, devices and sequence: an MwStageCostList */
    Samples queue;    /* samples to solve next */
    MwStagePricing pricing;
    MwExtrapolation *extrapolation;
    bool has_bounds;       /* the samples of all intervals on one device are solved */
    OneDevice *one_device; /* [interval classes] once the samples are solved */
    double memory_bytes;
};

/* ---- Samples ---- */

static const MwCluster *cluster_of(const MwStageCosts *costs)
{
    return costs->model->lowered[0].cluster;
}

static int class_of(const MwStageCosts *costs, int begin, int end)
{
    return mw_stage_model_class(costs->model, begin, end);
}

static const MwGraph *graph_of(MwStageCosts *costs, int begin, int end, bool recomputes)
{
    int key[] = {class_of(costs, begin, end), recomputes};
    void **at = mw_key_map_at(costs->arena, &costs->graphs, key, sizeof key);
    if (!*at)
        *at = mw_stage_model_graph(costs->model, begin, end, recomputes);
    return *at;
}

/* The sample of the layers of `term`, with mesh, recomputation and sequence as in `like`. */
static MwStageSample *sample_of(MwStageCosts *costs, const MwIntervalTerm *term,
                                const MwStageSample *like)
{
    int key[4 + MW_MAX_AXES] = {class_of(costs, term->begin, term->end), like->recomputes,
                                like->is_sequential, like->mesh.axis_count};
    for (int a = 0; a < like->mesh.axis_count; a++)
        key[4 + a] = like->mesh.size[a];
    MwStageSolved *solved = costs->solved;
    void **at = mw_key_map_at(solved->arena, &solved->samples, key, sizeof key);
    if (*at)
        return *at;
    MwStageSample *sample = *at = MW_NEW(solved->arena, MwStageSample, 1);
    *sample = *like;
    sample->begin = term->begin;
    sample->end = term->end;
    return sample;
}

/* Queues a sample to be solved at a price, unless it is solved. */
static void request(MwStageCosts *costs, MwStageSample *sample, int price)
{
    if (sample->solved[price] || sample->wanted[price])
        return;
    bool is_queued = false;
    for (int i = 0; i < MW_MEMORY_PRICES; i++)
        is_queued |= sample->wanted[i];
    sample->wanted[price] = true;
    sample->graph = graph_of(costs, sample->begin, sample->end, sample->recomputes);
    costs->solved->work += sample->graph->nodes.count;
    if (is_queued)
        return;
    mw_vec_push(costs->arena, &costs->queue, sample);
}

int64_t mw_stage_costs_work(const MwStageCosts *costs)
{
    return costs->solved->work;
}

int64_t mw_stage_costs_effort(const MwStageCosts *costs)
{
    return costs->solved->effort;
}

static void solve_requested(MwStageCosts *costs)
{
    mw_stage_samples_solve(costs->queue.at, costs->queue.count, &costs->pricing, costs->threads);
    for (int i = 0; i < costs->queue.count; i++)
        costs->solved->effort += costs->queue.at[i]->effort;
    costs->queue.count = 0;
}

/* ---- Extrapolation ---- */

/* Sums the weighted costs of the terms; false if some sample has no solution. */
static bool sum_terms(MwStageCosts *costs, const MwIntervalTerms *terms, const MwStageSample *like,
                      int price, MwStageCost *sum)
{
    *sum = (MwStageCost){.mesh = like->mesh, .price = price};
    for (int i = 0; i < terms->count; i++) {
        const MwStageSample *sample = sample_of(costs, &terms->at[i], like);
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
        sum->peak_bytes = like->is_sequential ? sum->peak_bytes + weight * cost->peak_bytes
                                              : fmax(sum->peak_bytes, cost->peak_bytes);
    }
    double *const parts[] = {&sum->forward_s,   &sum->backward_s, &sum->weight_s,
                             &sum->step_s,      &sum->host_s,     &sum->kept_bytes,
                             &sum->saved_bytes, &sum->late_bytes, &sum->weight_bytes,
                             &sum->peak_bytes};
    for (int i = 0; i < MW_COUNT(parts); i++)
        *parts[i] = fmax(0, *parts[i]);
    return true;
}

static void request_terms(MwStageCosts *costs, const MwIntervalTerms *terms,
                          const MwStageSample *like, int price)
{
    for (int i = 0; i < terms->count; i++)
        request(costs, sample_of(costs, &terms->at[i], like), price);
}

/* ---- Recomputation of some layers ---- */

/* What recomputing one layer saves and takes. */
typedef struct {
    int layer;
    double bytes, time_s;
} RecomputeGain;

/* Bytes of a micro-batch that a sample holds between tasks. */
static double bytes_between_tasks(const MwStageSample *sample)
{
    const MwStageCost *cost = &sample->cost[0];
    double bytes = cost->saved_bytes + cost->late_bytes + cost->weight_bytes;
    return sample->is_sequential ? bytes + cost->peak_bytes : bytes;
}

static const MwStageSample *single_layer(MwStageCosts *costs, int layer, MwStageSample like,
                                         bool recomputes)
{
    like.recomputes = recomputes;
    return sample_of(costs, &(MwIntervalTerm){layer, layer + 1, 1}, &like);
}

/* The gain of recomputing a layer, from samples of that layer alone. */
static RecomputeGain gain_of(MwStageCosts *costs, int layer, const MwStageSample *like)
{
    const MwStageSample *keeps = single_layer(costs, layer, *like, false);
    const MwStageSample *recomputing = single_layer(costs, layer, *like, true);
    if (!keeps->possible[0] || !recomputing->possible[0])
        return (RecomputeGain){.layer = layer};
    double time_s =
        mw_stage_cost_time_s(&recomputing->cost[0]) - mw_stage_cost_time_s(&keeps->cost[0]);
    double bytes = bytes_between_tasks(keeps) - bytes_between_tasks(recomputing);
    return (RecomputeGain){layer, fmax(0, bytes), fmax(0, time_s)};
}

/* Bytes saved per second of recomputation. */
static double rate_of(const RecomputeGain *gain)
{
    if (gain->bytes == 0)
        return 0;
    return gain->time_s == 0 ? INFINITY : gain->bytes / gain->time_s;
}

static int by_rate(const void *a, const void *b)
{
    const RecomputeGain *x = a, *y = b;
    double p = rate_of(x), q = rate_of(y);
    return p != q ? (p > q ? -1 : 1) : x->layer - y->layer;
}

/* Gains of layers [begin, end), best first. */
static RecomputeGain *rank_gains(MwStageCosts *costs, MwArena *arena, int begin, int end,
                                 const MwStageSample *like)
{
    RecomputeGain *gains = MW_NEW(arena, RecomputeGain, end - begin);
    for (int l = begin; l < end; l++)
        gains[l - begin] = gain_of(costs, l, like);
    qsort(gains, (size_t)(end - begin), sizeof *gains, by_rate);
    return gains;
}

static void request_gains(MwStageCosts *costs, int begin, int end, const MwStageSample *like)
{
    for (int l = begin; l < end; l++)
        for (int recomputes = 0; recomputes < 2; recomputes++) {
            MwStageSample wanted = *like;
            wanted.recomputes = recomputes;
            request(costs, sample_of(costs, &(MwIntervalTerm){l, l + 1, 1}, &wanted), 0);
        }
}

static double interpolate(double none, double all, double share)
{
    return none + share * (all - none);
}

/* The cost with the first `count` of `gains` recomputed, interpolated by their shares of the
 * total gain. The peak is not interpolated: a task of a layer that recomputes needs what it
 * needs where all do. */
static MwStageCost recompute_some(const MwStageCost *none, const MwStageCost *all,
                                  const RecomputeGain *gains, int count, bool is_sequential)
{
    double bytes = 0, time_s = 0, all_bytes = 0, all_time_s = 0;
    for (int i = 0; i < all->recomputed; i++) {
        bytes += i < count ? gains[i].bytes : 0;
        time_s += i < count ? gains[i].time_s : 0;
        all_bytes += gains[i].bytes;
        all_time_s += gains[i].time_s;
    }
    double even = (double)count / all->recomputed;
    double of_bytes = all_bytes > 0 ? bytes / all_bytes : even;
    double of_time = all_time_s > 0 ? time_s / all_time_s : even;
    return (MwStageCost){
        .mesh = all->mesh,
        .price = all->price,
        .recomputed = count,
        .forward_s = interpolate(none->forward_s, all->forward_s, of_time),
        .backward_s = interpolate(none->backward_s, all->backward_s, of_time),
        .weight_s = interpolate(none->weight_s, all->weight_s, of_time),
        .step_s = interpolate(none->step_s, all->step_s, of_time),
        .host_s = interpolate(none->host_s, all->host_s, of_time),
        .kept_bytes = interpolate(none->kept_bytes, all->kept_bytes, of_bytes),
        .saved_bytes = interpolate(none->saved_bytes, all->saved_bytes, of_bytes),
        .late_bytes = interpolate(none->late_bytes, all->late_bytes, of_bytes),
        .weight_bytes = interpolate(none->weight_bytes, all->weight_bytes, of_bytes),
        .peak_bytes = is_sequential ? interpolate(none->peak_bytes, all->peak_bytes, of_bytes)
                                    : fmax(none->peak_bytes, all->peak_bytes),
    };
}

void mw_stage_costs_recomputed(MwStageCosts *costs, const MwStageCostQuery *cost_query,
                               const MwStageCost *cost, bool *layers)
{
    MwArena *scratch = mw_arena_new();
    int count = cost_query->end - cost_query->begin;
    MwStageSample like = {.mesh = cost->mesh, .is_sequential = cost_query->is_sequential};
    for (int i = 0; i < count; i++)
        layers[i] = cost->recomputed == count;
    if (cost->recomputed > 0 && cost->recomputed < count) {
        const RecomputeGain *gains =
            rank_gains(costs, scratch, cost_query->begin, cost_query->end, &like);
        for (int i = 0; i < cost->recomputed; i++)
            layers[gains[i].layer - cost_query->begin] = true;
    }
    mw_arena_free(&scratch);
}

/* ---- Candidates ---- */

/* One query while it is being answered. */
typedef struct {
    const MwStageCostQuery *cost_query;
    const MwIntervalTerms *terms;
    int mesh_count;
    MwStageSample *meshes; /* [mesh_count] samples to solve, without their layers */
    bool *is_shortlisted;
} CandidateSearch;

/* Whether the inner axis divides a node evenly or spans whole nodes. */
static bool aligns_with_nodes(const MwCluster *cluster, const MwMeshShape *mesh)
{
    int inner = mesh->size[mesh->axis_count - 1], node = cluster->devices_per_node;
    return mw_mesh_devices(mesh) <= node || node % inner == 0 || inner % node == 0;
}

MwMeshList mw_stage_costs_meshes(const MwStageCosts *costs, MwArena *arena, int devices)
{
    const MwMeshShape *wanted = &costs->model->lowered[0].options.mesh;
    MwMeshList list = {0};
    if (wanted->axis_count > 0) {
        if (mw_mesh_devices(wanted) == devices)
            mw_vec_push(arena, &list, *wanted);
        return list;
    }
    MwMeshList all = mw_mesh_shapes(arena, devices);
    for (int i = 0; i < all.count; i++)
        if (aligns_with_nodes(cluster_of(costs), &all.at[i]))
            mw_vec_push(arena, &list, all.at[i]);
    return list;
}

static void list_mesh_candidates(MwStageCosts *costs, MwArena *arena,
                                 const MwStageCostQuery *cost_query, CandidateSearch *search)
{
    bool recomputes = costs->model->lowered[0].options.remat == MW_REMAT_ALL;
    MwMeshList all = mw_stage_costs_meshes(costs, arena, cost_query->devices);
    search->mesh_count = all.count;
    search->meshes = MW_NEW(arena, MwStageSample, all.count);
    search->is_shortlisted = MW_NEW(arena, bool, all.count);
    for (int i = 0; i < all.count; i++)
        search->meshes[i] = (MwStageSample){.mesh = all.at[i],
                                            .is_sequential = cost_query->is_sequential,
                                            .recomputes = recomputes};
}

/* Requests the samples of all meshes at price 0. */
static void start_search(MwStageCosts *costs, const MwStageCostQuery *cost_query,
                         CandidateSearch *search)
{
    search->cost_query = cost_query;
    search->terms =
        mw_extrapolation_terms(costs->extrapolation, cost_query->begin, cost_query->end);
    list_mesh_candidates(costs, costs->arena, cost_query, search);
    for (int i = 0; i < search->mesh_count; i++)
        request_terms(costs, search->terms, &search->meshes[i], 0);
}

static double step_s(const MwStageCosts *costs, const MwStageCost *cost)
{
    return costs->model->micro_batches * mw_stage_cost_time_s(cost) + cost->step_s;
}

/* Bytes of a device, which holds all chunks of its mesh, with as many micro-batches in flight as
 * `held` times the stages that there can be; all of them for 0. */
static double bytes_in_flight(const MwStageCosts *costs, const MwStageCost *cost, double held)
{
    const int devices = mw_cluster_devices(cluster_of(costs));
    const int stages =
        (int)mw_min(devices / mw_mesh_devices(&cost->mesh), costs->model->layer_count);
    const int all = costs->model->micro_batches;
    const double in_flight = held > 0 ? fmin(all, held * stages) : all;
    const double saved_bytes = cost->saved_bytes + cost->late_bytes + cost->weight_bytes;
    const int chunks = mw_wanted_chunks(&costs->model->lowered[0].options);
    return chunks * (cost->kept_bytes + in_flight * saved_bytes) + cost->peak_bytes;
}

/* Whether memory suffices for the most micro-batches in flight: those of the first of as many
 * stages as there can be, or all if the schedule that the user names keeps all. */
static bool fits_most_in_flight(const MwStageCosts *costs, const MwStageCost *cost)
{
    const MwCompileOptions *options = &costs->model->lowered[0].options;
    const bool all =
        mw_wants_schedule(options) && mw_pipeline_info(mw_wanted_schedule(options))->held == 0;
    return bytes_in_flight(costs, cost, all ? 0 : mw_pipeline_most_held()) <= costs->memory_bytes;
}

/* Index of the mesh that is not shortlisted yet and takes the least time, as many times longer as
 * it lacks memory in the leanest schedules; -1: none. */
static int find_fastest(MwStageCosts *costs, const CandidateSearch *search)
{
    int best = -1;
    double least_s = INFINITY;
    for (int i = 0; i < search->mesh_count; i++) {
        MwStageCost cost;
        if (search->is_shortlisted[i] ||
            !sum_terms(costs, search->terms, &search->meshes[i], 0, &cost))
            continue;
        const double lack = bytes_in_flight(costs, &cost, 1) / costs->memory_bytes;
        const double time_s = step_s(costs, &cost) * fmax(1, lack);
        if (time_s < least_s) {
            least_s = time_s;
            best = i;
        }
    }
    return best;
}

/* Whether the search may choose recomputation. */
static bool may_recompute(const MwStageCosts *costs)
{
    const MwCompilation *compilation = &costs->model->lowered[0];
    return compilation->options.remat == MW_REMAT_SEARCH && mw_trains(compilation);
}

/* Requests samples at all prices, with and without recomputation. */
static void request_leaner(MwStageCosts *costs, const CandidateSearch *search,
                           const MwStageSample *mesh)
{
    MwStageSample recomputing = *mesh;
    recomputing.recomputes = true;
    for (int price = 0; price < MW_MEMORY_PRICES; price++) {
        request_terms(costs, search->terms, mesh, price);
        if (may_recompute(costs))
            request_terms(costs, search->terms, &recomputing, price);
    }
    if (may_recompute(costs))
        request_gains(costs, search->cost_query->begin, search->cost_query->end, mesh);
}

/* Shortlists the fastest meshes and requests solutions that need less memory on them, unless the
 * fastest solution has memory enough. */
static void request_shortlist(MwStageCosts *costs, CandidateSearch *search)
{
    for (int f = 0; f < MW_TUNED_SHORTLIST_SIZE; f++) {
        int best = find_fastest(costs, search);
        MwStageCost cost;
        if (best < 0 ||
            (f == 0 && sum_terms(costs, search->terms, &search->meshes[best], 0, &cost) &&
             fits_most_in_flight(costs, &cost)))
            return;
        search->is_shortlisted[best] = true;
        request_leaner(costs, search, &search->meshes[best]);
    }
}

/* Lists the candidates with recomputation of all layers and of some. */
static void list_recomputing(MwStageCosts *costs, const CandidateSearch *search,
                             const MwStageSample *mesh, const RecomputeGain *gains, int price,
                             MwStageCostList *list)
{
    MwStageSample recomputing = *mesh;
    MwStageCost none, all;
    recomputing.recomputes = true;
    if (!sum_terms(costs, search->terms, mesh, price, &none) ||
        !sum_terms(costs, search->terms, &recomputing, price, &all))
        return;
    int layers = all.recomputed, parts = (int)mw_min(layers, MW_TUNED_GRANULARITY);
    for (int part = 1; part < parts; part++)
        mw_vec_push(costs->arena, list,
                    recompute_some(&none, &all, gains, layers * part / parts, mesh->is_sequential));
    mw_vec_push(costs->arena, list, all);
}

/* Lists the costs of all meshes, and for shortlisted ones those at all prices and with
 * recomputation. */
static MwStageCostList list_candidates(MwStageCosts *costs, const CandidateSearch *search)
{
    MwArena *scratch = mw_arena_new();
    const MwStageCostQuery *cost_query = search->cost_query;
    MwStageCostList list = {0};
    for (int i = 0; i < search->mesh_count; i++) {
        const MwStageSample *mesh = &search->meshes[i];
        bool recomputes = search->is_shortlisted[i] && may_recompute(costs);
        const RecomputeGain *gains =
            recomputes ? rank_gains(costs, scratch, cost_query->begin, cost_query->end, mesh)
                       : NULL;
        for (int price = 0; price < (search->is_shortlisted[i] ? MW_MEMORY_PRICES : 1); price++) {
            MwStageCost cost;
            if (sum_terms(costs, search->terms, mesh, price, &cost))
                mw_vec_push(costs->arena, &list, cost);
            if (recomputes)
                list_recomputing(costs, search, mesh, gains, price, &list);
        }
    }
    mw_arena_free(&scratch);
    return list;
}

/* The slot of a query in a map of queries, whose keys are in `arena`. */
static void **query_slot(const MwStageCosts *costs, MwArena *arena, MwKeyMap *map,
                         const MwStageCostQuery *cost_query)
{
    int key[] = {class_of(costs, cost_query->begin, cost_query->end), cost_query->devices,
                 cost_query->is_sequential};
    return mw_key_map_at(arena, map, key, sizeof key);
}

/* Where the answer of a query is kept; it is NULL until the query is answered. */
static void **answer_of(MwStageCosts *costs, const MwStageCostQuery *cost_query)
{
    return query_slot(costs, costs->arena, &costs->answers, cost_query);
}

static void **mark_of(MwStageCosts *costs, const MwStageCostQuery *cost_query)
{
    return query_slot(costs, costs->solved->arena, &costs->solved->answered, cost_query);
}

static bool are_solved(MwStageCosts *costs, const MwIntervalTerms *terms, const MwStageSample *like,
                       int price)
{
    for (int i = 0; i < terms->count; i++)
        if (!sample_of(costs, &terms->at[i], like)->solved[price])
            return false;
    return true;
}

/* Whether the samples are solved that request_leaner requests. */
static bool are_leaner_solved(MwStageCosts *costs, const CandidateSearch *search,
                              const MwStageSample *mesh)
{
    MwStageSample recomputing = *mesh;
    recomputing.recomputes = true;
    for (int price = 0; price < MW_MEMORY_PRICES; price++)
        if (!are_solved(costs, search->terms, mesh, price) ||
            (may_recompute(costs) && !are_solved(costs, search->terms, &recomputing, price)))
            return false;
    return true;
}

/* Whether all samples are solved that the answer of a query depends on, but for single layers. */
static bool is_solved(MwStageCosts *costs, MwArena *scratch, const MwStageCostQuery *cost_query)
{
    CandidateSearch search = {.cost_query = cost_query};
    MwStageCost cost;
    search.terms = mw_extrapolation_terms(costs->extrapolation, cost_query->begin, cost_query->end);
    list_mesh_candidates(costs, scratch, cost_query, &search);
    for (int i = 0; i < search.mesh_count; i++)
        if (!are_solved(costs, search.terms, &search.meshes[i], 0))
            return false;
    int best = find_fastest(costs, &search);
    return best < 0 ||
           (sum_terms(costs, search.terms, &search.meshes[best], 0, &cost) &&
            fits_most_in_flight(costs, &cost)) ||
           are_leaner_solved(costs, &search, &search.meshes[best]);
}

bool mw_stage_costs_is_known(MwStageCosts *costs, const MwStageCostQuery *cost_query)
{
    void **mark = mark_of(costs, cost_query);
    if (!*mark) {
        MwArena *scratch = mw_arena_new();
        *mark = is_solved(costs, scratch, cost_query) ? costs->solved : NULL;
        mw_arena_free(&scratch);
    }
    return *mark != NULL;
}

/* Answers queries that were not asked before. */
static void answer(MwStageCosts *costs, const MwStageCostQuery *const *cost_queries, int count)
{
    CandidateSearch *search = MW_NEW(costs->arena, CandidateSearch, count);
    for (int i = 0; i < count; i++)
        start_search(costs, cost_queries[i], &search[i]);
    solve_requested(costs);
    for (int i = 0; i < count; i++)
        request_shortlist(costs, &search[i]);
    solve_requested(costs);
    for (int i = 0; i < count; i++) {
        MwStageCostList *list = MW_NEW(costs->arena, MwStageCostList, 1);
        *list = list_candidates(costs, &search[i]);
        *answer_of(costs, cost_queries[i]) = list;
        *mark_of(costs, cost_queries[i]) = costs->solved;
    }
}

void mw_stage_costs_query(MwStageCosts *costs, const MwStageCostQuery *cost_queries, int count,
                          MwStageCostList *lists)
{
    MwArena *scratch = mw_arena_new();
    const MwStageCostQuery **unknown = MW_NEW(scratch, const MwStageCostQuery *, count);
    int unknown_count = 0;
    for (int i = 0; i < count; i++)
        if (!*answer_of(costs, &cost_queries[i]))
            unknown[unknown_count++] = &cost_queries[i];
    answer(costs, unknown, unknown_count);
    for (int i = 0; i < count; i++)
        lists[i] = *(const MwStageCostList *)*answer_of(costs, &cost_queries[i]);
    mw_arena_free(&scratch);
}

bool mw_stage_costs_on(MwStageCosts *costs, int begin, int end, const MwMeshShape *mesh,
                       bool recomputes, int price, MwStageCost *cost)
{
    MwStageSample like = {.mesh = *mesh, .recomputes = recomputes};
    const MwIntervalTerms *terms = mw_extrapolation_terms(costs->extrapolation, begin, end);
    request_terms(costs, terms, &like, price);
    solve_requested(costs);
    return sum_terms(costs, terms, &like, price, cost);
}

/* ---- Bounds ---- */

/* The cost on one device, where there is one strategy; without a memory limit. */
static MwStageCost on_one_device(MwStageCosts *costs, int begin, int end, bool recomputes)
{
    const MwMeshShape one = {1, {1}};
    MwStageCost cost;
    return mw_stage_costs_on(costs, begin, end, &one, recomputes, 0, &cost) ? cost
                                                                            : (MwStageCost){0};
}

MwStageCost mw_stage_costs_whole(MwStageCosts *costs, bool recomputes)
{
    return on_one_device(costs, 0, costs->model->layer_count, recomputes);
}

/* Solves the samples of all intervals on one device, all at once for the sake of threads. */
static void solve_for_bounds(MwStageCosts *costs)
{
    MwStageSample like = {.mesh = {1, {1}}};
    MwRemat remat = costs->model->lowered[0].options.remat;
    for (int begin = 0; begin < costs->model->layer_count; begin++)
        for (int end = begin + 1; end <= costs->model->layer_count; end++)
            for (int recomputes = remat == MW_REMAT_ALL; recomputes <= (remat != MW_REMAT_NONE);
                 recomputes++) {
                like.recomputes = recomputes;
                request_terms(costs, mw_extrapolation_terms(costs->extrapolation, begin, end),
                              &like, 0);
            }
    solve_requested(costs);
    costs->one_device = MW_NEW(costs->arena, OneDevice, costs->model->class_count + 1);
    costs->has_bounds = true;
}

MwStageCost mw_stage_costs_bound(MwStageCosts *costs, int begin, int end, int devices)
{
    if (!costs->has_bounds)
        solve_for_bounds(costs);
    MwRemat remat = costs->model->lowered[0].options.remat;
    OneDevice *one = &costs->one_device[class_of(costs, begin, end)];
    if (!one->is_made)
        *one = (OneDevice){.is_made = true,
                           .quick = on_one_device(costs, begin, end, remat == MW_REMAT_ALL),
                           .lean = on_one_device(costs, begin, end, remat != MW_REMAT_NONE)};
    return (MwStageCost){.mesh = {1, {devices}},
                         .forward_s = one->quick.forward_s / devices,
                         .backward_s = one->quick.backward_s / devices,
                         .weight_s = one->quick.weight_s / devices,
                         .kept_bytes = one->lean.kept_bytes / devices,
                         .saved_bytes = one->lean.saved_bytes / devices,
                         .late_bytes = one->lean.late_bytes / devices};
}

/* The number of logical meshes of all sizes that a stage may have. */
static int count_meshes(const MwStageCosts *costs)
{
    MwArena *scratch = mw_arena_new();
    const MwCluster *cluster = cluster_of(costs);
    const MwSubmeshPacking packing = mw_submesh_packing_new(
        scratch, (MwStageCluster){cluster->nodes, cluster->devices_per_node});
    int count = 0;
    for (int i = 0; i < packing.count; i++)
        count += mw_stage_costs_meshes(costs, scratch, packing.submeshes[i].devices).count;
    mw_arena_free(&scratch);
    return count;
}

/* Picoseconds that a byte costs at price 1. */
static double unit_of_price(MwStageCosts *costs)
{
    const MwCompilation *compilation = &costs->model->lowered[0];
    MwStageCost all = mw_stage_costs_whole(costs, compilation->options.remat == MW_REMAT_ALL);
    double least_s = costs->model->micro_batches * mw_stage_cost_time_s(&all) /
                     mw_cluster_devices(compilation->cluster);
    return least_s * 1e12 / costs->memory_bytes;
}

MwStageCosts *mw_stage_costs_new(MwArena *arena, const MwStageModel *model, MwStageKnown *known,
                                 int threads)
{
    MwStageCosts *costs = MW_NEW(arena, MwStageCosts, 1);
    *costs = (MwStageCosts){.arena = arena,
                            .model = model,
                            .solved = mw_stage_known_of(known, model->micro_batches),
                            .threads = threads,
                            .pricing = {.model = model}};
    costs->memory_bytes = (double)mw_memory_bytes(&model->lowered[0]);
    costs->extrapolation = mw_extrapolation_new(arena, model, count_meshes(costs));
    if (costs->solved->ps_per_byte == 0)
        costs->solved->ps_per_byte = unit_of_price(costs);
    costs->pricing.ps_per_byte = costs->solved->ps_per_byte;
    return costs;
}
