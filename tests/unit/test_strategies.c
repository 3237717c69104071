/* SPDX-License-Identifier: GPL-3.0-or-later */
/* passes/sharding/strategies.h: the strategies of typical nodes, written out. */
#include "base/text.h"
#include "passes/sharding/strategies.h"
#include "tests/reference/spread.h"
#include "tests/unit/clusters.h"
#include "tests/unit/graphs.h"
#include "tests/unit/op_text.h"
#include "tests/unit/specs.h"
#include "tests/unit/support.h"

#include <stdlib.h>
#include <string.h>

/* "[S0, R] [R, R] -> [S0, R]", one line a strategy, sorted. */
static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void put_spec(MwText *text, MwSpec spec, const MwTensor *tensor)
{
    char buffer[MW_SPEC_TEXT_BYTES];
    mw_text_printf(text, "%s%s", text->bytes ? " " : "", mw_spec_text(spec, tensor->rank, buffer));
}

static const char *strategy_text(TestGraph *test, MwNodeId id, const MwStrategy *strategy)
{
    const MwNode *node = mw_node(test->graph, id);
    MwText text = {.arena = test->arena};
    for (int k = 0; k < node->operand_count; k++)
        put_spec(&text, strategy->operands[k], mw_value_tensor(test->graph, node->operands[k]));
    mw_text_add(&text, " ->");
    for (int k = 0; k < node->result_count; k++)
        put_spec(&text, strategy->results[k],
                 mw_value_tensor(test->graph, mw_node_result(test->graph, id, k)));
    return text.at;
}

static const char *list_text(TestGraph *test, MwNodeId id, const MwStrategyList *list)
{
    const char **lines = MW_NEW(test->arena, const char *, list->count);
    for (int s = 0; s < list->count; s++)
        lines[s] = strategy_text(test, id, &list->at[s]);
    qsort(lines, (size_t)list->count, sizeof *lines, compare_lines);
    MwText text = {.arena = test->arena};
    for (int s = 0; s < list->count; s++)
        mw_text_printf(&text, "%s\n", lines[s]);
    return text.at;
}

static const MwStrategyList *strategies_on(TestGraph *test, MwValueId value, const char *mesh_text,
                                           MwStrategyRole role)
{
    MwMeshShape mesh;
    ck_assert(mw_mesh_parse(mesh_text, &mesh));
    MwCluster *cluster = MW_NEW(test->arena, MwCluster, 1);
    *cluster = test_cluster(mw_mesh_devices(&mesh));
    MwCostModel model = mw_cost_model(cluster, &mesh);
    MwStrategyTable *table = mw_strategy_table_new(test->arena, &model);
    return mw_strategies(table, test->graph, mw_value(test->graph, value)->node, role);
}

static void check_list(TestGraph *test, MwValueId value, const char *mesh, MwStrategyRole role,
                       const char *wanted)
{
    const MwStrategyList *list = strategies_on(test, value, mesh, role);
    ck_assert_str_eq(list_text(test, mw_value(test->graph, value)->node, list), wanted);
}

