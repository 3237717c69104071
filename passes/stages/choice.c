/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In:  the costs of layers as stages (cost.h).
 * Out: the layout that the stage problem (solver/stages/problem.h) finds best, priced by its timeline.
 *
 * Where meshes have several chunks they are of one size, and every chunk is a stage of a cluster that
 * has as many times more devices. A chunk's mesh has as many times its work and memory to do with; its
 * chunks are taken to be alike. As they share a logical mesh, each is tried for all stages in turn. */
#include "passes/stages/choice.h"

#include "cost/transfer.h"
#include "cost/units.h"
#include "passes/stages/terms.h"
#include "schedule/generate.h"

/* How near the best total, in the terms of the stage problem, a layout must be. */
static const double GAP = 0.01;

typedef struct {
    MwArena *arena;
    const MwStageChoiceQuery *query;
    MwSubmeshPacking packing;
    int submesh; /* index of the one that all have; -1: any */
    MwScheduleTerms terms;
    const MwMeshShape *mesh; /* the logical one of all meshes, where these have several chunks */
} Choice;

/* Whether stages may have so many devices. */
static bool is_allowed(const MwStageChoiceQuery *query, int devices)
{
    return devices >= query->least_devices &&
           (query->most_devices == 0 || devices <= query->most_devices);
}

/* ---- Answers for the stage problem ---- */

static int64_t to_bytes(double bytes)
{
    return (int64_t)ceil(fmin(bytes, 9e18));
}

/* With zero-bubble schedules as many micro-batches together wait for their backward and for their
 * gradients of weights as there are in flight. */
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

static MwStageQuestion question_of(const Choice *c, int begin, int end, int submesh)
{
    return (MwStageQuestion){begin, end, c->packing.submeshes[submesh].devices, false};
}

/* The ways that may be taken, in an order that depends on the questions alone. */
static void ask(const Choice *c, const MwStageQuestion *questions, int count,
                MwStageCostList *lists)
{
    mw_stage_costs_ask(c->query->costs, questions, count, lists);
    for (int i = 0; i < count && c->mesh; i++) {
        int kept = 0;
        for (int k = 0; k < lists[i].count; k++)
            if (mw_mesh_equal(&lists[i].at[k].mesh, c->mesh))
                lists[i].at[kept++] = lists[i].at[k];
        lists[i].count = kept;
    }
}

static void answer(void *context, MwStageQuery *queries, int count)
{
    const Choice *c = context;
    MwArena *scratch = mw_arena_new();
    MwStageQuestion *questions = MW_NEW(scratch, MwStageQuestion, count);
    MwStageCostList *lists = MW_NEW(scratch, MwStageCostList, count);
    for (int i = 0; i < count; i++)
        questions[i] = question_of(c, queries[i].begin, queries[i].end, queries[i].submesh);
    ask(c, questions, count, lists);
    for (int i = 0; i < count; i++) {
        MwStageCandidate *candidates = MW_NEW(c->arena, MwStageCandidate, lists[i].count);
        for (int k = 0; k < lists[i].count; k++)
            candidates[k] = candidate_of(c->query, &lists[i].at[k]);
        queries[i].count = lists[i].count;
        queries[i].candidates = candidates;
    }
    mw_arena_free(&scratch);
}

/* What caches gain is a tenth at most. */
static bool bound(void *context, int begin, int end, int submesh, MwStageCandidate *bound)
{
    const Choice *c = context;
    int devices = c->packing.submeshes[submesh].devices;
    if (!is_allowed(c->query, devices))
        return false;
    MwStageCost cost = mw_stage_costs_bound(c->query->costs, begin, end, devices);
    *bound = candidate_of(c->query, &cost);
    bound->time -= bound->time / 10;
    bound->weight_time = bound->time;
    return true;
}

/* ---- Cuts ---- */

/* Cuts are priced before it is known where they lie: over the slowest link, between whole nodes or,
 * within one, single devices. */
