/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In:  the model with its layers, and which of them on how many devices.
 * Out: their costs (cost.h), from those of cells (cell.h).
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
#include "passes/stages/cost.h"

#include "base/threads.h"
#include "ir/key_map.h"

#include <math.h>
#include <stdlib.h>

/* Meshes that are tried at other prices and with recomputation: the quickest. */
enum { FINALISTS = 2 };

/* Parts of the layers, at most, of which each more is a way of its own. */
enum { MOST_PARTS = 16 };

typedef MW_VEC(MwStageCell *) Cells;

struct MwStageCosts {
    MwArena *arena;
    const MwStageModel *model;
    int threads;
    MwKeyMap cells;  /* by interval class, mesh, recomputation and chain */
    MwKeyMap graphs; /* by interval class and recomputation */
    Cells queue;     /* that are to be solved next */
    MwStageMarket market;
    int64_t work; /* nodes of what was solved */
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
    int key[4 + MW_MAX_AXES] = {class_of(costs, term->begin, term->end), like->recomputes,
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
    if (cell->solved[price] || cell->wanted[price])
        return;
    bool is_queued = false;
    for (int i = 0; i < MW_MEMORY_PRICES; i++)
        is_queued |= cell->wanted[i];
    cell->wanted[price] = true;
    cell->graph = graph_of(costs, cell->begin, cell->end, cell->recomputes);
    costs->work += cell->graph->nodes.count;
    if (is_queued)
        return;
    mw_vec_push(costs->arena, &costs->queue, cell);
}

int64_t mw_stage_costs_work(const MwStageCosts *costs)
{
    return costs->work;
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

/* ---- Recomputation of some layers ---- */

/* What the recomputation of one layer saves and takes. */
typedef struct {
    int layer;
    double bytes, time_s;
} Gain;

static double waiting_bytes(const MwStageCell *cell)
{
    const MwStageCost *cost = &cell->cost[0];
    double bytes = cost->saved_bytes + cost->late_bytes + cost->weight_bytes;
    return cell->is_chain ? bytes + cost->peak_bytes : bytes;
}

static const MwStageCell *layer_alone(MwStageCosts *costs, int layer, MwStageCell like,
                                      bool recomputes)
{
    like.recomputes = recomputes;
    return cell_of(costs, &(Term){layer, layer + 1, 1}, &like);
}

static Gain gain_of(MwStageCosts *costs, int layer, const MwStageCell *like)
{
    const MwStageCell *keeps = layer_alone(costs, layer, *like, false);
    const MwStageCell *again = layer_alone(costs, layer, *like, true);
    if (!keeps->possible[0] || !again->possible[0])
        return (Gain){.layer = layer};
    double time_s = mw_stage_cost_time_s(&again->cost[0]) - mw_stage_cost_time_s(&keeps->cost[0]);
    double bytes = waiting_bytes(keeps) - waiting_bytes(again);
    return (Gain){layer, fmax(0, bytes), fmax(0, time_s)};
}

static double rate_of(const Gain *gain)
{
    if (gain->bytes == 0)
        return 0;
    return gain->time_s == 0 ? INFINITY : gain->bytes / gain->time_s;
}

static int by_rate(const void *a, const void *b)
{
    const Gain *x = a, *y = b;
    double p = rate_of(x), q = rate_of(y);
    return p != q ? (p > q ? -1 : 1) : x->layer - y->layer;
}

/* Of layers [begin, end), the best first. */
static Gain *rank_gains(MwStageCosts *costs, MwArena *arena, int begin, int end,
                        const MwStageCell *like)
{
    Gain *gains = MW_NEW(arena, Gain, end - begin);
    for (int l = begin; l < end; l++)
        gains[l - begin] = gain_of(costs, l, like);
    qsort(gains, (size_t)(end - begin), sizeof *gains, by_rate);
    return gains;
}

static void want_gains(MwStageCosts *costs, int begin, int end, const MwStageCell *like)
{
    for (int l = begin; l < end; l++)
        for (int recomputes = 0; recomputes < 2; recomputes++) {
            MwStageCell wanted = *like;
            wanted.recomputes = recomputes;
            want(costs, cell_of(costs, &(Term){l, l + 1, 1}, &wanted), 0);
        }
}

static double mix(double none, double all, double share)
{
    return none + share * (all - none);
}

/* The best `count` of `gains` recompute. While one of these does, it needs what it needs where all do. */
static MwStageCost between(const MwStageCost *none, const MwStageCost *all, const Gain *gains,
                           int count, bool is_chain)
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
        .forward_s = mix(none->forward_s, all->forward_s, of_time),
        .backward_s = mix(none->backward_s, all->backward_s, of_time),
        .weight_s = mix(none->weight_s, all->weight_s, of_time),
        .step_s = mix(none->step_s, all->step_s, of_time),
        .kept_bytes = mix(none->kept_bytes, all->kept_bytes, of_bytes),
        .saved_bytes = mix(none->saved_bytes, all->saved_bytes, of_bytes),
        .late_bytes = mix(none->late_bytes, all->late_bytes, of_bytes),
        .weight_bytes = mix(none->weight_bytes, all->weight_bytes, of_bytes),
        .peak_bytes = is_chain ? mix(none->peak_bytes, all->peak_bytes, of_bytes)
                               : fmax(none->peak_bytes, all->peak_bytes),
    };
}

