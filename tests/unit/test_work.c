/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cost/work.c: FLOPs, bytes and shapes of nodes, counted by hand. */
#include "cost/cost.h"
#include "tests/unit/support.h"

typedef struct {
    MwArena *arena;
    MwDiags *diags;
    MwGraph *graph;
} Fixture;

static Fixture fixture_new(void)
{
    MwArena *arena = mw_arena_new();
    return (Fixture){arena, mw_diags_new(arena), mw_graph_new(arena, mw_interner_new(arena), "m")};
}

static MwValueId add(Fixture *f, MwNodeSpec spec)
{
    MwNodeId node = mw_graph_add(f->graph, &spec, f->diags);
    mw_diags_print(f->diags, stderr);
    ck_assert_int_ge(node.index, 0);
    return mw_node_result(f->graph, node, 0);
}

static MwValueId input(Fixture *f, MwType type, int rank, const int64_t *dim)
{
    MwTensor tensor = mw_tensor(type, rank, dim);
    return add(f, (MwNodeSpec){.op = MW_OP_INPUT, .given = &tensor});
}

#define INPUT(f, type, ...)                                                                        \
    input((f), (type), MW_COUNT(((int64_t[]){__VA_ARGS__})), (int64_t[]){__VA_ARGS__})

/* The work of the node of `value` with the factor of a dimension of an operand split. */
static MwWork work_split(Fixture *f, MwValueId value, int operand, int dim, int split)
{
    MwNodeId node = mw_value(f->graph, value)->node;
    MwShardingRule rule = mw_sharding_rule(f->arena, f->graph, node);
    int ways[MW_MAX_FACTORS];
    for (int i = 0; i < MW_MAX_FACTORS; i++)
        ways[i] = 1;
    ways[rule.operands[operand].factor[dim]] = split;
    return mw_cost_node_work(f->graph, node, &rule, ways);
}

static MwWork work_of(Fixture *f, MwValueId value, int dim, int split)
{
    return work_split(f, value, 0, dim, split);
}

static void check_work(MwWork work, MwWorkKind kind, double flops, double bytes)
{
    ck_assert_int_eq(work.kind, kind);
    ck_assert_double_eq(work.flops, flops);
    ck_assert_double_eq(work.bytes, bytes);
}

START_TEST(products_are_shaped_by_their_factors)
{
    Fixture f = fixture_new();
    MwValueId x = INPUT(&f, MW_F32, 8, 16, 32), w = INPUT(&f, MW_F32, 32, 3, 64);
    MwAttr equation = mw_attr_text(MW_ATTR_EQUATION, mw_intern(f.graph->interner, "bsw,wtd->bstd"));
    MwValueId y = add(&f, (MwNodeSpec){.op = MW_OP_EINSUM,
                                       .operands = (MwValueId[]){x, w},
                                       .operand_count = 2,
                                       .attrs = &equation,
                                       .attr_count = 1});
    MwWork work = work_of(&f, y, 0, 4);
    check_work(work, MW_WORK_GEMM, 2.0 * 2 * 16 * 32 * 192,
               4.0 * (2 * 16 * 32 + 32 * 192 + 2 * 16 * 192));
    ck_assert_double_eq(work.m, 32);
    ck_assert_double_eq(work.n, 192);
    ck_assert_double_eq(work.k, 32);
    ck_assert_double_eq(work.batch, 1);
    work = work_of(&f, y, 2, 2); /* the reduction split: all of the result, partial */
    check_work(work, MW_WORK_GEMM, 2.0 * 128 * 16 * 192, 4.0 * (128 * 16 + 16 * 192 + 128 * 192));
    ck_assert_double_eq(work.k, 16);
    mw_arena_free(&f.arena);
}
END_TEST

