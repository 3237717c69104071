/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In:  the model with its layers; queries for intervals of layers on numbers of devices.
 * Out: their costs (cost.h), extrapolated from samples (sample_set.h), with all layers, or some
 *      (remat_gains.h), on each level of recomputation. */
#include "passes/stages/cost.h"

#include "passes/stages/remat_gains.h"
#include "passes/tuning.h"
#include "solver/stages/submesh.h"

#include <math.h>

/* The costs of an interval on one device: with the least time, and with the least memory. */
typedef struct {
    bool is_made;
    MwStageCost quick, lean;
} OneDevice;

struct MwStageCosts {
    MwArena *arena;
    MwStageSampleSet samples;
    MwKeyMap answers;      /* by interval class, devices and sequence: an MwStageCostList */
    bool has_bounds;       /* the samples of all intervals on one device are solved */
    OneDevice *one_device; /* [interval classes] once the samples are solved */
    double memory_bytes;
};

static const MwCompilation *compilation_of(const MwStageCosts *costs)
{
    return &costs->samples.model->lowered[0];
}

static const MwCluster *cluster_of(const MwStageCosts *costs)
{
    return compilation_of(costs)->cluster;
}

int64_t mw_stage_costs_work(const MwStageCosts *costs)
{
    return costs->samples.solved->work;
}

int64_t mw_stage_costs_effort(const MwStageCosts *costs)
{
    return costs->samples.solved->effort;
}

/* ---- Candidates ---- */

/* One query while it is being answered. */
typedef struct {
    const MwStageCostQuery *cost_query;
    const MwIntervalTerms *terms;
    MwIntervalTerms main_terms; /* the one that counts most often */
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
    const MwMeshShape *wanted = &costs->samples.model->lowered[0].options.mesh;
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
    const MwRematLevel least = mw_least_remat(compilation_of(costs));
    MwMeshList all = mw_stage_costs_meshes(costs, arena, cost_query->devices);
    search->mesh_count = all.count;
    search->meshes = MW_NEW(arena, MwStageSample, all.count);
    search->is_shortlisted = MW_NEW(arena, bool, all.count);
    for (int i = 0; i < all.count; i++)
        search->meshes[i] = (MwStageSample){
            .mesh = all.at[i], .is_sequential = cost_query->is_sequential, .remat = least};
}

/* The term that counts most often: of a run of equal layers, two of them. */
static MwIntervalTerm main_term(const MwIntervalTerms *terms)
{
    const MwIntervalTerm *most = &terms->at[0];
    for (int i = 1; i < terms->count; i++)
        if (terms->at[i].weight > most->weight)
            most = &terms->at[i];
    return (MwIntervalTerm){most->begin, most->end, false, 1};
}

static void start_search(MwStageCosts *costs, MwArena *arena, const MwStageCostQuery *cost_query,
                         CandidateSearch *search)
{
    search->cost_query = cost_query;
    search->terms =
        mw_extrapolation_terms(costs->samples.extrapolation, cost_query->begin, cost_query->end);
    mw_vec_push(arena, &search->main_terms, main_term(search->terms));
    list_mesh_candidates(costs, arena, cost_query, search);
}

static double step_s(const MwStageCosts *costs, const MwStageCost *cost)
{
    return mw_stage_cost_step_s(cost, costs->samples.model->micro_batches);
}

/* Sums the terms on a mesh at price 0, with copies of weights; false if there is no solution. */
static bool sum_on_mesh(MwStageCosts *costs, const MwIntervalTerms *terms,
                        const MwStageSample *mesh, MwStageCost *cost)
{
    if (!mw_stage_terms_sum(&costs->samples, terms, mesh, 0, cost))
        return false;
    *cost = mw_stage_cost_with_copies(*cost);
    return true;
}

/* ---- Meshes ---- */

/* Whether a mesh that costs `a` is of no use beside one that costs `b`. */
static bool is_dominated(const MwStageCosts *costs, const MwStageCost *a, const MwStageCost *b)
{
    return step_s(costs, b) < (1 - MW_TUNED_MESH_MARGIN) * step_s(costs, a) &&
           b->kept_bytes <= a->kept_bytes && b->saved_bytes <= a->saved_bytes &&
           b->late_bytes <= a->late_bytes && b->weight_bytes <= a->weight_bytes &&
           b->peak_bytes <= a->peak_bytes && b->joint_peak_bytes <= a->joint_peak_bytes;
}

