/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search for stages: against enumeration over the same costs, pins, memory, threads; and that
 * one stage stays one. */
#include "base/text.h"
#include "cost/units.h"
#include "frontend/cluster/cluster.h"
#include "frontend/frontend.h"
#include "passes/graph/layers.h"
#include "passes/pass.h"
#include "passes/sharding/intra_problem.h"
#include "passes/sharding/result.h"
#include "passes/stages/choice.h"
#include "passes/stages/sample_time.h"
#include "passes/stages/split.h"
#include "passes/stages/trials.h"
#include "passes/tuning.h"
#include "tests/unit/clusters.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Layers that are alike, then a large product. */
static const char deep[] = "model deep {\n"
                           "  input x: f32[%d, 256]\n"
                           "  input target: i32[%d]\n"
                           "  h = x\n"
                           "  repeat %d as l {\n"
                           "    weight w: f32[256, 256] = normal(0.06)\n"
                           "    weight b: f32[256] = zeros\n"
                           "    h = relu(h @ w + b)%s\n"
                           "  }\n"
                           "  weight out: f32[256, 512] = normal(0.06)\n"
                           "  logits = h @ out%s\n"
                           "  train cross_entropy(logits, target) with adamw(lr = 0.01)%s\n"
                           "}\n";

typedef struct {
    MwArena *arena;
    MwDiags *diags;
    MwCluster cluster;
    MwCompilation compilation;
    bool ok;
} Case;

typedef struct {
    int layers, batch;                   /* 0: 64 */
    const char *hidden, *logits, *train; /* what is added to these lines; NULL: nothing */
} Text;

static MwStageCosts *costs_new(MwArena *arena, const MwStageModel *model)
{
    MwStageKnown *known = mw_stage_known_new(arena);
    return mw_stage_costs_new(arena, model, mw_stage_known_of(known, model->micro_batches), 1);
}

static void open_model(Case *c, const MwCluster *cluster, const char *text,
                       MwCompileOptions options)
{
    *c = (Case){.arena = mw_arena_new(), .cluster = *cluster};
    c->diags = mw_diags_new(c->arena);
    MwSource *source = MW_NEW(c->arena, MwSource, 1);
    *source = (MwSource){
        .name = "case.graph", .text = mw_arena_strdup(c->arena, text), .bytes = strlen(text)};
    c->compilation = (MwCompilation){.arena = c->arena, .options = options};
    c->compilation.graph =
        mw_graph_parse(c->arena, mw_interner_new(c->arena), source, NULL, 0, c->diags);
    ck_assert_msg(c->compilation.graph != NULL, "%s", diags_text(c->arena, c->diags));
}

static void open_case(Case *c, const MwCluster *cluster, Text text, MwCompileOptions options)
{
    int batch = text.batch ? text.batch : 64;
    MwArena *scratch = mw_arena_new();
    open_model(c, cluster,
               mw_arena_printf(scratch, deep, batch, batch, text.layers,
                               text.hidden ? text.hidden : "", text.logits ? text.logits : "",
                               text.train ? text.train : ""),
               options);
    mw_arena_free(&scratch);
}

static void run_to(Case *c, MwPass last)
{
    MwPipelineOptions pipeline = {.stop_after = last, .dump_after = MW_PASS_COUNT};
    c->compilation.cluster = &c->cluster;
    c->ok = mw_pipeline_run(&c->compilation, &pipeline, c->diags);
}

static void plan(Case *c, const MwCluster *cluster, Text text, MwCompileOptions options)
{
    open_case(c, cluster, text, options);
    run_to(c, MW_PASS_sharding);
    ck_assert_msg(c->ok, "%s", diags_text(c->arena, c->diags));
}

/* As the model stands before `stages`, with its cluster. */
static void prepare(Case *c, const MwCluster *cluster, Text text, MwCompileOptions options)
{
    open_case(c, cluster, text, options);
    run_to(c, MW_PASS_update);
    ck_assert_msg(c->ok, "%s", diags_text(c->arena, c->diags));
}

/* Transfers and launches that cost next to nothing, so that stages are worth it. */
static MwCluster quick_links(MwCluster cluster)
{
    cluster.node_link.call_s = cluster.node_link.latency_s = 1e-9;
    cluster.network_link.call_s = cluster.network_link.latency_s = 1e-9;
    cluster.device.launch_s = 1e-9;
    return cluster;
}

/* ---- Against enumeration ---- */

typedef struct {
    const MwStageChoiceQuery *query;
    MwArena *arena;
    MwSubmeshPacking packing;
    int all; /* devices */
    MwLayoutStage stages[8];
    int submesh[8];
    double best_s;
} Enumeration;

static void price(Enumeration *e, int count)
{
    int first_device[8], meshes = e->query->meshes;
    if (e->query->chunks == 1)
        mw_submesh_packing_place(&e->packing, count, e->submesh, first_device);
    for (int i = 0; i < count; i++)
        e->stages[i].first_device =
            e->query->chunks == 1 ? first_device[i] : i % meshes * (e->all / meshes);
    MwStageLayout layout = {.kind = e->query->kind,
                            .micro_batches = e->query->model->micro_batches,
                            .chunks = e->query->chunks,
                            .stage_count = count,
                            .stages = e->stages};
    mw_stage_layout_price(e->query->model, &layout);
    if (layout.needed_bytes <= e->query->memory_bytes)
        e->best_s = fmin(e->best_s, layout.step_s);
}

/* Whether it is the logical mesh of the stages before `stage` that share its devices. */
static bool may_be_mesh(const Enumeration *e, int stage, const MwMeshShape *mesh)
{
    return e->query->chunks == 1 || stage < e->query->meshes ||
           mw_mesh_equal(&e->stages[stage - e->query->meshes].cost.mesh, mesh);
}

/* All ways to go on from layer `begin`, with `row` of the packing. */
static void enumerate(Enumeration *e, int count, int begin, int devices, int row)
{
    int stages = e->query->meshes * e->query->chunks, all = e->all * e->query->chunks;
    if (begin == e->query->model->layer_count && devices == all &&
        (stages ? count == stages : count >= 2)) {
        price(e, count);
        return;
    }
    for (int end = begin + 1; end <= e->query->model->layer_count && count < 8; end++)
        for (int submesh = 0; submesh < e->packing.count; submesh++) {
            int next = e->packing.next[submesh * e->packing.state_count + row];
            int more = e->packing.submeshes[submesh].devices;
            if (next < 0 || devices + more > all || (stages && more != all / stages))
                continue;
            MwStageCostQuery cost_query = {begin, end, more, false};
            MwStageCostList list;
            mw_stage_costs_query(e->query->costs, &cost_query, 1, &list);
            for (int i = 0; i < list.count; i++) {
                if (!may_be_mesh(e, count, &list.at[i].mesh))
                    continue;
                e->stages[count] = (MwLayoutStage){begin, end, 0, list.at[i], 0};
                e->submesh[count] = submesh;
                enumerate(e, count + 1, end, devices + more, next);
            }
        }
}

