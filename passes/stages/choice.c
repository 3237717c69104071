/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In:  the costs of intervals of layers (cost.h).
 * Out: the layout that the stage problem (solver/stages/problem.h) finds best, priced by its
 *      timeline.
 *
 * The problem is solved for equal meshes first, then for all in units of several devices where
 * there are many, so that time and memory are bounded whatever the number of devices.
 *
 * With several chunks per mesh all meshes have one size. Each chunk becomes a stage of a cluster
 * with `chunks` times the devices, and counts with `chunks` times its work and memory: the
 * chunks of a mesh are assumed to be alike. As they share a logical mesh, the problem is solved
 * once for each logical mesh. Where stages go down the meshes and up again, they are not, and
 * vee_choice.c solves another problem. */
#include "passes/stages/choice.h"

#include "cost/units.h"
#include "passes/stages/terms.h"
#include "passes/stages/vee_choice.h"
#include "passes/tuning.h"
#include "schedule/generate.h"

#include <math.h>

typedef struct {
    MwArena *arena;
    const MwStageChoiceQuery *query;
    MwStageCluster size;
    int unit;                 /* devices that the stage problem counts as one */
    MwSubmeshPacking packing; /* of units */
    int submesh;              /* index that all stages must have, one unit; -1: any */
    MwScheduleTerms terms;
    const MwMeshShape *mesh;  /* logical mesh of all stages, with several chunks; NULL: any */
    int stages;               /* number of stages; 0: any from 2 on */
    int near;                 /* devices that those of a stage are near to; 0: any */
    MwStageChoiceAnswer best; /* so far */
    int64_t best_total;       /* that others must be below in the stage problem; 0: none yet */
} ChoiceSearch;

/* Whether the user's options allow a stage of so many devices. */
static bool is_allowed(const MwStageChoiceQuery *query, int devices)
{
    return devices >= query->least_devices &&
           (query->most_devices == 0 || devices <= query->most_devices);
}

/* Whether stages of so many devices are tried: what the options allow, near to the best of equal
 * meshes. */
static bool is_tried(const ChoiceSearch *c, int devices)
{
    return is_allowed(c->query, devices) &&
           (c->near == 0 ||
            (devices * MW_TUNED_NEAR_EQUAL >= c->near && devices <= MW_TUNED_NEAR_EQUAL * c->near));
}

/* ---- Callbacks of the stage problem ---- */

/* Returns the candidate for a stage with this cost. If the schedule splits the backward, the
 * micro-batches in flight wait either for their backward or for their gradients of weights, so the
 * larger of the two counts. */
static MwStageCandidate candidate_of(const MwStageChoiceQuery *query, const MwStageCost *cost)
{
    bool splits = mw_pipeline_info(query->kind)->splits;
    double saved_bytes = splits ? fmax(cost->saved_bytes, cost->weight_bytes) : cost->saved_bytes;
    double chunks = query->chunks;
    return (MwStageCandidate){
        .time = mw_picoseconds(chunks * mw_stage_cost_time_s(cost)),
        .weight_time = splits ? mw_picoseconds(cost->weight_s) : 0,
        .step_time = mw_picoseconds(chunks * cost->step_s),
        .kept_bytes = mw_whole_bytes(chunks * cost->kept_bytes),
        .saved_bytes = mw_whole_bytes(chunks * (saved_bytes + cost->late_bytes)),
        .peak_bytes = mw_whole_bytes(mw_stage_cost_peak_bytes(cost, query->kind))};
}

static int devices_of(const ChoiceSearch *c, int submesh)
{
    return c->unit * c->packing.submeshes[submesh].devices;
}

static MwStageCostQuery cost_query_of(const ChoiceSearch *c, int begin, int end, int submesh)
{
    return (MwStageCostQuery){begin, end, devices_of(c, submesh), false};
}

/* Lists the costs with the logical mesh that is asked for, in an order that depends on each
 * query alone. */
static void list_costs(const ChoiceSearch *c, const MwStageCostQuery *cost_queries, int count,
                       MwStageCostList *lists)
{
    mw_stage_costs_query(c->query->costs, cost_queries, count, lists);
    for (int i = 0; i < count && c->mesh; i++) {
        MwStageCostList all = lists[i];
        lists[i] = (MwStageCostList){0};
        for (int k = 0; k < all.count; k++)
            if (mw_mesh_equal(&all.at[k].mesh, c->mesh))
                mw_vec_push(c->arena, &lists[i], all.at[k]);
    }
}

