/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order of the update of a GPT on 2x4 devices that split the states of its large weights both
 * ways: gradients are summed, and new weights gathered, in two steps each. */
#include "base/backend.h"
#include "codegen/fuse/duplicate.h"
#include "codegen/fuse/fusion.h"
#include "codegen/legal/legalize.h"
#include "codegen/plan/buckets.h"
#include "codegen/plan/live_ranges.h"
#include "frontend/frontend.h"
#include "passes/pass.h"
#include "tests/unit/clusters.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/support.h"

/* Products have 8 weights of as many bytes, each more than a bucket takes. */
enum { LAYERS = 4, WIDTH = 2048, LARGE = 2 * LAYERS };
static const int64_t large_bytes = INT64_C(4) * WIDTH * 4 * WIDTH;

static MwArena *arena;
static MwCompilation compilation;
static MwCluster cluster;

/* Runs the passes, once for all tests. */
static void setup(void)
{
    static const char *const pins[] = {"layers.*.mlp.w1=[R, R]", "layers.*.mlp.w2=[R, R]",
                                       "layers.*.mlp.w1.m=[R, S01]", "layers.*.mlp.w2.m=[R, S01]"};
    const MwDefine defines[] = {{"layers", "4"},   {"batch", "16"},  {"seq", "1024"},
                                {"width", "2048"}, {"vocab", "256"}, {"heads", "16"}};
    arena = mw_arena_new();
    cluster = test_cluster(8);
    cluster.backend = "cuda";
    cluster.device.memory_bytes = INT64_C(80) << 30;
    compilation = (MwCompilation){.arena = arena,
                                  .cluster = &cluster,
                                  .options = {.stages = 1,
                                              .micro_batches = 2,
                                              .remat = MW_REMAT_NONE,
                                              .solve_time_s = 5,
                                              .pins = pins,
                                              .pin_count = MW_COUNT(pins)}};
    ck_assert(mw_mesh_parse("2x4", &compilation.options.mesh));
    MwDiags *diags = mw_diags_new(arena);
    compilation.graph =
        mw_graph_load(arena, mw_interner_new(arena), SOURCE_ROOT "/models/gpt.graph", defines,
                      MW_COUNT(defines), diags);
    ck_assert_msg(compilation.graph, "%s", diags_text(arena, diags));
    mw_graph_set_precision(compilation.graph, MW_BF16);
    const MwPipelineOptions pipeline = {.stop_after = MW_PASS_COUNT, .dump_after = MW_PASS_COUNT};
    ck_assert_msg(mw_pipeline_run(&compilation, &pipeline, diags), "%s", diags_text(arena, diags));
}

static void teardown(void)
{
    mw_arena_free(&arena);
}

/* The units of the stage in their order. */
typedef struct {
    const MwLegal *legal;
    const MwUnits *units;
    MwOrder order;
} Ordered;

static Ordered order_with(const MwBucketing *bucketing)
{
    const MwLocalGraph *local = compilation.stages[0].local;
    Ordered o = {.legal = mw_legalize(arena, local->graph, mw_backend_named("cuda"), true)};
    o.units = mw_units_duplicate(&o.legal, mw_units_form(o.legal, true));
    const MwCostModel model = mw_cost_model(&cluster, &local->mesh);
    o.order = mw_order_units(o.legal, o.units);
    if (bucketing)
        mw_order_buckets(o.legal, o.units, &model, bucketing, &o.order);
    return o;
}

/* The most bytes of values that the update makes and that are live at once, new weights, which lie
 * where the old ones did, not counted. */
static int64_t live_in_update(const Ordered *o)
{
    const MwGraph *graph = o->legal->graph;
    const MwFlight flight = mw_staging_flight(&compilation.staging, 0);
    const MwLiveRanges live = mw_live_ranges(o->legal, o->units, &o->order, &flight);
    bool *is_new = MW_NEW(arena, bool, graph->values.count);
    for (int i = 0; i < graph->assigns.count; i++)
        is_new[mw_legal_root(o->legal, graph->assigns.at[i].value).index] = true;
    int64_t *change = MW_NEW(arena, int64_t, o->order.count + 1), bytes = 0, most = 0;
    for (int v = 0; v < graph->values.count; v++) {
        const int made = o->units->is_stored[v] ? mw_live_made_at(&live, (MwValueId){v}) : -1;
        if (made < o->order.begin[MW_PHASE_UPDATE] || is_new[v] || live.last_use[v] < made)
            continue;
        change[made] += mw_tensor_bytes(&graph->values.at[v].tensor);
        change[live.last_use[v] + 1] -= mw_tensor_bytes(&graph->values.at[v].tensor);
    }
    for (int p = 0; p < o->order.count; p++)
        most = mw_max(most, bytes += change[p]);
    return most;
}

/* Weights are gathered one after another, each as soon as it is new, although activations need more
 * memory than the update does by any order. */
START_TEST(new_weights_are_gathered_at_once)
{
    const Ordered plain = order_with(NULL);
    ck_assert_int_le(live_in_update(&plain), large_bytes);
}
END_TEST

/* Where there is memory all sums come first, and else each is done where it is needed. */
START_TEST(sums_wait_for_each_other_where_there_is_memory)
{
    const Ordered first = order_with(&(MwBucketing){.gathers_ahead = true, .sums_first = true});
    const Ordered late = order_with(&(MwBucketing){.gathers_ahead = true});
    ck_assert_int_ge(live_in_update(&first), LARGE * large_bytes / 4);
    ck_assert_int_le(live_in_update(&late), 2 * large_bytes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bucket_order");
    TCase *tests = tcase_create("bucket_order");
    suite_add_tcase(suite, tests);
    tcase_add_unchecked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, new_weights_are_gathered_at_once);
    tcase_add_test(tests, sums_wait_for_each_other_where_there_is_memory);
    return run_suite(suite);
}