/* Leaves out the meshes that are dominated by others on the layers of the main term, which are
 * solved. Takes the square of the number of meshes. */
static void drop_dominated(MwStageCosts *costs, CandidateSearch *search)
{
    MwArena *scratch = mw_arena_new();
    MwStageCost *of = MW_NEW(scratch, MwStageCost, search->mesh_count);
    int solved = 0, kept = 0;
    for (int i = 0; i < search->mesh_count; i++)
        if (sum_on_mesh(costs, &search->main_terms, &search->meshes[i], &of[solved]))
            search->meshes[solved++] = search->meshes[i];
    for (int i = 0; i < solved; i++) {
        bool is_left_out = false;
        for (int k = 0; k < solved && !is_left_out; k++)
            is_left_out = is_dominated(costs, &of[i], &of[k]);
        if (!is_left_out)
            search->meshes[kept++] = search->meshes[i];
    }
    search->mesh_count = kept;
    mw_arena_free(&scratch);
}

/* Requests the main terms of all meshes at price 0. */
static void request_main_terms(MwStageCosts *costs, const CandidateSearch *search)
{
    for (int i = 0; i < search->mesh_count; i++)
        mw_stage_terms_request(&costs->samples, &search->main_terms, &search->meshes[i], 0);
}

/* Requests the other terms of the meshes that are left. */
static void request_all_terms(MwStageCosts *costs, CandidateSearch *search)
{
    drop_dominated(costs, search);
    for (int i = 0; i < search->mesh_count; i++)
        mw_stage_terms_request(&costs->samples, search->terms, &search->meshes[i], 0);
}

/* Chunks of a mesh, if each is as large as the stage that is asked for: those that the user wants,
 * or as many as have all layers together, where schedules with so many are tried. */
static int chunks_like(const MwStageCosts *costs, const MwStageCostQuery *cost_query)
{
    const MwCompileOptions *options = &compilation_of(costs)->options;
    const int meshes = mw_cluster_devices(cluster_of(costs)) / cost_query->devices;
    const int layers = costs->samples.model->layer_count;
    const int in_one = meshes * (cost_query->end - cost_query->begin);
    const int chunks = (2 * layers + in_one) / (2 * in_one); /* rounded */
    if (mw_wants_schedule(options))
        return mw_wanted_chunks(options);
    return (int)mw_max(1, mw_min(chunks, MW_TUNED_MAX_CHUNKS));
}

/* Bytes of a device, which holds all chunks of its mesh, with as many micro-batches in flight as
 * `held` times the stages that there can be; all of them for 0. */
static double bytes_in_flight(const MwStageCosts *costs, const MwStageCostQuery *cost_query,
                              const MwStageCost *cost, double held)
{
    const int devices = mw_cluster_devices(cluster_of(costs));
    const int stages =
        (int)mw_min(devices / mw_mesh_devices(&cost->mesh), costs->samples.model->layer_count);
    const int all = costs->samples.model->micro_batches;
    const double in_flight = held > 0 ? fmin(all, held * stages) : all;
    const double saved_bytes = cost->saved_bytes + cost->late_bytes + cost->weight_bytes;
    const int chunks = chunks_like(costs, cost_query);
    return chunks * (cost->kept_bytes + in_flight * saved_bytes) + cost->peak_bytes;
}

/* Whether memory suffices for the most micro-batches in flight: those of the first of as many
 * stages as there can be, or all if the schedule that the user names keeps all. */
static bool fits_most_in_flight(const MwStageCosts *costs, const MwStageCostQuery *cost_query,
                                const MwStageCost *cost)
{
    const MwCompileOptions *options = &costs->samples.model->lowered[0].options;
    const bool all =
        mw_wants_schedule(options) && mw_pipeline_info(mw_wanted_schedule(options))->held == 0;
    return bytes_in_flight(costs, cost_query, cost, all ? 0 : mw_pipeline_most_held()) <=
           costs->memory_bytes;
}

/* Index of the mesh that is not shortlisted yet and takes the least time, as many times longer as
 * it lacks memory in the leanest schedules; -1: none. Where no other task runs between those of a
 * micro-batch, recomputation gives back most of what it needs, so that lack counts by its root. */