START_TEST(batched_products_have_a_batch)
{
    Fixture f = fixture_new();
    MwValueId a = INPUT(&f, MW_BF16, 6, 16, 32), b = INPUT(&f, MW_BF16, 6, 8, 32);
    MwAttr equation = mw_attr_text(MW_ATTR_EQUATION, mw_intern(f.graph->interner, "bik,bjk->bij"));
    MwValueId c = add(&f, (MwNodeSpec){.op = MW_OP_EINSUM,
                                       .operands = (MwValueId[]){a, b},
                                       .operand_count = 2,
                                       .attrs = &equation,
                                       .attr_count = 1});
    MwWork work = work_of(&f, c, 0, 3);
    ck_assert_double_eq(work.batch, 2);
    ck_assert_double_eq(work.m, 16);
    ck_assert_double_eq(work.n, 8);
    ck_assert_double_eq(work.k, 32);
    ck_assert_int_eq(work.type, MW_BF16);
    mw_arena_free(&f.arena);
}
END_TEST

START_TEST(look_ups_read_what_they_give)
{
    Fixture f = fixture_new();
    MwValueId ids = INPUT(&f, MW_I32, 4, 8), table = INPUT(&f, MW_F32, 1000, 16);
    MwValueId rows = add(&f, (MwNodeSpec){.op = MW_OP_EMBEDDING,
                                          .operands = (MwValueId[]){ids, table},
                                          .operand_count = 2});
    check_work(work_of(&f, rows, 0, 2), MW_WORK_STREAM, 2 * 8 * 16, 4.0 * (16 + 2 * 16 * 16));
    MwNodeId node = mw_value(f.graph, rows)->node;
    MwShardingRule rule = mw_sharding_rule(f.arena, f.graph, node);
    int ways[MW_MAX_FACTORS] = {1, 1, 1, 1};
    ways[rule.operands[1].factor[0]] = 4; /* the table: every device still goes through all ids */
    MwWork work = mw_cost_node_work(f.graph, node, &rule, ways);
    check_work(work, MW_WORK_STREAM, 4 * 8 * 16, 4.0 * (32 + 2 * 32 * 16));
    mw_arena_free(&f.arena);
}
END_TEST

START_TEST(streams_read_operands_and_write_results)
{
    Fixture f = fixture_new();
    MwValueId x = INPUT(&f, MW_F32, 8, 64), bias = INPUT(&f, MW_F32, 64);
    MwValueId sum = add(
        &f, (MwNodeSpec){.op = MW_OP_ADD, .operands = (MwValueId[]){x, bias}, .operand_count = 2});
    check_work(work_of(&f, sum, 1, 4), MW_WORK_STREAM, 8 * 16, 4.0 * (8 * 16 + 16 + 8 * 16));
    MwAttr cut[] = {mw_attr_int(MW_ATTR_AXIS, 1), mw_attr_int(MW_ATTR_BEGIN, 8),
                    mw_attr_int(MW_ATTR_END, 16)};
    MwValueId part = add(&f, (MwNodeSpec){.op = MW_OP_SLICE,
                                          .operands = &sum,
                                          .operand_count = 1,
                                          .attrs = cut,
                                          .attr_count = 3});
    check_work(work_of(&f, part, 0, 2), MW_WORK_STREAM, 0, 4.0 * 2 * 4 * 8);
    MwAttr shape = mw_attr_ints(MW_ATTR_SHAPE, (int64_t[]){64}, 1);
    MwValueId view = add(&f, (MwNodeSpec){.op = MW_OP_RESHAPE,
                                          .operands = &part,
                                          .operand_count = 1,
                                          .attrs = &shape,
                                          .attr_count = 1});
    check_work(work_of(&f, view, 0, 1), MW_WORK_NONE, 0, 0);
    mw_arena_free(&f.arena);
}
END_TEST

