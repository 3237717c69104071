/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search for stages against chance: of layouts that are drawn at random, in all numbers of
 * micro-batches and by all schedules, none is much better than what it takes. */
#include "frontend/frontend.h"
#include "passes/pass.h"
#include "passes/stages/trials.h"
#include "tests/reference/spread.h"
#include "tests/unit/clusters.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/support.h"

enum { MOST_STAGES = 16, MOST_CHUNKS = 3 };

typedef struct {
    MwArena *arena;
    MwCluster cluster;
    MwCompilation compilation;
} Case;

typedef struct {
    const char *model;
    MwDefine sizes[7];
    int nodes, devices;
    /* share of the memory that the choice needs without a limit; 0: there is no limit */
    double memory_share;
} Problem;

static int count_sizes(const Problem *problem)
{
    int count = 0;
    while (count < MW_COUNT(problem->sizes) && problem->sizes[count].name)
        count++;
    return count;
}

/* As the model stands before `stages`. Transfers and launches cost little, so that stages are worth
 * it. */
static Case open_case(const Problem *problem)
{
    Case c = {.arena = mw_arena_new(),
              .cluster = test_cluster_of_nodes(problem->nodes, problem->devices)};
    c.cluster.node_link.call_s = c.cluster.node_link.latency_s = 1e-9;
    c.cluster.network_link.call_s = c.cluster.network_link.latency_s = 1e-9;
    c.cluster.device.launch_s = 1e-9;
    MwDiags *diags = mw_diags_new(c.arena);
    MwGraph *graph =
        mw_graph_load(c.arena, mw_interner_new(c.arena),
                      mw_arena_printf(c.arena, "%s/models/%s.graph", SOURCE_ROOT, problem->model),
                      problem->sizes, count_sizes(problem), diags);
    ck_assert_msg(graph != NULL, "%s", diags_text(c.arena, diags));
    c.compilation = (MwCompilation){.arena = c.arena, .graph = graph};
    MwPipelineOptions options = {.stop_after = MW_PASS_update, .dump_after = MW_PASS_COUNT};
    ck_assert(mw_pipeline_run(&c.compilation, &options, diags));
    return c;
}

/* What the search takes, with `memory_bytes` a device. */
static MwStageTrial search(Case *c, int64_t memory_bytes)
{
    c->cluster.device.memory_bytes = memory_bytes;
    c->compilation.cluster = &c->cluster;
    MwStageTrialsQuery query = {.compilation = &c->compilation,
                                .least_stages = 1,
                                .memory_bytes = (double)memory_bytes,
                                .threads = 2};
    MwStageTrials trials = mw_stage_trials(&query);
    ck_assert_int_ge(trials.chosen, 0);
    return trials.trials[trials.chosen];
}

/* ---- Layouts at random ---- */

typedef struct {
    MwArena *arena;
    uint64_t random;
    MwStageBatchings batchings;
    MwStageBatching *batching; /* of the layout in hand */
    MwStageLayout layout;
    MwLayoutStage stages[MOST_STAGES];
} Draw;

/* Sub-meshes that use up the cluster; false if the last does not fit. */
static bool draw_meshes(Draw *d, const MwCluster *cluster, int *mesh_count, int *devices,
                        int *first_device)
{
    const MwStageCluster size = {cluster->nodes, cluster->devices_per_node};
    MwSubmeshPacking packing = mw_submesh_packing_new(d->arena, size);
    int left = mw_cluster_devices(cluster), row = 0, submesh[MOST_STAGES];
    for (*mesh_count = 0; left > 0 && *mesh_count < MOST_STAGES; ++*mesh_count) {
        int drawn = random_below(&d->random, packing.count);
        bool is_equal = d->layout.chunks > 1 && *mesh_count > 0;
        submesh[*mesh_count] = is_equal ? submesh[0] : drawn;
        row = packing.next[submesh[*mesh_count] * packing.state_count + row];
        devices[*mesh_count] = packing.submeshes[submesh[*mesh_count]].devices;
        left -= devices[*mesh_count];
        if (row < 0 || left < 0)
            return false;
    }
    if (left == 0)
        mw_submesh_packing_place(&packing, *mesh_count, submesh, first_device);
    return left == 0;
}

/* Where the layers are cut for `stages` stages: rising, from 0, each with a layer. */
static void draw_cuts(Draw *d, int layers, int stages)
{
    for (int s = 0, begin = 0; s < stages; s++) {
        int most = layers - (stages - 1 - s);
        int end = s + 1 == stages ? layers : begin + 1 + random_below(&d->random, most - begin);
        d->stages[s].begin = begin;
        d->stages[s].end = begin = end;
    }
}

/* Any way, or as often that which takes the least time of two to eight; false if it is on another
 * logical mesh than the stage `first` of the same mesh. */