START_TEST(a_product_splits_rows_columns_or_the_sum)
{
    TestGraph t = test_graph_new();
    MwValueId a = test_source(&t, MW_OP_INPUT, "a", "f32[4, 6]");
    MwValueId b = test_source(&t, MW_OP_WEIGHT, "b", "f32[6, 8]");
    MwValueId c = test_einsum(&t, "mk,kn->mn", a, b);
    check_list(&t, c, "2", MW_STRATEGY_PLAIN,
               "[R, R] [R, R] -> [R, R]\n"
               "[R, R] [R, S0] -> [R, S0]\n"
               "[R, S0] [S0, R] -> [R, R] +P0\n"
               "[S0, R] [R, R] -> [S0, R]\n");
    check_list(&t, c, "4", MW_STRATEGY_PLAIN, /* 6 does not divide by 4 */
               "[R, R] [R, R] -> [R, R]\n"
               "[R, R] [R, S0] -> [R, S0]\n"
               "[S0, R] [R, R] -> [S0, R]\n");
    check_list(&t, c, "2x2", MW_STRATEGY_WHOLE,
               "[R, R] [R, R] -> [R, R]\n"
               "[R, R] [R, S01] -> [R, S01]\n"
               "[R, R] [R, S0] -> [R, S0]\n"
               "[R, R] [R, S1] -> [R, S1]\n"
               "[S0, R] [R, R] -> [S0, R]\n"
               "[S0, R] [R, S1] -> [S0, S1]\n"
               "[S01, R] [R, R] -> [S01, R]\n"
               "[S1, R] [R, R] -> [S1, R]\n"
               "[S1, R] [R, S0] -> [S1, S0]\n");
    check_list(&t, c, "1", MW_STRATEGY_PLAIN, "[R, R] [R, R] -> [R, R]\n");
    check_list(&t, c, "1x4", MW_STRATEGY_PLAIN,
               "[R, R] [R, R] -> [R, R]\n"
               "[R, R] [R, S1] -> [R, S1]\n"
               "[S1, R] [R, R] -> [S1, R]\n");
    test_graph_free(&t);
}
END_TEST

START_TEST(linear_operators_carry_partial_sums)
{
    TestGraph t = test_graph_new();
    MwValueId a = test_source(&t, MW_OP_INPUT, "a", "f32[4]");
    MwValueId b = test_source(&t, MW_OP_INPUT, "b", "f32[4]");
    check_list(&t, test_op2(&t, MW_OP_ADD, a, b), "2", MW_STRATEGY_PLAIN,
               "[R] +P0 [R] +P0 -> [R] +P0\n"
               "[R] [R] -> [R]\n"
               "[S0] [S0] -> [S0]\n");
    check_list(&t, test_op2(&t, MW_OP_MUL, a, b), "2", MW_STRATEGY_PLAIN,
               "[R] +P0 [R] -> [R] +P0\n"
               "[R] [R] +P0 -> [R] +P0\n"
               "[R] [R] -> [R]\n"
               "[S0] [S0] -> [S0]\n");
    check_list(&t, test_op2(&t, MW_OP_DIV, a, b), "2", MW_STRATEGY_PLAIN,
               "[R] +P0 [R] -> [R] +P0\n"
               "[R] [R] -> [R]\n"
               "[S0] [S0] -> [S0]\n");
    check_list(&t, test_op2(&t, MW_OP_GELU_GRAD, a, b), "2", MW_STRATEGY_PLAIN,
               "[R] [R] +P0 -> [R] +P0\n"
               "[R] [R] -> [R]\n"
               "[S0] [S0] -> [S0]\n");
    check_list(&t, test_op1(&t, MW_OP_EXP, a), "2", MW_STRATEGY_PLAIN,
               "[R] -> [R]\n"
               "[S0] -> [S0]\n");
    check_list(&t, test_op2(&t, MW_OP_ADD, a, b), "2", MW_STRATEGY_WHOLE,
               "[R] [R] -> [R]\n"
               "[S0] [S0] -> [S0]\n");
    test_graph_free(&t);
}
END_TEST

START_TEST(whole_numbers_are_not_carried)
{
    TestGraph t = test_graph_new();
    MwValueId a = test_source(&t, MW_OP_INPUT, "a", "i32[4]");
    check_list(&t, test_op2(&t, MW_OP_ADD, a, a), "2", MW_STRATEGY_PLAIN,
               "[R] [R] -> [R]\n"
               "[S0] [S0] -> [S0]\n");
    test_graph_free(&t);
}
END_TEST

