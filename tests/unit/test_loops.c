/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loops: what a scan means, its gradients against difference quotients, its loss cut into
 * micro-batches, and what the checker of graphs refuses. */
#include "frontend/frontend.h"
#include "ir/loops.h"
#include "ir/verify.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/model.h"
#include "tests/unit/support.h"

#include <math.h>
#include <string.h>

#define MODEL(body) "model m {\n" body "}\n"
#define TRAINED " train loss with sgd(lr = 0.1)\n"

/* ---- Gradients ---- */

/* `why` the batch cannot be cut; NULL: it can. */
static const struct {
    const char *text, *why;
} trained[] = {
    /* a recurrence with a product, whose gradients are products over all steps */
    {MODEL("input x: f32[4, 5, 3]\n weight w: f32[3, 2] = normal(0.5)\n"
           " weight u: f32[2, 2] = normal(0.5)\n weight b: f32[2] = normal(0.5)\n"
           " h = constant(0.0, [4, 2])\n"
           " scan x as x_t {\n h = tanh(x_t @ w + h @ u + b)\n collect hs = h\n }\n"
           " loss = sum(h * h) + sum(hs * hs * hs)\n" TRAINED),
     NULL},
    /* the last step first; the first state is trained; only the last state is used */
    {MODEL("input x: f32[4, 5, 2]\n weight first: f32[2] = normal(1)\n"
           " weight g: f32[2] = normal(0.5)\n h = broadcast(first, [4, 2])\n"
           " scan x as x_t with reverse = true {\n h = sin(g * h) + x_t\n }\n"
           " loss = sum(h * h)\n" TRAINED),
     NULL},
    /* what is scanned is trained, along the first axis and another */
    {MODEL("input y: f32[4, 2]\n weight x: f32[5, 2] = normal(1)\n"
           " weight z: f32[2, 5] = normal(1)\n s = constant(0.0, [2])\n"
           " scan x as x_t with axis = 0 {\n s = 0.5 * s + x_t * x_t\n collect all = s\n }\n"
           " t = constant(1.0, [2])\n"
           " scan z as z_t with axis = -1 {\n t = t * cos(z_t)\n collect last = t\n }\n"
           " loss = sum(all * all) + sum(y * s) + sum(last * transpose(all, perm = "
           "[1, 0]))\n" TRAINED),
     "needs a sum over the whole batch at each step of a scan"},
    /* terms of a gradient that are no sums by themselves: they are added up step by step */
    {MODEL("input x: f32[4, 5, 3]\n weight w: f32[4, 3] = normal(1)\n"
           " s = constant(0.0, [4, 3])\n"
           " scan x as x_t {\n s = s * 0.9 + exp(w * x_t)\n }\n loss = sum(s)\n" TRAINED),
     "this needs parts of 'w'"},
    /* the number of the step, a bool that is carried, and a choice */
    {MODEL("input x: f32[4, 6, 3]\n weight w: f32[3] = normal(1)\n"
           " done = constant(0, [4, 3], i32) > 0\n s = constant(0.0, [4, 3])\n"
           " scan x as x_t, 6 as t {\n s = where(done, s, s + w * x_t * cast(t, f32))\n"
           " done = done or (x_t > 0.5)\n }\n loss = sum(s * s)\n" TRAINED),
     NULL},
    /* a scan in a scan, backwards, that declares weights, collects, and carries what is outside */
    {"block cell(h, x) {\n weight u: f32[2, 2] = normal(0.7)\n return tanh(h @ u + x)\n}\n" MODEL(
         "input x: f32[4, 3, 5, 2]\n s = constant(0.5, [4, 2])\n n = constant(0.0, [4])\n"
         " scan x as word {\n h = 0.5 * s\n"
         " scan word as c, 5 as t with reverse = true {\n weight g: f32[2] = normal(1)\n"
         " h = cell(h, c * g)\n n = n + cast(t, f32) * sum(h, axis = 1)\n collect hs = h\n }\n"
         " s = cell(s, h + sum(hs * hs, axis = 1))\n }\n"
         " loss = sum(s * s) + sum(n * n)\n" TRAINED),
     NULL},
    /* several layers, of which each has its own weights; a block and a repeat inside */
    {"block cell(h, x) {\n weight u: f32[2, 2] = normal(0.7)\n return tanh(h @ u + x)\n}\n" MODEL(
         "input x: f32[4, 3, 2]\n"
         " repeat 2 {\n h = constant(0.0, [4, 2])\n"
         " scan x as x_t {\n repeat 2 {\n h = cell(h, x_t)\n }\n collect x = h\n }\n }\n"
         " loss = sum(x * x)\n" TRAINED),
     NULL},
    /* layers of what is carried in turn; a matrix that a step multiplies into another */
    {MODEL("input x: f32[4, 3, 2]\n weight a: f32[2, 2] = normal(0.7)\n"
           " m = constant(1.0, [2, 2])\n n = constant(0.0, [4, 2])\n"
           " scan x as x_t {\n k = m\n m = tanh(a @ m)\n n = n + x_t @ k\n }\n"
           " loss = sum(n * n) + sum(m)\n" TRAINED),
     "needs a sum over the whole batch at each step of a scan"},
    /* steps take slices of what a loop carries that the batch has no part in */
    {MODEL(
         "input x: f32[4, 5, 2]\n weight w: f32[2, 2] = normal(0.5)\n"
         " s = constant(1.0, [4, 2])\n h = constant(0.0, [4, 2])\n"
         " scan x as x_t {\n s = tanh(s @ w)\n h = h + s * x_t\n collect all = s\n }\n"
         " loss = sum(h * h) + sum(transpose(all, [1, 0, 2]) * transpose(x, [1, 0, 2]))\n" TRAINED),
     NULL},
    /* a product over all steps stands between what begins the loop and the loop */
    {MODEL("input x: f32[4, 6, 2]\n weight y: f32[4] = normal(0.5)\n"
           " weight z: f32[2, 4] = normal(0.5)\n h = constant(0.0, [4, 4])\n"
           " scan x as x_t {\n h = h * y + x_t @ z\n }\n loss = sum(h)\n" TRAINED),
     NULL},
};

