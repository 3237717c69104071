/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Quantise: which products take floats of 8 bits, of which types, and how their operands are
 * scaled. */
#include "base/text.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/model.h"
#include "tests/unit/support.h"

#include <math.h>
#include <string.h>

/* Statements of a model with inputs x: f32[16, 32] and t: i32[16], weights w, v: f32[32, 32], n:
 * f32[32, 24], u: f32[32, 16] and three: f32[32, 3, 16], and what gives the loss; and its products
 * in order, by the types of operands and result. */
static const struct {
    const char *statements, *products;
} cases[] = {
    /* The last product stays, and what leads to it does not. */
    {"y = gelu(x @ w) @ u\n train cross_entropy(y, t) with sgd(lr = 1)",
     "e4m3 e4m3 bf16, bf16 bf16 bf16, bf16 bf16 bf16, bf16 bf16 f32, e4m3 e5m2 f32"},
    {"y = x @ u\n train cross_entropy(y, t) with sgd(lr = 1)", "bf16 bf16 bf16, bf16 bf16 f32"},
    /* A gradient by what is no weight. */
    {"y = gelu(gelu(x @ w) @ v) @ u\n train cross_entropy(y, t) with sgd(lr = 1)",
     "e4m3 e4m3 bf16, e4m3 e4m3 bf16, bf16 bf16 bf16, bf16 bf16 bf16, bf16 bf16 f32, "
     "e5m2 e4m3 bf16, e4m3 e5m2 f32, e4m3 e5m2 f32"},
    /* Of other sizes, or other types. */
    {"y = (x @ n) @ transpose(n, [1, 0]) @ u\n train cross_entropy(y, t) with sgd(lr = 1)",
     "bf16 bf16 bf16, bf16 bf16 bf16, bf16 bf16 bf16, bf16 bf16 bf16, bf16 bf16 f32, "
     "bf16 bf16 bf16, bf16 bf16 f32, bf16 bf16 f32"},
    {"output y = (cast(x, f16) @ cast(w, f16)) @ cast(u, f16)", "f16 f16 f16, f16 f16 f16"},
    /* Several letters, inference, and products of two values of the batch. */
    {"h = einsum(\"bw,wtd->btd\", x, three)\n output y = reshape(h, [16, 48]) @ "
     "transpose(concat(n, n, "
     "axis = 1), [1, 0])",
     "e4m3 e4m3 bf16, bf16 bf16 bf16"},
    {"h = x @ w\n s = einsum(\"ab,cb->ac\", h, h)\n output y = s @ transpose(u, [1, 0]) @ u",
     "e4m3 e4m3 bf16, bf16 bf16 bf16, e4m3 e4m3 bf16, bf16 bf16 bf16"},
};

static const char model_text[] = "model m {\n"
                                 "  precision fp8%s\n"
                                 "  input x: f32[16, 32]\n"
                                 "  input t: i32[16]\n"
                                 "  weight w: f32[32, 32] = ones\n"
                                 "  weight v: f32[32, 32] = ones\n"
                                 "  weight n: f32[32, 24] = ones\n"
                                 "  weight u: f32[32, 16] = ones\n"
                                 "  weight three: f32[32, 3, 16] = ones\n"
                                 "  %s\n"
                                 "}\n";

static TestModel model_of(const char *options, const char *statements, int micro_batches)
{
    MwArena *arena = mw_arena_new();
    TestModel model = test_model_new(mw_arena_printf(arena, model_text, options, statements),
                                     micro_batches, MW_PASS_clean);
    ck_assert_msg(model.ok, "%s: %s", statements, diags_text(model.arena, model.diags));
    mw_arena_free(&arena);
    return model;
}

static const char *type_of(const MwGraph *graph, MwValueId value)
{
    return mw_type_name(mw_value_tensor(graph, value)->type);
}

START_TEST(products_of_layers_take_8_bits)
{
    TestModel model = model_of("", cases[_i].statements, 1);
    const MwGraph *graph = model.compilation.graph;
    MwText text = {.arena = model.arena};
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        if (node->op == MW_OP_EINSUM && node->operand_count == 2)
            mw_text_printf(&text, "%s%s %s %s", text.bytes ? ", " : "",
                           type_of(graph, node->operands[0]), type_of(graph, node->operands[1]),
                           type_of(graph, (MwValueId){node->first_result}));
    }
    ck_assert_str_eq(text.at, cases[_i].products);
    test_model_free(&model);
}
END_TEST

START_TEST(a_model_without_such_products_is_told)
{
    TestModel model = model_of("", "output y = x @ u", 1);
    ck_assert_str_eq(
        diags_text(model.arena, model.diags),
        "meshwright: warning: precision fp8: no product of 'm' is one of layers, in bf16 and of "
        "sizes that are multiples of 16, so all stay in bf16\n");
    test_model_free(&model);
}
END_TEST

/* What is to be computed again is computed again with the product that it is. */
START_TEST(a_product_keeps_its_pin)
{
    TestModel model = model_of("",
                               "h = x @ w with remat = true\n y = gelu(h) @ u\n train "
                               "cross_entropy(y, t) with sgd(lr = 1)",
                               1);
    const MwGraph *graph = model.compilation.graph;
    int products = 0;
    for (int i = 0; i < graph->pins.count; i++) {
        const MwNode *node = mw_value_node(graph, graph->pins.at[i].value);
        ck_assert_int_eq(graph->pins.at[i].remat, 1);
        products += node->op == MW_OP_EINSUM;
    }
    ck_assert_int_eq(graph->pins.count, 2);
    ck_assert_int_eq(products, 1);
    test_model_free(&model);
}
END_TEST

/* ---- Scales ---- */