START_TEST(attention_counts_what_the_mask_leaves)
{
    Fixture f = fixture_new();
    MwValueId q = INPUT(&f, MW_F32, 2, 32, 6, 8), k = INPUT(&f, MW_F32, 2, 32, 3, 8);
    for (int causal = 0; causal < 2; causal++) {
        MwAttr attrs[] = {{.key = MW_ATTR_CAUSAL, .i = causal},
                          mw_attr_float(MW_ATTR_SCALE, 0.125)};
        MwValueId out = add(&f, (MwNodeSpec){.op = MW_OP_SDPA,
                                             .operands = (MwValueId[]){q, k, k},
                                             .operand_count = 3,
                                             .attrs = attrs,
                                             .attr_count = 2});
        double all = 4.0 * 2 * 6 * 32 * 32 * 8;
        ck_assert_double_eq(work_of(&f, out, 0, 2).flops, all / 2 * (causal ? 0.5 : 1));
        ck_assert_int_eq(work_of(&f, out, 0, 2).is_masked, causal);
        ck_assert_double_eq(work_of(&f, out, 2, 3).flops, all / 3 * (causal ? 0.5 : 1));
        /* The last quarter of the queries meets 7/8 of the keys. */
        MwWork work = work_of(&f, out, 1, 4);
        ck_assert_double_eq(work.flops, all / 4 * (causal ? 0.875 : 1));
        ck_assert_int_eq(work.kind, MW_WORK_ATTENTION);
        ck_assert_double_eq(work.batch, 12);
        ck_assert_double_eq(work.m, 8);
        ck_assert_double_eq(work.n, 32);
        ck_assert_double_eq(work.k, 8);
        /* All but the first quarter of the queries meet all of the first quarter of the keys. */
        work = work_split(&f, out, 1, 1, 4);
        ck_assert_double_eq(work.flops, all / 4 * (causal ? 0.875 : 1));
        ck_assert_double_eq(work.m, 32);
        ck_assert_double_eq(work.n, 8);
    }
    mw_arena_free(&f.arena);
}
END_TEST

/* The step of a ring on one device: of its own block of keys a causal mask leaves half, of those of
 * devices before all, and no device has more to do than the last one. */
START_TEST(attention_of_a_ring_counts_its_block)
{
    static const int64_t whole[] = {2, 32, 6, 8}, keys[] = {2, 32, 3, 8}, shift[] = {0, 1};
    Fixture f = fixture_new();
    MwValueId q = INPUT(&f, MW_F32, 2, 8, 6, 8), k = INPUT(&f, MW_F32, 2, 8, 3, 8);
    for (int is_shifted = 0; is_shifted < 2; is_shifted++) {
        const MwSpec split = mw_spec_with_dim(mw_spec_replicated(), 1, 1);
        MwAttr attrs[] = {
            mw_attr_ints(MW_ATTR_ORIGIN, whole, 4),    mw_attr_spec(MW_ATTR_SPLIT, split, 4),
            mw_attr_ints(MW_ATTR_KEY_ORIGIN, keys, 4), mw_attr_spec(MW_ATTR_KEY_SPLIT, split, 4),
            {.key = MW_ATTR_CAUSAL, .i = true},        mw_attr_float(MW_ATTR_SCALE, 0.125),
            mw_attr_ints(MW_ATTR_KEY_SHIFT, shift, 2)};
        MwValueId out = add(&f, (MwNodeSpec){.op = MW_OP_SDPA,
                                             .operands = (MwValueId[]){q, k, k},
                                             .operand_count = 3,
                                             .attrs = attrs,
                                             .attr_count = MW_COUNT(attrs) - !is_shifted});
        ck_assert_double_eq(work_of(&f, out, 0, 1).flops,
                            4.0 * 2 * 6 * 8 * 8 * 8 * (is_shifted ? 1 : 0.5));
    }
    mw_arena_free(&f.arena);
}
END_TEST

/* Each of two devices has 8 early and 8 late queries of 32. Of all keys they see as many as all
 * queries do in the mean; of others, one of them sees more. */