START_TEST(sources_take_any_spec)
{
    TestGraph t = test_graph_new();
    MwValueId w = test_source(&t, MW_OP_WEIGHT, "w", "f32[4, 2]");
    check_list(&t, w, "2x2", MW_STRATEGY_PLAIN,
               " -> [R, R]\n"
               " -> [R, S0]\n"
               " -> [R, S1]\n"
               " -> [S0, R]\n"
               " -> [S0, S1]\n"
               " -> [S01, R]\n"
               " -> [S1, R]\n"
               " -> [S1, S0]\n");
    MwValueId s = test_source(&t, MW_OP_STATE, "s", "f32[4]");
    check_list(&t, s, "2x2", MW_STRATEGY_PARTIAL,
               " -> [R]\n"
               " -> [R] +P0\n"
               " -> [R] +P01\n"
               " -> [R] +P1\n"
               " -> [S01]\n"
               " -> [S0]\n"
               " -> [S0] +P1\n"
               " -> [S1]\n"
               " -> [S1] +P0\n");
    test_graph_free(&t);
}
END_TEST

START_TEST(rows_and_reductions)
{
    TestGraph t = test_graph_new();
    MwValueId x = test_source(&t, MW_OP_INPUT, "x", "f32[4, 8]");
    check_list(&t, test_op1(&t, MW_OP_SOFTMAX, x), "2", MW_STRATEGY_PLAIN,
               "[R, R] -> [R, R]\n"
               "[S0, R] -> [S0, R]\n");
    check_list(&t, test_op1(&t, MW_OP_LOGSUMEXP, x), "2", MW_STRATEGY_PLAIN,
               "[R, R] -> [R]\n"
               "[R, S0] -> [R] +L0\n"
               "[S0, R] -> [S0]\n");
    int64_t axes[] = {1};
    MwAttr attr = mw_attr_ints(MW_ATTR_AXES, axes, 1);
    check_list(&t, test_op1_attr(&t, MW_OP_REDUCE_MAX, x, attr), "2", MW_STRATEGY_PLAIN,
               "[R, R] -> [R]\n"
               "[R, S0] -> [R] +M0\n"
               "[S0, R] -> [S0]\n");
    check_list(&t, test_op1_attr(&t, MW_OP_REDUCE_SUM, x, attr), "2", MW_STRATEGY_PLAIN,
               "[R, R] +P0 -> [R] +P0\n"
               "[R, R] -> [R]\n"
               "[R, S0] -> [R] +P0\n"
               "[S0, R] -> [S0]\n");
    test_graph_free(&t);
}
END_TEST

START_TEST(look_ups_split_their_table)
{
    TestGraph t = test_graph_new();
    MwValueId ids = test_source(&t, MW_OP_INPUT, "ids", "i32[4]");
    MwValueId table = test_source(&t, MW_OP_WEIGHT, "table", "f32[8, 6]");
    check_list(&t, test_op2(&t, MW_OP_EMBEDDING, ids, table), "2", MW_STRATEGY_PLAIN,
               "[R] [R, R] +P0 -> [R, R] +P0\n"
               "[R] [R, R] -> [R, R]\n"
               "[R] [R, S0] -> [R, S0]\n"
               "[R] [S0, R] -> [R, R] +P0\n"
               "[S0] [R, R] -> [S0, R]\n");
    test_graph_free(&t);
}
END_TEST

/* Over split keys the output is a partial sum; the log-sum-exp is whole, as the node combines
 * it. */
