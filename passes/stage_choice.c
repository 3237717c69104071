/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In:  the costs of layers as stages (stage_cost.h).
 * Out: the layout that the stage problem (solver/stage_dp.h) finds best, priced by its timeline.
 *
 * An interleaved schedule is solved as if each mesh had layers that follow one another; they are then
 * dealt out in chunks, in the order of the pipeline, and asked again. */
#include "passes/stage_choice.h"

#include "passes/transfer_cost.h"
#include "passes/units.h"

/* How near the best total, in the terms of the stage problem, a layout must be. */
static const double GAP = 0.01;

typedef struct {
    MwArena *arena;
    const MwStageChoiceQuery *query;
    MwPacking packing;
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
    return (MwStageCandidate){.time = mw_picoseconds(mw_stage_cost_time_s(cost)),
                              .weight_time = splits ? mw_picoseconds(cost->weight_s) : 0,
                              .step_time = mw_picoseconds(cost->step_s),
                              .kept_bytes = to_bytes(cost->kept_bytes),
                              .saved_bytes = to_bytes(saved_bytes + cost->late_bytes),
                              .peak_bytes = to_bytes(cost->peak_bytes)};
}

static void answer(void *context, MwStageQuery *queries, int count)
{
    const Choice *c = context;
    MwArena *scratch = mw_arena_new();
    MwStageQuestion *questions = MW_NEW(scratch, MwStageQuestion, count);
    MwStageCostList *lists = MW_NEW(scratch, MwStageCostList, count);
    for (int i = 0; i < count; i++)
        questions[i] = (MwStageQuestion){queries[i].begin, queries[i].end,
                                         c->packing.submeshes[queries[i].submesh].devices, false};
    mw_stage_costs_ask(c->query->costs, questions, count, lists);
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
    if (!is_allowed(c->query, devices) || end - begin < c->query->chunks)
        return false;
    MwStageCost cost = mw_stage_costs_bound(c->query->costs, begin, end, devices);
    *bound = candidate_of(c->query, &cost);
    bound->time -= bound->time / 10;
    bound->weight_time = bound->time;
    return true;
}

/* ---- The schedule in terms of the stage problem ---- */

/* docs/schedules.md */
static int64_t in_flight(const void *context, int stages, int remaining)
{
    const MwStageChoiceQuery *query = context;
    int64_t micro_batches = query->model->micro_batches, chunks = query->chunks;
    switch (query->kind) {
    case MW_PIPELINE_GPIPE:
        return micro_batches;
    case MW_PIPELINE_1F1B:
        return mw_min(micro_batches, remaining + 1);
    case MW_PIPELINE_ZB_H1:
        return mw_min(micro_batches, stages);
    case MW_PIPELINE_ZB_H2:
        return mw_min(micro_batches, 2 * stages - 1);
    case MW_PIPELINE_INTERLEAVED: /* of whole meshes */
        return mw_min(micro_batches,
                      mw_ceil_div(2 * remaining + (chunks - 1) * stages + 1, chunks));
    case MW_PIPELINE_INFERENCE:
    case MW_PIPELINE_COUNT:
        return 1;
    }
    MW_UNREACHABLE();
}

static MwStageSchedule schedule_of(const MwStageChoiceQuery *query)
{
    return (MwStageSchedule){.micro_batches = query->model->micro_batches,
                             .chunks = query->chunks,
                             .deferred = query->kind == MW_PIPELINE_ZB_H1   ? 2
                                         : query->kind == MW_PIPELINE_ZB_H2 ? 3
                                                                            : 0,
                             .returns = query->kind == MW_PIPELINE_1F1B,
                             .by_stages = query->kind != MW_PIPELINE_1F1B &&
                                          query->kind != MW_PIPELINE_GPIPE,
                             .in_flight = in_flight,
                             .context = query};
}

/* Cuts are priced before it is known where they lie: over the slowest link, between whole nodes or,
 * within one, single devices. */
static MwStageCut *cuts_of(MwArena *arena, const MwStageModel *model)
{
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
        cuts[l].latency = mw_picoseconds(time_s[MW_PHASE_FORWARD] + back_s);
        cuts[l].busy = mw_picoseconds(fmax(time_s[MW_PHASE_FORWARD], back_s));
    }
    return cuts;
}

/* ---- The layout ---- */

