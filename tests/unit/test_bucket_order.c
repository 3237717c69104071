/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order of units of a GPT on 2x4 devices. Where they split the states of its large weights both
 * ways, gradients are summed, and new weights gathered, in two steps each. Where they split weights
 * and gradients too, weights are gathered before each use, and gradients summed up in each
 * micro-batch. Where it is cut into two stages, these exchange gradients of the weight that both
 * have, and whether all gradients are finite. */
#include "codegen/fuse/duplicate.h"
#include "codegen/fuse/fusion.h"
#include "codegen/legal/legalize.h"
#include "codegen/plan/buckets.h"
#include "codegen/plan/overlap.h"
#include "codegen/plan/unit_times.h"
#include "frontend/frontend.h"
#include "passes/pass.h"
#include "tests/unit/clusters.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/support.h"

#include <math.h>

/* Products have 8 weights of as many bytes, each more than a bucket takes. */
enum { LAYERS = 4, WIDTH = 2048, LARGE = 2 * LAYERS };
static const int64_t large_bytes = INT64_C(4) * WIDTH * 4 * WIDTH;

static MwArena *arena;
static MwCompilation compilation;
static MwCluster cluster;

/* Runs the passes, once for all tests of a case. */
static void plan_with(const char *mesh, MwType precision, MwCompileOptions options)
{
    const MwDefine defines[] = {{"layers", "4"},   {"batch", "16"},  {"seq", "1024"},
                                {"width", "2048"}, {"vocab", "256"}, {"heads", "16"}};
    arena = mw_arena_new();
    cluster = test_cluster(8);
    cluster.backend = "cuda";
    cluster.device.memory_bytes = INT64_C(80) << 30;
    compilation = (MwCompilation){.arena = arena, .cluster = &cluster, .options = options};
    compilation.options.remat = MW_REMAT_NONE;
    compilation.options.solve_time_s = 5;
    ck_assert(mw_mesh_parse(mesh, &compilation.options.mesh));
    MwDiags *diags = mw_diags_new(arena);
    compilation.graph =
        mw_graph_load(arena, mw_interner_new(arena), SOURCE_ROOT "/models/gpt.graph", defines,
                      MW_COUNT(defines), diags);
    ck_assert_msg(compilation.graph, "%s", diags_text(arena, diags));
    mw_graph_set_precision(compilation.graph, precision);
    const MwPipelineOptions pipeline = {.stop_after = MW_PASS_COUNT, .dump_after = MW_PASS_COUNT};
    ck_assert_msg(mw_pipeline_run(&compilation, &pipeline, diags), "%s", diags_text(arena, diags));
}

static void plan_pinned(const char *const pins[], int pin_count)
{
    plan_with(
        "2x4", MW_BF16,
        (MwCompileOptions){.stages = 1, .micro_batches = 2, .pins = pins, .pin_count = pin_count});
}

static void two_stages(void)
{
    static const char *const pins[] = {"x=[S01, R, R]", "layers.*.x=[S01, R, R]",
                                       "layers.*.mlp.w1.m=[S1, S0]", "wte.m=[S1, S0]"};
    plan_with("2x2", MW_F16,
              (MwCompileOptions){
                  .stages = 2, .micro_batches = 4, .pins = pins, .pin_count = MW_COUNT(pins)});
}

static void split_states(void)
{
    static const char *const pins[] = {"layers.*.mlp.w1=[R, R]", "layers.*.mlp.w2=[R, R]",
                                       "layers.*.mlp.w1.m=[R, S01]", "layers.*.mlp.w2.m=[R, S01]"};
    plan_pinned(pins, MW_COUNT(pins));
}

static void split_weights(void)
{
    static const char *const pins[] = {"x=[S01, R, R]",
                                       "layers.*.x=[S01, R, R]",
                                       "layers.*.mlp.einsum*=[S01, R, R]",
                                       "layers.*.mlp.w1=[S01, R]",
                                       "layers.*.mlp.w2=[S01, R]",
                                       "grad.layers.*.mlp.w*.total=[S01, R]"};
    plan_pinned(pins, MW_COUNT(pins));
}