START_TEST(halves_of_queries_count_their_mean)
{
    static const struct {
        int64_t keys, offset;
        double share;
    } cases[] = {{32, 0, 0.5}, {32, 16, 15. / 16}, {16, 0, 0.875}, {32, -8, 10. / 32}};
    static const int64_t whole[] = {2, 32, 6, 8}, half[] = {1};
    Fixture f = fixture_new();
    MwValueId all = INPUT(&f, MW_F32, 2, 32, 6, 8), late = INPUT(&f, MW_F32, 2, 8, 6, 8);
    for (int i = 0; i < MW_COUNT(cases); i++) {
        const int64_t keys[] = {2, cases[i].keys, 3, 8};
        MwValueId k = input(&f, MW_F32, 4, keys);
        MwAttr attrs[] = {
            {.key = MW_ATTR_CAUSAL, .i = true},
            mw_attr_float(MW_ATTR_SCALE, 0.125),
            mw_attr_ints(MW_ATTR_OFFSET, &cases[i].offset, 1),
            mw_attr_ints(MW_ATTR_ORIGIN, whole, 4),
            mw_attr_spec(MW_ATTR_SPLIT, mw_spec_with_dim(mw_spec_replicated(), 1, 1), 4),
            mw_attr_ints(MW_ATTR_KEY_ORIGIN, keys, 4),
            mw_attr_spec(MW_ATTR_KEY_SPLIT, mw_spec_replicated(), 4),
            mw_attr_ints(MW_ATTR_QUERY_HALF, half, 1)};
        MwNodeSpec spec = {.op = MW_OP_SDPA,
                           .operands = (MwValueId[]){late, k, k},
                           .operand_count = 3,
                           .attrs = attrs,
                           .attr_count = MW_COUNT(attrs)};
        const double flops = 4.0 * 2 * 6 * 8 * (double)cases[i].keys * 8 * cases[i].share;
        ck_assert_double_eq(work_of(&f, add(&f, spec), 0, 1).flops, flops);
        spec.operands = (MwValueId[]){all, k, k};
        spec.attr_count = 3;
        const MwNodeId node = mw_value(f.graph, add(&f, spec))->node;
        const MwShardingRule rule = mw_sharding_rule(f.arena, f.graph, node);
        int ways[MW_MAX_FACTORS];
        for (int w = 0; w < MW_MAX_FACTORS; w++)
            ways[w] = w == rule.uneven ? 2 : 1;
        const MwWork work = mw_cost_half_work(f.graph, node, &rule, ways);
        ck_assert_double_eq(work.flops, flops);
        ck_assert_double_eq(work.m, 8);
        ck_assert_double_eq(work.bytes,
                            4.0 * (2 * 2 * 8 * 6 * 8 + 2 * 2 * cases[i].keys * 3 * 8 + 2 * 8 * 6));
    }
    mw_arena_free(&f.arena);
}
END_TEST

/* There are 32 keys. */
START_TEST(attention_counts_what_window_and_offset_leave)
{
    static const struct {
        int queries, causal;
        MwAttrKey key;
        int64_t value;
        double share;
    } cases[] = {
        {32, 1, MW_ATTR_WINDOW, 4, 4. / 32}, {32, 0, MW_ATTR_WINDOW, 4, 7. / 32},
        {32, 1, MW_ATTR_WINDOW, 30, 0.5},    {32, 0, MW_ATTR_WINDOW, 30, 1},
        {16, 1, MW_ATTR_OFFSET, 0, 8. / 32}, {16, 1, MW_ATTR_OFFSET, 16, 24. / 32},
        {16, 1, MW_ATTR_OFFSET, 40, 1},      {16, 1, MW_ATTR_OFFSET, -8, 2. / 32},
        {16, 1, MW_ATTR_OFFSET, -20, 0},
    };
    Fixture f = fixture_new();
    MwValueId k = INPUT(&f, MW_F32, 2, 32, 3, 8);
    for (int i = 0; i < MW_COUNT(cases); i++) {
        MwValueId q = INPUT(&f, MW_F32, 2, cases[i].queries, 6, 8);
        MwAttr attrs[] = {{.key = MW_ATTR_CAUSAL, .i = cases[i].causal},
                          mw_attr_float(MW_ATTR_SCALE, 0.125),
                          mw_attr_ints(cases[i].key, &cases[i].value, 1)};
        MwValueId out = add(&f, (MwNodeSpec){.op = MW_OP_SDPA,
                                             .operands = (MwValueId[]){q, k, k},
                                             .operand_count = 3,
                                             .attrs = attrs,
                                             .attr_count = MW_COUNT(attrs)});
        ck_assert_double_eq(work_of(&f, out, 0, 1).flops,
                            4.0 * 2 * 6 * cases[i].queries * 32 * 8 * cases[i].share);
    }
    mw_arena_free(&f.arena);
}
END_TEST