/* The callback that lists the candidates of layers on sub-meshes. */
static void answer_queries(void *context, MwStageQuery *queries, int count)
{
    const ChoiceSearch *c = context;
    MwArena *scratch = mw_arena_new();
    MwStageCostQuery *cost_queries = MW_NEW(scratch, MwStageCostQuery, count);
    MwStageCostList *lists = MW_NEW(scratch, MwStageCostList, count);
    for (int i = 0; i < count; i++)
        cost_queries[i] = cost_query_of(c, queries[i].begin, queries[i].end, queries[i].submesh);
    list_costs(c, cost_queries, count, lists);
    for (int i = 0; i < count; i++) {
        MwStageCandidate *candidates = MW_NEW(c->arena, MwStageCandidate, lists[i].count);
        for (int k = 0; k < lists[i].count; k++)
            candidates[k] = candidate_of(c->query, &lists[i].at[k]);
        queries[i].count = lists[i].count;
        queries[i].candidates = candidates;
    }
    mw_arena_free(&scratch);
}

/* The bound assumes that smaller operands gain at most MW_TUNED_ESTIMATE_MARGIN from caches. */
static bool bound_candidate(void *context, int begin, int end, int submesh, MwStageCandidate *bound)
{
    const ChoiceSearch *c = context;
    int devices = devices_of(c, submesh);
    if (!is_tried(c, devices))
        return false;
    MwStageCost cost = mw_stage_costs_bound(c->query->costs, begin, end, devices);
    *bound = candidate_of(c->query, &cost);
    bound->time -= (int64_t)(MW_TUNED_ESTIMATE_MARGIN * (double)bound->time);
    bound->weight_time = bound->time;
    return true;
}

static bool is_spent(void *context)
{
    const ChoiceSearch *c = context;
    return mw_stage_costs_effort(c->query->costs) >= c->query->most_effort;
}

static bool is_known(void *context, int begin, int end, int submesh)
{
    const ChoiceSearch *c = context;
    MwStageCostQuery cost_query = cost_query_of(c, begin, end, submesh);
    return mw_stage_costs_is_known(c->query->costs, &cost_query);
}

/* ---- Cuts ---- */

/* Prices each cut as one between so many devices, of which the first ends at `border`, and as many
 * after them. A stage between two others sends activations and gradients over one link. */
static MwStageCut *cuts_at(const ChoiceSearch *c, int devices, int border)
{
    const MwStageChoiceQuery *query = c->query;
    const MwStageModel *model = query->model;
    const MwCluster *cluster = model->lowered[0].cluster;
    MwStageCut *cuts = MW_NEW(c->arena, MwStageCut, model->layer_count);
    for (int l = 1; l < model->layer_count; l++) {
        double time_s[MW_PHASE_COUNT] = {0};
        for (int phase = 0; phase < MW_PHASE_UPDATE; phase++)
            for (int i = 0; i < model->boundaries[l][phase].count; i++) {
                const MwTensor *tensor = &model->boundaries[l][phase].at[i];
                time_s[phase] += mw_stage_transfer_s(cluster, tensor,
                                                     (MwStageDevices){border - devices, devices},
                                                     (MwStageDevices){border, devices});
            }
        double back_s = time_s[MW_PHASE_BACKWARD] + time_s[MW_PHASE_BACKWARD_WEIGHT];
        cuts[l].latency = mw_picoseconds((time_s[MW_PHASE_FORWARD] + back_s) / query->chunks);
        const double busy_s = c->stages == 2 ? fmax(time_s[MW_PHASE_FORWARD], back_s)
                                             : time_s[MW_PHASE_FORWARD] + back_s;
        cuts[l].busy = mw_picoseconds(query->chunks * busy_s);
    }
    return cuts;
}

/* Prices the cuts. Where stages may be of any size, their positions in the cluster are not known
 * yet, and each counts over the slowest link: between whole nodes, or between single devices if
 * there is one node. Stages of one size lie one after another. */