static int find_fastest(MwStageCosts *costs, const CandidateSearch *search)
{
    int best = -1;
    double least_s = INFINITY;
    for (int i = 0; i < search->mesh_count; i++) {
        MwStageCost cost;
        if (search->is_shortlisted[i] ||
            !sum_on_mesh(costs, search->terms, &search->meshes[i], &cost))
            continue;
        const double lack =
            fmax(1, bytes_in_flight(costs, search->cost_query, &cost, 1) / costs->memory_bytes);
        const double time_s =
            step_s(costs, &cost) * (search->cost_query->is_sequential ? sqrt(lack) : lack);
        if (time_s < least_s) {
            least_s = time_s;
            best = i;
        }
    }
    return best;
}

/* Levels of recomputation. */
typedef struct {
    MwRematLevel first, last;
} RematLevels;

/* The levels of recomputation on which layers are solved at a price. Where memory is free, nobody
 * recomputes: `least`. At the highest price, all that need not be kept is recomputed. Layers that
 * stream keep hardly anything that a high price could save by another sharding. */
static RematLevels levels_at(const MwStageCosts *costs, MwRematLevel least, int price)
{
    const MwRematLevel most = mw_most_remat(compilation_of(costs));
    if (price == 0)
        return (RematLevels){least, least};
    return price == 1 ? (RematLevels){least, mw_last_remat(compilation_of(costs))}
                      : (RematLevels){most, most};
}

/* Whether the host has memory for what the layers stream of as many micro-batches as are in flight
 * on the first of as many stages as there can be. */
static bool fits_host(const MwStageCosts *costs, const MwStageCost *cost)
{
    const int stages =
        (int)mw_min(mw_cluster_devices(cluster_of(costs)) / mw_mesh_devices(&cost->mesh),
                    costs->samples.model->layer_count);
    const double in_flight = fmin(costs->samples.model->micro_batches, stages);
    return in_flight * cost->host_bytes <= (double)mw_cluster_host_bytes(cluster_of(costs));
}

/* Requests samples at all prices and on all levels of recomputation there. */
static void request_leaner(MwStageCosts *costs, const CandidateSearch *search,
                           const MwStageSample *mesh)
{
    const MwCompilation *compilation = compilation_of(costs);
    for (int price = 0; price < MW_MEMORY_PRICES; price++) {
        const RematLevels levels = levels_at(costs, mesh->remat, price);
        MwStageSample like = *mesh;
        for (like.remat = levels.first; like.remat <= levels.last; like.remat++)
            mw_stage_terms_request(&costs->samples, search->terms, &like, price);
    }
    if (mw_most_remat(compilation) > mesh->remat)
        mw_remat_gains_request(&costs->samples, search->cost_query->begin, search->cost_query->end,
                               mesh);
}

/* Shortlists the fastest meshes and requests solutions that need less memory on them, unless the
 * fastest solution has memory enough. */
static void request_shortlist(MwStageCosts *costs, CandidateSearch *search)
{
    for (int f = 0; f < MW_TUNED_SHORTLIST_SIZE; f++) {
        int best = find_fastest(costs, search);
        MwStageCost cost;
        if (best < 0 ||
            (f == 0 && sum_on_mesh(costs, search->terms, &search->meshes[best], &cost) &&
             fits_most_in_flight(costs, search->cost_query, &cost)))
            return;
        search->is_shortlisted[best] = true;
        request_leaner(costs, search, &search->meshes[best]);
    }
}

/* Adds a cost with copies of weights and, where memory may not suffice for these, without. */
static void add_cost(const MwStageCosts *costs, const MwStageCostQuery *cost_query,
                     const MwStageCost *cost, MwStageCostList *list)
{
    if (!fits_host(costs, cost))
        return;
    const MwStageCost with = mw_stage_cost_with_copies(*cost);
    mw_vec_push(costs->arena, list, with);
    if (cost->copy_bytes > 0 && !fits_most_in_flight(costs, cost_query, &with))
        mw_vec_push(costs->arena, list, *cost);
}

/* Lists the candidates with all layers on the level of `like`, and, of a price, with some of them
 * there and the others on the level below. */