static const struct {
    int nodes, devices, layers, micro_batches;
    MwPipelineKind kind;
    double memory_share; /* of what the quickest layout needs; 0: all that there is */
    int meshes, chunks;  /* 0: any, one */
} choices[] = {
    {1, 2, 3, 4, MW_PIPELINE_1F1B, 0},
    {1, 2, 3, 4, MW_PIPELINE_GPIPE, 0},
    {1, 2, 3, 4, MW_PIPELINE_ZB_H1, 0},
    {1, 4, 3, 8, MW_PIPELINE_1F1B, 0},
    {1, 4, 3, 8, MW_PIPELINE_ZB_H2, 0},
    {1, 3, 3, 4, MW_PIPELINE_1F1B, 0},
    {2, 2, 3, 4, MW_PIPELINE_1F1B, 0},
    {1, 2, 3, 4, MW_PIPELINE_1F1B, 0.9},
    {2, 1, 4, 8, MW_PIPELINE_ZB_H1, 0.9},
    {1, 2, 5, 4, MW_PIPELINE_INTERLEAVED, 0, 2, 2},
    {1, 4, 6, 8, MW_PIPELINE_INTERLEAVED, 0, 2, 2},
    {2, 2, 7, 4, MW_PIPELINE_INTERLEAVED, 0, 2, 3},
    {2, 4, 4, 4, MW_PIPELINE_INTERLEAVED, 0, 2, 2},
    {1, 8, 4, 4, MW_PIPELINE_INTERLEAVED, 0.8, 2, 2},
    {1, 2, 5, 4, MW_PIPELINE_INTERLEAVED, 0.9, 2, 2},
    {1, 4, 9, 8, MW_PIPELINE_INTERLEAVED, 0.995, 2, 3},
};

/* The stage problem reckons with less than the timeline: where transfers wait for each other, what
 * of the update is hidden. A twentieth may be lost to that, and a hundredth to its gap. */
START_TEST(the_choice_is_the_best_of_all)
{
    Case c;
    MwCluster cluster = quick_links(test_cluster_of_nodes(choices[_i].nodes, choices[_i].devices));
    prepare(&c, &cluster, (Text){.layers = choices[_i].layers}, (MwCompileOptions){0});
    MwStageModel *model =
        mw_stage_model_new(&c.compilation, NULL, choices[_i].micro_batches, c.diags);
    MwStageChoiceQuery query = {.model = model,
                                .most_effort = INT64_MAX,
                                .costs = costs_new(c.arena, model),
                                .kind = choices[_i].kind,
                                .chunks = (int)mw_max(choices[_i].chunks, 1),
                                .meshes = choices[_i].meshes,
                                .memory_bytes = (double)cluster.device.memory_bytes};
    MwStageChoiceAnswer answer = mw_stage_choice(c.arena, &query);
    ck_assert_int_eq(answer.reason, MW_STAGES_POSSIBLE);
    if (choices[_i].memory_share > 0) {
        query.memory_bytes = answer.layout.needed_bytes * choices[_i].memory_share;
        answer = mw_stage_choice(c.arena, &query);
    }
    Enumeration e = {.query = &query, .arena = c.arena, .best_s = INFINITY};
    e.all = mw_cluster_devices(&cluster);
    e.packing = mw_submesh_packing_new(
        c.arena, (MwStageCluster){cluster.nodes * query.chunks, cluster.devices_per_node});
    enumerate(&e, 0, 0, 0, 0);
    ck_assert_int_eq(answer.reason == MW_STAGES_POSSIBLE, isfinite(e.best_s));
    if (isfinite(e.best_s)) {
        ck_assert_double_le(answer.layout.needed_bytes, query.memory_bytes);
        for (int s = query.meshes; s < answer.layout.stage_count && query.chunks > 1; s++)
            ck_assert(mw_mesh_equal(&answer.layout.stages[s].cost.mesh,
                                    &answer.layout.stages[s - query.meshes].cost.mesh));
        ck_assert_double_ge(answer.layout.step_s, e.best_s * (1 - 1e-12));
        ck_assert_msg(answer.layout.step_s <= e.best_s * 1.06, "%g s, the best takes %g s",
                      answer.layout.step_s, e.best_s);
    }
    mw_stage_model_free(&model);
    mw_arena_free(&c.arena);
}
END_TEST

/* ---- Costs ---- */

/* What many like layers cost, reckoned from two, is what they cost when solved, but for
 * what goes by pairs of layers: weights split by columns, then by rows. */
START_TEST(like_layers_are_reckoned_right)
{
    enum { LAYERS = 6, MICRO_BATCHES = 4, DEVICES = 4 };
    Case c;
    MwCluster cluster = test_cluster(DEVICES);
    prepare(&c, &cluster, (Text){.layers = LAYERS}, (MwCompileOptions){0});
    MwStageModel *model = mw_stage_model_new(&c.compilation, NULL, MICRO_BATCHES, c.diags);
    int begin = 1, end = LAYERS - 1;
    for (int l = begin; l < end; l++)
        ck_assert_int_eq(model->layer_class[l], model->layer_class[begin]);
    ck_assert_int_ne(model->layer_class[0], model->layer_class[1]);
    MwStageCosts *costs = costs_new(c.arena, model);
    MwStageCostQuery cost_query = {begin, end, DEVICES, false};
    MwStageCostList list;
    mw_stage_costs_query(costs, &cost_query, 1, &list);
    ck_assert_int_gt(list.count, 0);
    MwIntraQuery query = {.graph = mw_stage_model_graph(model, begin, end, MW_LAYER_KEEPS).graph,
                          .cluster = &cluster,
                          .mesh = list.at[0].mesh,
                          .micro_batches = MICRO_BATCHES,
                          .memory_bytes = MW_USAGE_UNLIMITED};
    MwIntraProblem *problem = mw_intra_problem(c.arena, &query, c.diags);
    const MwSolution solution = mw_solve(c.arena, &problem->problem, NULL);
    const MwLife *lives = mw_liveness(c.arena, query.graph, NULL);
    MwStageCost solved = {0};
    mw_sample_time(c.arena, problem, lives, solution.choice, &solved);
    double solved_s = mw_stage_cost_step_s(&solved, MICRO_BATCHES);
    double reckoned_s = MICRO_BATCHES * mw_stage_cost_time_s(&list.at[0]) + list.at[0].step_s;
    ck_assert_double_eq_tol(reckoned_s, solved_s, 0.05 * solved_s);
    mw_stage_model_free(&model);
    mw_arena_free(&c.arena);
}
END_TEST