static void price_cuts(const ChoiceSearch *c, MwStageProblem *problem)
{
    const int node = c->size.devices_per_node, link = c->size.nodes > 1 ? node : 1;
    const int devices = c->submesh >= 0 ? c->unit : link;
    const bool shares_node = devices < node && c->size.nodes > 1;
    problem->cuts = cuts_at(c, devices, shares_node ? node : devices);
    if (shares_node) {
        problem->inner_cuts = cuts_at(c, devices, devices);
        problem->stages_of_node = node / devices;
    }
}

/* ---- The layout ---- */

/* The stage of the layout for a choice of the stage problem. */
static MwLayoutStage stage_of(const ChoiceSearch *c, const MwStageChoice *choice)
{
    MwStageCostList list;
    MwStageCostQuery cost_query = cost_query_of(c, choice->begin, choice->end, choice->submesh);
    list_costs(c, &cost_query, 1, &list);
    return (MwLayoutStage){choice->begin, choice->end, c->unit * choice->first_device,
                           list.at[choice->candidate], 0};
}

/* Moves the stages to consecutive devices in stage order, unless a part of a node or a run of
 * whole nodes would then straddle a node boundary. */
static void place_in_order(const ChoiceSearch *c, MwStageLayout *layout)
{
    int node = c->query->model->lowered[0].cluster->devices_per_node, first = 0;
    for (int s = 0; s < layout->stage_count; s++) {
        int devices = mw_mesh_devices(&layout->stages[s].cost.mesh);
        if (devices >= node ? first % node != 0 : first % node + devices > node)
            return;
        first += devices;
    }
    for (int s = 0, at = 0; s < layout->stage_count; s++) {
        layout->stages[s].first_device = at;
        at += mw_mesh_devices(&layout->stages[s].cost.mesh);
    }
}

static MwStageLayout layout_of(const ChoiceSearch *c, const MwStagePlan *plan)
{
    MwStageLayout layout = {.kind = c->query->kind,
                            .micro_batches = c->query->model->micro_batches,
                            .chunks = 1,
                            .stage_count = plan->stage_count,
                            .stages = MW_NEW(c->arena, MwLayoutStage, plan->stage_count)};
    for (int i = 0; i < plan->stage_count; i++)
        layout.stages[i] = stage_of(c, &plan->stages[i]);
    place_in_order(c, &layout);
    return layout;
}

/* ---- The choice ---- */

/* The layout where each stage of the plan is a chunk. */
static MwStageLayout chunked_layout_of(const ChoiceSearch *c, const MwStagePlan *plan)
{
    const MwStageChoiceQuery *query = c->query;
    MwStageLayout layout = {.kind = query->kind,
                            .micro_batches = query->model->micro_batches,
                            .chunks = query->chunks,
                            .stage_count = plan->stage_count,
                            .stages = MW_NEW(c->arena, MwLayoutStage, plan->stage_count)};
    for (int s = 0; s < plan->stage_count; s++) {
        const int mesh = mw_pipeline_mesh_of(query->kind, query->meshes, s);
        layout.stages[s] = stage_of(c, &plan->stages[s]);
        layout.stages[s].first_device = mesh * devices_of(c, c->submesh);
    }
    return layout;
}

/* Keeps the layout of the plan, or why there is none, if that is better than what there is. */
static void keep_better(ChoiceSearch *c, const MwStagePlan *plan)
{
    MwStageChoiceAnswer answer = {.reason = plan->reason,
                                  .needed_bytes = (double)plan->needed_bytes};
    double left_out_s = c->best.left_out_s;
    if (plan->is_spent)
        left_out_s = fmin(left_out_s, mw_seconds(plan->lower_bound));
    if (plan->reason == MW_STAGES_POSSIBLE) {
        answer.layout = c->terms.unrolled ? chunked_layout_of(c, plan) : layout_of(c, plan);
        mw_stage_layout_price(c->query->model, &answer.layout);
    }
    if (mw_stage_choice_is_better(c->query, &answer, &c->best)) {
        c->best = answer;
        if (mw_stage_choice_fits(c->query, &answer))
            c->best_total = mw_max(plan->total, mw_picoseconds(answer.layout.step_s));
    }
    c->best.left_out_s = left_out_s;
}

/* Solves the stage problem for the current units, number of stages and logical mesh, as far as its
 * total can be below the best so far. */
