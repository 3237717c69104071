/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What one call makes besides a product (codegen/fuse/gemm_unit.h): which instruction writes a
 * value, on GPUs and on CPUs, and that the value is right. All cases stand in one graph. */
#include "ir/build.h"
#include "runtime/plan/routine.h"
#include "tests/kernels/run_graph.h"
#include "tests/unit/support.h"

#include <stdio.h>
#include <string.h>

/* Limits of the error, relative to the greater of the value and 1; halves are rounded at places
 * that differ. */
#define TOLERANCE 2e-5
#define BF16_TOLERANCE 1e-2

/* What writes a value: a routine of that name, or a kernel. */
static const char KERNEL[] = "a kernel";

typedef struct {
    const char *name;
    int output;
    const char *writer; /* on a GPU */
} Expected;

typedef struct {
    GraphRun run;
    MW_VEC(Expected) expected;
} Cases;

static MwValueId input(Cases *c, const char *type)
{
    MwGraph *graph = c->run.test.graph;
    return test_source(&c->run.test, MW_OP_INPUT,
                       mw_arena_printf(graph->arena, "in%d", graph->nodes.count), type);
}

static MwValueId product(Cases *c, const char *equation, const char *a, const char *b)
{
    MwValueId left = input(c, a), right = input(c, b);
    return test_einsum(&c->run.test, equation, left, right);
}

static MwValueId add(Cases *c, MwValueId a, MwValueId b)
{
    return mw_build_binary(c->run.test.graph, MW_OP_ADD, a, b);
}

static MwValueId gelu(Cases *c, MwValueId x)
{
    return mw_build_unary(c->run.test.graph, MW_OP_GELU_TANH, x);
}

static void expect(Cases *c, const char *name, MwValueId value, const char *writer)
{
    MwGraph *graph = c->run.test.graph;
    mw_vec_push(graph->arena, &c->expected, ((Expected){name, graph->outputs.count, writer}));
    graph_run_output(&c->run, value);
}

/* ---- Biases ---- */

static void add_biases(Cases *c)
{
    MwValueId x = product(c, "ij,jk->ik", "f32[5, 7]", "f32[7, 9]");
    expect(c, "a bias", add(c, x, input(c, "f32[9]")), "gemm_bias");
    x = product(c, "ij,jk->ik", "f32[5, 7]", "f32[7, 9]");
    expect(c, "a bias before", add(c, input(c, "f32[1, 9]"), x), "gemm_bias");
    x = product(c, "bsw,wthd->bsthd", "f32[2, 3, 8]", "f32[8, 3, 2, 5]");
    expect(c, "a bias of several dimensions", add(c, x, input(c, "f32[3, 2, 5]")), "gemm_bias");
    x = product(c, "ij,jk->ki", "f32[5, 7]", "f32[7, 9]");
    expect(c, "a bias of a turned product", add(c, x, input(c, "f32[5]")), "gemm_bias");
    x = product(c, "ij,jk->ik", "f32[1, 7]", "f32[7, 9]");
    expect(c, "a bias of one row", add(c, x, input(c, "f32[9]")), "gemm_bias");
    x = product(c, "ij,jk->ik", "f32[1, 7]", "f32[7, 9]");
    x = add(c, x, product(c, "ij,jk->ik", "f32[1, 5]", "f32[5, 9]"));
    expect(c, "a bias that is a product, too", x, "gemm_bias");
    expect(c, "what reads their sum",
           test_einsum(&c->run.test, "ij,jk->ik", x, input(c, "f32[9, 4]")), "gemm");
}

