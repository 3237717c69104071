/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In:  the model with its layers, and which of them on how many devices.
 * Out: their costs (stage_cost.h), from those of cells (stage_cell.h).
 *
 * Where a run of n >= 2 layers i .. j - 1 in [b, e) is alike, with C for any of the costs but the
 * peak, which is the greatest,
 *
 *     C[b, e) = C[b, i + 1) + C[j - 1, e) - C(one) + (n - 1) (C(two) - C(one))
 *
 * so that a layer's border with its like counts as often as there is one. The layers themselves are
 * asked as one and as two.
 *
 * Between no layer that recomputes and all of them lie ways in which some do, those first whose
 * recomputation saves the most memory for its time. A layer's share of what all together save and
 * take is reckoned from layers as stages of their own. */
#include "passes/stage_cost.h"

#include "passes/key_map.h"
#include "passes/parallel.h"
#include "passes/sharding.h"

#include <math.h>

/* Meshes that are tried at other prices and with recomputation: the quickest. */
enum { FINALISTS = 2 };

typedef MW_VEC(MwStageCell *) Cells;

struct MwStageCosts {
    MwArena *arena;
    const MwStageModel *model;
    int threads;
    MwKeyMap cells;  /* by interval class, mesh, recomputation and chain */
    MwKeyMap graphs; /* by interval class and recomputation */
    Cells queue;     /* that are to be solved next */
    MwStageMarket market;
    double memory_bytes;
};

/* `weight` times the cost of layers [begin, end). */
typedef struct {
    int begin, end;
    double weight;
} Term;

typedef MW_VEC(Term) Terms;

/* ---- Cells ---- */

static const MwCluster *cluster_of(const MwStageCosts *costs)
{
    return costs->model->cut[0].cluster;
}

static int class_of(const MwStageCosts *costs, int begin, int end)
{
    return costs->model->interval_class[begin * (costs->model->layer_count + 1) + end];
}

static const MwGraph *graph_of(MwStageCosts *costs, int begin, int end, bool recomputes)
{
    int key[] = {class_of(costs, begin, end), recomputes};
    void **at = mw_key_map_at(costs->arena, &costs->graphs, key, sizeof key);
    if (!*at)
        *at = mw_stage_model_graph(costs->model, begin, end, recomputes);
    return *at;
}

static MwStageCell *cell_of(MwStageCosts *costs, const Term *term, const MwStageCell *like)
{
    int key[6 + MW_MAX_AXES] = {class_of(costs, term->begin, term->end), like->recomputes,
                                like->is_chain, like->mesh.axis_count};
    for (int a = 0; a < like->mesh.axis_count; a++)
        key[4 + a] = like->mesh.size[a];
    void **at = mw_key_map_at(costs->arena, &costs->cells, key, sizeof key);
    if (*at)
        return *at;
    MwStageCell *cell = *at = MW_NEW(costs->arena, MwStageCell, 1);
    *cell = *like;
    cell->begin = term->begin;
    cell->end = term->end;
    return cell;
}

static void want(MwStageCosts *costs, MwStageCell *cell, int price)
{
    if (cell->solved[price])
        return;
    bool is_queued = false;
    for (int i = 0; i < MW_MEMORY_PRICES; i++)
        is_queued |= cell->wanted[i];
    cell->wanted[price] = true;
    if (is_queued)
        return;
    cell->graph = graph_of(costs, cell->begin, cell->end, cell->recomputes);
    mw_vec_push(costs->arena, &costs->queue, cell);
}

static void solve_queued(void *context, int i)
{
    const MwStageCosts *costs = context;
    mw_stage_cell_solve(costs->queue.at[i], &costs->market);
}

static void solve_wanted(MwStageCosts *costs)
{
    mw_parallel(costs->threads, costs->queue.count, solve_queued, costs);
    costs->queue.count = 0;
}

/* ---- Layers by their parts ---- */

/* The longest run of two or more layers of one class; false if there is none. */
static bool find_run(const MwStageCosts *costs, int begin, int end, int *first, int *last)
{
    const int *class = costs->model->layer_class;
    int longest = 1;
    for (int i = begin, j; i < end; i = j) {
        for (j = i; j < end && class[j] == class[i]; j++)
            ;
        if (j - i > longest) {
            longest = j - i;
            *first = i;
            *last = j - 1;
        }
    }
    return longest > 1;
}

static void add_term(MwStageCosts *costs, Terms *terms, int begin, int end, double weight)
{
    for (int i = 0; i < terms->count; i++)
        if (class_of(costs, terms->at[i].begin, terms->at[i].end) == class_of(costs, begin, end)) {
            terms->at[i].weight += weight;
            return;
        }
    mw_vec_push(costs->arena, terms, ((Term){begin, end, weight}));
}

static void decompose(MwStageCosts *costs, Terms *terms, int begin, int end)
{
    int first, last;
    if (!find_run(costs, begin, end, &first, &last) || (end - begin == 2 && first == begin)) {
        add_term(costs, terms, begin, end, 1);
        return;
    }
    double borders = last - first;
    decompose(costs, terms, begin, first + 1);
    decompose(costs, terms, last, end);
    add_term(costs, terms, first, first + 1, -1 - borders);
    add_term(costs, terms, first, first + 2, borders);
}