/* The way that the answer to the question of one choice stands for. */
static MwLayoutStage stage_of(const Choice *c, const MwStageChoice *choice)
{
    MwStageCostList list;
    MwStageQuestion question = {choice->begin, choice->end,
                                c->packing.submeshes[choice->submesh].devices, false};
    mw_stage_costs_ask(c->query->costs, &question, 1, &list);
    return (MwLayoutStage){choice->begin, choice->end, choice->first_device,
                           list.at[choice->candidate], 0};
}

static bool is_same_way(const MwStageCost *a, const MwStageCost *b)
{
    bool same = (a->recomputed > 0) == (b->recomputed > 0) && a->price == b->price &&
                a->mesh.axis_count == b->mesh.axis_count;
    for (int i = 0; i < a->mesh.axis_count && same; i++)
        same = a->mesh.size[i] == b->mesh.size[i];
    return same;
}

/* The cost of other layers in the way of `like`; false if it was not asked for these. */
static bool cost_like(const Choice *c, MwLayoutStage *stage, const MwStageCost *like)
{
    MwStageCostList list;
    MwStageQuestion question = {stage->begin, stage->end, mw_mesh_devices(&like->mesh), false};
    mw_stage_costs_ask(c->query->costs, &question, 1, &list);
    for (int i = 0; i < list.count; i++) {
        stage->cost = list.at[i];
        if (is_same_way(&list.at[i], like))
            return true;
    }
    return false;
}

/* Deals the layers of each mesh out in chunks: as even as can be, more in the first. False if a mesh
 * has fewer layers than chunks. */
static bool deal(const Choice *c, MwStageLayout *layout)
{
    int meshes = layout->stage_count, chunks = c->query->chunks, begin = 0;
    const MwLayoutStage *whole = layout->stages;
    layout->chunks = chunks;
    layout->stage_count = meshes * chunks;
    layout->stages = MW_NEW(c->arena, MwLayoutStage, layout->stage_count);
    for (int s = 0; s < layout->stage_count; s++) {
        const MwLayoutStage *mesh = &whole[s % meshes];
        int layers = mesh->end - mesh->begin, chunk = s / meshes;
        int count = layers / chunks + (chunk < layers % chunks);
        MwLayoutStage *stage = &layout->stages[s];
        *stage = (MwLayoutStage){begin, begin + count, mesh->first_device, {{0}}, 0};
        begin += count;
        if (count == 0 || !cost_like(c, stage, &mesh->cost))
            return false;
    }
    return true;
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
                            .chunks = 1,
                            .stage_count = plan->stage_count,
                            .stages = MW_NEW(c->arena, MwLayoutStage, plan->stage_count)};
    for (int i = 0; i < plan->stage_count; i++)
        layout.stages[i] = stage_of(c, &plan->stages[i]);
    place_in_order(c, &layout);
    return layout;
}

MwStageChoiceAnswer mw_stage_choice(MwArena *arena, const MwStageChoiceQuery *query)
{
    const MwStageModel *model = query->model;
    const MwCluster *cluster = model->cut[0].cluster;
    MwStageCluster size = {cluster->nodes, cluster->devices_per_node};
    Choice c = {arena, query, mw_packing_new(arena, size)};
    MwStageProblem problem = {.layer_count = model->layer_count,
                              .cluster = size,
                              .memory_bytes = to_bytes(query->memory_bytes),
                              .cuts = cuts_of(arena, model),
                              .schedule = schedule_of(query),
                              .interval_class = model->interval_class,
                              .class_count = model->class_count,
                              .least_stages = query->meshes ? query->meshes
                                                            : (int)mw_max(2, query->least_stages),
                              .most_stages = query->meshes,
                              .submesh = -1,
                              .layer_stage = query->layer_stage,
                              .answer = answer,
                              .bound = bound,
                              .context = &c};
    MwStagePlan plan = mw_stages_solve(arena, &problem, &(MwStageOptions){.gap = GAP});
    MwStageChoiceAnswer result = {.reason = plan.reason, .needed_bytes = (double)plan.needed_bytes};
    if (plan.reason != MW_STAGES_POSSIBLE)
        return result;
    result.layout = layout_of(&c, &plan);
    if (query->chunks > 1 && !deal(&c, &result.layout))
        return (MwStageChoiceAnswer){.reason = MW_STAGES_UNANSWERED};
    mw_stage_layout_price(model, &result.layout);
    return result;
}
