/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How nests are spread over the threads of a GPU (codegen/print/cuda_nest.h): a case for every way,
 * at sizes that leave some threads idle, with the threads of a block in several orders. All cases
 * stand in one graph. The tolerance of a case is of the error relative to the greater of the value
 * and 1. */
#include "ir/build.h"
#include "tests/kernels/run_graph.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/op_text.h"
#include "tests/unit/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define F32 1e-5
#define BF16 4.1e-3 /* half a unit in the last place, and a little */
#define EXACT 0.0

static const char *const orders[] = {"forward", "backward", "11"};
enum { ORDERS = sizeof orders / sizeof *orders };

/* One operator: what comes out of it, and where `sums` says so, that summed over all rows, which is
 * done by the same kernel. */
typedef struct {
    const char *op, *operands, *attrs;
    double tolerance;
    bool sums;
} Case;

static const Case cases[] = {
    /* Points: several turns, the last of them short; halves by eight, by four, one by one. */
    {"neg", "f32[530004]", "", EXACT},
    {"neg", "bf16[3, 8]", "", EXACT},
    {"neg", "bf16[3, 12]", "", EXACT},
    {"neg", "bf16[3, 7]", "", EXACT},
    {"cast", "bf16[3, 40]", "type = f32", EXACT},
    /* Tiles: whole ones and not; of halves and of bytes; batches before, between and in place of
     * them. */
    {"transpose", "f32[64, 96]", "perm = [1, 0]", EXACT},
    {"transpose", "f32[3, 35, 50]", "perm = [0, 2, 1]", EXACT},
    {"transpose", "f32[20, 3, 33]", "perm = [2, 1, 0]", EXACT},
    {"transpose", "f32[17, 5, 3, 40]", "perm = [3, 2, 0, 1]", EXACT},
    {"transpose", "bf16[100, 70]", "perm = [1, 0]", EXACT},
    {"transpose", "bf16[2, 128, 64]", "perm = [2, 0, 1]", EXACT},
    {"transpose", "bool[70, 30]", "perm = [1, 0]", EXACT},
    {"concat", "f32[40, 20]; f32[40, 20]", "axis = 1", EXACT},
    /* Rows: by one thread, part of a warp, a warp, some warps, all warps of a block; kept or walked
     * again. */
    {"softmax", "f32[70, 5]", "", F32},
    {"softmax", "f32[36, 64]", "", F32},
    {"softmax", "f32[30, 20]", "", F32},
    {"reduce_max", "i32[6, 17]", "axes = [1]", EXACT},
    {"softmax", "f32[9, 257]", "", F32},
    {"softmax", "bf16[9, 264]", "", BF16},
    {"softmax", "f32[3, 1600]", "", F32},
    {"softmax", "bf16[3, 1600]", "", BF16},
    {"softmax", "f32[2, 20000]", "", F32},
    {"reduce_sum", "f32[9, 1000]", "axes = [1]", F32},
    {"reduce_sum", "f32[3, 4000]", "axes = [1]", F32},
    {"reduce_sum", "f32[2, 140000]", "axes = [1]", F32},
    {"reduce_max", "i32[3, 4000]", "axes = [1]", EXACT},
    {"layer_norm_grad", "f32[3, 1028]; f32[3, 1028]", "eps = 1e-5", F32},
    /* Rows that are summed too: by warps, by several groups of warps in a block, by one. */
    {"softmax", "f32[9, 40]", "", F32, true},
    {"softmax", "f32[50, 300]", "", F32, true},
    {"layer_norm", "f32[7, 700]", "eps = 1e-5", F32, true},
    {"layer_norm", "f32[2, 4100]", "eps = 1e-5", F32, true},
    /* Sums over rows: by one block, by several that leave sums; more and fewer columns than a
     * warp. */
    {"reduce_sum", "f32[2100, 36]", "axes = [0]", F32},
    {"reduce_sum", "f32[9000, 1]", "axes = [0]; keep = true", F32},
    {"reduce_sum", "f32[300, 500]", "axes = [0]", F32},
    {"reduce_sum", "f32[3, 4097]", "axes = [0]", F32},
    {"reduce_sum", "bf16[70, 264]", "axes = [0]", BF16},
    {"reduce_max", "i32[700, 40]", "axes = [0]", EXACT},
    {"tanh", "f32[100, 44]", "", F32, true},
    /* Places: lists that fill up; rows outside the table, many of one place; columns of several
     * warps, of part of one, and only one. */
    {"embedding_grad", "i32[3000]; f32[3000, 8]", "shape = [7, 8]", F32},
    {"embedding_grad", "i32[5, 9]; f32[5, 9, 260]", "shape = [7, 260]", F32},
    {"embedding_grad", "i32[70]; f32[70, 35]", "shape = [9, 35]", F32},
    {"embedding_grad", "i32[400]; f32[400, 1]", "shape = [9, 1]", F32},
    {"embedding_grad", "i32[20]; bf16[20, 24]", "shape = [9, 24]", BF16},
    {"add_rows", "f32[9, 260]; i32[5, 90]; f32[5, 90, 260]", "", F32},
    {"add_rows", "f32[9, 1]; i32[400]; f32[400, 1]", "", F32},
};