/* The costs of layers from those of their parts; false if some part cannot be. */
static bool add_up(MwStageCosts *costs, const Terms *terms, const MwStageCell *like, int price,
                   MwStageCost *sum)
{
    *sum = (MwStageCost){.mesh = like->mesh, .price = price};
    for (int i = 0; i < terms->count; i++) {
        const MwStageCell *cell = cell_of(costs, &terms->at[i], like);
        const MwStageCost *cost = &cell->cost[price];
        double weight = terms->at[i].weight;
        if (!cell->possible[price])
            return false;
        sum->recomputed += (int)weight * cost->recomputed;
        sum->forward_s += weight * cost->forward_s;
        sum->backward_s += weight * cost->backward_s;
        sum->weight_s += weight * cost->weight_s;
        sum->step_s += weight * cost->step_s;
        sum->kept_bytes += weight * cost->kept_bytes;
        sum->saved_bytes += weight * cost->saved_bytes;
        sum->late_bytes += weight * cost->late_bytes;
        sum->weight_bytes += weight * cost->weight_bytes;
        sum->peak_bytes = like->is_chain ? sum->peak_bytes + weight * cost->peak_bytes
                                         : fmax(sum->peak_bytes, cost->peak_bytes);
    }
    double *const parts[] = {&sum->forward_s,  &sum->backward_s,   &sum->weight_s,
                             &sum->step_s,     &sum->kept_bytes,   &sum->saved_bytes,
                             &sum->late_bytes, &sum->weight_bytes, &sum->peak_bytes};
    for (int i = 0; i < MW_COUNT(parts); i++)
        *parts[i] = fmax(0, *parts[i]);
    return true;
}

static void want_all(MwStageCosts *costs, const Terms *terms, const MwStageCell *like, int price)
{
    for (int i = 0; i < terms->count; i++)
        want(costs, cell_of(costs, &terms->at[i], like), price);
}

/* ---- Questions ---- */

/* One question while it is being answered. */
typedef struct {
    Terms terms;
    int mesh_count;
    MwStageCell *meshes; /* [mesh_count] what to ask, but for the layers */
    bool *is_finalist;
} Ways;

/* Meshes whose inner axis lies evenly in nodes, or spans whole ones. */
static bool lies_well(const MwCluster *cluster, const MwMeshShape *mesh)
{
    int inner = mesh->size[mesh->axis_count - 1], node = cluster->devices_per_node;
    return mw_mesh_devices(mesh) <= node || node % inner == 0 || inner % node == 0;
}

static void list_meshes(MwStageCosts *costs, const MwStageQuestion *question, Ways *ways)
{
    const MwCompileOptions *options = &costs->model->cut[0].options;
    MwMeshList all = {0};
    if (options->mesh.axis_count == 0)
        all = mw_mesh_shapes(costs->arena, question->devices);
    else if (mw_mesh_devices(&options->mesh) == question->devices)
        mw_vec_push(costs->arena, &all, options->mesh);
    ways->meshes = MW_NEW(costs->arena, MwStageCell, all.count);
    ways->is_finalist = MW_NEW(costs->arena, bool, all.count);
    for (int i = 0; i < all.count; i++)
        if (options->mesh.axis_count > 0 || lies_well(cluster_of(costs), &all.at[i]))
            ways->meshes[ways->mesh_count++] =
                (MwStageCell){.mesh = all.at[i],
                              .is_chain = question->is_chain,
                              .recomputes = options->remat == MW_REMAT_ALL};
}

static void begin(MwStageCosts *costs, const MwStageQuestion *question, Ways *ways)
{
    decompose(costs, &ways->terms, question->begin, question->end);
    list_meshes(costs, question, ways);
    for (int i = 0; i < ways->mesh_count; i++)
        want_all(costs, &ways->terms, &ways->meshes[i], 0);
}

static double step_s(const MwStageCosts *costs, const MwStageCost *cost)
{
    return costs->model->micro_batches * mw_stage_cost_time_s(cost) + cost->step_s;
}

/* The quickest mesh that is no finalist yet; -1 if there is none. */
static int find_quickest(MwStageCosts *costs, const Ways *ways)
{
    int best = -1;
    double least_s = INFINITY;
    for (int i = 0; i < ways->mesh_count; i++) {
        MwStageCost cost;
        if (ways->is_finalist[i] || !add_up(costs, &ways->terms, &ways->meshes[i], 0, &cost) ||
            step_s(costs, &cost) >= least_s)
            continue;
        least_s = step_s(costs, &cost);
        best = i;
    }
    return best;
}

/* With as many micro-batches in flight as there are on the first of as many stages as there can be. */
static bool fits(const MwStageCosts *costs, const MwStageCost *cost)
{
    int devices = mw_cluster_devices(cluster_of(costs));
    int stages = (int)mw_min(devices / mw_mesh_devices(&cost->mesh), costs->model->layer_count);
    int in_flight = (int)mw_min(costs->model->micro_batches, 2 * stages);
    double saved_bytes = cost->saved_bytes + cost->late_bytes + cost->weight_bytes;
    return cost->kept_bytes + cost->peak_bytes + in_flight * saved_bytes <= costs->memory_bytes;
}

