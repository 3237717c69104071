/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What kernels compute for themselves instead of loading it (codegen/fuse/duplicate.h): in each
 * case, `v` is made of products and taken by two kernels, as one of them waits for a sum that the
 * other makes. No input has as many elements as these values, so that buffers of their size tell
 * what is stored. */
#include "ir/build.h"
#include "tests/kernels/run_graph.h"
#include "tests/unit/support.h"

#define TOLERANCE 2e-5

enum { ROWS = 40, COLUMNS = 48, INNER = 32 };

typedef struct {
    GraphRun run;
    int inputs;
} Case;

static MwGraph *graph_of(Case *c)
{
    return c->run.test.graph;
}

static MwValueId input(Case *c, const char *type)
{
    return test_source(&c->run.test, MW_OP_INPUT,
                       mw_arena_printf(c->run.test.arena, "in%d", c->inputs++), type);
}

static MwValueId product(Case *c)
{
    const MwValueId a = input(c, "f32[40, 32]"), b = input(c, "f32[32, 48]");
    return test_einsum(&c->run.test, "ij,jk->ik", a, b);
}

static MwValueId binary(Case *c, MwOp op, MwValueId a, MwValueId b)
{
    return mw_build_binary(graph_of(c), op, a, b);
}

/* A product, scaled and shifted. */
static MwValueId chain(Case *c)
{
    const MwValueId scaled = binary(c, MW_OP_MUL, product(c), input(c, "f32[48]"));
    return binary(c, MW_OP_ADD, scaled, input(c, "f32[40, 1]"));
}

/* `taken`, a form of v, by the sum of the absolute values of v: the sum needs all of v first. */
static void divide(Case *c, MwValueId v, MwValueId taken)
{
    const MwValueId sizes = mw_build_unary(graph_of(c), MW_OP_ABS, v);
    const MwValueId sum = mw_build_sum(graph_of(c), sizes, 3, false);
    graph_run_output(&c->run, binary(c, MW_OP_DIV, taken, sum));
}

/* ---- Cases: each returns how many values of ROWS x COLUMNS are stored ---- */

/* The product and the result. */
static int add_chain(Case *c)
{
    const MwValueId v = chain(c);
    divide(c, v, v);
    return 2;
}

static int add_two_chains(Case *c)
{
    const MwValueId v = chain(c);
    divide(c, v, v);
    divide(c, v, mw_build_unary(graph_of(c), MW_OP_NEG, v));
    return 3;
}

static int add_view(Case *c)
{
    const MwTensor flat = test_type("f32[1920]");
    const MwValueId v = chain(c);
    divide(c, v, mw_build_reshape(graph_of(c), v, &flat));
    return 2;
}

/* Of a view of the product that nothing else takes. */
static int add_chain_of_view(Case *c)
{
    const MwTensor flat = test_type("f32[1920]");
    const MwValueId x = mw_build_reshape(graph_of(c), product(c), &flat);
    const MwValueId v = binary(c, MW_OP_MUL, x, input(c, "f32[1]"));
    const MwValueId sizes = mw_build_unary(graph_of(c), MW_OP_ABS, v);
    const MwValueId sum = mw_build_sum(graph_of(c), sizes, 1, false);
    graph_run_output(&c->run, binary(c, MW_OP_DIV, v, sum));
    return 2;
}

static int add_leaving(Case *c)
{
    const MwValueId v = chain(c);
    graph_run_output(&c->run, v);
    divide(c, v, v);
    return 3;
}

/* A second kernel would load two products instead of v. */
static int add_two_products(Case *c)
{
    const MwValueId v = binary(c, MW_OP_MUL, product(c), product(c));
    divide(c, v, v);
    return 4;
}

static int add_costly(Case *c)
{
    const MwValueId sine = mw_build_unary(graph_of(c), MW_OP_SIN, product(c));
    const MwValueId v = mw_build_unary(graph_of(c), MW_OP_SIN, sine);
    divide(c, v, v);
    return 3;
}

/* The other kernel takes v in another order. */
static int add_turned(Case *c)
{
    static const int64_t turned[] = {1, 0};
    const MwAttr perm = mw_attr_ints(MW_ATTR_PERM, turned, 2);
    const MwValueId v = chain(c);
    divide(c, v, mw_build(graph_of(c), NULL, MW_OP_TRANSPOSE, &v, 1, &perm, 1));
    return 3;
}

/* A product takes v, and so it is there for the others, too. */
static int add_multiplied(Case *c)
{
    const MwValueId v = chain(c);
    divide(c, v, v);
    graph_run_output(&c->run, test_einsum(&c->run.test, "ij,jk->ik", v, input(c, "f32[48, 32]")));
    return 3;
}

typedef int AddCase(Case *c);
static AddCase *const cases[] = {add_chain,         add_two_chains, add_view,
                                 add_chain_of_view, add_leaving,    add_two_products,
                                 add_costly,        add_turned,     add_multiplied};

/* Values of that size that an instruction writes, be it over another. */
static int stored(const MwPlan *plan)
{
    const MwPlanProgram *program = plan->meshes->programs;
    int count = 0;
    for (int i = 0; i < program->instr_count; i++)
        for (int k = 0; k < program->instrs[i].operand_count; k++) {
            const MwPlanOperand *operand = &program->instrs[i].operands[k];
            const MwTensor *tensor = &plan->meshes->buffers[operand->buffer].tensor;
            count +=
                operand->access != MW_ACCESS_READ && mw_tensor_elements(tensor) == ROWS * COLUMNS;
        }
    return count;
}

START_TEST(kernels_compute_what_is_cheap)
{
    Case c = {.run = graph_run_new(_i % graph_backend_count)};
    const int expected = cases[_i / graph_backend_count](&c);
    graph_run_step(&c.run);
    ck_assert_int_eq(stored(c.run.plan), expected);
    for (int i = 0; i < graph_of(&c)->outputs.count; i++)
        ck_assert_double_le(graph_run_error(&c.run, i), TOLERANCE);
    graph_run_free(&c.run);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("duplicate");
    TCase *tests = tcase_create("duplicate");
    tcase_set_timeout(tests, 300);
    tcase_add_loop_test(tests, kernels_compute_what_is_cheap, 0,
                        MW_COUNT(cases) * graph_backend_count);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