static double slope_of(TestModel *model, double *x)
{
    const double h = 1e-5, middle = *x;
    double loss[2];
    for (int i = 0; i < 2; i++) {
        *x = middle + (i ? h : -h);
        interpreter_step(model->run);
        loss[i] = test_model_loss(model);
    }
    *x = middle;
    return (loss[1] - loss[0]) / (2 * h);
}

static void compare_slopes(TestModel *model, MwValueId weight)
{
    const MwGraph *graph = model->compilation.graph;
    const char *name = mw_value(graph, weight)->name;
    const MwValueId gradient = model->compilation.gradient[weight.index];
    ck_assert_msg(mw_has_value(gradient), "no gradient by %s", name);
    for (int64_t i = 0; i < mw_tensor_elements(mw_value_tensor(graph, weight)); i++) {
        const double slope = slope_of(model, &model->run->at[weight.index][i]);
        interpreter_step(model->run);
        const double given = model->run->at[gradient.index][i];
        ck_assert_msg(fabs(given - slope) <= 1e-6 * fmax(1, fabs(slope)),
                      "%s, element %d: gradient %.12g, slope %.12g", name, (int)i, given, slope);
    }
}

START_TEST(gradients_are_difference_quotients)
{
    TestModel model = test_model_new(trained[_i].text, 1, MW_PASS_differentiate);
    ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
    const MwGraph *graph = model.compilation.graph;
    for (int n = 0; n < graph->nodes.count; n++)
        if (graph->nodes.at[n].op == MW_OP_WEIGHT)
            compare_slopes(&model, mw_node_result(graph, (MwNodeId){n}, 0));
    test_model_free(&model);
}
END_TEST

/* ---- Random numbers ---- */