/* A mesh that holds two chunks needs twice the memory of one: where that is too much, there are
 * ways that need less. The layers of all chunks are one more than there are. */
START_TEST(chunks_that_share_a_mesh_need_memory_together)
{
    enum { LAYERS = 7, MICRO_BATCHES = 4, DEVICES = 4 };
    const MwStageCostQuery cost_query = {1, 3, DEVICES / 2, false};
    int64_t memory_bytes = 0;
    for (int is_limited = 0; is_limited < 2; is_limited++) {
        Case c;
        MwCluster cluster = test_cluster(DEVICES);
        prepare(&c, &cluster, (Text){.layers = LAYERS - 1},
                (MwCompileOptions){.memory_bytes = memory_bytes});
        MwStageModel *model = mw_stage_model_new(&c.compilation, NULL, MICRO_BATCHES, c.diags);
        ck_assert_int_eq(model->layer_count, LAYERS);
        MwStageCostList list;
        mw_stage_costs_query(costs_new(c.arena, model), &cost_query, 1, &list);
        ck_assert_int_gt(list.count, 0);
        bool is_leaner = false;
        for (int i = 0; i < list.count; i++)
            is_leaner |= list.at[i].recomputed > 0;
        ck_assert_int_eq(is_leaner, is_limited);
        const MwStageCost *first = &list.at[0];
        memory_bytes = (int64_t)(1.5 * (first->kept_bytes +
                                        MICRO_BATCHES * (first->saved_bytes + first->late_bytes +
                                                         first->weight_bytes))) +
                       (int64_t)first->peak_bytes;
        mw_stage_model_free(&model);
        mw_arena_free(&c.arena);
    }
}
END_TEST

/* Opens models/gpt.graph in bf16, prepared for the search, on clusters/dgx-a100-16.cluster. */
static void open_gpt(Case *c, const MwDefine *defines, int define_count)
{
    *c = (Case){.arena = mw_arena_new()};
    c->diags = mw_diags_new(c->arena);
    c->cluster = *mw_cluster_load(c->arena, SOURCE_ROOT "/clusters/dgx-a100-16.cluster", c->diags);
    c->compilation = (MwCompilation){.arena = c->arena, .options = {.may_stream = true}};
    c->compilation.graph =
        mw_graph_load(c->arena, mw_interner_new(c->arena), SOURCE_ROOT "/models/gpt.graph", defines,
                      define_count, c->diags);
    mw_graph_set_precision(c->compilation.graph, MW_BF16);
    run_to(c, MW_PASS_update);
    ck_assert_msg(c->ok, "%s", diags_text(c->arena, c->diags));
}

/* Products that are added to gradients take less than a product and a sum, and what casts of
 * weights take is known: copies of these, of 2 bytes for each element, save it. */
START_TEST(sums_and_casts_count_as_plans_have_them)
{
    enum { MICRO_BATCHES = 8, LAYERS = 4, WIDTH = 1024 };
    const MwMeshShape one = {1, {1}};
    const MwDefine defines[] = {{"layers", "4"}, {"width", "1024"}, {"heads", "8"},
                                {"seq", "1024"}, {"vocab", "512"},  {"batch", "32"}};
    const double matrices = 12.0 * LAYERS * WIDTH * WIDTH; /* elements, but for embeddings */
    Case c;
    open_gpt(&c, defines, MW_COUNT(defines));
    MwStageModel *model = mw_stage_model_new(&c.compilation, NULL, MICRO_BATCHES, c.diags);
    MwStageCosts *costs = costs_new(c.arena, model);
    const MwStageCostQuery all = {0, model->layer_count, 1, false};
    MwStageCost cost, again;
    ck_assert(mw_stage_costs_on(costs, &all, &one, MW_LAYER_KEEPS, 0, &cost));
    ck_assert(mw_stage_costs_on(costs, &all, &one, MW_LAYER_RECOMPUTES, 1, &again));
    const MwIntraQuery query = {
        .graph = mw_stage_model_graph(model, 0, model->layer_count, MW_LAYER_KEEPS).graph,
        .cluster = &c.cluster,
        .mesh = one,
        .micro_batches = MICRO_BATCHES,
        .memory_bytes = MW_USAGE_UNLIMITED};
    MwIntraProblem *problem = mw_intra_problem(c.arena, &query, c.diags);
    const double solved_s = mw_seconds(mw_solve(c.arena, &problem->problem, NULL).cost);
    const MwWork written = {.kind = MW_WORK_STREAM, .bytes = 2 * 4 * matrices};
    const double sum_s = mw_cost_work_s(&problem->model, &written);
    ck_assert_double_lt(mw_stage_cost_step_s(&cost, MICRO_BATCHES),
                        solved_s - MICRO_BATCHES * sum_s);
    ck_assert_double_gt(cost.cast_s[MW_PHASE_FORWARD], 6 * matrices / 2e12);
    ck_assert_double_ge(again.copy_bytes, 2 * matrices);
    ck_assert_double_le(again.copy_bytes, 2 * (matrices + 3.0 * WIDTH * WIDTH));
    const MwStageCost with = mw_stage_cost_with_copies(again);
    ck_assert_double_lt(with.forward_s, again.forward_s);
    ck_assert_double_eq_tol(with.kept_bytes, again.kept_bytes + again.copy_bytes, 1);
    mw_stage_model_free(&model);
    mw_arena_free(&c.arena);
}
END_TEST

/* Whatever the price of memory, many layers take no less time than where it is free, but for the
 * gap of solutions. One and two layers may be solved in unlike ways, one leaner and slower, so that
 * their difference is no cost of a layer. */