enum { STEPS = 6, HISTORY = 3, MARGIN = 1 };

/* What each step multiplies x by. */
static const double factors[STEPS] = {1, 40, 2, 3, 0.25, 0};

static double greatest(const double *elements, int64_t count)
{
    double most = 0;
    for (int64_t i = 0; i < count; i++)
        most = fmax(most, fabs(elements[i]));
    return most;
}

/* The greatest power of two by which `top` is at most `last`, found by trying. */
static double scale_by_hand(double top, double last)
{
    double scale = 0x1p-60;
    while (2 * scale * top <= last)
        scale *= 2;
    return scale;
}

/* A step multiplies x by a state that the test sets, so that the greatest element grows, shrinks
 * and vanishes. With and without micro-batches. */
START_TEST(scales_follow_the_history)
{
    TestModel model = model_of("(history = 3, margin = 1)",
                               "state factor: f32[] = ones\n"
                               "  h = x * factor\n"
                               "  train sum((h @ w) @ u) with sgd(lr = 0.001)",
                               _i);
    Interpreter *run = model.run;
    double amax[STEPS], scale = 0.5;
    for (int step = 0; step < STEPS; step++) {
        double *factor = interpreter_value(run, "factor");
        *factor = factors[step];
        ck_assert_double_eq(interpreter_value(run, "h.bf16.fp8.scale")[0], scale);
        interpreter_step(run);
        double most = 0;
        const double *history = interpreter_value(run, "h.bf16.fp8.amax");
        amax[step] = history[(step + 1) % HISTORY];
        for (int i = mw_max(0, step - HISTORY + 1); i <= step; i++) {
            ck_assert_double_eq(history[(i + 1) % HISTORY], amax[i]);
            most = fmax(most, amax[i]);
        }
        ck_assert(factors[step] == 0
                      ? amax[step] == 0
                      : amax[step] > 0.9 * factors[step] && amax[step] <= factors[step]);
        scale = scale_by_hand(most, 448 / (double)(1 << MARGIN));
    }
    test_model_free(&model);
}
END_TEST

/* Gradients begin with another scale, and end with one for their type. */
START_TEST(gradients_have_the_range_of_e5m2)
{
    TestModel model = model_of("", "train sum((x @ w) @ u) with sgd(lr = 0)", 1);
    const MwGraph *graph = model.compilation.graph;
    MwValueId gradient = mw_no_value();
    for (int n = 0; n < graph->nodes.count; n++)
        if (graph->nodes.at[n].op == MW_OP_CAST &&
            graph->values.at[graph->nodes.at[n].first_result].tensor.type == MW_E5M2)
            gradient = (MwValueId){graph->nodes.at[n].first_result};
    ck_assert(mw_has_value(gradient));
    ck_assert_double_eq(interpreter_value(model.run, "grad.einsum.fp8.scale")[0], 65536);
    interpreter_step(model.run);
    /* each is the sum of 16 ones */
    ck_assert_double_eq(interpreter_value(model.run, "grad.einsum.fp8.amax")[1], 16);
    ck_assert_double_eq(interpreter_value(model.run, "grad.einsum.fp8.scale")[0], 2048);
    /* and 65536 times that is the last number */
    ck_assert_double_eq(greatest(model.run->at[gradient.index], 16 * 32), 57344);
    test_model_free(&model);
}
END_TEST

/* From f32, by no way of bf16, but where something else takes that. */
static const struct {
    const char *statements;
    int casts; /* of w to bf16 */
} weight_cases[] = {
    {"train sum(gelu(x @ w) @ u) with sgd(lr = 1)", 0},
    {"train sum(gelu(gelu(x @ w) @ w) @ u) with sgd(lr = 1)", 0},
    {"h = gelu(x @ w)\n train sum(h @ u) + sum(h @ w) with sgd(lr = 1)", 1},
};

START_TEST(weights_are_rounded_once)
{
    TestModel model = model_of("", weight_cases[_i].statements, 1);
    const MwGraph *graph = model.compilation.graph;
    int scaled = 0, casts = 0;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        if (node->operand_count == 0 || strcmp(mw_value(graph, node->operands[0])->name, "w") != 0)
            continue;
        scaled += node->op == MW_OP_MUL;
        casts += node->op == MW_OP_CAST;
    }
    ck_assert_int_eq(scaled, 1);
    ck_assert_int_eq(casts, weight_cases[_i].casts);
    ck_assert_ptr_nonnull(interpreter_value(model.run, "w.fp8.scale"));
    test_model_free(&model);
}
END_TEST

START_TEST(no_gradient_passes_through_8_bits)
{
    TestModel model = test_model_new("model m {\n"
                                     "  weight w: f32[3] = ones\n"
                                     "  train sum(cast(cast(w, e4m3), f32) * w) with sgd(lr = 1)\n"
                                     "}\n",
                                     1, MW_PASS_clean);
    ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
    interpreter_step(model.run);
    ck_assert_double_eq(interpreter_value(model.run, "w")[0], 0);
    test_model_free(&model);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("quantise");
    TCase *tests = tcase_create("quantise");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, products_of_layers_take_8_bits, 0, MW_COUNT(cases));
    tcase_add_test(tests, a_model_without_such_products_is_told);
    tcase_add_test(tests, a_product_keeps_its_pin);
    tcase_add_loop_test(tests, scales_follow_the_history, 1, 3);
    tcase_add_test(tests, gradients_have_the_range_of_e5m2);
    tcase_add_loop_test(tests, weights_are_rounded_once, 0, MW_COUNT(weight_cases));
    tcase_add_test(tests, no_gradient_passes_through_8_bits);
    return run_suite(suite);
}