void mw_stage_costs_recomputed(MwStageCosts *costs, const MwStageQuestion *question,
                               const MwStageCost *cost, bool *layers)
{
    MwArena *scratch = mw_arena_new();
    int count = question->end - question->begin;
    MwStageCell like = {.mesh = cost->mesh, .is_chain = question->is_chain};
    for (int i = 0; i < count; i++)
        layers[i] = cost->recomputed == count;
    if (cost->recomputed > 0 && cost->recomputed < count) {
        const Gain *gains = rank_gains(costs, scratch, question->begin, question->end, &like);
        for (int i = 0; i < cost->recomputed; i++)
            layers[gains[i].layer - question->begin] = true;
    }
    mw_arena_free(&scratch);
}

/* ---- Questions ---- */

/* One question while it is being answered. */
typedef struct {
    const MwStageQuestion *question;
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

MwMeshList mw_stage_costs_meshes(const MwStageCosts *costs, MwArena *arena, int devices)
{
    const MwMeshShape *wanted = &costs->model->cut[0].options.mesh;
    MwMeshList list = {0};
    if (wanted->axis_count > 0) {
        if (mw_mesh_devices(wanted) == devices)
            mw_vec_push(arena, &list, *wanted);
        return list;
    }
    MwMeshList all = mw_mesh_shapes(arena, devices);
    for (int i = 0; i < all.count; i++)
        if (lies_well(cluster_of(costs), &all.at[i]))
            mw_vec_push(arena, &list, all.at[i]);
    return list;
}

static void list_meshes(MwStageCosts *costs, const MwStageQuestion *question, Ways *ways)
{
    bool recomputes = costs->model->cut[0].options.remat == MW_REMAT_ALL;
    MwMeshList all = mw_stage_costs_meshes(costs, costs->arena, question->devices);
    ways->mesh_count = all.count;
    ways->meshes = MW_NEW(costs->arena, MwStageCell, all.count);
    ways->is_finalist = MW_NEW(costs->arena, bool, all.count);
    for (int i = 0; i < all.count; i++)
        ways->meshes[i] = (MwStageCell){
            .mesh = all.at[i], .is_chain = question->is_chain, .recomputes = recomputes};
}

static void begin(MwStageCosts *costs, const MwStageQuestion *question, Ways *ways)
{
    ways->question = question;
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

/* With as many micro-batches in flight as there are on the first of as many stages as there can be; all
 * of them, if the user wants that. */
static bool fits(const MwStageCosts *costs, const MwStageCost *cost)
{
    int devices = mw_cluster_devices(cluster_of(costs));
    int stages = (int)mw_min(devices / mw_mesh_devices(&cost->mesh), costs->model->layer_count);
    const MwCompileOptions *options = &costs->model->cut[0].options;
    bool all =
        mw_wants_schedule(options) && mw_pipeline_info(mw_wanted_schedule(options))->held == 0;
    int micro_batches = costs->model->micro_batches;
    double in_flight = all ? micro_batches : fmin(micro_batches, mw_pipeline_most_held() * stages);
    double saved_bytes = cost->saved_bytes + cost->late_bytes + cost->weight_bytes;
    return cost->kept_bytes + cost->peak_bytes + in_flight * saved_bytes <= costs->memory_bytes;
}

/* Whether there is a choice. */
static bool may_recompute(const MwStageCosts *costs)
{
    const MwCompilation *compilation = &costs->model->cut[0];
    return compilation->options.remat == MW_REMAT_SEARCH && mw_trains(compilation);
}

static void want_leaner(MwStageCosts *costs, const Ways *ways, const MwStageCell *mesh)
{
    MwStageCell again = *mesh;
    again.recomputes = true;
    for (int price = 0; price < MW_MEMORY_PRICES; price++) {
        want_all(costs, &ways->terms, mesh, price);
        if (may_recompute(costs))
            want_all(costs, &ways->terms, &again, price);
    }
    if (may_recompute(costs))
        want_gains(costs, ways->question->begin, ways->question->end, mesh);
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
        want_leaner(costs, ways, &ways->meshes[best]);
    }
}

/* Without recomputation and with it, and what lies between. */
static void list_recomputing(MwStageCosts *costs, const Ways *ways, const MwStageCell *mesh,
                             const Gain *gains, int price, MwStageCostList *list)
{
    MwStageCell again = *mesh;
    MwStageCost none, all;
    again.recomputes = true;
    if (!add_up(costs, &ways->terms, mesh, price, &none) ||
        !add_up(costs, &ways->terms, &again, price, &all))
        return;
    int layers = all.recomputed, parts = (int)mw_min(layers, MOST_PARTS);
    for (int part = 1; part < parts; part++)
        mw_vec_push(costs->arena, list,
                    between(&none, &all, gains, layers * part / parts, mesh->is_chain));
    mw_vec_push(costs->arena, list, all);
}

static MwStageCostList list_ways(MwStageCosts *costs, const Ways *ways)
{
    MwArena *scratch = mw_arena_new();
    const MwStageQuestion *question = ways->question;
    MwStageCostList list = {0};
    for (int i = 0; i < ways->mesh_count; i++) {
        const MwStageCell *mesh = &ways->meshes[i];
        bool recomputes = ways->is_finalist[i] && may_recompute(costs);
        const Gain *gains =
            recomputes ? rank_gains(costs, scratch, question->begin, question->end, mesh) : NULL;
        for (int price = 0; price < (ways->is_finalist[i] ? MW_MEMORY_PRICES : 1); price++) {
            MwStageCost cost;
            if (add_up(costs, &ways->terms, mesh, price, &cost))
                mw_vec_push(costs->arena, &list, cost);
            if (recomputes)
                list_recomputing(costs, ways, mesh, gains, price, &list);
        }
    }
    mw_arena_free(&scratch);
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