START_TEST(attention_splits_queries_or_keys)
{
    TestGraph t = test_graph_new();
    MwValueId q = test_source(&t, MW_OP_INPUT, "q", "f32[2, 8, 4, 16]");
    MwValueId k = test_source(&t, MW_OP_INPUT, "k", "f32[2, 8, 2, 16]");
    MwValueId v = test_source(&t, MW_OP_INPUT, "v", "f32[2, 8, 2, 16]");
    check_list(&t, test_op3(&t, MW_OP_SDPA, q, k, v), "2", MW_STRATEGY_PLAIN,
               "[R, R, R, R] [R, R, R, R] [R, R, R, R] -> [R, R, R, R] [R, R, R]\n"
               "[R, R, R, R] [R, S0, R, R] [R, S0, R, R] -> [R, R, R, R] +P0 [R, R, R]\n"
               "[R, R, S0, R] [R, R, S0, R] [R, R, S0, R] -> [R, R, S0, R] [R, R, S0]\n"
               "[R, S0, R, R] [R, R, R, R] [R, R, R, R] -> [R, S0, R, R] [R, S0, R]\n"
               "[R, S0, R, R] [R, S0, R, R] [R, S0, R, R] -> [R, S0, R, R] [R, S0, R]\n"
               "[S0, R, R, R] [S0, R, R, R] [S0, R, R, R] -> [S0, R, R, R] [S0, R, R]\n");
    check_list(&t, test_op3(&t, MW_OP_SDPA, q, k, v), "4", MW_STRATEGY_PLAIN, /* 2 key heads */
               "[R, R, R, R] [R, R, R, R] [R, R, R, R] -> [R, R, R, R] [R, R, R]\n"
               "[R, R, R, R] [R, S0, R, R] [R, S0, R, R] -> [R, R, R, R] +P0 [R, R, R]\n"
               "[R, S0, R, R] [R, R, R, R] [R, R, R, R] -> [R, S0, R, R] [R, S0, R]\n"
               "[R, S0, R, R] [R, S0, R, R] [R, S0, R, R] -> [R, S0, R, R] [R, S0, R]\n");
    test_graph_free(&t);
}
END_TEST

/* Rings: along one axis, of no more devices than a plan has nodes for, and where what travels is
 * split over nothing that stays. Both work on all blocks, as where keys are gathered. */
START_TEST(keys_go_round_the_devices)
{
    static const struct {
        const char *operands, *mesh;
        int rings; /* strategies with one */
    } cases[] = {
        {"f32[1, 64, 1, 16]; f32[1, 64, 1, 16]; f32[1, 64, 1, 16]", "4", 1},
        {"f32[1, 64, 1, 16]; f32[1, 64, 1, 16]; f32[1, 64, 1, 16]", "16", 1},
        {"f32[1, 64, 1, 16]; f32[1, 64, 1, 16]; f32[1, 64, 1, 16]", "32", 0},
        {"f32[1, 6, 1, 16]; f32[1, 64, 1, 16]; f32[1, 64, 1, 16]", "4", 0}, /* 6 queries */
        {"f32[1, 64, 1, 16]; f32[1, 6, 1, 16]; f32[1, 6, 1, 16]", "4", 0},  /* 6 keys */
        /* each axis beside queries or keys over the other, or nothing */
        {"f32[1, 64, 1, 16]; f32[1, 64, 1, 16]; f32[1, 64, 1, 16]", "2x2", 6},
        {"f32[1, 64, 1, 16]; f32[1, 64, 1, 16]; f32[1, 64, 1, 16]; bool[1, 1, 1, 64]", "4", 1},
        {"f32[1, 64, 1, 16]; f32[1, 64, 1, 16]; f32[1, 64, 1, 16]; bool[1, 1, 64, 1]", "4", 1},
        {"f32[1, 64, 1, 16]; f32[1, 64, 1, 16]; f32[1, 64, 1, 16]; bool[1, 1, 64, 64]", "4", 0},
    };
    for (int i = 0; i < MW_COUNT(cases); i++) {
        TestGraph t = test_graph_new();
        const bool is_masked = strstr(cases[i].operands, "bool");
        const MwNodeId node = test_node(&t, is_masked ? "sdpa_masked" : "sdpa", cases[i].operands,
                                        "causal = false; scale = 1");
        const MwStrategyList *list =
            strategies_on(&t, mw_node_result(t.graph, node, 0), cases[i].mesh, MW_STRATEGY_PLAIN);
        int rings = 0;
        for (int s = 0; s < list->count; s++)
            rings += list->at[s].ring.ways > 1;
        ck_assert_msg(rings == cases[i].rings, "case %d: %d rings", i, rings);
        test_graph_free(&t);
    }
}
END_TEST