static void list_level(MwStageCosts *costs, const CandidateSearch *search,
                       const MwStageSample *like, const MwRematGain *gains, int price,
                       MwStageCostList *list)
{
    MwStageSample lower = *like;
    MwStageCost below, all;
    lower.remat = mw_remat_below(like->remat);
    if (!mw_stage_terms_sum(&costs->samples, search->terms, &lower, price, &below) ||
        !mw_stage_terms_sum(&costs->samples, search->terms, like, price, &all))
        return;
    int layers = all.recomputed, parts = (int)mw_min(layers, MW_TUNED_GRANULARITY);
    for (int part = 1; part < parts; part++) {
        const MwStageCost mixed =
            mw_remat_mix(&below, &all, gains, layers * part / parts, like->is_sequential);
        add_cost(costs, search->cost_query, &mixed, list);
    }
    add_cost(costs, search->cost_query, &all, list);
}

/* Lists the costs on a shortlisted mesh: at all prices, on all levels of recomputation. */
static void list_leaner(MwStageCosts *costs, MwArena *scratch, const CandidateSearch *search,
                        const MwStageSample *mesh, MwStageCostList *list)
{
    const MwRematLevel least = mesh->remat, last = mw_last_remat(compilation_of(costs));
    const MwStageCostQuery *cost_query = search->cost_query;
    const MwRematGain *gains[MW_REMAT_LEVELS] = {NULL};
    for (MwRematLevel level = least + 1; level <= last; level++)
        gains[level] = mw_remat_gains(&costs->samples, scratch, cost_query->begin, cost_query->end,
                                      mesh, level);
    for (int price = 0; price < MW_MEMORY_PRICES; price++) {
        const RematLevels levels = levels_at(costs, least, price);
        MwStageCost cost;
        MwStageSample like = *mesh;
        like.remat = levels.first;
        if (mw_stage_terms_sum(&costs->samples, search->terms, &like, price, &cost))
            add_cost(costs, cost_query, &cost, list);
        for (like.remat = levels.first + 1; like.remat <= levels.last; like.remat++)
            list_level(costs, search, &like, gains[like.remat], price, list);
    }
}

/* Lists the costs of all meshes, and for shortlisted ones those that need less memory. */
static MwStageCostList list_candidates(MwStageCosts *costs, const CandidateSearch *search)
{
    MwArena *scratch = mw_arena_new();
    MwStageCostList list = {0};
    for (int i = 0; i < search->mesh_count; i++) {
        MwStageCost cost;
        if (search->is_shortlisted[i])
            list_leaner(costs, scratch, search, &search->meshes[i], &list);
        else if (mw_stage_terms_sum(&costs->samples, search->terms, &search->meshes[i], 0, &cost))
            add_cost(costs, search->cost_query, &cost, &list);
    }
    mw_arena_free(&scratch);
    return list;
}

void mw_stage_costs_recomputed(MwStageCosts *costs, const MwStageCostQuery *cost_query,
                               const MwStageCost *cost, MwRematLevel *layers)
{
    MwArena *scratch = mw_arena_new();
    const int begin = cost_query->begin, count = cost_query->end - begin;
    MwStageSample like = {.mesh = cost->mesh, .is_sequential = cost_query->is_sequential};
    for (int i = 0; i < count; i++)
        layers[i] = cost->recomputed < count && cost->remat > MW_LAYER_KEEPS
                        ? mw_remat_below(cost->remat)
                        : cost->remat;
    if (cost->recomputed > 0 && cost->recomputed < count) {
        const MwRematGain *gains =
            mw_remat_gains(&costs->samples, scratch, begin, cost_query->end, &like, cost->remat);
        for (int i = 0; i < cost->recomputed; i++)
            layers[gains[i].layer - begin] = cost->remat;
    }
    mw_arena_free(&scratch);
}

/* The slot of a query in a map of queries, whose keys are in `arena`. */
static void **query_slot(const MwStageCosts *costs, MwArena *arena, MwKeyMap *map,
                         const MwStageCostQuery *cost_query)
{
    int key[] = {mw_stage_model_class(costs->samples.model, cost_query->begin, cost_query->end),
                 cost_query->devices, cost_query->is_sequential};
    return mw_key_map_at(arena, map, key, sizeof key);
}