START_TEST(no_cost_is_below_the_quickest)
{
    enum { LAYERS = 96, MICRO_BATCHES = 128 };
    const MwMeshShape meshes[] = {{2, {4, 8}}, {2, {8, 4}}, {2, {16, 2}}};
    const MwDefine defines[] = {{"layers", "96"}, {"width", "12288"}, {"heads", "96"},
                                {"seq", "2048"},  {"vocab", "51200"}, {"batch", "1536"}};
    Case c;
    open_gpt(&c, defines, MW_COUNT(defines));
    const MwLayerFold fold =
        mw_layer_fold(c.arena, c.compilation.graph, mw_layer_count(c.compilation.graph));
    MwStageModel *model = mw_stage_model_new(&c.compilation, &fold, MICRO_BATCHES, c.diags);
    MwStageCosts *costs = costs_new(c.arena, model);
    for (int m = 0; m < MW_COUNT(meshes); m++) {
        const MwStageCostQuery layers = {1, LAYERS, mw_mesh_devices(&meshes[m]), false};
        MwStageCost least, cost;
        ck_assert(mw_stage_costs_on(costs, &layers, &meshes[m], MW_LAYER_KEEPS, 0, &least));
        const double least_s = mw_stage_cost_step_s(&least, MICRO_BATCHES);
        for (MwRematLevel level = 0; level < MW_REMAT_LEVELS; level++)
            for (int price = 1; price < MW_MEMORY_PRICES; price++)
                if (mw_stage_costs_on(costs, &layers, &meshes[m], level, price, &cost))
                    ck_assert_double_ge(mw_stage_cost_step_s(&cost, MICRO_BATCHES), 0.99 * least_s);
    }
    mw_stage_model_free(&model);
    mw_arena_free(&c.arena);
}
END_TEST

/* A search that knows what another has solved, for another memory, solves little and finds what it
 * finds alone. */
START_TEST(what_was_solved_is_not_solved_again)
{
    static const double shares[] = {1, 0.98};
    MwArena *arena = mw_arena_new();
    MwStageKnown *known = mw_stage_known_new(arena);
    MwCluster cluster = quick_links(test_cluster(4));
    int64_t effort[MW_COUNT(shares)];
    for (int i = 0; i < MW_COUNT(shares); i++) {
        Case c, alone;
        MwCompileOptions options = {.micro_batches = 4,
                                    .memory_bytes =
                                        (int64_t)(shares[i] * (double)cluster.device.memory_bytes)};
        open_case(&c, &cluster, (Text){.layers = 6}, options);
        c.compilation.known = known;
        run_to(&c, MW_PASS_sharding);
        plan(&alone, &cluster, (Text){.layers = 6}, options);
        ck_assert_msg(c.ok, "%s", diags_text(c.arena, c.diags));
        ck_assert_str_eq(c.compilation.staging.alternatives[0].name,
                         alone.compilation.staging.alternatives[0].name);
        effort[i] = mw_stage_known_effort(known);
        mw_arena_free(&c.arena);
        mw_arena_free(&alone.arena);
    }
    ck_assert_int_gt(effort[0], 0);
    ck_assert_int_eq(effort[0], effort[1]);
    mw_arena_free(&arena);
}
END_TEST

/* Models in which layers are alike that have no class of their own in each repeat: weights that all
 * share, and iterations of several layers. `period`: layers after which classes come again. */
static const struct {
    const char *text;
    int layers, period;
} alike[] = {
    {"model m {\n"
     "  input xs: f32[64, 12, 32]\n"
     "  weight u: f32[32, 32] = normal(0.1)\n"
     "  weight w: f32[32, 32] = normal(0.1)\n"
     "  h = constant(0.0, [64, 32])\n"
     "  repeat 12 as t {\n"
     "    x = reshape(slice(xs, axis = 1, begin = t, end = t + 1), [64, 32])\n"
     "    h = tanh(x @ u + h @ w)\n"
     "  }\n"
     "  train mean(h * h) with sgd(lr = 0.1)\n"
     "}\n",
     12, 1},
    {"block even(x) {\n"
     "  weight w: f32[64, 64] = normal(0.1)\n"
     "  return relu(x @ w)\n"
     "}\n"
     "block odd(x) {\n"
     "  weight w: f32[64, 64] = normal(0.1)\n"
     "  return tanh(x @ w)\n"
     "}\n"
     "model m {\n"
     "  input x: f32[64, 64]\n"
     "  repeat 8 { x = odd(even(x)) }\n"
     "  train mean(x * x) with sgd(lr = 0.1)\n"
     "}\n",
     16, 2},
};

/* Intervals of layers that are alike share their samples, however many there are. */
START_TEST(layers_that_come_again_are_solved_once)
{
    Case c;
    MwCluster cluster = test_cluster(2);
    open_model(&c, &cluster, alike[_i].text, (MwCompileOptions){.layers = alike[_i].layers});
    run_to(&c, MW_PASS_update);
    ck_assert_msg(c.ok, "%s", diags_text(c.arena, c.diags));
    MwStageModel *model = mw_stage_model_new(&c.compilation, NULL, 1, c.diags);
    int period = alike[_i].period;
    ck_assert_int_eq(model->layer_count, alike[_i].layers);
    for (int l = 1 + period; l < model->layer_count - period; l++)
        ck_assert_int_eq(model->layer_class[l], model->layer_class[l - period]);
    MwStageCosts *costs = costs_new(c.arena, model);
    mw_stage_costs_bound(costs, 0, 1, 1);
    /* In each phase, each place in a period, samples begin there and have up to two periods, or
     * contain an end of the model. */
    int64_t nodes = model->lowered[true].graph->nodes.count;
    ck_assert_int_le(mw_stage_costs_work(costs), 8 * period * nodes);
    mw_stage_model_free(&model);
    mw_arena_free(&c.arena);
}
END_TEST

/* A long model of unlike layers: the samples stay within the limit, and with them the memory. */
START_TEST(unlike_layers_are_sampled_in_short_intervals)
{
    static const char *const functions[] = {"tanh(h)", "h * s", "h + x", "sin(h)", "exp(h) * s"};
    Case c;
    MwCluster cluster = test_cluster(2);
    MwArena *scratch = mw_arena_new();
    MwText text = {.arena = scratch};
    mw_text_add(&text, "model m {\n  input x: f32[8, 16]\n  weight s: f32[16] = ones\n  h = x\n");
    for (int i = 0; i < 1200; i++)
        mw_text_printf(&text, "  h = %s\n", functions[i * i % 7 % MW_COUNT(functions)]);
    mw_text_add(&text, "  train mean(h * h) with sgd(lr = 0.1)\n}\n");
    open_model(&c, &cluster, text.at, (MwCompileOptions){0});
    run_to(&c, MW_PASS_update);
    ck_assert_msg(c.ok, "%s", diags_text(c.arena, c.diags));
    MwStageModel *model = mw_stage_model_new(&c.compilation, NULL, 1, c.diags);
    MwStageCosts *costs = costs_new(model->arena, model);
    mw_stage_costs_bound(costs, 0, 1, 1);
    ck_assert_int_gt(model->layer_count, 8);
    ck_assert_int_lt(mw_stage_costs_work(costs), 2 * MW_TUNED_SPAN_NODES);
    ck_assert_int_lt(mw_arena_bytes(model->arena), 200 << 20);
    mw_stage_model_free(&model);
    mw_arena_free(&scratch);
    mw_arena_free(&c.arena);
}
END_TEST

