/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In:  the costs of intervals of layers (cost.h).
 * Out: the layout that the stage problem (solver/stages/problem.h) finds best, priced by its
 *      timeline.
 *
 * With several chunks per mesh all meshes have one size. Each chunk becomes a stage of a cluster
 * with `chunks` times the devices, and counts with `chunks` times its work and memory: the
 * chunks of a mesh are assumed to be alike. As they share a logical mesh, the problem is solved
 * once for each logical mesh. Where stages go down the meshes and up again, the two chunks of the
 * mesh where they turn become one stage. */
#include "passes/stages/choice.h"

#include "cost/transfer.h"
#include "cost/units.h"
#include "passes/stages/terms.h"
#include "passes/tuning.h"
#include "schedule/generate.h"

#include <math.h>

typedef struct {
    MwArena *arena;
    const MwStageChoiceQuery *query;
    MwSubmeshPacking packing;
    int submesh; /* index that all stages must have; -1: any */
    MwScheduleTerms terms;
    const MwMeshShape *mesh; /* logical mesh of all stages, with several chunks; NULL: any */
} ChoiceSearch;

/* Whether the user's options allow a stage of so many devices. */
static bool is_allowed(const MwStageChoiceQuery *query, int devices)
{
    return devices >= query->least_devices &&
           (query->most_devices == 0 || devices <= query->most_devices);
}

/* ---- Callbacks of the stage problem ---- */

static int64_t to_bytes(double bytes)
{
    return (int64_t)ceil(fmin(bytes, 9e18));
}

/* Returns the candidate for a stage with this cost. If the schedule splits the backward, the
 * micro-batches in flight wait either for their backward or for their gradients of weights, so the
 * larger of the two counts. */
static MwStageCandidate candidate_of(const MwStageChoiceQuery *query, const MwStageCost *cost)
{
    bool splits = mw_pipeline_info(query->kind)->splits;
    double saved_bytes = splits ? fmax(cost->saved_bytes, cost->weight_bytes) : cost->saved_bytes;
    double chunks = query->chunks;
    return (MwStageCandidate){.time = mw_picoseconds(chunks * mw_stage_cost_time_s(cost)),
                              .weight_time = splits ? mw_picoseconds(cost->weight_s) : 0,
                              .step_time = mw_picoseconds(chunks * cost->step_s),
                              .kept_bytes = to_bytes(chunks * cost->kept_bytes),
                              .saved_bytes = to_bytes(chunks * (saved_bytes + cost->late_bytes)),
                              .peak_bytes = to_bytes(cost->peak_bytes)};
}