static bool draw_way(Draw *d, int s, int first, int devices)
{
    MwStageCostQuery cost_query = {d->stages[s].begin, d->stages[s].end, devices,
                                   d->layout.stage_count == 1};
    MwStageCostList list;
    mw_stage_costs_query(d->batching->costs, &cost_query, 1, &list);
    if (list.count == 0)
        return false;
    for (int tries = 1 << random_below(&d->random, 4), i = 0; i < tries; i++) {
        const MwStageCost *way = &list.at[random_below(&d->random, list.count)];
        if (i == 0 || mw_stage_cost_time_s(way) < mw_stage_cost_time_s(&d->stages[s].cost))
            d->stages[s].cost = *way;
    }
    return mw_mesh_equal(&d->stages[s].cost.mesh, &d->stages[first].cost.mesh);
}

/* A priced layout; false if what was drawn is none. */
static bool draw_layout(Draw *d, const MwCluster *cluster)
{
    static const MwPipelineKind kinds[] = {MW_PIPELINE_GPIPE, MW_PIPELINE_1F1B,
                                           MW_PIPELINE_INTERLEAVED, MW_PIPELINE_ZB_H1,
                                           MW_PIPELINE_ZB_H2};
    int devices[MOST_STAGES], first_device[MOST_STAGES], meshes;
    d->batching = &d->batchings.at[random_below(&d->random, d->batchings.count)];
    d->layout = (MwStageLayout){.kind = kinds[random_below(&d->random, MW_COUNT(kinds))],
                                .micro_batches = d->batching->micro_batches,
                                .chunks = 1,
                                .stages = d->stages};
    if (d->layout.kind == MW_PIPELINE_INTERLEAVED)
        d->layout.chunks = 2 + random_below(&d->random, MOST_CHUNKS - 1);
    int layers = d->batching->model->layer_count;
    if (!draw_meshes(d, cluster, &meshes, devices, first_device))
        return false;
    d->layout.stage_count = meshes * d->layout.chunks;
    if (d->layout.stage_count > mw_min(layers, MOST_STAGES) ||
        (meshes == 1 && d->layout.chunks > 1))
        return false;
    draw_cuts(d, layers, d->layout.stage_count);
    for (int s = 0; s < d->layout.stage_count; s++) {
        d->stages[s].first_device = first_device[s % meshes];
        if (!draw_way(d, s, s % meshes, devices[s % meshes]))
            return false;
    }
    mw_stage_layout_price(d->batching->model, &d->layout);
    return true;
}

/* ---- The test ---- */

static const Problem problems[] = {
    {"gpt", {{"layers", "4"}, {"seq", "32"}, {"width", "64"}}, 1, 4, 0},
    {"gpt",
     {{"layers", "5"}, {"batch", "12"}, {"seq", "64"}, {"width", "512"}, {"heads", "8"}},
     2,
     2,
     0},
    {"gpt",
     {{"layers", "5"}, {"batch", "12"}, {"seq", "64"}, {"width", "512"}, {"heads", "8"}},
     2,
     2,
     0.7},
    {"mlp", {{"width", "512"}}, 1, 3, 0},
};

enum { DRAWN = 150 };

/* The stage problem reckons with less than the timeline. What is drawn is estimated, and what is
 * taken is solved: it may need more memory than was estimated, and be another layout for that. */
static const double SLACK = 0.03, DOUBT = 0.05;

START_TEST(chance_finds_nothing_much_better)
{
    const Problem *problem = &problems[_i];
    Case c = open_case(problem);
    int64_t memory_bytes = INT64_C(1) << 40;
    MwStageTrial chosen = search(&c, memory_bytes);
    if (problem->memory_share > 0) {
        memory_bytes = (int64_t)(problem->memory_share * chosen.needed_bytes);
        chosen = search(&c, memory_bytes);
    }
    MwStageKnown *known = mw_stage_known_new(c.arena);
    Draw d = {.arena = c.arena, .batchings = mw_stage_batchings(&c.compilation, known, 1)};
    int fitting = 0;
    for (int i = 0; i < d.batchings.count; i++)
        mw_stage_batching_make(&d.batchings.at[i]);
    for (int i = 0; i < DRAWN; i++) {
        if (!draw_layout(&d, &c.cluster) ||
            d.layout.needed_bytes > (1 - DOUBT) * (double)memory_bytes)
            continue;
        fitting++;
        ck_assert_msg(d.layout.step_s >= (1 - SLACK) * chosen.layout.step_s,
                      "%s takes %g s, %s only %g s", chosen.name, chosen.layout.step_s,
                      mw_stage_layout_name(c.arena, &d.layout), d.layout.step_s);
    }
    ck_assert_int_gt(fitting, 0);
    mw_stage_batchings_free(&d.batchings);
    mw_arena_free(&c.arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stage_chance");
    TCase *tests = tcase_create("stage_chance");
    tcase_set_timeout(tests, 100);
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, chance_finds_nothing_much_better, 0, MW_COUNT(problems));
    return run_suite(suite);
}