/* ---- The graph of one stage ---- */

START_TEST(a_stage_alone_is_that_of_split)
{
    enum { STAGES = 3 };
    Case c;
    MwCluster cluster = test_cluster(STAGES);
    open_case(&c, &cluster, (Text){.layers = 3},
              (MwCompileOptions){.stages = STAGES, .micro_batches = 4});
    run_to(&c, MW_PASS_pins);
    ck_assert_msg(c.ok, "%s", diags_text(c.arena, c.diags));
    MwGraph *alone[STAGES];
    for (int s = 0; s < STAGES; s++)
        alone[s] = mw_split_stage(&c.compilation, s);
    int count;
    mw_split_crossings(&c.compilation, &count);
    ck_assert(mw_pass_split(&c.compilation, c.diags));
    ck_assert_int_eq(count, c.compilation.crossing_count);
    for (int s = 0; s < STAGES; s++) {
        const MwGraph *graph = c.compilation.stages[s].graph;
        ck_assert_int_eq(alone[s]->nodes.count, graph->nodes.count);
        ck_assert_int_eq(alone[s]->assigns.count, graph->assigns.count);
        for (int n = 0; n < graph->nodes.count; n++) {
            ck_assert_int_eq(alone[s]->nodes.at[n].op, graph->nodes.at[n].op);
            ck_assert_int_eq(alone[s]->nodes.at[n].phase, graph->nodes.at[n].phase);
        }
    }
    mw_arena_free(&c.arena);
}
END_TEST

/* ---- The pass ---- */

START_TEST(one_stage_stays_one)
{
    Case c;
    MwCluster cluster = test_cluster(4);
    plan(&c, &cluster, (Text){.layers = 4}, (MwCompileOptions){0});
    const MwStaging *staging = &c.compilation.staging;
    ck_assert_int_eq(staging->stage_count, 1);
    ck_assert_int_eq(staging->micro_batches, 1);
    ck_assert_int_eq(staging->meshes[0].device_count, 4);
    ck_assert_int_eq(staging->meshes[0].shape.axis_count, 0);
    ck_assert_int_gt(staging->alternative_count, 0);
    for (int l = 0; l < staging->layer_count; l++)
        ck_assert_int_eq(staging->layer_remat[l], MW_LAYER_KEEPS);
    mw_arena_free(&c.arena);
}
END_TEST

static const struct {
    const char *what;
    MwCompileOptions options;
    Text text;
    int stages, meshes, micro_batches; /* 0: any */
    int kind;                          /* -1: any */
} pinned[] = {
    {"stages", {.stages = 2}, {.layers = 4}, 2, 2, 0, -1},
    {"four stages", {.stages = 4}, {.layers = 4}, 4, 4, 0, -1},
    {"micro-batches", {.stages = 2, .micro_batches = 8}, {.layers = 4}, 2, 2, 8, -1},
    {"micro-batches of the train statement",
     {.stages = 2},
     {.layers = 4, .train = ", micro_batches = 16"},
     2,
     2,
     16,
     -1},
    {"gpipe",
     {.stages = 2, .micro_batches = 4, .has_schedule = true, .schedule = MW_PIPELINE_GPIPE},
     {.layers = 4},
     2,
     2,
     4,
     MW_PIPELINE_GPIPE},
    {"zb-h1",
     {.stages = 2, .micro_batches = 4, .has_schedule = true, .schedule = MW_PIPELINE_ZB_H1},
     {.layers = 4},
     2,
     2,
     4,
     MW_PIPELINE_ZB_H1},
    {"chunks",
     {.stages = 2,
      .chunks = 2,
      .micro_batches = 4,
      .has_schedule = true,
      .schedule = MW_PIPELINE_INTERLEAVED},
     {.layers = 6},
     4,
     2,
     4,
     MW_PIPELINE_INTERLEAVED},
    {"a value's stage among chunks",
     {.stages = 2,
      .chunks = 2,
      .micro_batches = 4,
      .has_schedule = true,
      .schedule = MW_PIPELINE_INTERLEAVED},
     {.layers = 6, .logits = " with stage = 3"},
     4,
     2,
     4,
     MW_PIPELINE_INTERLEAVED},
    {"down and up",
     {.stages = 2, .micro_batches = 4, .has_schedule = true, .schedule = MW_PIPELINE_ZB_V},
     {.layers = 6},
     3,
     2,
     4,
     MW_PIPELINE_ZB_V},
    {"a value's stage after the turn",
     {.stages = 2, .micro_batches = 4, .has_schedule = true, .schedule = MW_PIPELINE_ZB_V},
     {.layers = 6, .logits = " with stage = 2"},
     3,
     2,
     4,
     MW_PIPELINE_ZB_V},
    {"recomputation", {.stages = 2, .remat = MW_REMAT_ALL}, {.layers = 4}, 2, 2, 0, -1},
    {"a mesh", {.stages = 2, .mesh = {1, {2}}}, {.layers = 4}, 2, 2, 0, -1},
    {"a value's stage, in chunks",
     {.stages = 2, .chunks = 2, .micro_batches = 4},
     {.layers = 6, .logits = " with stage = 3"},
     4,
     2,
     4,
     MW_PIPELINE_INTERLEAVED},
    {"a value's stage, of more than there are devices",
     {.chunks = 2, .micro_batches = 4},
     {.layers = 8, .logits = " with stage = 7"},
     8,
     4,
     4,
     MW_PIPELINE_INTERLEAVED},
    {"a value's stage", {0}, {.layers = 4, .logits = " with stage = 1"}, 2, 0, 0, -1},
};

