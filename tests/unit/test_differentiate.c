/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Differentiation of whole models: against central differences, and what it says and names. */
#include "base/philox.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/model.h"
#include "tests/unit/support.h"

#include <math.h>
#include <string.h>

static const char *const models[] = {
    "mlp.graph batch=4 inputs=3 width=5 classes=5",
    "gpt.graph batch=2 seq=3 vocab=5 layers=2 width=4 heads=2",
    "llama.graph batch=2 seq=3 vocab=5 layers=2 width=8 heads=4 kv_heads=2 hidden=6",
    "bert.graph batch=2 seq=8 vocab=5 layers=1 width=4 heads=2 mask_rate=0.4 dropout_rate=0.2",
    "vit.graph batch=2 image=4 channels=2 patch=2 classes=5 layers=1 width=4 heads=2",
    /* Factors that the batch affects, and a divisor that a weight affects too. */
    "model m {\ninput x: f32[4, 3]\nweight w: f32[3] = normal(1)\ny = tanh(x * w)\n"
    "train 2 * (sum(y * y) / sum(x * x)) * max(x) with sgd(lr = 0.1)\n}\n",
    "model m {\ninput x: f32[4, 3]\nweight w: f32[3] = normal(1)\ny = tanh(x * w)\n"
    "train sum(y * y) / sum(y * y * y * y) / sum(x * x) with sgd(lr = 0.1)\n}\n",
    /* The interpreter does not round to bf16. */
    "gpt.graph batch=2 seq=3 vocab=5 layers=2 width=4 heads=2 in bf16",
    "llama.graph batch=2 seq=3 vocab=5 layers=2 width=8 heads=4 kv_heads=2 hidden=6 in bf16",
    "vit.graph batch=2 image=4 channels=2 patch=2 classes=5 layers=1 width=4 heads=2 in bf16",
};

/* Functions that expand to several operators. */
static const char functions[] = "model m {\n"
                                "  input x: f32[4, 6]\n"
                                "  weight w: f32[6, 6] = ones\n"
                                "  weight v: f32[1, 4, 1, 6] = ones\n"
                                "  a = x @ w + squeeze(v)\n"
                                "  b = expand_dims(roll(a, 4), 1) * stack(a, x, axis = 1)\n"
                                "  c = slice(b, axis = 2, begin = 1, end = 6, stride = 2)\n"
                                "  d = tile(squeeze(v, axis = [0, 2]), [1, 2])\n"
                                "  e = cumsum(d) * cumsum(d, axis = 0)\n"
                                "  train mean(c * c) + mean(e) with sgd(lr = 1)\n"
                                "}\n";

static double loss_of(TestModel *model)
{
    model->run->place.step = 0;
    interpreter_step(model->run);
    return test_model_loss(model);
}

/* Weights that begin as zeros or ones, and far from the small scale of the models' own. */
static void draw_weights(TestModel *model)
{
    const MwGraph *graph = model->compilation.graph;
    for (int v = 0; v < graph->values.count; v++)
        if (mw_value_node(graph, (MwValueId){v})->op == MW_OP_WEIGHT)
            for (int64_t i = 0; i < mw_tensor_elements(&graph->values.at[v].tensor); i++)
                model->run->at[v][i] += 0.5 * mw_normal_at(3, (uint64_t)v, (uint64_t)i);
}

/* The difference quotient along `direction`, of the elements of one weight. */
static double slope_along(TestModel *model, double *weight, const double *direction, int64_t count)
{
    double loss[2];
    const double h = 1e-5;
    for (int side = 0; side < 2; side++) {
        for (int64_t i = 0; i < count; i++)
            weight[i] += (side ? -2 * h : h) * direction[i];
        loss[side] = loss_of(model);
    }
    for (int64_t i = 0; i < count; i++)
        weight[i] += h * direction[i];
    return (loss[0] - loss[1]) / (2 * h);
}

static void check_weight(TestModel *model, MwValueId weight)
{
    const MwGraph *graph = model->compilation.graph;
    MwValueId gradient = model->compilation.gradient[weight.index];
    int64_t count = mw_tensor_elements(mw_value_tensor(graph, weight));
    ck_assert(mw_has_value(gradient));
    double *direction = MW_NEW(model->arena, double, count), along = 0;
    loss_of(model);
    for (int64_t i = 0; i < count; i++) {
        direction[i] = mw_normal_at(4, (uint64_t)weight.index, (uint64_t)i);
        along += direction[i] * model->run->at[gradient.index][i];
    }
    double slope = slope_along(model, model->run->at[weight.index], direction, count);
    ck_assert_msg(fabs(along - slope) <= 1e-6 * fmax(1, fabs(slope)),
                  "%s: gradient %.10g along a direction, slope %.10g",
                  mw_value(graph, weight)->name, along, slope);
}