/* Where the answer of a query is kept; it is NULL until the query is answered. */
static void **answer_of(MwStageCosts *costs, const MwStageCostQuery *cost_query)
{
    return query_slot(costs, costs->arena, &costs->answers, cost_query);
}

static MwStageAnswered *answered_of(MwStageCosts *costs, const MwStageCostQuery *cost_query)
{
    MwStageSolved *solved = costs->samples.solved;
    void **at = query_slot(costs, solved->arena, &solved->answered, cost_query);
    if (!*at)
        *at = mw_arena_dup(solved->arena, &(MwStageAnswered){.asked_at = -1},
                           sizeof(MwStageAnswered));
    return *at;
}

/* Whether the samples are solved that request_leaner requests. */
static bool are_leaner_solved(MwStageCosts *costs, const CandidateSearch *search,
                              const MwStageSample *mesh)
{
    for (int price = 0; price < MW_MEMORY_PRICES; price++) {
        const RematLevels levels = levels_at(costs, mesh->remat, price);
        MwStageSample like = *mesh;
        for (like.remat = levels.first; like.remat <= levels.last; like.remat++)
            if (!mw_stage_terms_are_solved(&costs->samples, search->terms, &like, price))
                return false;
    }
    return true;
}

/* Whether all samples are solved that the answer of a query depends on, but for single layers. */
static bool is_solved(MwStageCosts *costs, MwArena *scratch, const MwStageCostQuery *cost_query)
{
    CandidateSearch search = {0};
    MwStageCost cost;
    start_search(costs, scratch, cost_query, &search);
    for (int i = 0; i < search.mesh_count; i++)
        if (!mw_stage_terms_are_solved(&costs->samples, &search.main_terms, &search.meshes[i], 0))
            return false;
    drop_dominated(costs, &search);
    for (int i = 0; i < search.mesh_count; i++)
        if (!mw_stage_terms_are_solved(&costs->samples, search.terms, &search.meshes[i], 0))
            return false;
    int best = find_fastest(costs, &search);
    return best < 0 ||
           (sum_on_mesh(costs, search.terms, &search.meshes[best], &cost) &&
            fits_most_in_flight(costs, cost_query, &cost)) ||
           are_leaner_solved(costs, &search, &search.meshes[best]);
}

bool mw_stage_costs_is_known(MwStageCosts *costs, const MwStageCostQuery *cost_query)
{
    MwStageAnswered *answered = answered_of(costs, cost_query);
    if (!answered->is_solved && answered->asked_at != costs->samples.solved->effort) {
        MwArena *scratch = mw_arena_new();
        answered->is_solved = is_solved(costs, scratch, cost_query);
        answered->asked_at = costs->samples.solved->effort;
        mw_arena_free(&scratch);
    }
    return answered->is_solved;
}