START_TEST(pins_hold)
{
    Case c;
    MwCluster cluster = test_cluster(4);
    plan(&c, &cluster, pinned[_i].text, pinned[_i].options);
    const MwStaging *staging = &c.compilation.staging;
    if (pinned[_i].stages)
        ck_assert_msg(staging->stage_count == pinned[_i].stages, "%s: %d stages", pinned[_i].what,
                      staging->stage_count);
    if (pinned[_i].meshes)
        ck_assert_int_eq(staging->mesh_count, pinned[_i].meshes);
    if (pinned[_i].micro_batches)
        ck_assert_int_eq(staging->micro_batches, pinned[_i].micro_batches);
    if (pinned[_i].kind >= 0)
        ck_assert_int_eq(staging->schedule->kind, pinned[_i].kind);
    for (int l = 0; l < staging->layer_count; l++)
        if (pinned[_i].options.remat == MW_REMAT_ALL)
            ck_assert_int_eq(staging->layer_remat[l], MW_LAYER_RECOMPUTES);
    const MwGraph *graph = c.compilation.graph;
    for (int i = 0; i < graph->pins.count; i++)
        if (graph->pins.at[i].stage >= 0)
            ck_assert_int_eq(
                mw_staging_stage(staging, mw_value_node(graph, graph->pins.at[i].value)),
                graph->pins.at[i].stage);
    int devices = 0;
    for (int m = 0; m < staging->mesh_count; m++) {
        devices += staging->meshes[m].device_count;
        if (pinned[_i].options.mesh.axis_count)
            ck_assert_int_eq(staging->meshes[m].device_count, 2);
    }
    ck_assert_int_eq(devices, 4);
    mw_arena_free(&c.arena);
}
END_TEST

/* The first chunk of a mesh has more micro-batches in flight than the second. The second chunk of
 * mesh 0 has the logits, too. */
START_TEST(chunks_down_and_up_share_memory_as_they_need_it)
{
    Case c;
    MwCluster cluster = test_cluster(4);
    plan(&c, &cluster, (Text){.layers = 8, .batch = 2048},
         (MwCompileOptions){
             .stages = 4, .micro_batches = 8, .has_schedule = true, .schedule = MW_PIPELINE_ZB_V});
    const MwStaging *staging = &c.compilation.staging;
    ck_assert_int_eq(staging->stage_count, 7);
    for (int mesh = 0; mesh < 3; mesh++) {
        const int64_t down = mw_staging_memory_bytes(staging, mesh, 1000000);
        const int64_t up = mw_staging_memory_bytes(staging, 6 - mesh, 1000000);
        ck_assert_msg(mesh == 0 || down > up, "mesh %d: %lld, %lld", mesh, (long long)down,
                      (long long)up);
        /* what tasks use while they run is in both parts, and in one place */
        const int64_t shared = down + up - 1000000;
        ck_assert(shared > 0 && shared < mw_min(down, up));
    }
    ck_assert_int_eq(mw_staging_memory_bytes(staging, 3, 1000000), 1000000);
    mw_arena_free(&c.arena);
}
END_TEST

/* Chunks that go round the meshes, too: all that a mesh holds, and the most that a task uses. */
START_TEST(chunks_share_what_their_tasks_use)
{
    Case c;
    MwCluster cluster = quick_links(test_cluster(4));
    plan(&c, &cluster, (Text){.layers = 8, .batch = 2048},
         (MwCompileOptions){.stages = 4,
                            .chunks = 2,
                            .micro_batches = 8,
                            .has_schedule = true,
                            .schedule = MW_PIPELINE_INTERLEAVED});
    const MwStaging *staging = &c.compilation.staging;
    ck_assert_int_eq(staging->stage_count, 8);
    for (int mesh = 0; mesh < 4; mesh++) {
        const int64_t first = mw_staging_memory_bytes(staging, mesh, 1000000);
        const int64_t second = mw_staging_memory_bytes(staging, mesh + 4, 1000000);
        ck_assert(first < 1000000 && second < 1000000 && first + second > 1000000);
    }
    mw_arena_free(&c.arena);
}
END_TEST

/* However little there is to do in some layers. */
START_TEST(every_mesh_has_a_layer_for_each_chunk)
{
    Case c;
    MwCluster cluster = quick_links(test_cluster(6));
    plan(&c, &cluster, (Text){.layers = 1},
         (MwCompileOptions){.stages = 3, .chunks = 2, .layers = _i, .micro_batches = 4});
    const MwStaging *staging = &c.compilation.staging;
    int devices = 0;
    for (int m = 0; m < staging->mesh_count; m++)
        devices += staging->meshes[m].device_count;
    ck_assert_int_eq(staging->mesh_count, 3);
    ck_assert_int_eq(staging->stage_count, 6);
    ck_assert_int_eq(devices, 6);
    mw_arena_free(&c.arena);
}
END_TEST

static const struct {
    Text text;
    int stages, micro_batches;
    MwPipelineKind kind;
} late[] = {
    {{.layers = 16, .batch = 512}, 4, 4, MW_PIPELINE_ZB_V},
    {{.layers = 24, .batch = 4096}, 2, 32, MW_PIPELINE_V_HALF},
};

/* A late schedule that is better by as much as it must be is chosen; the next layout, which is
 * planned beside it, has another. If its own plan does not fit, it is said to lack memory. */
START_TEST(a_late_schedule_is_chosen_where_it_is_best)
{
    MwArena *arena = mw_arena_new();
    MwStageKnown *known = mw_stage_known_new(arena);
    Case c, next;
    MwCluster cluster = quick_links(test_cluster(4));
    const MwCompileOptions options = {.stages = late[_i].stages,
                                      .micro_batches = late[_i].micro_batches};
    open_case(&c, &cluster, late[_i].text, options);
    c.compilation.known = known;
    run_to(&c, MW_PASS_sharding);
    open_case(&next, &cluster, late[_i].text, options);
    next.compilation.known = known;
    next.compilation.takes_next_layout = true;
    next.compilation.taken_layout_bytes = 123;
    run_to(&next, MW_PASS_sharding);
    const MwStaging *staging = &c.compilation.staging, *other = &next.compilation.staging;
    ck_assert_int_eq(staging->schedule->kind, late[_i].kind);
    ck_assert_int_eq(staging->stage_count, 2 * late[_i].stages - 1);
    ck_assert(!mw_pipeline_info(other->schedule->kind)->late);
    ck_assert_double_lt(staging->step_s, 0.99 * other->step_s);
    int found = 0;
    for (int i = 0; i < other->alternative_count; i++)
        if (strcmp(other->alternatives[i].name, staging->name) == 0) {
            ck_assert_str_eq(other->alternatives[i].reason, "memory");
            ck_assert_int_eq(other->alternatives[i].needed_bytes, 123);
            found++;
        }
    ck_assert_int_eq(found, 1);
    mw_arena_free(&next.arena);
    mw_arena_free(&c.arena);
    mw_arena_free(&arena);
}
END_TEST

/* Of layouts that are nearly as good by estimate, one on another number of meshes is planned after
 * the best, before others on as many. */