START_TEST(gradients_of_models_are_difference_quotients)
{
    const char *text = _i < MW_COUNT(models) ? models[_i] : functions;
    TestModel model = test_model_new(text, 1, MW_PASS_differentiate);
    ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
    const MwGraph *graph = model.compilation.graph;
    draw_weights(&model);
    for (int v = 0; v < graph->values.count; v++)
        if (mw_value_node(graph, (MwValueId){v})->op == MW_OP_WEIGHT)
            check_weight(&model, (MwValueId){v});
    test_model_free(&model);
}
END_TEST

START_TEST(gradients_have_the_names_and_places_of_their_values)
{
    TestModel model = test_model_new("model m {\n"
                                     "  input x: f32[4, 3]\n"
                                     "  repeat 2 as l {\n"
                                     "    weight w: f32[3, 3] = ones\n"
                                     "    x = tanh(x @ w)\n"
                                     "  }\n"
                                     "  train sum(x) with sgd(lr = 1)\n"
                                     "}\n",
                                     1, MW_PASS_differentiate);
    ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
    const MwGraph *graph = model.compilation.graph;
    int weights = 0;
    for (int v = 0; v < graph->values.count; v++) {
        const MwNode *node = mw_value_node(graph, (MwValueId){v});
        if (node->op != MW_OP_WEIGHT)
            continue;
        MwValueId gradient = model.compilation.gradient[v];
        const MwNode *made = mw_value_node(graph, gradient);
        ck_assert_str_eq(mw_value(graph, gradient)->name,
                         mw_arena_printf(model.arena, "grad.%s", graph->values.at[v].name));
        ck_assert_int_eq(made->phase, MW_PHASE_BACKWARD);
        ck_assert_str_eq(made->origin.scope, node->origin.scope);
        ck_assert_int_eq(made->origin.repeat, node->origin.repeat);
        ck_assert_int_eq(made->origin.iteration, node->origin.iteration);
        weights++;
    }
    ck_assert_int_eq(weights, 2);
    for (int i = 0; i < 2; i++) /* d (1 - y^2) has a square, a constant and a difference */
        for (int k = 0; k < 3; k++) {
            const char *name =
                mw_arena_printf(model.arena, k ? "l.%d.x.grad.%d" : "l.%d.x.grad", i, k);
            ck_assert(mw_has_value(mw_graph_find(graph, mw_intern(graph->interner, name))));
        }
    test_model_free(&model);
}
END_TEST

/* Models, whether they can be differentiated, and what is said of them. */
static const struct {
    const char *text;
    bool ok;
    const char *says;
} remarks[] = {
    {"model m {\n"
     "  input x: f32[4]\n"
     "  weight w: f32[4] = ones\n"
     "  weight idle: f32[4] = ones\n"
     "  train sum(x * w) with sgd(lr = 1)\n"
     "}\n",
     true,
     "test.graph:4:10: warning: the loss does not depend on weight 'idle', which stays as it is\n"},
    {"model m {\n"
     "  input x: f32[4]\n"
     "  weight w: f32[4] = ones\n"
     "  train sum(x * cast(w > 0, f32)) with sgd(lr = 1)\n"
     "}\n",
     false, "test.graph:4:3: error: the loss does not depend on any weight\n"},
};

START_TEST(says_what_has_no_gradient)
{
    TestModel model = test_model_new(remarks[_i].text, 1, MW_PASS_differentiate);
    const char *says = diags_text(model.arena, model.diags);
    ck_assert_int_eq(model.ok, remarks[_i].ok);
    ck_assert_msg(strncmp(says, remarks[_i].says, strlen(remarks[_i].says)) == 0, "%s", says);
    test_model_free(&model);
}
END_TEST

START_TEST(a_model_for_inference_stays_as_it_is)
{
    TestModel model = test_model_new("model m {\n"
                                     "  input x: f32[4, 3]\n"
                                     "  weight w: f32[3, 3] = ones\n"
                                     "  y = x @ w\n"
                                     "  output y\n"
                                     "}\n",
                                     1, MW_PASS_clean);
    ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
    ck_assert_int_eq(model.compilation.graph->nodes.count, 3);
    test_model_free(&model);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("differentiate");
    TCase *tests = tcase_create("differentiate");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, gradients_of_models_are_difference_quotients, 0,
                        MW_COUNT(models) + 1);
    tcase_add_test(tests, gradients_have_the_names_and_places_of_their_values);
    tcase_add_loop_test(tests, says_what_has_no_gradient, 0, MW_COUNT(remarks));
    tcase_add_test(tests, a_model_for_inference_stays_as_it_is);
    return run_suite(suite);
}
