/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Probes: meshes that the model cannot be divided among promise little, one stage promises what it
 * takes, and threads make no difference. */
#include "frontend/frontend.h"
#include "passes/pass.h"
#include "passes/stages/ranking.h"
#include "tests/unit/clusters.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/support.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* More devices than STAGE_UNITS: three times a power of two in a third of all pipelines, or a power
 * of two, of which there is no such. */
enum { NODES = 12, EVEN_NODES = 16, NODE = 8, MEMORY_BYTES = 1000000000 };

static const char text[] = "model plain {\n"
                           "  input x: f32[32, 256]\n"
                           "  h = x\n"
                           "  repeat 24 as l {\n"
                           "    weight w: f32[256, 256] = normal(0.06)\n"
                           "    h = relu(h @ w)\n"
                           "  }\n"
                           "  train mean(h * h) with sgd(lr = 0.01)\n"
                           "}\n";

typedef struct {
    MwArena *arena;
    MwCluster cluster;
    MwCompilation compilation;
    MwStageKnown *known;
    MwStageBatchings batchings;
} Case;

/* The model before the pass `stages`, measured by so many threads. */
static void open_case(Case *c, int nodes, int threads)
{
    *c = (Case){.arena = mw_arena_new(), .cluster = test_cluster_of_nodes(nodes, NODE)};
    MwDiags *diags = mw_diags_new(c->arena);
    MwSource *source = MW_NEW(c->arena, MwSource, 1);
    *source = (MwSource){
        .name = "case.graph", .text = mw_arena_strdup(c->arena, text), .bytes = strlen(text)};
    c->compilation = (MwCompilation){.arena = c->arena, .cluster = &c->cluster};
    c->compilation.graph =
        mw_graph_parse(c->arena, mw_interner_new(c->arena), source, NULL, 0, diags);
    ck_assert_msg(c->compilation.graph != NULL, "%s", diags_text(c->arena, diags));
    const MwPipelineOptions options = {.stop_after = MW_PASS_update, .dump_after = MW_PASS_COUNT};
    ck_assert(mw_pipeline_run(&c->compilation, &options, diags));
    c->known = mw_stage_known_new(c->arena);
    c->batchings = mw_stage_batchings(&c->compilation, c->known, threads);
}

static MwStageProbeQuery query_of(Case *c)
{
    return (MwStageProbeQuery){.compilation = &c->compilation,
                               .batchings = &c->batchings,
                               .memory_bytes = MEMORY_BYTES,
                               .least_stages = 1,
                               .known = c->known};
}

/* Opens a case on so many nodes, and probes. */
static MwEvenPipelines probe(Case *c, int nodes, int least_stages)
{
    open_case(c, nodes, 1);
    MwStageProbeQuery query = query_of(c);
    query.least_stages = least_stages;
    mw_stage_batchings_measure(&c->batchings);
    return mw_stage_probe(c->arena, &query);
}

static void close_case(Case *c)
{
    mw_stage_batchings_free(&c->batchings);
    mw_arena_free(&c->arena);
}

/* Three divides neither the samples nor the weights: devices of an axis that is a multiple of it do
 * the same work. */
START_TEST(meshes_that_nothing_divides_promise_little)
{
    Case c;
    const MwEvenPipelines list = probe(&c, NODES, 1);
    int indivisible = 0;
    ck_assert_int_gt(list.count, 0);
    ck_assert_int_ne(NODES * NODE / list.at[0].meshes % 3, 0);
    for (int i = 0; i < list.count; i++) {
        const MwEvenPipeline *pipeline = &list.at[i];
        const double even_s = mw_stage_batching_even_s(pipeline->batching);
        if (NODES * NODE / pipeline->meshes % 3 != 0)
            continue;
        indivisible++;
        ck_assert_double_ge(pipeline->even_s, 3 * even_s);
        /* a mesh of one axis, or one that leaves the odd factor among the devices of a node, does
         * even more of the same work */
        const int *size = pipeline->shape.size;
        ck_assert(pipeline->shape.axis_count == 2 && size[0] % 3 == 0 && size[1] % 3 != 0);
    }
    ck_assert_int_gt(indivisible, 0);
    close_case(&c);
}
END_TEST

/* Seconds of a step of one stage on all devices, by the best way that fits of all that the search
 * has; INFINITY: none does. */
static double one_stage_s(const MwStageBatching *batching, double memory_bytes)
{
    const int devices = mw_cluster_devices(batching->compilation->cluster);
    const MwStageCostQuery all = {0, batching->layer_count, devices, .is_sequential = true};
    MwStageCostList list;
    double least_s = INFINITY;
    mw_stage_costs_query(batching->costs, &all, 1, &list);
    for (int i = 0; i < list.count; i++)
        if (list.at[i].kept_bytes + list.at[i].joint_peak_bytes <= memory_bytes)
            least_s = fmin(least_s, mw_stage_cost_step_s(&list.at[i], batching->micro_batches));
    return least_s;
}

/* One stage is probed among pipelines, by half of its layers, and promises about what it takes. */
START_TEST(one_stage_promises_what_it_takes)
{
    Case c;
    const MwEvenPipelines list = probe(&c, EVEN_NODES, 1);
    int probed = 0;
    for (int i = 0; i < list.count; i++) {
        const MwEvenPipeline *pipeline = &list.at[i];
        if (pipeline->meshes > 1 || pipeline->probed_s >= DBL_MAX)
            continue;
        const double step_s = one_stage_s(pipeline->batching, MEMORY_BYTES);
        ck_assert_double_ge(pipeline->probed_s, 0.8 * step_s);
        ck_assert_double_le(pipeline->probed_s, 1.25 * step_s);
        probed++;
    }
    ck_assert_int_gt(probed, 0);
    close_case(&c);
}
END_TEST

/* There is none where more stages are pinned. */
START_TEST(one_stage_is_left_out_where_there_are_more)
{
    Case c;
    const MwEvenPipelines list = probe(&c, NODES, 2);
    ck_assert_int_gt(list.count, 0);
    for (int i = 0; i < list.count; i++)
        ck_assert_int_gt(list.at[i].meshes, 1);
    close_case(&c);
}
END_TEST

START_TEST(threads_make_no_difference)
{
    Case one, many;
    open_case(&one, NODES, 1);
    open_case(&many, NODES, 4);
    const MwStageProbeQuery query = query_of(&one), with_many = query_of(&many);
    const MwRanking a = mw_stage_rank(one.arena, &query);
    const MwRanking b = mw_stage_rank(many.arena, &with_many);
    int probed = 0;
    ck_assert_int_eq(a.count, b.count);
    for (int i = 0; i < a.count; i++) {
        probed += a.at[i].is_probed;
        ck_assert_int_eq(a.at[i].batching->micro_batches, b.at[i].batching->micro_batches);
        ck_assert_int_eq(a.at[i].meshes, b.at[i].meshes);
        ck_assert_int_eq(a.at[i].is_probed, b.at[i].is_probed);
        ck_assert(a.at[i].expected_s == b.at[i].expected_s);
    }
    ck_assert_int_gt(probed, 1);
    close_case(&one);
    close_case(&many);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stage_probe");
    TCase *tests = tcase_create("stage_probe");
    tcase_set_timeout(tests, 100);
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, meshes_that_nothing_divides_promise_little);
    tcase_add_test(tests, one_stage_promises_what_it_takes);
    tcase_add_test(tests, one_stage_is_left_out_where_there_are_more);
    tcase_add_test(tests, threads_make_no_difference);
    return run_suite(suite);
}
