/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which concatenations the calls of library operators make (codegen/fuse/library_unit.h): which
 * instruction writes a value, on GPUs and on CPUs, and that the value is right. All cases stand in
 * one graph. */
#include "ir/build.h"
#include "tests/kernels/run_graph.h"
#include "tests/unit/op_text.h"
#include "tests/unit/support.h"

#include <stdio.h>
#include <string.h>

/* Limits of the error, relative to the greater of the value and 1. */
#define TOLERANCE 2e-5
#define BF16_TOLERANCE 2e-2

static const char KERNEL[] = "a kernel";

/* Who writes an output: a routine of that name, or a kernel. */
typedef struct {
    const char *name, *on_gpu, *on_cpu;
} Expected;

typedef struct {
    GraphRun run;
    MW_VEC(Expected) expected; /* of each output */
} Cases;

static void expect_on(Cases *c, const char *name, MwValueId value, const char *on_gpu,
                      const char *on_cpu)
{
    mw_vec_push(c->run.test.arena, &c->expected, ((Expected){name, on_gpu, on_cpu}));
    graph_run_output(&c->run, value);
}

static void expect(Cases *c, const char *name, MwValueId value, const char *writer)
{
    expect_on(c, name, value, writer, writer);
}

/* ---- Values ---- */

enum { DQ, DK, DV, GRADIENTS };

/* Sizes of attention: queries [b, s, h, d], keys [b, t, g, d]. */
typedef struct {
    int b, s, t, h, g, d;
    const char *type;
    bool is_masked;
} Shape;

static const Shape usual = {2, 5, 5, 2, 2, 8, "f32"}, grouped = {2, 5, 5, 4, 2, 8, "f32"};

static MwValueId input(Cases *c, const Shape *z, int rows, int heads)
{
    return test_source(
        &c->run.test, MW_OP_INPUT, NULL,
        mw_arena_printf(c->run.test.arena, "%s[%d, %d, %d, %d]", z->type, z->b, rows, heads, z->d));
}

/* The gradients of attention. */
static void add_gradients(Cases *c, const Shape *z, MwValueId results[GRADIENTS])
{
    static const char attrs[] = "causal = true; scale = 0.35";
    TestGraph *test = &c->run.test;
    MwValueId all[7] = {input(c, z, z->s, z->h), input(c, z, z->t, z->g), input(c, z, z->t, z->g)};
    if (z->is_masked)
        all[3] = all[6] = test_source(test, MW_OP_INPUT, NULL, "f32[1, 1, 5, 5]");
    const MwValueId out =
        test_apply(test, NULL, z->is_masked ? "sdpa_masked" : "sdpa", all, 3 + z->is_masked, attrs);
    all[3] = out;
    all[4] = (MwValueId){out.index + 1};
    all[5] = input(c, z, z->s, z->h);
    const MwValueId first = test_apply(test, NULL, z->is_masked ? "sdpa_masked_grad" : "sdpa_grad",
                                       all, 6 + z->is_masked, attrs);
    for (int k = 0; k < GRADIENTS; k++)
        results[k] = (MwValueId){first.index + k};
}

/* `parts`, each with its last two dimensions as one, side by side. */
static MwValueId joined(Cases *c, const Shape *z, const MwValueId *parts, int count)
{
    TestGraph *test = &c->run.test;
    MwValueId flat[GRADIENTS];
    for (int k = 0; k < count; k++) {
        const MwTensor *from = mw_value_tensor(test->graph, parts[k]);
        flat[k] = test_apply(test, NULL, "reshape", &parts[k], 1,
                             mw_arena_printf(test->arena, "shape = [%d, %d, %d]", z->b,
                                             (int)from->dim[1], (int)from->dim[2] * z->d));
    }
    return test_apply(test, NULL, "concat", flat, count, "axis = 2");
}

static MwValueId unary(Cases *c, const char *op, MwValueId x)
{
    return test_apply(&c->run.test, NULL, op, &x, 1, "");
}

/* ---- Cases ---- */

static void add_parts(Cases *c)
{
    const Shape masked = {.b = 2, 5, 5, 2, 2, 8, "f32", true}, half = {2, 5, 5, 2, 2, 8, "bf16"};
    const Shape few = {2, 5, 9, 4, 2, 8, "f32"};
    MwValueId d[GRADIENTS];
    add_gradients(c, &usual, d);
    expect(c, "the gradient of q, k and v", joined(c, &usual, d, GRADIENTS), "sdpa_grad");
    add_gradients(c, &grouped, d);
    expect(c, "of grouped heads", joined(c, &grouped, d, GRADIENTS), "sdpa_grad");
    add_gradients(c, &usual, d);
    expect(c, "in another order", joined(c, &usual, (MwValueId[]){d[DV], d[DQ], d[DK]}, GRADIENTS),
           "sdpa_grad");
    add_gradients(c, &few, d);
    expect(c, "of keys and values", joined(c, &few, &d[DK], 2), "sdpa_grad");
    expect(c, "and of q by itself", d[DQ], "sdpa_grad");
    add_gradients(c, &masked, d);
    expect(c, "with a mask", joined(c, &masked, d, GRADIENTS), "sdpa_masked_grad");
    add_gradients(c, &half, d);
    expect_on(c, "in bf16", joined(c, &half, d, GRADIENTS), "sdpa_grad", KERNEL);
    add_gradients(c, &usual, d);
    MwValueId whole = joined(c, &usual, d, GRADIENTS);
    expect(c, "read by a kernel", unary(c, "tanh", whole), KERNEL);
    expect(c, "and an output", whole, "sdpa_grad");
}