static void add_no_biases(Cases *c)
{
    MwGraph *graph = c->run.test.graph;
    MwValueId x = product(c, "ij,jk->ik", "f32[5, 7]", "f32[7, 9]");
    expect(c, "along the other dimension", add(c, x, input(c, "f32[5, 1]")), KERNEL);
    x = product(c, "ij,jk->ik", "f32[5, 7]", "f32[7, 9]");
    expect(c, "a matrix", add(c, x, input(c, "f32[5, 9]")), KERNEL);
    x = product(c, "bij,bjk->bik", "f32[2, 5, 7]", "f32[2, 7, 9]");
    expect(c, "batches", add(c, x, input(c, "f32[9]")), KERNEL);
    x = product(c, "ij,jk->ik", "f32[5, 7]", "f32[7, 9]");
    expect(c, "the product is wanted", x, "gemm");
    expect(c, "the product and a bias", add(c, x, input(c, "f32[9]")), KERNEL);
    const MwAttr part[] = {mw_attr_int(MW_ATTR_AXIS, 0), mw_attr_int(MW_ATTR_BEGIN, 9),
                           mw_attr_int(MW_ATTR_END, 18)};
    MwValueId whole = input(c, "f32[18]");
    x = product(c, "ij,jk->ik", "f32[5, 7]", "f32[7, 9]");
    whole = mw_build(graph, NULL, MW_OP_SLICE, &whole, 1, part, 3);
    expect(c, "a part of a value", add(c, x, whole), KERNEL);
    x = product(c, "ij,jk->ik", "f32[5, 7]", "f32[7, 9]");
    x = add(c, x, input(c, "f32[9]"));
    expect(c, "a kernel wants the sum", mw_build_unary(graph, MW_OP_TANH, x), KERNEL);
}

/* ---- gelu ---- */

static void add_gelus(Cases *c)
{
    MwValueId x = product(c, "ij,jk->ik", "f32[5, 7]", "f32[7, 9]");
    expect(c, "gelu", gelu(c, x), "gemm_gelu");
    x = product(c, "ij,jk->ik", "f32[5, 7]", "f32[7, 9]");
    x = add(c, x, input(c, "f32[9]"));
    expect(c, "a bias and gelu", gelu(c, x), "gemm_bias_gelu");
    x = product(c, "ij,jk->ik", "f32[5, 7]", "f32[7, 16]");
    expect(c, "gelu and what it is of", gelu(c, x), "gemm_gelu_aux");
    expect(c, "what gelu is of", x, "gemm_gelu_aux");
    x = product(c, "ij,jk->ik", "f32[5, 7]", "f32[7, 16]");
    x = add(c, x, input(c, "f32[16]"));
    expect(c, "a bias, gelu and what it is of", gelu(c, x), "gemm_bias_gelu_aux");
    expect(c, "a bias, what gelu is of", x, "gemm_bias_gelu_aux");
    x = product(c, "ij,jk->ik", "f32[5, 7]", "f32[7, 9]");
    x = add(c, x, input(c, "f32[9]"));
    expect(c, "gelu of odd rows", gelu(c, x), KERNEL);
    expect(c, "odd rows that gelu is of", x, "gemm_bias");
    x = product(c, "ij,jk->ik", "f32[5, 7]", "f32[7, 9]");
    x = add(c, x, input(c, "f32[9]"));
    expect(c, "a kernel wants gelu", mw_build_unary(c->run.test.graph, MW_OP_TANH, gelu(c, x)),
           KERNEL);
}