START_TEST(unlike_layouts_are_planned_next)
{
    MwArena *arena = mw_arena_new();
    MwStageKnown *known = mw_stage_known_new(arena);
    Case c, next;
    MwCluster cluster = quick_links(test_cluster(4));
    const Text text = {.layers = 4, .batch = 256};
    open_case(&c, &cluster, text, (MwCompileOptions){0});
    c.compilation.known = known;
    run_to(&c, MW_PASS_sharding);
    open_case(&next, &cluster, text, (MwCompileOptions){0});
    next.compilation.known = known;
    next.compilation.takes_next_layout = true;
    run_to(&next, MW_PASS_sharding);
    const MwStaging *staging = &c.compilation.staging, *other = &next.compilation.staging;
    bool is_any_quicker = false;
    for (int i = 0; i < other->alternative_count; i++)
        is_any_quicker |= strcmp(other->alternatives[i].name, staging->name) != 0 &&
                          strcmp(other->alternatives[i].reason, "time") == 0 &&
                          other->alternatives[i].step_s < other->step_s;
    ck_assert(is_any_quicker);
    ck_assert_int_ne(other->mesh_count, staging->mesh_count);
    ck_assert_double_le(other->step_s, (1 + MW_TUNED_ESTIMATE_MARGIN) * staging->step_s);
    mw_arena_free(&next.arena);
    mw_arena_free(&c.arena);
    mw_arena_free(&arena);
}
END_TEST

/* Where it is not better, nothing tells that it was tried. */
START_TEST(late_schedules_leave_no_trace_where_they_are_not_best)
{
    Case c;
    MwCluster cluster = test_cluster(4);
    plan(&c, &cluster, (Text){.layers = 16}, (MwCompileOptions){.stages = 2, .micro_batches = 16});
    const MwStaging *staging = &c.compilation.staging;
    ck_assert(!mw_pipeline_info(staging->schedule->kind)->late);
    for (int i = 0; i < staging->alternative_count; i++)
        for (int kind = 0; kind < MW_PIPELINE_COUNT; kind++)
            ck_assert(!mw_pipeline_info((MwPipelineKind)kind)->late ||
                      !strstr(staging->alternatives[i].name,
                              mw_pipeline_info((MwPipelineKind)kind)->name));
    mw_arena_free(&c.arena);
}
END_TEST

/* Whatever the number of stages, those of other schedules are not even told of. */
START_TEST(a_schedule_that_is_wished_for_is_the_only_one)
{
    static const MwPipelineKind kinds[] = {MW_PIPELINE_GPIPE, MW_PIPELINE_INTERLEAVED,
                                           MW_PIPELINE_ZB_V};
    Case c;
    MwCluster cluster = quick_links(test_cluster(4));
    plan(&c, &cluster, (Text){.layers = 4},
         (MwCompileOptions){.has_schedule = true, .schedule = kinds[_i]});
    const MwStaging *staging = &c.compilation.staging;
    ck_assert_int_eq(staging->schedule->kind, kinds[_i]);
    for (int i = 0; i < staging->alternative_count; i++)
        ck_assert_msg(strstr(staging->alternatives[i].name, "1f1b") == NULL, "%s",
                      staging->alternatives[i].name);
    mw_arena_free(&c.arena);
}
END_TEST

/* The levels of all layers, added up. */
static int count_remat(const MwStaging *staging)
{
    int count = 0;
    for (int l = 0; l < staging->layer_count; l++)
        count += (int)staging->layer_remat[l];
    return count;
}

/* Between the memory that it takes to keep all and that to keep nothing, some layers recompute: the
 * fewer, the more memory there is. */
START_TEST(as_many_layers_recompute_as_must)
{
    enum { LAYERS = 8, LIMITS = 5 };
    const Text text = {.layers = LAYERS, .batch = 2048, .hidden = "\n    h = h + sin(gelu(h) @ w)"};
    Case c;
    MwCluster cluster = test_cluster(2);
    const int stages = _i;
    int64_t peak[2];
    for (int all = 0; all < 2; all++) {
        plan(&c, &cluster, text,
             (MwCompileOptions){.stages = stages,
                                .micro_batches = 2,
                                .has_schedule = true,
                                .schedule = MW_PIPELINE_1F1B,
                                .remat = all ? MW_REMAT_ALL : MW_REMAT_NONE});
        peak[all] = 0;
        for (int s = 0; s < stages; s++)
            peak[all] = mw_max(peak[all], c.compilation.stages[s].sharding->peak_bytes);
        mw_arena_free(&c.arena);
    }
    ck_assert_int_lt(peak[1], peak[0]);
    int last = MW_LAYER_RECOMPUTES * (LAYERS + 1), some = 0;
    for (int i = 0; i < LIMITS; i++) {
        int64_t memory = peak[1] + (peak[0] - peak[1]) * i / (LIMITS - 1);
        plan(&c, &cluster, text,
             (MwCompileOptions){.stages = stages,
                                .micro_batches = 2,
                                .has_schedule = true,
                                .schedule = MW_PIPELINE_1F1B,
                                .memory_bytes = memory});
        int count = count_remat(&c.compilation.staging);
        for (int s = 0; s < stages; s++)
            ck_assert_int_le(c.compilation.stages[s].sharding->peak_bytes, memory);
        ck_assert_msg(count <= last, "levels of %d layers add up to %d, with less memory to %d",
                      LAYERS, count, last);
        some += count > 0 && count < MW_LAYER_RECOMPUTES * c.compilation.staging.layer_count;
        last = count;
        mw_arena_free(&c.arena);
    }
    ck_assert_int_eq(last, 0);
    ck_assert_int_gt(some, 0);
}
END_TEST

/* Weights and optimizer states are 12 bytes an element; 4 devices of 3 MB hold 9 MB of them, and
 * then not all that is saved for the backward of one batch. */
START_TEST(little_memory_is_kept)
{
    Case c;
    MwCluster cluster = test_cluster(4);
    static const int64_t limits[] = {8 << 20, 3 << 20, 2900000};
    for (int i = 0; i < MW_COUNT(limits); i++) {
        plan(&c, &cluster, (Text){.layers = 8}, (MwCompileOptions){.memory_bytes = limits[i]});
        for (int s = 0; s < c.compilation.staging.stage_count; s++)
            ck_assert_int_le(c.compilation.stages[s].sharding->peak_bytes, limits[i]);
        mw_arena_free(&c.arena);
    }
}
END_TEST

START_TEST(too_little_memory_is_refused)
{
    Case c;
    MwCluster cluster = test_cluster(4);
    open_case(&c, &cluster, (Text){.layers = 8}, (MwCompileOptions){.memory_bytes = 1 << 20});
    run_to(&c, MW_PASS_sharding);
    ck_assert(!c.ok);
    const char *said = diags_text(c.arena, c.diags);
    ck_assert_msg(strstr(said, "does not fit the cluster") && strstr(said, "it takes at least"),
                  "%s", said);
    mw_arena_free(&c.arena);
}
END_TEST