static MwStageCostQuery cost_query_of(const ChoiceSearch *c, int begin, int end, int submesh)
{
    return (MwStageCostQuery){begin, end, c->packing.submeshes[submesh].devices, false};
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
    int devices = c->packing.submeshes[submesh].devices;
    if (!is_allowed(c->query, devices))
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

/* Prices each cut before its position in the cluster is known, over the slowest link: between
 * whole nodes, or between single devices if there is one node. */
static MwStageCut *cuts_of(MwArena *arena, const MwStageChoiceQuery *query)
{
    const MwStageModel *model = query->model;
    const MwCluster *cluster = model->lowered[0].cluster;
    int devices = cluster->nodes > 1 ? cluster->devices_per_node : 1;
    MwTensorPlacement from = {mw_spec_replicated(), {1, {devices}}, 0};
    MwTensorPlacement to = {mw_spec_replicated(), {1, {devices}}, devices};
    MwStageCut *cuts = MW_NEW(arena, MwStageCut, model->layer_count);
    for (int l = 1; l < model->layer_count; l++) {
        double time_s[MW_PHASE_COUNT] = {0};
        for (int phase = 0; phase < MW_PHASE_UPDATE; phase++)
            for (int i = 0; i < model->boundaries[l][phase].count; i++) {
                const MwTensor *tensor = &model->boundaries[l][phase].at[i];
                MwTransferCost cost = mw_transfer_cost(cluster, tensor, &from, &to);
                time_s[phase] += cost.crossing_s + cost.passing_s;
            }
        double back_s = time_s[MW_PHASE_BACKWARD] + time_s[MW_PHASE_BACKWARD_WEIGHT];
        cuts[l].latency = mw_picoseconds((time_s[MW_PHASE_FORWARD] + back_s) / query->chunks);
        cuts[l].busy = mw_picoseconds(query->chunks * fmax(time_s[MW_PHASE_FORWARD], back_s));
    }
    return cuts;
}

/* ---- The layout ---- */

/* The stage of the layout for a choice of the stage problem. */
static MwLayoutStage stage_of(const ChoiceSearch *c, const MwStageChoice *choice)
{
    MwStageCostList list;
    MwStageCostQuery cost_query = cost_query_of(c, choice->begin, choice->end, choice->submesh);
    list_costs(c, &cost_query, 1, &list);
    return (MwLayoutStage){choice->begin, choice->end, choice->first_device,
                           list.at[choice->candidate], 0};
}

/* Moves the stages to consecutive devices in stage order, unless a part of a node or a run of
 * whole nodes would then straddle a node boundary. */
static void place_in_order(const ChoiceSearch *c, MwStageLayout *layout)
{
    int node = c->packing.cluster.devices_per_node, first = 0;
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

/* ---- Several chunks ---- */

/* Index of a sub-mesh with so many devices; -1: none. */
static int find_submesh(const MwSubmeshPacking *packing, int devices)
{
    for (int i = 0; i < packing->count; i++)
        if (packing->submeshes[i].devices == devices)
            return i;
    return -1;
}

/* Devices of each mesh if `meshes` equal meshes fill the cluster; 0: they cannot. */
static int equal_devices(MwStageCluster cluster, int meshes)
{
    int node = cluster.devices_per_node, devices = cluster.nodes * node / meshes;
    bool are_equal = devices * meshes == cluster.nodes * node;
    return are_equal && (node % devices == 0 || devices % node == 0) ? devices : 0;
}

/* Sets up a cluster with one device for each chunk of a device. False if meshes cannot be equal. */
static bool unroll(ChoiceSearch *c, MwStageCluster cluster)
{
    const MwStageChoiceQuery *query = c->query;
    int devices = equal_devices(cluster, query->meshes);
    cluster.nodes *= query->chunks;
    c->packing = mw_submesh_packing_new(c->arena, cluster);
    c->submesh = devices > 0 ? find_submesh(&c->packing, devices) : -1;
    if (c->submesh < 0 || query->meshes * query->chunks > query->model->layer_count)
        return false;
    c->terms.unrolled = mw_pipeline_schedule_new(c->arena, query->kind, query->meshes,
                                                 query->model->micro_batches, query->chunks);
    return true;
}

/* ---- The choice ---- */

/* Joins two stages of one mesh to one, in the way that is quickest by itself. False if there is
 * none. */
static bool join_stages(const ChoiceSearch *c, MwLayoutStage *first, const MwLayoutStage *second)
{
    MwStageCostList list;
    const int micro_batches = c->query->model->micro_batches;
    MwStageCostQuery cost_query = cost_query_of(c, first->begin, second->end, c->submesh);
    list_costs(c, &cost_query, 1, &list);
    first->end = second->end;
    for (int i = 0; i < list.count; i++)
        if (i == 0 || mw_stage_cost_step_s(&list.at[i], micro_batches) <
                          mw_stage_cost_step_s(&first->cost, micro_batches))
            first->cost = list.at[i];
    return list.count > 0;
}

/* The layout where each part of the plan is a chunk; without stages if there is none. */
static MwStageLayout chunked_layout_of(const ChoiceSearch *c, const MwStagePlan *plan)
{
    const MwStageChoiceQuery *query = c->query;
    const int meshes = query->meshes, chunks = query->chunks;
    MwStageLayout layout = {.kind = query->kind,
                            .micro_batches = query->model->micro_batches,
                            .chunks = chunks,
                            .stage_count = mw_pipeline_stages(query->kind, meshes, chunks)};
    layout.stages = MW_NEW(c->arena, MwLayoutStage, layout.stage_count);
    for (int i = 0; i < plan->stage_count; i++) {
        const int s = mw_pipeline_stage_of_part(query->kind, meshes, chunks, i);
        MwLayoutStage part = stage_of(c, &plan->stages[i]), *stage = &layout.stages[s];
        part.first_device =
            mw_pipeline_mesh_of(query->kind, meshes, s) * c->packing.submeshes[c->submesh].devices;
        if (stage->end == 0)
            *stage = part;
        else if (!join_stages(c, stage, &part))
            return (MwStageLayout){0};
    }
    return layout;
}

/* The parts to which layers are pinned: where the pipeline turns, the first layer that is pinned to
 * that stage to its first part, the last one to the other. */
static const int *pinned_parts(const ChoiceSearch *c)
{
    const MwStageChoiceQuery *query = c->query;
    const int layers = query->model->layer_count, turn = query->meshes - 1;
    if (!query->layer_stage || query->meshes == 0 ||
        mw_pipeline_parts_of(query->kind, query->meshes, query->chunks, turn) == 1)
        return query->layer_stage;
    int *part = MW_NEW(c->arena, int, layers);
    int last = -1; /* of the layers that are pinned to the turn */
    for (int l = 0; l < layers; l++) {
        const int stage = query->layer_stage[l];
        part[l] = stage > turn ? stage + 1 : stage;
        if (stage == turn && last >= 0)
            part[l] = -1;
        if (stage == turn)
            last = l;
    }
    if (last >= 0 && part[last] < 0)
        part[last] = turn + 1;
    return part;
}

/* Solves the stage problem for the current logical mesh, and prices the layout. */
static MwStageChoiceAnswer solve(ChoiceSearch *c)
{
    const MwStageChoiceQuery *query = c->query;
    const MwStageModel *model = query->model;
    int stages = query->meshes * query->chunks;
    MwStageProblem problem = {.layer_count = model->layer_count,
                              .cluster = c->packing.cluster,
                              .memory_bytes = to_bytes(query->memory_bytes),
                              .cuts = cuts_of(c->arena, query),
                              .schedule = mw_schedule_terms(&c->terms),
                              .interval_class = model->interval_class,
                              .class_count = model->class_count,
                              .least_stages = stages ? stages : (int)mw_max(2, query->least_stages),
                              .most_stages = stages,
                              .submesh = c->submesh,
                              .layer_stage = pinned_parts(c),
                              .answer = answer_queries,
                              .bound = bound_candidate,
                              .is_optional = query->is_optional,
                              .is_spent = is_spent,
                              .is_known = is_known,
                              .context = c};
    MwStagePlan plan =
        mw_stages_solve(c->arena, &problem, &(MwStageOptions){.gap = MW_TUNED_STAGE_GAP});
    MwStageChoiceAnswer result = {
        .reason = plan.reason, .needed_bytes = (double)plan.needed_bytes, .left_out_s = INFINITY};
    if (plan.is_spent)
        result.left_out_s = mw_seconds(plan.lower_bound);
    if (plan.reason != MW_STAGES_POSSIBLE)
        return result;
    result.layout = c->terms.unrolled ? chunked_layout_of(c, &plan) : layout_of(c, &plan);
    if (result.layout.stage_count == 0)
        return (MwStageChoiceAnswer){.reason = MW_STAGES_UNANSWERED, .left_out_s = INFINITY};
    mw_stage_layout_price(model, &result.layout);
    return result;
}

static bool is_better_answer(const MwStageChoiceAnswer *a, const MwStageChoiceAnswer *b)
{
    if (a->reason != b->reason)
        return a->reason < b->reason;
    if (a->reason == MW_STAGES_POSSIBLE)
        return a->layout.step_s < b->layout.step_s;
    return a->needed_bytes < b->needed_bytes;
}

/* Solves the stage problem for each logical mesh that all stages may share, and keeps the best. */
static MwStageChoiceAnswer solve_chunked(ChoiceSearch *c)
{
    int devices = c->packing.submeshes[c->submesh].devices;
    MwMeshList meshes = mw_stage_costs_meshes(c->query->costs, c->arena, devices);
    MwStageChoiceAnswer best = {.reason = MW_STAGES_UNANSWERED};
    double left_out_s = INFINITY;
    for (int i = 0; i < meshes.count; i++) {
        c->mesh = &meshes.at[i];
        MwStageChoiceAnswer answer = solve(c);
        left_out_s = fmin(left_out_s, answer.left_out_s);
        if (i == 0 || is_better_answer(&answer, &best))
            best = answer;
    }
    best.left_out_s = left_out_s;
    return best;
}

MwStageChoiceAnswer mw_stage_choice(MwArena *arena, const MwStageChoiceQuery *query)
{
    const MwCluster *cluster = query->model->lowered[0].cluster;
    MwStageCluster size = {cluster->nodes, cluster->devices_per_node};
    ChoiceSearch c = {.arena = arena,
                      .query = query,
                      .packing = mw_submesh_packing_new(arena, size),
                      .submesh = -1,
                      .terms = {.kind = query->kind, .micro_batches = query->model->micro_batches}};
    if (mw_cluster_devices(cluster) == 1 || (query->chunks > 1 && !unroll(&c, size)))
        return (MwStageChoiceAnswer){.reason = MW_STAGES_DEVICES, .left_out_s = INFINITY};
    return c.terms.unrolled ? solve_chunked(&c) : solve(&c);
}