static void solve(ChoiceSearch *c)
{
    const MwStageChoiceQuery *query = c->query;
    const MwStageModel *model = query->model;
    MwStageProblem problem = {.layer_count = model->layer_count,
                              .cluster = c->packing.cluster,
                              .memory_bytes = mw_whole_bytes(query->memory_bytes),
                              .schedule = mw_schedule_terms(&c->terms),
                              .interval_class = model->interval_class,
                              .class_count = model->class_count,
                              .total_below = c->best_total,
                              .least_stages =
                                  c->stages ? c->stages : (int)mw_max(2, query->least_stages),
                              .most_stages = c->stages,
                              .submesh = c->submesh,
                              .layer_stage = query->layer_stage,
                              .answer = answer_queries,
                              .bound = bound_candidate,
                              .is_optional = query->is_optional || c->best_total > 0,
                              .is_spent = is_spent,
                              .is_known = is_known,
                              .context = c};
    price_cuts(c, &problem);
    MwStagePlan plan =
        mw_stages_solve(c->arena, &problem, &(MwStageOptions){.gap = MW_TUNED_STAGE_GAP});
    keep_better(c, &plan);
}

/* ---- Equal meshes ---- */

int mw_stage_equal_devices(MwStageCluster cluster, int meshes)
{
    int node = cluster.devices_per_node, devices = cluster.nodes * node / meshes;
    bool are_equal = devices * meshes == cluster.nodes * node;
    return are_equal && (node % devices == 0 || devices % node == 0) ? devices : 0;
}

/* Sets up a cluster in which each stage has one unit, and as many stages as there are chunks. False
 * if meshes cannot be equal. */
static bool set_equal(ChoiceSearch *c, int meshes)
{
    c->unit = mw_stage_equal_devices(c->size, meshes);
    c->stages = mw_pipeline_stages(c->query->kind, meshes, c->query->chunks);
    if (c->unit == 0 || !is_allowed(c->query, c->unit) || c->stages < c->query->least_stages ||
        c->stages > c->query->model->layer_count)
        return false;
    c->packing = mw_submesh_packing_new(c->arena, (MwStageCluster){c->stages, 1});
    c->submesh = 0;
    return true;
}

/* Whether there may be a cut: its stages can still be solved, or are known. Only asked where no
 * layout need be found, and what is left out is of no interest. Takes the square of the layers. */
static bool may_have_cut(ChoiceSearch *c)
{
    const int layers = c->query->model->layer_count, longest = layers - c->stages + 1;
    if (!c->query->is_optional || c->query->below_s <= 0 || isinf(c->query->below_s) ||
        !is_spent(c))
        return true;
    bool *is_reached = MW_NEW(c->arena, bool, layers + 1);
    is_reached[0] = true;
    for (int begin = 0; begin < layers; begin++)
        for (int end = begin + 1; is_reached[begin] && end <= mw_min(layers, begin + longest);
             end++)
            is_reached[end] = is_reached[end] || is_known(c, begin, end, c->submesh);
    return is_reached[layers];
}

/* Chunks of a mesh share a logical mesh, so that the problem is solved for each. */
static void solve_chunked(ChoiceSearch *c)
{
    const MwStageChoiceQuery *query = c->query;
    c->terms.unrolled = mw_pipeline_schedule_new(c->arena, query->kind, query->meshes,
                                                 query->model->micro_batches, query->chunks);
    MwMeshList meshes = mw_stage_costs_meshes(query->costs, c->arena, c->unit);
    for (int i = 0; i < meshes.count; i++) {
        c->mesh = &meshes.at[i];
        solve(c);
    }
}

/* Equal meshes need few answers and small programs; what they give bounds the search among all. The
 * smallest meshes come first. */
static void solve_equal(ChoiceSearch *c)
{
    const int wanted = c->query->meshes;
    int most = (int)mw_min(c->size.nodes * c->size.devices_per_node, c->query->model->layer_count);
    for (int meshes = most; meshes >= 2; meshes--)
        if ((wanted == 0 || wanted == meshes) && set_equal(c, meshes) && may_have_cut(c))
            solve(c);
}

/* ---- Any meshes ---- */

/* The next larger unit: half a node, a node, or as many nodes as divide the cluster. */
static int larger_unit(MwStageCluster size, int unit)
{
    const int node = size.devices_per_node;
    if (unit < node)
        return node % (2 * unit) == 0 ? 2 * unit : node;
    int nodes = unit / node + 1;
    while (nodes < size.nodes && (size.nodes % nodes != 0 || nodes * node % unit != 0))
        nodes++;
    return nodes * node;
}