/* Answers queries that were not asked before. */
static void answer(MwStageCosts *costs, const MwStageCostQuery *const *cost_queries, int count)
{
    CandidateSearch *search = MW_NEW(costs->arena, CandidateSearch, count);
    for (int i = 0; i < count; i++) {
        start_search(costs, costs->arena, cost_queries[i], &search[i]);
        request_main_terms(costs, &search[i]);
    }
    mw_stage_sample_set_solve(&costs->samples);
    for (int i = 0; i < count; i++)
        request_all_terms(costs, &search[i]);
    mw_stage_sample_set_solve(&costs->samples);
    for (int i = 0; i < count; i++)
        request_shortlist(costs, &search[i]);
    mw_stage_sample_set_solve(&costs->samples);
    for (int i = 0; i < count; i++) {
        MwStageCostList *list = MW_NEW(costs->arena, MwStageCostList, 1);
        *list = list_candidates(costs, &search[i]);
        *answer_of(costs, cost_queries[i]) = list;
        answered_of(costs, cost_queries[i])->is_solved = true;
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

bool mw_stage_costs_on(MwStageCosts *costs, const MwStageCostQuery *cost_query,
                       const MwMeshShape *mesh, MwRematLevel remat, int price, MwStageCost *cost)
{
    MwStageSample like = {
        .mesh = *mesh, .remat = remat, .is_sequential = cost_query->is_sequential};
    const MwIntervalTerms *terms =
        mw_extrapolation_terms(costs->samples.extrapolation, cost_query->begin, cost_query->end);
    mw_stage_terms_request(&costs->samples, terms, &like, price);
    mw_stage_sample_set_solve(&costs->samples);
    return mw_stage_terms_sum(&costs->samples, terms, &like, price, cost);
}

/* ---- Bounds ---- */

/* The cost on one device, where there is one strategy; without a memory limit. */
static MwStageCost on_one_device(MwStageCosts *costs, int begin, int end, MwRematLevel remat)
{
    const MwMeshShape one = {1, {1}};
    const MwStageCostQuery cost_query = {begin, end, 1, false};
    MwStageCost cost;
    return mw_stage_costs_on(costs, &cost_query, &one, remat, 0, &cost) ? cost : (MwStageCost){0};
}

MwStageCost mw_stage_costs_whole(MwStageCosts *costs, MwRematLevel remat)
{
    return on_one_device(costs, 0, costs->samples.model->layer_count, remat);
}

/* Solves the samples of all intervals on one device, all at once for the sake of threads. */
static void solve_for_bounds(MwStageCosts *costs)
{
    const MwCompilation *compilation = compilation_of(costs);
    const MwRematLevel levels[] = {mw_least_remat(compilation), mw_most_remat(compilation)};
    MwStageSample like = {.mesh = {1, {1}}};
    for (int begin = 0; begin < costs->samples.model->layer_count; begin++)
        for (int end = begin + 1; end <= costs->samples.model->layer_count; end++)
            for (int i = 0; i < MW_COUNT(levels); i++) {
                like.remat = levels[i];
                mw_stage_terms_request(
                    &costs->samples,
                    mw_extrapolation_terms(costs->samples.extrapolation, begin, end), &like, 0);
            }
    mw_stage_sample_set_solve(&costs->samples);
    costs->one_device = MW_NEW(costs->arena, OneDevice, costs->samples.model->class_count + 1);
    costs->has_bounds = true;
}

MwStageCost mw_stage_costs_bound(MwStageCosts *costs, int begin, int end, int devices)
{
    if (!costs->has_bounds)
        solve_for_bounds(costs);
    const MwCompilation *compilation = compilation_of(costs);
    OneDevice *one = &costs->one_device[mw_stage_model_class(costs->samples.model, begin, end)];
    if (!one->is_made)
        *one = (OneDevice){.is_made = true,
                           .quick = on_one_device(costs, begin, end, mw_least_remat(compilation)),
                           .lean = on_one_device(costs, begin, end, mw_most_remat(compilation))};
    const bool streams = mw_last_remat(compilation) == MW_LAYER_STREAMS;
    const MwStageCost quick = mw_stage_cost_with_copies(one->quick);
    return (MwStageCost){.mesh = {1, {devices}},
                         .forward_s = quick.forward_s / devices,
                         .backward_s = quick.backward_s / devices,
                         .weight_s = quick.weight_s / devices,
                         .kept_bytes = one->lean.kept_bytes / devices,
                         .saved_bytes = streams ? 0 : one->lean.saved_bytes / devices,
                         .late_bytes = streams ? 0 : one->lean.late_bytes / devices};
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
    const MwCompilation *compilation = compilation_of(costs);
    MwStageCost all = mw_stage_costs_whole(costs, mw_least_remat(compilation));
    double least_s = costs->samples.model->micro_batches * mw_stage_cost_time_s(&all) /
                     mw_cluster_devices(compilation->cluster);
    return least_s * 1e12 / costs->memory_bytes;
}

MwStageCosts *mw_stage_costs_new(MwArena *arena, const MwStageModel *model, MwStageSolved *solved,
                                 int threads)
{
    MwStageCosts *costs = MW_NEW(arena, MwStageCosts, 1);
    *costs = (MwStageCosts){.arena = arena,
                            .samples = {.arena = arena,
                                        .model = model,
                                        .threads = threads,
                                        .solved = solved,
                                        .pricing = {.model = model}}};
    costs->memory_bytes = (double)mw_memory_bytes(&model->lowered[0]);
    costs->samples.extrapolation = mw_extrapolation_new(arena, model, count_meshes(costs));
    if (costs->samples.solved->ps_per_byte == 0)
        costs->samples.solved->ps_per_byte = unit_of_price(costs);
    costs->samples.pricing.ps_per_byte = costs->samples.solved->ps_per_byte;
    return costs;
}