/* ---- Threads ---- */

static bool is_same(const MwStageTrial *a, const MwStageTrial *b)
{
    bool same = strcmp(a->name, b->name) == 0 && a->fits == b->fits &&
                a->needed_bytes == b->needed_bytes && a->layout.step_s == b->layout.step_s &&
                a->layout.stage_count == b->layout.stage_count;
    for (int s = 0; s < a->layout.stage_count && same; s++)
        same = memcmp(&a->layout.stages[s], &b->layout.stages[s], sizeof a->layout.stages[s]) == 0;
    return same;
}

static void check_threads(MwCompileOptions options)
{
    Case c;
    MwCluster cluster = test_cluster_of_nodes(2, 4);
    prepare(&c, &cluster, (Text){.layers = 6}, options);
    MwStageTrialsQuery query = {.compilation = &c.compilation,
                                .least_stages = 1,
                                .memory_bytes = (double)options.memory_bytes,
                                .threads = 1};
    MwStageTrials alone = mw_stage_trials(&query);
    ck_assert_int_ge(alone.chosen, 0);
    for (int threads = 2; threads <= 5; threads++) {
        query.threads = threads;
        MwStageTrials together = mw_stage_trials(&query);
        ck_assert_int_eq(alone.chosen, together.chosen);
        ck_assert_int_eq(alone.trial_count, together.trial_count);
        for (int i = 0; i < alone.trial_count; i++)
            ck_assert(is_same(&alone.trials[i], &together.trials[i]));
    }
    mw_arena_free(&c.arena);
}

START_TEST(threads_make_no_difference)
{
    check_threads((MwCompileOptions){.memory_bytes = 2500000});
    check_threads((MwCompileOptions){
        .memory_bytes = 9000000, .has_schedule = true, .schedule = MW_PIPELINE_ZB_V, .stages = 2});
}
END_TEST

/* For less and less memory a search that goes on with what was found for more takes no worse than
 * one alone: the same layout as long as it fits, and then another. */
START_TEST(what_was_found_for_more_memory_is_kept_while_it_fits)
{
    enum { MOST = 1900000, LEAST = 1400000, STEP = 100000 };
    Case c;
    MwCluster cluster = test_cluster_of_nodes(2, 4);
    prepare(&c, &cluster, (Text){.layers = 6}, (MwCompileOptions){.memory_bytes = MOST});
    MwStageKnown *known = mw_stage_known_new(c.arena);
    double before_s = 0;
    int kept = 0, changed = 0;
    for (int bytes = MOST; bytes >= LEAST; bytes -= STEP) {
        const MwStageTrialsQuery query = {
            .compilation = &c.compilation, .least_stages = 1, .memory_bytes = bytes, .threads = 2};
        c.compilation.options.memory_bytes = bytes;
        c.compilation.known = NULL;
        const MwStageTrials alone = mw_stage_trials(&query);
        c.compilation.known = known;
        const MwStageTrials after = mw_stage_trials(&query);
        ck_assert_int_ge(alone.chosen, 0);
        ck_assert_int_ge(after.chosen, 0);
        const MwStageTrial *taken = &after.trials[after.chosen];
        ck_assert_double_le(taken->needed_bytes, bytes);
        ck_assert_double_le(taken->layout.step_s, alone.trials[alone.chosen].layout.step_s);
        kept += before_s == taken->layout.step_s;
        changed += before_s > 0 && before_s != taken->layout.step_s;
        before_s = taken->layout.step_s;
    }
    ck_assert_int_gt(kept, 0);
    ck_assert_int_gt(changed, 0);
    mw_arena_free(&c.arena);
}
END_TEST

/* A mesh of some of the devices makes a pipeline, which the user is told unless he asked for it. */
START_TEST(a_small_mesh_is_not_quiet)
{
    static const char warning[] = "--mesh 2 has 2 of the 4 devices of cluster test: the model "
                                  "becomes a pipeline over 2 meshes";
    Case c;
    MwCluster cluster = test_cluster(4);
    open_case(&c, &cluster, (Text){.layers = 2},
              (MwCompileOptions){.mesh = {1, {2}}, .stages = 2 * _i, .micro_batches = 2});
    run_to(&c, MW_PASS_stages);
    ck_assert(c.ok);
    ck_assert_int_eq(c.compilation.staging.mesh_count, 2);
    ck_assert_int_eq(strstr(diags_text(c.arena, c.diags), warning) != NULL, _i == 0);
    mw_arena_free(&c.arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stages");
    TCase *tests = tcase_create("stages");
    tcase_set_timeout(tests, 100);
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, the_choice_is_the_best_of_all, 0, MW_COUNT(choices));
    tcase_add_test(tests, like_layers_are_reckoned_right);
    tcase_add_test(tests, chunks_that_share_a_mesh_need_memory_together);
    tcase_add_test(tests, sums_and_casts_count_as_plans_have_them);
    tcase_add_test(tests, no_cost_is_below_the_quickest);
    tcase_add_loop_test(tests, layers_that_come_again_are_solved_once, 0, MW_COUNT(alike));
    tcase_add_test(tests, what_was_solved_is_not_solved_again);
    tcase_add_test(tests, unlike_layers_are_sampled_in_short_intervals);
    tcase_add_test(tests, a_stage_alone_is_that_of_split);
    tcase_add_test(tests, one_stage_stays_one);
    tcase_add_loop_test(tests, as_many_layers_recompute_as_must, 1, 3);
    tcase_add_loop_test(tests, pins_hold, 0, MW_COUNT(pinned));
    tcase_add_test(tests, chunks_down_and_up_share_memory_as_they_need_it);
    tcase_add_test(tests, chunks_share_what_their_tasks_use);
    tcase_add_loop_test(tests, every_mesh_has_a_layer_for_each_chunk, 6, 9);
    tcase_add_test(tests, unlike_layouts_are_planned_next);
    tcase_add_loop_test(tests, a_late_schedule_is_chosen_where_it_is_best, 0, MW_COUNT(late));
    tcase_add_test(tests, late_schedules_leave_no_trace_where_they_are_not_best);
    tcase_add_loop_test(tests, a_schedule_that_is_wished_for_is_the_only_one, 0, 3);
    tcase_add_loop_test(tests, a_small_mesh_is_not_quiet, 0, 2);
    tcase_add_test(tests, little_memory_is_kept);
    tcase_add_test(tests, too_little_memory_is_refused);
    tcase_add_test(tests, threads_make_no_difference);
    tcase_add_test(tests, what_was_found_for_more_memory_is_kept_while_it_fits);
    return run_suite(suite);
}