/* Recomputation too, if it is free and there is a backward. */
static int recomputations(const MwStageCosts *costs, const MwStageCell *mesh, bool *recomputes)
{
    const MwCompilation *compilation = &costs->model->cut[0];
    recomputes[0] = mesh->recomputes;
    recomputes[1] = true;
    return compilation->options.remat == MW_REMAT_SEARCH && mw_trains(compilation) ? 2 : 1;
}

/* Wants leaner ways, unless the quickest has memory enough. */
static void seek_leaner(MwStageCosts *costs, Ways *ways)
{
    for (int f = 0; f < FINALISTS; f++) {
        int best = find_quickest(costs, ways);
        MwStageCost cost;
        if (best < 0 || (f == 0 && add_up(costs, &ways->terms, &ways->meshes[best], 0, &cost) &&
                         fits(costs, &cost)))
            return;
        ways->is_finalist[best] = true;
        bool recomputes[2];
        for (int r = 0; r < recomputations(costs, &ways->meshes[best], recomputes); r++) {
            MwStageCell like = ways->meshes[best];
            like.recomputes = recomputes[r];
            for (int price = 0; price < MW_MEMORY_PRICES; price++)
                want_all(costs, &ways->terms, &like, price);
        }
    }
}

static MwStageCostList list_ways(MwStageCosts *costs, const Ways *ways)
{
    MwStageCostList list = {0};
    for (int i = 0; i < ways->mesh_count; i++) {
        bool recomputes[2];
        int ends = recomputations(costs, &ways->meshes[i], recomputes);
        for (int r = 0; r < (ways->is_finalist[i] ? ends : 1); r++)
            for (int price = 0; price < (ways->is_finalist[i] ? MW_MEMORY_PRICES : 1); price++) {
                MwStageCell like = ways->meshes[i];
                MwStageCost cost;
                like.recomputes = recomputes[r];
                if (add_up(costs, &ways->terms, &like, price, &cost))
                    mw_vec_push(costs->arena, &list, cost);
            }
    }
    return list;
}

void mw_stage_costs_ask(MwStageCosts *costs, const MwStageQuestion *questions, int count,
                        MwStageCostList *lists)
{
    Ways *ways = MW_NEW(costs->arena, Ways, count);
    for (int i = 0; i < count; i++)
        begin(costs, &questions[i], &ways[i]);
    solve_wanted(costs);
    for (int i = 0; i < count; i++)
        seek_leaner(costs, &ways[i]);
    solve_wanted(costs);
    for (int i = 0; i < count; i++)
        lists[i] = list_ways(costs, &ways[i]);
}

/* ---- Bounds ---- */

/* On one device there is one way; without memory limit. */
static MwStageCost on_one_device(MwStageCosts *costs, int begin, int end, bool recomputes)
{
    MwStageCell like = {.mesh = {1, {1}}, .recomputes = recomputes};
    Terms terms = {0};
    MwStageCost cost;
    decompose(costs, &terms, begin, end);
    want_all(costs, &terms, &like, 0);
    solve_wanted(costs);
    return add_up(costs, &terms, &like, 0, &cost) ? cost : (MwStageCost){0};
}

MwStageCost mw_stage_costs_whole(MwStageCosts *costs, bool recomputes)
{
    return on_one_device(costs, 0, costs->model->layer_count, recomputes);
}

MwStageCost mw_stage_costs_bound(MwStageCosts *costs, int begin, int end, int devices)
{
    MwRemat remat = costs->model->cut[0].options.remat;
    MwStageCost cost = on_one_device(costs, begin, end, remat == MW_REMAT_ALL);
    MwStageCost lean = on_one_device(costs, begin, end, remat != MW_REMAT_NONE);
    return (MwStageCost){.mesh = {1, {devices}},
                         .forward_s = cost.forward_s / devices,
                         .backward_s = cost.backward_s / devices,
                         .weight_s = cost.weight_s / devices,
                         .kept_bytes = lean.kept_bytes / devices,
                         .saved_bytes = lean.saved_bytes / devices,
                         .late_bytes = lean.late_bytes / devices};
}

MwStageCosts *mw_stage_costs_new(MwArena *arena, const MwStageModel *model, int threads)
{
    const MwCompilation *compilation = &model->cut[0];
    MwStageCosts *costs = MW_NEW(arena, MwStageCosts, 1);
    *costs = (MwStageCosts){
        .arena = arena, .model = model, .threads = threads, .market = {.model = model}};
    costs->memory_bytes = (double)mw_memory_bytes(compilation);
    MwStageCost all = mw_stage_costs_bound(costs, 0, model->layer_count,
                                           mw_cluster_devices(compilation->cluster));
    costs->market.ps_per_byte = step_s(costs, &all) * 1e12 / costs->memory_bytes;
    return costs;
}