static void add_case(GraphRun *run, const Case *c)
{
    MwGraph *graph = run->test.graph;
    MwNodeId id = test_node(&run->test, c->op, c->operands, c->attrs);
    ck_assert_msg(id.index >= 0, "%s: %s", c->op, diags_text(run->test.arena, run->test.diags));
    MwValueId result = mw_node_result(graph, id, 0);
    graph_run_output(run, result);
    if (c->sums)
        graph_run_output(run, mw_build_sum(graph, result, 1, false));
}

START_TEST(every_way_gives_the_numbers)
{
    setenv("MW_SHIM_ORDER", orders[_i], 1);
    GraphRun run = graph_run_new(graph_backend_count - 1); /* that of GPUs */
    int failed = 0, output = 0;
    for (int i = 0; i < MW_COUNT(cases); i++)
        add_case(&run, &cases[i]);
    graph_run_step(&run);
    for (int i = 0; i < MW_COUNT(cases); i++) {
        for (int k = 0; k <= cases[i].sums; k++) {
            double error = graph_run_error(&run, output++);
            if (error <= cases[i].tolerance)
                continue;
            printf("# %s(%s; %s)%s: error %g\n", cases[i].op, cases[i].operands, cases[i].attrs,
                   k ? " summed" : "", error);
            failed++;
        }
    }
    graph_run_free(&run);
    ck_assert_int_eq(failed, 0);
}
END_TEST

/* Rows of several warps: what is reduced at once shares a barrier, and none is needed before the
 * next row. The last three have more rows than blocks. */
static const struct {
    Case of;
    int barriers;
} row_cases[] = {
    {{"rms_norm", "f32[3, 1600]", "eps = 1e-5", F32}, 1},
    {{"softmax", "f32[3, 1600]", "", F32}, 2},
    {{"layer_norm", "f32[3, 1600]", "eps = 1e-5", F32}, 2},
    {{"rms_norm_grad", "f32[3, 1028]; f32[3, 1028]", "eps = 1e-5", F32}, 1},
    {{"layer_norm_grad", "f32[3, 1028]; f32[3, 1028]", "eps = 1e-5", F32}, 2},
    {{"rms_norm", "f32[2000, 260]", "eps = 1e-5", F32, true}, 1},
    {{"rms_norm_grad", "f32[2000, 260]; f32[2000, 260]", "eps = 1e-5", F32, true}, 1},
    {{"layer_norm_grad", "f32[2000, 260]; f32[2000, 260]", "eps = 1e-5", F32, true}, 2},
};

START_TEST(threads_of_a_row_wait_no_more_than_they_must)
{
    setenv("MW_SHIM_ORDER", orders[_i % ORDERS], 1);
    GraphRun run = graph_run_new(graph_backend_count - 1);
    const Case *of = &row_cases[_i / ORDERS].of;
    add_case(&run, of);
    graph_run_step(&run);
    ck_assert_int_eq(graph_run_row_barriers(&run), row_cases[_i / ORDERS].barriers);
    for (int k = 0; k <= of->sums; k++)
        ck_assert_double_le(graph_run_error(&run, k), of->tolerance);
    graph_run_free(&run);
}
END_TEST

static MwValueId turned_input(GraphRun *run, const char *type)
{
    MwAttr perm = mw_attr_ints(MW_ATTR_PERM, (int64_t[]){0, 2, 1}, 3);
    MwValueId x = test_source(&run->test, MW_OP_INPUT, NULL, type);
    return mw_build(run->test.graph, NULL, MW_OP_TRANSPOSE, &x, 1, &perm, 1);
}

/* A kernel with loads of either kind, of halves and not, and values of rows. */
START_TEST(transposes_go_through_shared_memory)
{
    setenv("MW_SHIM_ORDER", orders[_i], 1);
    GraphRun run = graph_run_new(graph_backend_count - 1);
    MwGraph *graph = run.test.graph;
    MwValueId a = turned_input(&run, "f32[2, 50, 70]"), b = turned_input(&run, "f32[2, 50, 70]");
    MwValueId c = test_source(&run.test, MW_OP_INPUT, "c", "f32[2, 70, 50]");
    MwValueId d = test_source(&run.test, MW_OP_INPUT, "d", "f32[70, 1]");
    MwValueId e = turned_input(&run, "bf16[2, 50, 70]");
    MwValueId x = mw_build_binary(graph, MW_OP_MUL, mw_build_binary(graph, MW_OP_ADD, a, c), d);
    x = mw_build_binary(graph, MW_OP_SUB, x, b);
    graph_run_output(&run, mw_build_binary(graph, MW_OP_ADD, x, mw_build_cast(graph, e, MW_F32)));
    graph_run_output(&run, mw_build_unary(graph, MW_OP_NEG, e));
    graph_run_step(&run);
    ck_assert_double_le(graph_run_error(&run, 0), F32);
    ck_assert_double_le(graph_run_error(&run, 1), EXACT);
    ck_assert_ptr_nonnull(strstr(run.plan->kernel_source, "[y * 33 + x]"));
    ck_assert_ptr_nonnull(strstr(run.plan->kernel_source, "[y * 34 + x]"));
    graph_run_free(&run);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("spread");
    TCase *tests = tcase_create("spread");
    tcase_set_timeout(tests, 120);
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, every_way_gives_the_numbers, 0, ORDERS);
    tcase_add_loop_test(tests, threads_of_a_row_wait_no_more_than_they_must, 0,
                        MW_COUNT(row_cases) * ORDERS);
    tcase_add_loop_test(tests, transposes_go_through_shared_memory, 0, ORDERS);
    return run_suite(suite);
}