static MwStageCut *cuts_of(MwArena *arena, const MwStageChoiceQuery *query)
{
    const MwStageModel *model = query->model;
    const MwCluster *cluster = model->cut[0].cluster;
    int devices = cluster->nodes > 1 ? cluster->devices_per_node : 1;
    MwTransferPlace from = {mw_spec_replicated(), {1, {devices}}, 0};
    MwTransferPlace to = {mw_spec_replicated(), {1, {devices}}, devices};
    MwStageCut *cuts = MW_NEW(arena, MwStageCut, model->layer_count);
    for (int l = 1; l < model->layer_count; l++) {
        double time_s[MW_PHASE_COUNT] = {0};
        for (int phase = 0; phase < MW_PHASE_UPDATE; phase++)
            for (int i = 0; i < model->borders[l][phase].count; i++) {
                const MwTensor *tensor = &model->borders[l][phase].at[i];
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

/* The way that the answer to the question of one choice stands for. */
static MwLayoutStage stage_of(const Choice *c, const MwStageChoice *choice)
{
    MwStageCostList list;
    MwStageQuestion question = question_of(c, choice->begin, choice->end, choice->submesh);
    ask(c, &question, 1, &list);
    return (MwLayoutStage){choice->begin, choice->end, choice->first_device,
                           list.at[choice->candidate], 0};
}

/* Stages lie in their order if no part of a node, and no whole nodes, lie across a border then. */
static void place_in_order(const Choice *c, MwStageLayout *layout)
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

static MwStageLayout layout_of(const Choice *c, const MwStagePlan *plan)
{
    MwStageLayout layout = {.kind = c->query->kind,
                            .micro_batches = c->query->model->micro_batches,
                            .chunks = c->query->chunks,
                            .stage_count = plan->stage_count,
                            .stages = MW_NEW(c->arena, MwLayoutStage, plan->stage_count)};
    for (int i = 0; i < plan->stage_count; i++) {
        layout.stages[i] = stage_of(c, &plan->stages[i]);
        if (c->terms.unrolled)
            layout.stages[i].first_device =
                i % c->query->meshes * c->packing.submeshes[c->submesh].devices;
    }
    if (!c->terms.unrolled)
        place_in_order(c, &layout);
    return layout;
}

/* ---- Several chunks ---- */

/* -1: no sub-mesh has so many devices. */
static int find_submesh(const MwSubmeshPacking *packing, int devices)
{
    for (int i = 0; i < packing->count; i++)
        if (packing->submeshes[i].devices == devices)
            return i;
    return -1;
}

/* The devices of each of equal meshes that together are the cluster; 0: they cannot be. */
static int equal_devices(MwStageCluster cluster, int meshes)
{
    int node = cluster.devices_per_node, devices = cluster.nodes * node / meshes;
    bool are_equal = devices * meshes == cluster.nodes * node;
    return are_equal && (node % devices == 0 || devices % node == 0) ? devices : 0;
}

/* A cluster that has one device for each chunk on a device. False if meshes cannot be equal. */
static bool unroll(Choice *c, MwStageCluster cluster)
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

static MwStageChoiceAnswer solve(Choice *c)
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
                              .layer_stage = query->layer_stage,
                              .answer = answer,
                              .bound = bound,
                              .context = c};
    MwStagePlan plan = mw_stages_solve(c->arena, &problem, &(MwStageOptions){.gap = GAP});
    MwStageChoiceAnswer result = {.reason = plan.reason, .needed_bytes = (double)plan.needed_bytes};
    if (plan.reason != MW_STAGES_POSSIBLE)
        return result;
    result.layout = layout_of(c, &plan);
    mw_stage_layout_price(model, &result.layout);
    return result;
}

static bool is_better(const MwStageChoiceAnswer *a, const MwStageChoiceAnswer *b)
{
    if (a->reason != b->reason)
        return a->reason < b->reason;
    if (a->reason == MW_STAGES_POSSIBLE)
        return a->layout.step_s < b->layout.step_s;
    return a->needed_bytes < b->needed_bytes;
}

static MwStageChoiceAnswer solve_chunks(Choice *c)
{
    int devices = c->packing.submeshes[c->submesh].devices;
    MwMeshList meshes = mw_stage_costs_meshes(c->query->costs, c->arena, devices);
    MwStageChoiceAnswer best = {.reason = MW_STAGES_UNANSWERED};
    for (int i = 0; i < meshes.count; i++) {
        c->mesh = &meshes.at[i];
        MwStageChoiceAnswer answer = solve(c);
        if (i == 0 || is_better(&answer, &best))
            best = answer;
    }
    return best;
}

MwStageChoiceAnswer mw_stage_choice(MwArena *arena, const MwStageChoiceQuery *query)
{
    const MwCluster *cluster = query->model->cut[0].cluster;
    MwStageCluster size = {cluster->nodes, cluster->devices_per_node};
    Choice c = {.arena = arena,
                .query = query,
                .packing = mw_submesh_packing_new(arena, size),
                .submesh = -1,
                .terms = {.kind = query->kind, .micro_batches = query->model->micro_batches}};
    if (mw_cluster_devices(cluster) == 1 || (query->chunks > 1 && !unroll(&c, size)))
        return (MwStageChoiceAnswer){.reason = MW_STAGES_DEVICES};
    return c.terms.unrolled ? solve_chunks(&c) : solve(&c);
}