/* Whether rows `a` and `b` of [rows, columns] are the same. */
static bool same_rows(const double *at, int a, int b, int columns)
{
    return memcmp(at + a * columns, at + b * columns, sizeof *at * (size_t)columns) == 0;
}

#define DRAWN(value)                                                                               \
    MODEL(" weight one: f32[32] = ones\n scan 3 as t with axis = 0 {\n collect all = " value       \
          "\n }\n loss = sum(all * one)\n" TRAINED)

static const char *const drawn[] = {
    DRAWN("uniform([32])"),      DRAWN("uniform([32], -1, 1)"),       DRAWN("normal([32])"),
    DRAWN("normal([32], 1, 2)"), DRAWN("cast(bernoulli([32]), f32)"), DRAWN("dropout(one, 0.5)")};

START_TEST(random_numbers_are_others_at_each_step)
{
    TestModel model = test_model_new(drawn[_i], 1, MW_PASS_differentiate);
    ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
    interpreter_step(model.run);
    const double *all = interpreter_value(model.run, "scan.all");
    ck_assert(!same_rows(all, 0, 1, 32) && !same_rows(all, 1, 2, 32) && !same_rows(all, 0, 2, 32));
    test_model_free(&model);
}
END_TEST

/* ---- Micro-batches ---- */

static void compare_weights(TestModel *whole, TestModel *cut)
{
    const MwGraph *graph = cut->compilation.graph;
    interpreter_step(whole->run);
    interpreter_step(cut->run);
    for (int n = 0; n < graph->nodes.count; n++) {
        if (graph->nodes.at[n].op != MW_OP_WEIGHT)
            continue;
        const MwValue *weight = &graph->values.at[graph->nodes.at[n].first_result];
        const double *a = interpreter_value(whole->run, weight->name);
        const double *b = interpreter_value(cut->run, weight->name);
        for (int64_t i = 0; i < mw_tensor_elements(&weight->tensor); i++)
            ck_assert_msg(fabs(a[i] - b[i]) <= 1e-9, "%s: %.12g, %.12g", weight->name, a[i], b[i]);
    }
}

START_TEST(micro_batches_give_the_same_weights)
{
    TestModel whole = test_model_new(trained[_i].text, 1, MW_PASS_clean);
    TestModel cut = test_model_new(trained[_i].text, 2, MW_PASS_clean);
    ck_assert_msg(whole.ok, "%s", diags_text(whole.arena, whole.diags));
    const char *text = diags_text(cut.arena, cut.diags);
    ck_assert_msg(cut.ok == !trained[_i].why &&
                      strstr(text, trained[_i].why ? trained[_i].why : ""),
                  "%s", text);
    if (cut.ok)
        compare_weights(&whole, &cut);
    test_model_free(&whole);
    test_model_free(&cut);
}
END_TEST

/* ---- Order ---- */

START_TEST(the_nodes_of_a_loop_follow_each_other)
{
    TestModel model = test_model_new(trained[_i].text, 1, MW_PASS_clean);
    const MwGraph *graph = model.compilation.graph;
    const MwLoops loops = mw_loops(model.arena, graph);
    ck_assert_int_ge(loops.count, 2);
    for (int l = 0; l < loops.count; l++)
        for (int n = loops.at[l].first; n <= loops.at[l].last && loops.at[l].steps; n++)
            ck_assert_int_eq(loops.of_node[n], l);
    test_model_free(&model);
}
END_TEST

/* With what begins it: a stage cannot have a part of a loop. */
START_TEST(a_loop_is_in_one_layer)
{
    const MwCompileOptions options = {.layers = 2, .micro_batches = 1};
    TestModel model = test_model_compile(trained[_i].text, &options, MW_PASS_clean);
    ck_assert(model.ok);
    const MwGraph *graph = model.compilation.graph;
    const MwLoops loops = mw_loops(model.arena, graph);
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        const int loop =
            node->op == MW_OP_SCAN_CARRY ? (int)mw_node_int(node, MW_ATTR_LOOP) : loops.of_node[n];
        if (loop >= 0)
            ck_assert_int_eq(node->origin.layer,
                             graph->nodes.at[loops.at[loop].first].origin.layer);
    }
    test_model_free(&model);
}
END_TEST