static void add_gelu_grads(Cases *c)
{
    MwGraph *graph = c->run.test.graph;
    MwValueId x = product(c, "ij,jk->ik", "f32[5, 7]", "f32[7, 16]");
    x = mw_build_binary(graph, MW_OP_GELU_TANH_GRAD, input(c, "f32[5, 16]"), x);
    expect(c, "the gradient of gelu", x, "gemm_gelu_grad");
    x = product(c, "ij,kj->ik", "f32[6, 7]", "f32[16, 7]");
    const MwTensor shape = test_type("f32[2, 3, 16]");
    x = mw_build_reshape(graph, x, &shape);
    x = mw_build_binary(graph, MW_OP_GELU_TANH_GRAD, input(c, "f32[2, 3, 16]"), x);
    expect(c, "the gradient of gelu, reshaped", x, "gemm_gelu_grad");
    x = product(c, "ij,jk->ik", "f32[5, 7]", "f32[7, 9]");
    x = mw_build_binary(graph, MW_OP_GELU_TANH_GRAD, input(c, "f32[5, 9]"), x);
    expect(c, "the gradient of gelu, odd rows", x, KERNEL);
    x = product(c, "ij,jk->ik", "f32[5, 7]", "f32[7, 16]");
    x = mw_build_binary(graph, MW_OP_GELU_TANH_GRAD, x, input(c, "f32[5, 16]"));
    expect(c, "the gradient of gelu at a product", x, KERNEL);
    x = product(c, "ij,jk->ik", "f32[5, 7]", "f32[7, 16]");
    x = mw_build_binary(graph, MW_OP_GELU_GRAD, input(c, "f32[5, 16]"), x);
    expect(c, "the gradient of another gelu", x, KERNEL);
}

/* ---- Sums of operands ---- */

static void add_sums(Cases *c)
{
    MwGraph *graph = c->run.test.graph;
    MwValueId x = input(c, "f32[30, 7]"), y = input(c, "f32[30, 9]");
    expect(c, "with sums of b", test_einsum(&c->run.test, "sk,sn->kn", x, y), "gemm_sum_b");
    expect(c, "sums of b", mw_build_sum(graph, y, 1, false), "gemm_sum_b");
    x = input(c, "f32[30, 7]"), y = input(c, "f32[30, 9]");
    expect(c, "with sums of a", test_einsum(&c->run.test, "sk,sn->kn", x, y), "gemm_sum_a");
    expect(c, "sums of a", mw_build_sum(graph, x, 1, false), "gemm_sum_a");
    x = input(c, "f32[2, 15, 7]"), y = input(c, "f32[2, 15, 3, 4]");
    expect(c, "with sums over two dimensions", test_einsum(&c->run.test, "bsk,bsnm->knm", x, y),
           "gemm_sum_b");
    expect(c, "sums over two dimensions", mw_build_sum(graph, y, 3, false), "gemm_sum_b");
}

/* What makes the operand is a kernel that takes nothing else. */
static void add_sums_of_parts(Cases *c)
{
    MwGraph *graph = c->run.test.graph;
    const MwAttr axis = mw_attr_int(MW_ATTR_AXIS, 1);
    const MwValueId parts[] = {input(c, "f32[30, 4]"), input(c, "f32[30, 5]")};
    MwValueId x = input(c, "f32[30, 7]");
    MwValueId y = mw_build(graph, NULL, MW_OP_CONCAT, parts, 2, &axis, 1);
    expect(c, "with sums of parts", test_einsum(&c->run.test, "sk,sn->kn", x, y), "gemm_sum_b");
    expect(c, "sums of parts", mw_build_sum(graph, y, 1, false), "gemm_sum_b");
}

static void add_no_sums(Cases *c)
{
    MwGraph *graph = c->run.test.graph;
    MwValueId x = input(c, "f32[30, 7]"), y = input(c, "f32[30, 9]");
    expect(c, "an operand that a kernel reads", test_einsum(&c->run.test, "sk,sn->kn", x, y),
           "gemm");
    expect(c, "its sums", mw_build_sum(graph, y, 1, false), KERNEL);
    expect(c, "what reads it", mw_build_unary(graph, MW_OP_TANH, y), KERNEL);
    x = input(c, "f32[30, 7]");
    y = mw_build_unary(graph, MW_OP_TANH, input(c, "f32[30, 9]"));
    expect(c, "an operand that a kernel makes", test_einsum(&c->run.test, "sk,sn->kn", x, y),
           "gemm");
    expect(c, "sums of what a kernel makes", mw_build_sum(graph, y, 1, false), KERNEL);
    x = input(c, "f32[30, 7]"), y = input(c, "f32[7, 9]");
    expect(c, "with sums over columns", test_einsum(&c->run.test, "sk,kn->sn", x, y), "gemm");
    expect(c, "sums over columns", mw_build_sum(graph, x, 2, false), KERNEL);
}