/* Sums along the two axes with kernels between, which pack what the second one scatters. */
static void split_both_dimensions(void)
{
    static const char *const pins[] = {"x=[S01, R, R]",
                                       "layers.*.x=[S01, R, R]",
                                       "layers.*.mlp.einsum*=[S01, R, R]",
                                       "layers.*.mlp.w1=[S0, S1]",
                                       "layers.*.mlp.w2=[S0, S1]",
                                       "grad.layers.*.mlp.w*.total=[S0, S1]"};
    plan_pinned(pins, MW_COUNT(pins));
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

static Ordered order_stage(int stage, const MwBucketing *bucketing)
{
    const MwLocalGraph *local = compilation.stages[stage].local;
    const MwCostModel model = mw_cost_model(&cluster, &local->mesh);
    Ordered o = {.legal = mw_legalize(arena, local->graph, &model, true)};
    o.units = mw_units_duplicate(&o.legal, mw_units_form(o.legal, true));
    o.order = mw_order_units(o.legal, o.units);
    if (bucketing)
        mw_order_buckets(o.legal, o.units, &model, bucketing, &o.order);
    return o;
}

static Ordered order_with(const MwBucketing *bucketing)
{
    return order_stage(0, bucketing);
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

/* ---- Collectives beside kernels ---- */

static MwLiveRanges live_of(const Ordered *o)
{
    static MwFlight flight;
    flight = mw_staging_flight(&compilation.staging, 0);
    return mw_live_ranges(o->legal, o->units, &o->order, &flight);
}

static Ordered order_apart(double peak_share)
{
    Ordered o = order_with(&(MwBucketing){.gathers_ahead = true, .sums_first = true});
    const MwCostModel model = mw_cost_model(&cluster, &compilation.stages[0].local->mesh);
    const MwLiveRanges live = live_of(&o);
    mw_order_overlap(&live, &model, peak_share, &o.order);
    return o;
}

static bool reads(const Ordered *o, int unit, int maker)
{
    for (int i = 0; i < o->units->units.at[unit].nodes.count; i++) {
        const MwNode *node = mw_legal_at(o->legal, o->units->units.at[unit].nodes.at[i]);
        for (int k = 0; k < node->operand_count; k++)
            if (mw_operand_maker(o->legal, o->units, node, k) == maker)
                return true;
    }
    return false;
}

static bool is_collective(const Ordered *o, int unit)
{
    const MwNode *node = mw_unit_first_node(o->legal, o->units, unit);
    return mw_op_info(node->op)->lowering == MW_LOWER_COLLECTIVE;
}

/* Seconds of computing between a collective and its first reader, or the end of the phase; -1: that
 * is another collective, which goes on with what it makes. */
static double between_s(const Ordered *o, const MwCostModel *model, int position)
{
    const int maker = o->order.unit[position];
    const MwPhase phase = o->units->units.at[maker].phase;
    double seconds = 0;
    for (int p = position + 1; p < o->order.begin[phase + 1]; p++) {
        if (reads(o, o->order.unit[p], maker))
            return is_collective(o, o->order.unit[p]) ? -1 : seconds;
        seconds += mw_unit_s(arena, o->legal, o->units, model, o->order.unit[p]);
    }
    return seconds;
}

/* How many large collectives of a kind computing hides in a phase, and of how many. */
static int count_hidden(const Ordered *o, MwPhase phase, MwOp op, int *of)
{
    const MwCostModel model = mw_cost_model(&cluster, &compilation.stages[0].local->mesh);
    int hidden = 0;
    *of = 0;
    for (int p = o->order.begin[phase]; p < o->order.begin[phase + 1]; p++) {
        const MwNode *node = mw_unit_first_node(o->legal, o->units, o->order.unit[p]);
        const int64_t bytes = mw_max(
            mw_tensor_bytes(mw_value_tensor(o->legal->graph, (MwValueId){node->first_result})),
            node->operand_count ? mw_tensor_bytes(mw_legal_operand_tensor(o->legal, node, 0)) : 0);
        const double computing_s = node->op == op ? between_s(o, &model, p) : -1;
        if (computing_s < 0 || bytes < large_bytes / 4)
            continue;
        const double alone_s = mw_cost_collective_s(
            &model, mw_op_collective(op), (int)mw_node_int(node, MW_ATTR_MESH_AXIS), (double)bytes);
        hidden += computing_s >= alone_s;
        ++*of;
    }
    return hidden;
}

/* The most bytes that are live at once before the update. */
static int64_t most_live(const Ordered *o)
{
    const MwLiveRanges live = live_of(o);
    int64_t *change = MW_NEW(arena, int64_t, o->order.count + 2), bytes = 0, most = 0;
    for (int v = 0; v < o->legal->graph->values.count; v++) {
        const MwValueId root = {v};
        if (!o->units->is_stored[v] || mw_live_is_persistent(&live, root) ||
            mw_legal_root(o->legal, root).index != v)
            continue;
        const int begin = mw_live_begin(&live, root);
        change[begin] += mw_tensor_bytes(mw_value_tensor(o->legal->graph, root));
        change[mw_max(begin, live.last_use[v]) + 1] -=
            mw_tensor_bytes(mw_value_tensor(o->legal->graph, root));
    }
    for (int p = 0; p < o->order.begin[MW_PHASE_UPDATE]; p++)
        most = mw_max(most, bytes += change[p]);
    return most;
}

/* All but what the phase begins or ends with. */
START_TEST(collectives_run_beside_kernels)
{
    const Ordered plain = order_apart(0), apart = order_apart(INFINITY);
    int gathers, sums;
    ck_assert_int_eq(count_hidden(&plain, MW_PHASE_FORWARD, MW_OP_ALL_GATHER, &gathers), 0);
    ck_assert_int_ge(gathers, LARGE);
    ck_assert_int_ge(count_hidden(&apart, MW_PHASE_FORWARD, MW_OP_ALL_GATHER, &gathers),
                     gathers - 1);
    ck_assert_int_eq(count_hidden(&plain, MW_PHASE_BACKWARD, MW_OP_REDUCE_SCATTER, &sums), 0);
    ck_assert_int_ge(sums, LAYERS);
    ck_assert_int_ge(count_hidden(&apart, MW_PHASE_BACKWARD, MW_OP_REDUCE_SCATTER, &sums),
                     sums - 1);
}
END_TEST

/* All but both sums of the last matrix, and the second one of that before. */
START_TEST(sums_along_two_axes_run_beside_kernels)
{
    const Ordered plain = order_apart(0), apart = order_apart(INFINITY);
    int sums;
    ck_assert_int_eq(count_hidden(&plain, MW_PHASE_BACKWARD, MW_OP_REDUCE_SCATTER, &sums), 0);
    ck_assert_int_ge(sums, 2 * LARGE);
    ck_assert_int_ge(count_hidden(&apart, MW_PHASE_BACKWARD, MW_OP_REDUCE_SCATTER, &sums),
                     sums - 3);
}
END_TEST

/* Nothing is moved that would need more than a share of what is live at most. */
START_TEST(what_is_moved_keeps_the_peak)
{
    const Ordered plain = order_apart(0), within = order_apart(1), scarce = order_apart(1e-3);
    int gathers;
    ck_assert_int_le(most_live(&within), most_live(&plain) + most_live(&plain) / 1000);
    ck_assert_int_gt(count_hidden(&within, MW_PHASE_FORWARD, MW_OP_ALL_GATHER, &gathers), 0);
    ck_assert_int_eq(count_hidden(&scarce, MW_PHASE_FORWARD, MW_OP_ALL_GATHER, &gathers), 0);
}
END_TEST

/* ---- Messages of the update ---- */

/* Whether a unit reads what any of the units marked makes. */
static bool reads_any(const Ordered *o, int unit, const bool *marked)
{
    for (int i = 0; i < o->units->units.at[unit].nodes.count; i++) {
        const MwNode *node = mw_legal_at(o->legal, o->units->units.at[unit].nodes.at[i]);
        for (int k = 0; k < node->operand_count; k++) {
            const int maker = mw_operand_maker(o->legal, o->units, node, k);
            if (maker >= 0 && maker != unit && marked[maker])
                return true;
        }
    }
    return false;
}

/* What waits for a message comes behind all that does not, in both stages. */
START_TEST(messages_are_waited_for_last)
{
    const Ordered o = order_stage(_i, &(MwBucketing){.gathers_ahead = true, .sums_first = true});
    bool *waits = MW_NEW(arena, bool, o.units->units.count);
    int first = -1, late = 0;
    for (int p = o.order.begin[MW_PHASE_UPDATE]; p < o.order.count; p++) {
        const int unit = o.order.unit[p];
        waits[unit] = mw_unit_first_node(o.legal, o.units, unit)->op == MW_OP_RECEIVE ||
                      reads_any(&o, unit, waits);
        first = waits[unit] && first < 0 ? p : first;
        late += first >= 0 && !waits[unit];
    }
    ck_assert_int_ge(first, 0);
    ck_assert_int_eq(late, 0);
}
END_TEST

/* How many large sums a stage sends. None of them is done together with others. */
static int sums_sent(int stage)
{
    const Ordered o = order_stage(stage, &(MwBucketing){.gathers_ahead = true, .sums_first = true});
    int sent = 0;
    for (int p = o.order.begin[MW_PHASE_UPDATE]; p < o.order.count; p++) {
        const MwNode *node = mw_unit_first_node(o.legal, o.units, o.order.unit[p]);
        const int maker = node->op == MW_OP_SEND ? mw_operand_maker(o.legal, o.units, node, 0) : -1;
        const bool is_large =
            maker >= 0 && mw_tensor_elements(mw_legal_operand_tensor(o.legal, node, 0)) > WIDTH;
        if (!is_large || !is_collective(&o, maker))
            continue;
        sent++;
        for (int q = o.order.begin[MW_PHASE_UPDATE]; q < o.order.count; q++)
            ck_assert(o.order.unit[q] == maker ||
                      o.order.position[o.order.unit[q]] != o.order.position[maker]);
    }
    return sent;
}

/* The other stage does not wait for sums that it has no use for. */
START_TEST(what_is_sent_is_summed_alone)
{
    ck_assert_int_ge(sums_sent(0) + sums_sent(1), 1);
}
END_TEST

static TCase *case_of(Suite *suite, const char *name, void (*setup)(void))
{
    TCase *tests = tcase_create(name);
    suite_add_tcase(suite, tests);
    tcase_add_unchecked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    return tests;
}

int main(void)
{
    Suite *suite = suite_create("bucket_order");
    TCase *states = case_of(suite, "split_states", split_states);
    TCase *weights = case_of(suite, "split_weights", split_weights);
    TCase *both = case_of(suite, "split_both_dimensions", split_both_dimensions);
    TCase *stages = case_of(suite, "two_stages", two_stages);
    tcase_add_test(states, new_weights_are_gathered_at_once);
    tcase_add_test(states, sums_wait_for_each_other_where_there_is_memory);
    tcase_add_test(weights, collectives_run_beside_kernels);
    tcase_add_test(weights, what_is_moved_keeps_the_peak);
    tcase_add_test(both, sums_along_two_axes_run_beside_kernels);
    tcase_add_loop_test(stages, messages_are_waited_for_last, 0, 2);
    tcase_add_test(stages, what_is_sent_is_summed_alone);
    return run_suite(suite);
}