/* Whether units of so many devices leave enough of them, and make up what the user asks for. */
static bool suits(const ChoiceSearch *c, int unit)
{
    const MwStageChoiceQuery *query = c->query;
    const int devices = c->size.nodes * c->size.devices_per_node;
    const bool is_even = query->meshes > 0 && devices % query->meshes == 0;
    return 2 * (devices / unit) > MW_TUNED_STAGE_UNITS &&
           (!is_even || devices / query->meshes % unit == 0) &&
           (query->least_devices != query->most_devices || query->least_devices % unit == 0);
}

/* Sets up the cluster in units of which there are about STAGE_UNITS at most. */
static void set_unit(ChoiceSearch *c)
{
    const int node = c->size.devices_per_node, devices = c->size.nodes * node;
    c->unit = 1;
    while (devices / c->unit > MW_TUNED_STAGE_UNITS && suits(c, larger_unit(c->size, c->unit)))
        c->unit = larger_unit(c->size, c->unit);
    const MwStageCluster units = {devices / c->unit, 1};
    const MwStageCluster parts = {c->size.nodes, node / c->unit};
    c->packing = mw_submesh_packing_new(c->arena, c->unit >= node ? units : parts);
    c->submesh = -1;
    c->stages = c->query->meshes;
}

static MwStageChoiceAnswer choose(MwArena *arena, const MwStageChoiceQuery *query)
{
    const MwCluster *cluster = query->model->lowered[0].cluster;
    ChoiceSearch c = {.arena = arena,
                      .query = query,
                      .size = {cluster->nodes, cluster->devices_per_node},
                      .terms = {.kind = query->kind, .micro_batches = query->model->micro_batches},
                      .best = {.reason = MW_STAGES_DEVICES, .left_out_s = INFINITY},
                      .best_total = isfinite(query->below_s) ? mw_picoseconds(query->below_s) : 0};
    if (mw_cluster_devices(cluster) == 1)
        return c.best;
    if (query->chunks > 1) {
        if (!set_equal(&c, query->meshes) || !may_have_cut(&c))
            return c.best;
        if (mw_pipeline_info(query->kind)->placement == MW_PLACE_VEE)
            return mw_stage_choice_vee(arena, query, c.unit);
        solve_chunked(&c);
        return c.best;
    }
    solve_equal(&c);
    if (query->are_equal)
        return c.best;
    set_unit(&c);
    if (c.unit > 1 && c.best.layout.stage_count > 0)
        c.near = mw_mesh_devices(&c.best.layout.stages[0].cost.mesh);
    solve(&c);
    return c.best;
}

/* How much less each stage is allowed, in parts of what is needed too much. */
static const double LEANER[] = {0.25, 0.5, 1, 2, 4};

/* Share of the memory by which a layout that needs too much is worth another choice. */
static const double MOST_OVER = 0.05;

/* The problem counts the peak of each stage of a mesh with that stage, of which they share the
 * largest, so that together they may need a little too much. Then each is allowed less and less:
 * Llama 3 405B on 16,384 H100 (`bench/planning llama-405b`) has an interleaved layout that needs
 * 80.9 of 80 GB, one of 66 GB that takes 7 % longer by estimate, and otherwise one with which a
 * step takes 7.6 s instead of 6.9 s. */
MwStageChoiceAnswer mw_stage_choice(MwArena *arena, const MwStageChoiceQuery *query)
{
    const MwStageChoiceAnswer answer = choose(arena, query);
    const double over = answer.layout.needed_bytes / query->memory_bytes - 1;
    if (answer.reason != MW_STAGES_POSSIBLE || over <= 0 || over > MOST_OVER)
        return answer;
    for (int i = 0; i < MW_COUNT(LEANER); i++) {
        MwStageChoiceQuery leaner = *query;
        leaner.memory_bytes *= 1 - LEANER[i] * over;
        MwStageChoiceAnswer less = choose(arena, &leaner);
        less.left_out_s = answer.left_out_s;
        if (less.reason != MW_STAGES_POSSIBLE)
            break;
        if (mw_stage_choice_fits(query, &less))
            return less;
    }
    return answer;
}