/* A block is a part of the keys; the last device sees all of those before, and half of its own. */
START_TEST(a_ring_works_on_all_blocks)
{
    TestGraph t = test_graph_new();
    const MwNodeId node =
        test_node(&t, "sdpa", "f32[1, 64, 2, 16]; f32[1, 64, 2, 16]; f32[1, 64, 2, 16]",
                  "causal = true; scale = 1");
    const MwStrategyList *list =
        strategies_on(&t, mw_node_result(t.graph, node, 0), "4", MW_STRATEGY_PLAIN);
    const MwStrategy *ring = list->at;
    while (ring < list->at + list->count && ring->ring.ways == 1)
        ring++;
    ck_assert_ptr_ne(ring, list->at + list->count);
    const double block_flops = 4.0 * 2 * 16 * 16 * 16; /* heads, queries, keys, width */
    ck_assert_int_eq(ring->ring.axis, 0);
    ck_assert_int_eq(ring->ring.ways, 4);
    ck_assert_uint_eq(ring->ring.operands, 6); /* k and v */
    ck_assert_uint_eq(ring->ring.results, 0);
    ck_assert_double_eq_tol(ring->ring.block.flops, block_flops, 1e-6);
    ck_assert_double_eq_tol(ring->work.flops, 3.5 * block_flops, 1e-6);
    test_graph_free(&t);
}
END_TEST

/* Devices have mirrored halves of the queries of a causal mask where the work that is shared so
 * takes longer than the exchanges do: work is then the mean, where it was that of the last
 * device. */
START_TEST(causal_queries_are_mirrored_where_it_is_quicker)
{
    static const struct {
        const char *operand, *attrs, *mesh, *queries;
        MwAxes axes;
        double share; /* of the keys that a query sees on the device with the most work */
    } cases[] = {
        {"f32[1, 4096, 2, 64]", "causal = true; scale = 1", "4", "[R, S0, R, R]", 1, 0.5},
        {"f32[1, 4096, 2, 64]", "causal = true; scale = 1", "2x2", "[R, S01, R, R]", 3, 0.5},
        {"f32[1, 64, 2, 64]", "causal = true; scale = 1", "4", "[R, S0, R, R]", 0, 0.875},
        {"f32[1, 4096, 2, 64]", "causal = false; scale = 1", "4", "[R, S0, R, R]", 0, 1},
        {"f32[1, 4100, 2, 64]", "causal = true; scale = 1", "4", "[R, S0, R, R]", 0, 0.875},
        {"f32[1, 4096, 2, 64]", "causal = true; scale = 1; window = [64]", "4", "[R, S0, R, R]", 0,
         1. / 64},
    };
    for (int i = 0; i < MW_COUNT(cases); i++) {
        TestGraph t = test_graph_new();
        char text[MW_SPEC_TEXT_BYTES];
        const char *operands = mw_arena_printf(t.arena, "%s; %s; %s", cases[i].operand,
                                               cases[i].operand, cases[i].operand);
        const MwNodeId node = test_node(&t, "sdpa", operands, cases[i].attrs);
        const MwStrategyList *list =
            strategies_on(&t, mw_node_result(t.graph, node, 0), cases[i].mesh, MW_STRATEGY_PLAIN);
        const MwStrategy *s = list->at;
        while (s < list->at + list->count &&
               (strcmp(mw_spec_text(s->operands[0], 4, text), cases[i].queries) != 0 ||
                mw_spec_axes(s->operands[1], 4)))
            s++;
        ck_assert_ptr_ne(s, list->at + list->count);
        const double queries =
            (double)mw_value_tensor(t.graph, mw_node(t.graph, node)->operands[0])->dim[1];
        ck_assert_msg(s->mirror.axes == cases[i].axes, "case %d: axes %d", i, s->mirror.axes);
        ck_assert_double_eq_tol(
            s->work.flops, 4.0 * 2 * 64 * queries / 4 * queries * cases[i].share, queries * 1e3);
        test_graph_free(&t);
    }
}
END_TEST