START_TEST(a_table_costs_the_rows_that_are_put)
{
    Fixture f = fixture_new();
    MwValueId table = INPUT(&f, MW_F32, 1000, 16), ids = INPUT(&f, MW_I32, 8);
    MwValueId rows = INPUT(&f, MW_F32, 8, 16);
    MwValueId y = add(&f, (MwNodeSpec){.op = MW_OP_PUT_ROWS,
                                       .operands = (MwValueId[]){table, ids, rows},
                                       .operand_count = 3});
    check_work(work_of(&f, y, 0, 4), MW_WORK_STREAM, 8 * 16, 4 * (8 + 2 * 8 * 16));
    check_work(work_of(&f, y, 1, 4), MW_WORK_STREAM, 8 * 4, 4 * (8 + 2 * 8 * 4));
    mw_arena_free(&f.arena);
}
END_TEST

/* Windows of 3 x 3, two apart, in images of 9 x 9: 5 x 5 of them. */
START_TEST(convolutions_have_windows)
{
    Fixture f = fixture_new();
    MwValueId x = INPUT(&f, MW_F32, 8, 9, 9, 4), filter = INPUT(&f, MW_F32, 3, 3, 4, 16),
              y = INPUT(&f, MW_F32, 8, 5, 5, 16);
    MwAttr attrs[] = {mw_attr_ints(MW_ATTR_STRIDE, (int64_t[]){2, 2}, 2),
                      mw_attr_ints(MW_ATTR_PADDING, (int64_t[]){1, 1, 1, 1}, 4),
                      mw_attr_ints(MW_ATTR_DILATION, (int64_t[]){1, 1}, 2),
                      mw_attr_ints(MW_ATTR_SHAPE, (int64_t[]){8, 9, 9, 4}, 4)};
    const struct {
        MwOp op;
        MwWorkKind kind;
        MwValueId operands[2];
        int attr_count;
    } cases[] = {{MW_OP_CONV, MW_WORK_CONV, {x, filter}, 3},
                 {MW_OP_CONV_TRANSPOSE, MW_WORK_CONV_TRANSPOSE, {y, filter}, 4}};
    for (int i = 0; i < MW_COUNT(cases); i++) {
        MwValueId result = add(&f, (MwNodeSpec){.op = cases[i].op,
                                                .operands = cases[i].operands,
                                                .operand_count = 2,
                                                .attrs = attrs,
                                                .attr_count = cases[i].attr_count});
        const MwWork work = work_of(&f, result, 0, 2);
        ck_assert_int_eq(work.kind, cases[i].kind);
        ck_assert_double_eq(work.windows, 4 * 5 * 5);
        ck_assert_double_eq(work.flops, 2.0 * 4 * 25 * 9 * 4 * 16);
    }
    mw_arena_free(&f.arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("work");
    TCase *tcase = tcase_create("work");
    tcase_add_test(tcase, products_are_shaped_by_their_factors);
    tcase_add_test(tcase, batched_products_have_a_batch);
    tcase_add_test(tcase, look_ups_read_what_they_give);
    tcase_add_test(tcase, streams_read_operands_and_write_results);
    tcase_add_test(tcase, attention_counts_what_the_mask_leaves);
    tcase_add_test(tcase, attention_counts_what_window_and_offset_leave);
    tcase_add_test(tcase, attention_of_a_ring_counts_its_block);
    tcase_add_test(tcase, halves_of_queries_count_their_mean);
    tcase_add_test(tcase, a_table_costs_the_rows_that_are_put);
    tcase_add_test(tcase, convolutions_have_windows);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