/* ---- Errors ---- */

#define SCANNED "input x: f32[4, 5, 3]\n h = constant(0.0, [4, 3])\n "

static const struct {
    const char *text, *message;
} wrong[] = {
    {MODEL(SCANNED "scan x as x_t {\n h = h + x_t\n }\n output y = x_t\n"), "unknown name 'x_t'"},
    {MODEL(SCANNED "scan x as x_t {\n z = h + x_t\n h = z\n }\n output y = z\n"),
     "unknown name 'z'"},
    {MODEL(SCANNED "scan x as x_t {\n h = sum(h + x_t, axis = 1)\n }\n output h\n"),
     "the scan carries 'h' from step to step, but it is f32[4, 3] before a step and f32[4] after"},
    {MODEL("input x: f32[4, 5, 3]\n h = 0\n scan x as x_t {\n h = h + x_t\n }\n output h\n"),
     "'h', which the scan carries from step to step, must be a tensor"},
    {MODEL(SCANNED "scan x as x_t with axis = 3 {\n h = h + x_t\n }\n output h\n"),
     "a scan along axis 3 cannot go through f32[4, 5, 3]"},
    {MODEL(SCANNED "scan x as x_t, 6 as t {\n h = h + x_t\n }\n output h\n"),
     "this has 6 steps, and what stands before it 5"},
    {MODEL(SCANNED "scan 0 {\n h = h + 1\n }\n output h\n"), "a scan cannot take 0 steps"},
    {MODEL(SCANNED "scan \"x\" as x_t {\n h = h + x_t\n }\n output h\n"),
     "what a scan goes through must be a tensor"},
    {MODEL(SCANNED "scan x as x_t with step = 2 {\n h = h + x_t\n }\n output h\n"),
     "a scan has 'axis' and 'reverse', not 'step'"},
    {MODEL(SCANNED "scan x as x_t with axis = 1, axis = 1 {\n h = h + x_t\n }\n output h\n"),
     "'axis' is given twice"},
    {MODEL(SCANNED "scan x as x_t {\n h = h + x_t\n collect h = h\n }\n output h\n"),
     "'h' is carried from step to step: collect it by another name"},
    {MODEL(SCANNED "scan x as x_t {\n collect y = x_t\n collect y = h\n }\n output y\n"),
     "'y' is collected twice"},
    {MODEL(SCANNED "scan x as x_t {\n scan 65 {\n h = h + x_t\n }\n }\n output h\n"),
     "a scan in a scan is expanded step by step, and takes at most 64 steps, not 65"},
    {MODEL(SCANNED "scan x as x_t {\n scan 2 {\n h = sum(h + x_t, axis = 1)\n }\n }\n"
                   " output h\n"),
     "the scan carries 'h' from step to step, but it is f32[4, 3] before a step and f32[4] after"},
    {MODEL(SCANNED "scan x as x_t {\n scan 2 {\n collect y = x_t\n collect y = h\n }\n }\n"
                   " output h\n"),
     "'y' is collected twice"},
    {MODEL(SCANNED
           "scan x as x_t {\n scan 2 {\n weight w: f32[3] = ones\n weight w: f32[3] = ones\n"
           " h = h * w\n }\n }\n output h\n"),
     "already"},
    {MODEL(SCANNED "state s: f32[4, 3] = zeros\n scan x as x_t {\n assign s = x_t\n }\n"
                   " output h\n"),
     "'assign' cannot stand inside 'scan'"},
    {MODEL(SCANNED "scan x as x_t {\n output x_t\n }\n output h\n"),
     "'output' belongs to the model, outside of 'scan'"},
    {MODEL(SCANNED "collect h = x\n output h\n"), "'collect' stands in a 'scan'"},
    {MODEL(SCANNED "repeat 2 {\n scan x as x_t {\n repeat 2 {\n collect y = x_t\n }\n }\n }\n"
                   " output h\n"),
     "'collect' stands in a 'scan', outside of 'repeat'"},
};