/* Dimensions that stretch are not split; factors that only the result has split for free. */
START_TEST(broadcast_operands_stay_whole)
{
    TestGraph t = test_graph_new();
    MwValueId x = test_source(&t, MW_OP_INPUT, "x", "f32[4, 8]");
    MwValueId bias = test_source(&t, MW_OP_WEIGHT, "bias", "f32[8]");
    check_list(&t, test_op2(&t, MW_OP_MUL, x, bias), "2", MW_STRATEGY_WHOLE,
               "[R, R] [R] -> [R, R]\n"
               "[R, S0] [S0] -> [R, S0]\n"
               "[S0, R] [R] -> [S0, R]\n");
    test_graph_free(&t);
}
END_TEST

static bool parts_are_equal(const Spread *a, const Spread *b)
{
    const int64_t elements = mw_tensor_elements(&a->local);
    bool equal = elements == mw_tensor_elements(&b->local);
    for (int device = 0; device < mw_mesh_devices(&a->mesh) && equal; device++)
        equal = memcmp(a->at[device], b->at[device], sizeof(double) * (size_t)elements) == 0;
    return equal;
}

static bool has_strategy(const MwStrategyList *list, MwSpec operand, MwSpec result)
{
    for (int s = 0; s < list->count; s++)
        if (mw_spec_equal(list->at[s].operands[0], operand) &&
            mw_spec_equal(list->at[s].results[0], result))
            return true;
    return false;
}

static const struct {
    const char *from, *to, *mesh;
    int count; /* of pairs of specs, of which more are refused */
} reshapes[] = {
    {"f32[4, 8]", "f32[32]", "4x4", 4},           {"f32[4, 8]", "f32[32]", "2x2", 4},
    {"f32[4, 8]", "f32[32]", "2x4x2", 6},         {"f32[2, 4, 2]", "f32[16]", "2x2x2", 8},
    {"f32[2, 4, 4]", "f32[8, 4]", "2x2x2", 26},   {"f32[4, 4, 4]", "f32[2, 8, 2, 2]", "2x2x2", 26},
    {"f32[6, 4]", "f32[2, 12]", "2x3x2", 5},      {"f32[6, 4]", "f32[4, 6]", "2x3x2", 3},
    {"f32[12, 4]", "f32[6, 8]", "6x2x2", 7},      {"f32[8, 1, 4]", "f32[1, 2, 16, 1]", "2x4x2", 6},
    {"f32[4, 9, 2]", "f32[2, 6, 6]", "2x2x3", 5}, {"f32[12, 4, 5]", "f32[2, 4, 30]", "2x2x2", 7},
};

/* A view has a strategy of two specs if and only if they give every device the same elements in
 * the same order, whichever pairs of all specs are tried. */