/* ---- bf16 ---- */

static MwValueId with_type(Cases *c, MwOp op, const MwValueId *operands, int count, MwAttr attr)
{
    const MwAttr attrs[] = {attr, mw_attr_int(MW_ATTR_TYPE, MW_F32)};
    return mw_build(c->run.test.graph, NULL, op, operands, count, attrs, 2);
}

static void add_halves(Cases *c)
{
    MwGraph *graph = c->run.test.graph;
    MwValueId x = product(c, "ij,jk->ik", "bf16[5, 7]", "bf16[7, 16]");
    expect(c, "a bias of bf16", add(c, x, input(c, "bf16[16]")), "gemm_bias");
    x = product(c, "ij,jk->ik", "bf16[5, 7]", "bf16[7, 16]");
    x = add(c, mw_build_cast(graph, x, MW_F32), input(c, "f32[16]"));
    expect(c, "a bias of f32", mw_build_cast(graph, x, MW_BF16), KERNEL);
    x = product(c, "ij,jk->ik", "bf16[5, 7]", "bf16[7, 16]");
    x = add(c, x, input(c, "bf16[16]"));
    expect(c, "gelu of bf16", gelu(c, x), "gemm_bias_gelu_aux");
    expect(c, "what gelu of bf16 is of", x, "gemm_bias_gelu_aux");
    x = product(c, "ij,jk->ik", "bf16[5, 7]", "bf16[7, 16]");
    x = mw_build_binary(graph, MW_OP_GELU_TANH_GRAD, input(c, "bf16[5, 16]"), x);
    expect(c, "the gradient of gelu of bf16", x, "gemm_gelu_grad");
    const MwValueId in[] = {input(c, "bf16[30, 7]"), input(c, "bf16[30, 9]")};
    const MwAttr equation = mw_attr_text(MW_ATTR_EQUATION, mw_intern(graph->interner, "sk,sn->kn"));
    const MwAttr rows = mw_attr_ints(MW_ATTR_AXES, (int64_t[]){0}, 1);
    expect(c, "in f32 with sums of b", with_type(c, MW_OP_EINSUM, in, 2, equation), "gemm_sum_b");
    expect(c, "sums of b in f32", with_type(c, MW_OP_REDUCE_SUM, &in[1], 1, rows), "gemm_sum_b");
    const MwValueId more[] = {input(c, "bf16[30, 7]"), input(c, "bf16[30, 9]")};
    expect(c, "in bf16, with sums in f32", test_einsum(&c->run.test, "sk,sn->kn", more[0], more[1]),
           "gemm");
    expect(c, "sums in f32 of a product in bf16", with_type(c, MW_OP_REDUCE_SUM, &more[1], 1, rows),
           KERNEL);
}

/* ---- What came of them ---- */

static const char *name_of(const MwPlan *plan, const MwPlanInstr *instr)
{
    return instr->kind == MW_INSTR_ROUTINE ? mw_plan_instr_name(plan, instr) : KERNEL;
}

/* Calls that make more than a product, but not for a value that was looked at. */
static int unexpected(const MwPlan *plan, const bool *is_expected)
{
    const MwPlanProgram *program = plan->meshes->programs;
    int count = 0;
    for (int i = 0; i < program->instr_count; i++)
        count += program->instrs[i].kind == MW_INSTR_ROUTINE && !is_expected[i] &&
                 mw_gemm_has_extras((MwRoutine)program->instrs[i].target);
    return count;
}