START_TEST(mistakes_are_named)
{
    TestModel model = test_model_new(wrong[_i].text, 1, MW_PASS_simplify);
    const char *text = diags_text(model.arena, model.diags);
    ck_assert(!model.ok);
    ck_assert_msg(strstr(text, wrong[_i].message), "%s", text);
    test_model_free(&model);
}
END_TEST

/* Graphs that only a dump can say. */
static const struct {
    const char *text, *message;
} broken[] = {
    {MODEL(SCANNED "y = scan_in(x, axis = 1, loop = 0)\n output y\n"), "leaves its loop"},
    {MODEL(SCANNED "a = scan_in(x, axis = 1, loop = 0)\n b = scan_in(x, axis = 1, loop = 1)\n"
                   " y = scan_out(a + b, axis = 0, loop = 0, steps = 5)\n output y\n"),
     "takes values of two loops"},
    {MODEL(SCANNED "a = scan_in(x, axis = 1, loop = 0)\n b = scan_in(a, axis = 0, loop = 1)\n"
                   " y = scan_out(b, axis = 0, loop = 1, steps = 4)\n output y\n"),
     "begins a loop inside of a loop"},
    {MODEL(SCANNED "a = scan_in(x, axis = 1, loop = 0)\n"
                   " y = scan_out(a, axis = 0, loop = 0, steps = 4)\n output y\n"),
     "has another number of steps than its loop"},
    {MODEL(SCANNED "a = scan_in(x, axis = 1, loop = 0)\n"
                   " y = scan_next(a, h, loop = 0, steps = 5)\n output y\n"),
     "continues what is no scan_carry"},
    {MODEL(SCANNED "a = scan_in(x, axis = 1, loop = 0)\n"
                   " c = scan_carry(h, loop = 0, carry = 0, steps = 5)\n"
                   " y = scan_next(a, c, loop = 0, steps = 5)\n"
                   " z = scan_next(a + c, c, loop = 0, steps = 5)\n output y, z\n"),
     "is the second that continues its scan_carry"},
    {MODEL(SCANNED "y = scan_out(h, axis = 0, loop = 1000000, steps = 4)\n output y\n"),
     "has a loop whose number is too great"},
};

START_TEST(loops_that_are_not_well_formed_are_refused)
{
    MwArena *arena = mw_arena_new();
    MwDiags *diags = mw_diags_new(arena);
    const MwSource source = {"test.graph", broken[_i].text, strlen(broken[_i].text)};
    MwGraph *graph = mw_graph_parse(arena, mw_interner_new(arena), &source, NULL, 0, diags);
    ck_assert_msg(graph, "%s", diags_text(arena, diags));
    ck_assert(!mw_graph_check_model(graph, diags));
    const char *text = diags_text(arena, diags);
    ck_assert_msg(strstr(text, broken[_i].message), "%s", text);
    mw_arena_free(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("loops");
    TCase *tests = tcase_create("loops");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, gradients_are_difference_quotients, 0, MW_COUNT(trained));
    tcase_add_loop_test(tests, random_numbers_are_others_at_each_step, 0, MW_COUNT(drawn));
    tcase_add_loop_test(tests, micro_batches_give_the_same_weights, 0, MW_COUNT(trained));
    tcase_add_loop_test(tests, the_nodes_of_a_loop_follow_each_other, 0, MW_COUNT(trained));
    tcase_add_loop_test(tests, a_loop_is_in_one_layer, 0, MW_COUNT(trained));
    tcase_add_loop_test(tests, mistakes_are_named, 0, MW_COUNT(wrong));
    tcase_add_loop_test(tests, loops_that_are_not_well_formed_are_refused, 0, MW_COUNT(broken));
    return run_suite(suite);
}