START_TEST(views_keep_what_devices_hold)
{
    TestGraph t = test_graph_new();
    const MwTensor from = test_type(reshapes[_i].from), to = test_type(reshapes[_i].to);
    MwMeshShape mesh;
    ck_assert(mw_mesh_parse(reshapes[_i].mesh, &mesh));
    MwValueId x = test_source(&t, MW_OP_INPUT, "x", reshapes[_i].from);
    MwValueId view =
        test_op1_attr(&t, MW_OP_RESHAPE, x, mw_attr_ints(MW_ATTR_SHAPE, to.dim, to.rank));
    const MwStrategyList *list = strategies_on(&t, view, reshapes[_i].mesh, MW_STRATEGY_WHOLE);
    double *numbers = MW_NEW(t.arena, double, mw_tensor_elements(&from));
    for (int64_t i = 0; i < mw_tensor_elements(&from); i++)
        numbers[i] = (double)i;
    const Specs before = complete_specs(t.arena, &from, &mesh);
    const Specs after = complete_specs(t.arena, &to, &mesh);
    int count = 0;
    for (int i = 0; i < before.count; i++) {
        Spread operand = spread_scatter(t.arena, &mesh, &from, numbers, before.at[i], NULL);
        for (int j = 0; j < after.count; j++) {
            Spread result = spread_scatter(t.arena, &mesh, &to, numbers, after.at[j], NULL);
            const bool alike = parts_are_equal(&operand, &result);
            char text[2][MW_SPEC_TEXT_BYTES];
            ck_assert_msg(has_strategy(list, before.at[i], after.at[j]) == alike, "%s to %s",
                          mw_spec_text(before.at[i], from.rank, text[0]),
                          mw_spec_text(after.at[j], to.rank, text[1]));
            count += alike;
        }
    }
    ck_assert_int_eq(list->count, count);
    ck_assert_int_eq(count, reshapes[_i].count);
    test_graph_free(&t);
}
END_TEST

START_TEST(lists_are_interned_by_structure)
{
    TestGraph t = test_graph_new();
    MwValueId x = test_source(&t, MW_OP_INPUT, "x", "f32[4, 8]");
    MwValueId y = test_source(&t, MW_OP_INPUT, "y", "f32[8, 4]");
    MwValueId same[] = {test_op1(&t, MW_OP_EXP, x),
                        test_op1(&t, MW_OP_EXP, test_op1(&t, MW_OP_EXP, x))};
    MwValueId shape = test_op1(&t, MW_OP_EXP, y), op = test_op1(&t, MW_OP_TANH, x);
    MwMeshShape mesh = {1, {2}};
    MwCluster cluster = test_cluster(2);
    MwCostModel model = mw_cost_model(&cluster, &mesh);
    MwStrategyTable *table = mw_strategy_table_new(t.arena, &model);
#define LIST(value) mw_strategies(table, t.graph, mw_value(t.graph, value)->node, MW_STRATEGY_PLAIN)
    ck_assert_ptr_eq(LIST(same[0]), LIST(same[1]));
    ck_assert_ptr_ne(LIST(same[0]), LIST(shape));
    ck_assert_ptr_ne(LIST(same[0]), LIST(op));
    MwSpec split = mw_spec_with_dim(mw_spec_replicated(), 0, 1);
    const MwStrategyList *kept = mw_strategies_with_result(table, LIST(op), 0, split);
    ck_assert_int_eq(kept->count, 1);
    ck_assert(mw_spec_equal(kept->at[0].operands[0], split));
    ck_assert_ptr_eq(kept, mw_strategies_with_result(table, LIST(op), 0, split));
    ck_assert_ptr_null(mw_strategies_with_result(
        table, LIST(op), 0, mw_spec_with_partial(mw_spec_replicated(), 1, MW_COMBINE_SUM)));
    test_graph_free(&t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("strategies");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, a_product_splits_rows_columns_or_the_sum);
    tcase_add_test(tests, linear_operators_carry_partial_sums);
    tcase_add_test(tests, whole_numbers_are_not_carried);
    tcase_add_test(tests, sources_take_any_spec);
    tcase_add_test(tests, rows_and_reductions);
    tcase_add_test(tests, look_ups_split_their_table);
    tcase_add_test(tests, attention_splits_queries_or_keys);
    tcase_add_test(tests, keys_go_round_the_devices);
    tcase_add_test(tests, a_ring_works_on_all_blocks);
    tcase_add_test(tests, causal_queries_are_mirrored_where_it_is_quicker);
    tcase_add_test(tests, broadcast_operands_stay_whole);
    tcase_add_loop_test(tests, views_keep_what_devices_hold, 0, MW_COUNT(reshapes));
    tcase_add_test(tests, lists_are_interned_by_structure);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