/* Without epilogues a value is written by a kernel, unless it is the product itself. */
static const char *expected_writer(const Cases *c, const Expected *e)
{
    const MwGraph *graph = c->run.test.graph;
    const MwValueId value = graph->outputs.at[e->output].value;
    if (strcmp(c->run.backend->name, "cuda") == 0)
        return e->writer;
    return mw_value_node(graph, value)->op == MW_OP_EINSUM ? "gemm" : KERNEL;
}

START_TEST(calls_make_what_follows_products)
{
    static void (*const groups[])(Cases * c) = {add_biases,     add_no_biases, add_gelus,
                                                add_gelu_grads, add_sums,      add_sums_of_parts,
                                                add_no_sums,    add_halves};
    Cases c = {.run = graph_run_new(_i)};
    int failed = 0;
    for (int i = 0; i < MW_COUNT(groups); i++)
        groups[i](&c);
    graph_run_step(&c.run);
    const MwPlan *plan = c.run.plan;
    bool *is_expected = MW_NEW(c.run.test.arena, bool, plan->meshes->programs->instr_count);
    for (int i = 0; i < c.expected.count; i++) {
        const Expected *e = &c.expected.at[i];
        const MwPlanInstr *writer = graph_run_writer(&c.run, e->output);
        const char *found = name_of(plan, writer);
        const double error = graph_run_error(&c.run, e->output);
        is_expected[writer - plan->meshes->programs->instrs] = true;
        const MwValueId value = c.run.test.graph->outputs.at[e->output].value;
        const bool is_half = mw_value_tensor(c.run.test.graph, value)->type == MW_BF16;
        if (error <= (is_half ? BF16_TOLERANCE : TOLERANCE) &&
            strcmp(found, expected_writer(&c, e)) == 0)
            continue;
        printf("# %s: written by %s, expected %s; error %g\n", e->name, found,
               expected_writer(&c, e), error);
        failed++;
    }
    ck_assert_int_eq(unexpected(plan, is_expected), 0);
    graph_run_free(&c.run);
    ck_assert_int_eq(failed, 0);
}
END_TEST

/* ---- Copies ---- */

/* What experts take of each group of tokens: who writes it, and of how many products it is made. */
static void check_experts(int backend, const char *mask, const char *tokens, const char *writer,
                          int products)
{
    Cases c = {.run = graph_run_new(backend)};
    expect(&c, "experts", product(&c, "gsec,gsm->egcm", mask, tokens), writer);
    graph_run_step(&c.run);
    const MwPlanProgram *program = c.run.plan->meshes->programs;
    const char *found = name_of(c.run.plan, graph_run_writer(&c.run, 0));
    int64_t count = 0;
    for (int i = 0; i < program->instr_count; i++)
        if (program->instrs[i].kind == MW_INSTR_ROUTINE)
            count += program->instrs[i].args[MW_GEMM_BATCH0].i *
                     program->instrs[i].args[MW_GEMM_BATCH1].i;
    ck_assert_str_eq(found, writer);
    ck_assert_int_eq(count, products);
    ck_assert_double_le(graph_run_error(&c.run, 0), TOLERANCE);
    graph_run_free(&c.run);
}

/* A loop over the experts would read the tokens of a group again for each; the products of all of
 * them are one, and what it makes is copied to where it belongs, if that takes less time. */
START_TEST(operands_are_read_once_where_a_copy_is_quicker)
{
    check_experts(_i, "f32[2, 96, 32, 2]", "f32[2, 96, 64]", KERNEL, 2);
    check_experts(_i, "f32[2, 3, 2, 32]", "f32[2, 3, 64]", "gemm", 4);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gemm_units");
    TCase *tests = tcase_create("gemm_units");
    tcase_set_timeout(tests, 100);
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, calls_make_what_follows_products, 0, graph_backend_count);
    tcase_add_loop_test(tests, operands_are_read_once_where_a_copy_is_quicker, 0,
                        graph_backend_count);
    return run_suite(suite);
}
