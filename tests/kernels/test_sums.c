/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which sums are made by adding one term where the other lies (codegen/legal/legalize_onto.h): what
 * writes a sum, whether over one of its terms, and that it is right. All cases stand in one
 * graph, whose outputs are read by no phase. */
#include "ir/build.h"
#include "tests/kernels/run_graph.h"
#include "tests/unit/op_text.h"
#include "tests/unit/support.h"

#include <stdio.h>
#include <string.h>

/* Limits of the error, relative to the greater of the value and 1. */
#define TOLERANCE 2e-5
#define BF16_TOLERANCE 2e-2

typedef struct {
    const char *name;
    const char *writer; /* a routine, or the end of a kernel's name */
    bool in_place;      /* it reads what was there */
} Expected;

typedef struct {
    GraphRun run;
    MW_VEC(Expected) expected; /* of each output */
} Cases;

static void expect(Cases *c, const char *name, MwValueId value, const char *writer, bool in_place)
{
    mw_vec_push(c->run.test.arena, &c->expected, ((Expected){name, writer, in_place}));
    graph_run_output(&c->run, value);
}

static MwValueId input(Cases *c, const char *type)
{
    return test_source(&c->run.test, MW_OP_INPUT, NULL, type);
}

static MwValueId apply2(Cases *c, const char *op, MwValueId a, MwValueId b, const char *attrs)
{
    return test_apply(&c->run.test, NULL, op, (MwValueId[]){a, b}, 2, attrs);
}

static MwValueId add(Cases *c, MwValueId a, MwValueId b)
{
    return apply2(c, "add", a, b, "");
}

static MwValueId product_of(Cases *c, const char *a, const char *b)
{
    return apply2(c, "einsum", input(c, a), input(c, b), "equation = ij,jk->ik");
}

static MwValueId product(Cases *c)
{
    return product_of(c, "f32[9, 7]", "f32[7, 6]");
}

/* The gradient of a table of 9 entries of 6, of which several are looked up twice. */
static MwValueId rows(Cases *c)
{
    return apply2(c, "embedding_grad", input(c, "i32[2, 8]"), input(c, "f32[2, 8, 6]"),
                  "shape = [9, 6]");
}

static MwValueId tanh_of(Cases *c, MwValueId x)
{
    return mw_build_unary(c->run.test.graph, MW_OP_TANH, x);
}

static void add_products(Cases *c)
{
    expect(c, "two products", add(c, product(c), product(c)), "gemm", true);
    expect(c, "three products", add(c, add(c, product(c), product(c)), product(c)), "gemm", true);
    expect(c, "two and two", add(c, add(c, product(c), product(c)), add(c, product(c), product(c))),
           "gemm", true);
    expect(c, "in bf16",
           add(c, product_of(c, "bf16[9, 7]", "bf16[7, 6]"),
               product_of(c, "bf16[9, 7]", "bf16[7, 6]")),
           "_accumulate", true);
    MwValueId sum = add(c, product(c), product(c));
    expect(c, "a kernel reads two products", tanh_of(c, sum), "_tanh_add", true);
    MwValueId x = product(c);
    expect(c, "one is an output", add(c, product(c), x), "_add", true);
    expect(c, "that output", x, "gemm", false);
    x = product(c);
    expect(c, "one is read", add(c, product(c), x), "_tanh_add", true);
    expect(c, "what reads it", tanh_of(c, x), "_tanh_add", true);
    expect(c, "one is broadcast", add(c, product(c), product_of(c, "f32[9, 7]", "f32[7, 1]")),
           "_add", true);
}

static void add_rows(Cases *c)
{
    MwValueId x = product(c);
    expect(c, "rows onto a product", add(c, x, rows(c)), "_add_rows", true);
    x = rows(c);
    expect(c, "a product onto rows", add(c, product(c), x), "gemm", true);
    x = add(c, product(c), product(c));
    expect(c, "rows onto products", add(c, rows(c), x), "_add_rows", true);
    expect(c, "rows onto rows", add(c, rows(c), rows(c)), "_add_rows", true);
    x = product(c);
    x = add(c, x, rows(c));
    expect(c, "rows and rows onto a product", add(c, x, rows(c)), "_add_rows", true);
    expect(c, "rows onto what a kernel makes", add(c, tanh_of(c, input(c, "f32[9, 6]")), rows(c)),
           "_add_rows", true);
    expect(c, "rows onto a copy of an input", add(c, rows(c), input(c, "f32[9, 6]")), "_add_rows",
           false);
    x = product(c);
    expect(c, "rows onto a copy of an output", add(c, x, rows(c)), "_add_rows", false);
    expect(c, "this output", x, "gemm", false);
    const MwValueId sum = add(c, product(c), rows(c));
    expect(c, "a kernel reads rows and a product", tanh_of(c, sum), "_tanh", true);
}

static void add_no_rows(Cases *c)
{
    MwValueId x = rows(c);
    expect(c, "rows that are an output", add(c, product(c), x), "_add", true);
    expect(c, "the rows", x, "_embedding_grad", false);
    x = rows(c);
    expect(c, "twice the same", add(c, x, x), "_add", true);
    expect(c, "rows that are broadcast", add(c, rows(c), input(c, "f32[2, 9, 6]")), "_add", false);
}

/* Whether a value is written by the kernel or routine, and read there where it is to be. */
static bool is_written_as(const GraphRun *run, int i, const Expected *e, const char **found)
{
    const MwPlanInstr *writer = graph_run_writer(run, i);
    *found = mw_plan_instr_name(run->plan, writer);
    const size_t length = strlen(*found), end = strlen(e->writer);
    bool reads = false;
    for (int k = 0; k < writer->operand_count; k++)
        reads |= writer->operands[k].access == MW_ACCESS_READ_WRITE;
    return length >= end && strcmp(*found + length - end, e->writer) == 0 && reads == e->in_place;
}

START_TEST(terms_are_added_where_others_lie)
{
    static void (*const groups[])(Cases * c) = {add_products, add_rows, add_no_rows};
    Cases c = {.run = graph_run_new(_i)};
    int failed = 0;
    for (int i = 0; i < MW_COUNT(groups); i++)
        groups[i](&c);
    graph_run_step(&c.run);
    for (int i = 0; i < c.expected.count; i++) {
        const Expected *e = &c.expected.at[i];
        const char *found;
        const double error = graph_run_error(&c.run, i);
        const MwValueId value = c.run.test.graph->outputs.at[i].value;
        const bool is_half = mw_value_tensor(c.run.test.graph, value)->type == MW_BF16;
        if (is_written_as(&c.run, i, e, &found) && error <= (is_half ? BF16_TOLERANCE : TOLERANCE))
            continue;
        printf("# %s: written by %s, expected %s%s; error %g\n", e->name, found, e->writer,
               e->in_place ? " in place" : "", error);
        failed++;
    }
    graph_run_free(&c.run);
    ck_assert_int_eq(failed, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sums");
    TCase *tests = tcase_create("sums");
    tcase_set_timeout(tests, 100);
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, terms_are_added_where_others_lie, 0, graph_backend_count);
    return run_suite(suite);
}