/* As a model has it that takes q, k and v out of a dimension of their own. */
static void add_unstacked(Cases *c)
{
    MwValueId d[GRADIENTS];
    add_gradients(c, &usual, d);
    for (int k = 0; k < GRADIENTS; k++)
        d[k] = test_apply(&c->run.test, NULL, "reshape", &d[k], 1, "shape = [2, 5, 1, 2, 8]");
    expect(c, "of a dimension of their own",
           test_apply(&c->run.test, NULL, "concat", d, GRADIENTS, "axis = 2"), "sdpa_grad");
}

static void add_no_parts(Cases *c)
{
    TestGraph *test = &c->run.test;
    MwValueId d[GRADIENTS];
    add_gradients(c, &usual, d);
    expect(c, "of which one is an output", joined(c, &usual, d, GRADIENTS), KERNEL);
    expect(c, "one that is an output", d[DK], "sdpa_grad");
    add_gradients(c, &usual, d);
    expect(c, "of which one is read", joined(c, &usual, d, GRADIENTS), KERNEL);
    expect(c, "what reads it", unary(c, "tanh", d[DV]), KERNEL);
    add_gradients(c, &usual, d);
    expect(c, "twice the same", joined(c, &usual, (MwValueId[]){d[DK], d[DK], d[DV]}, GRADIENTS),
           KERNEL);
    add_gradients(c, &usual, d);
    expect(c, "of two calls", joined(c, &usual, (MwValueId[]){d[DQ], input(c, &usual, 5, 2)}, 2),
           KERNEL);
    add_gradients(c, &usual, d);
    expect(c, "computed further",
           joined(c, &usual, (MwValueId[]){d[DQ], unary(c, "neg", d[DK])}, 2), KERNEL);
    add_gradients(c, &usual, d);
    expect(c, "one after another", test_apply(test, NULL, "concat", d, GRADIENTS, "axis = 0"),
           KERNEL);
    add_gradients(c, &usual, d);
    expect(c, "head by head", test_apply(test, NULL, "concat", d, GRADIENTS, "axis = 3"), KERNEL);
    add_gradients(c, &usual, d);
    for (int k = 0; k < GRADIENTS; k++)
        d[k] = test_apply(test, NULL, "transpose", &d[k], 1, "perm = [0, 1, 3, 2]");
    expect(c, "turned", joined(c, &(Shape){2, 5, 5, 8, 8, 2}, d, GRADIENTS), KERNEL);
}

/* ---- What came of them ---- */

START_TEST(calls_write_their_results_into_a_whole)
{
    static void (*const groups[])(Cases * c) = {add_parts, add_unstacked, add_no_parts};
    Cases c = {.run = graph_run_new(_i)};
    const bool is_gpu = strcmp(c.run.backend->name, "cuda") == 0;
    int failed = 0;
    for (int i = 0; i < MW_COUNT(groups); i++)
        groups[i](&c);
    graph_run_step(&c.run);
    for (int i = 0; i < c.expected.count; i++) {
        const Expected *e = &c.expected.at[i];
        const MwPlanInstr *writer = graph_run_writer(&c.run, i);
        const char *found =
            writer->kind == MW_INSTR_ROUTINE ? mw_plan_instr_name(c.run.plan, writer) : KERNEL;
        const char *wanted = is_gpu ? e->on_gpu : e->on_cpu;
        const double error = graph_run_error(&c.run, i);
        const MwValueId value = c.run.test.graph->outputs.at[i].value;
        const bool is_half = mw_value_tensor(c.run.test.graph, value)->type == MW_BF16;
        if (error <= (is_half ? BF16_TOLERANCE : TOLERANCE) && strcmp(found, wanted) == 0)
            continue;
        printf("# %s: written by %s, expected %s; error %g\n", e->name, found, wanted, error);
        failed++;
    }
    graph_run_free(&c.run);
    ck_assert_int_eq(failed, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("library_units");
    TCase *tests = tcase_create("library_units");
    tcase_set_timeout(tests, 100);
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, calls_write_their_results_into_a_whole, 0, graph_backend_count);
    return run_suite(suite);
}
