/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `grad` gives: the difference quotient of y, and once more differentiated that of a loss that
 * depends on it. */
#include "tests/unit/diags_text.h"
#include "tests/unit/model.h"
#include "tests/unit/support.h"

#include <math.h>
#include <string.h>

/* Statements that compute y from the weight w f32[4, 3], the input x f32[6, 4] and ids i32[6]. */
static const char *const functions[] = {
    "y = sum(tanh(x @ w))",
    "y = sum(gelu(x @ w) * silu(x @ w) + gelu(x @ w, approximate = \"tanh\"))",
    "y = mean(softmax(x @ w) * log_softmax(x @ w) + sigmoid(x @ w))",
    "y = sum(logsumexp(x @ w)) + cross_entropy(x @ w, ids % 3)",
    "y = sum(layer_norm(x @ w, eps = 0.1) * exp(0.1 * (x @ w)))",
    "y = sum(rms_norm(x @ w, eps = 0.1) ** 3)",
    "y = sum(sqrt(1 + (x @ w) ** 2)) / (1 + sum(w * w))",
    "y = sum(sin(embedding(ids % 4, w))) + sum(exp(pick(w, iota([4]) % 3)))",
    "h = batch_norm(x @ w, eps = 0.1)\n y = sum(h * h * h)",
    "c = conv(reshape(x, [1, 6, 4]), reshape(w, [1, 4, 3]), padding = 1)\n"
    " y = sum(sin(c) * avg_pool(sin(c), 3, stride = 1, padding = 1))",
    "m = max_pool(sin(reshape(x @ w, [1, 6, 3])), 3, stride = 2, padding = 1)\n"
    " y = sum(m * m * m)",
    "q = reshape(x @ w, [1, 3, 2, 3])\n o = sdpa(q, sin(q), q * q, causal = true, soft_cap = 2)\n"
    " y = sum(sin(o) * o)",
    /* the first query sees no key, and the last key is masked by an infinite number */
    "q = reshape(x @ w, [1, 3, 2, 3])\n m = where(iota([3]) < 2, slice(w, 0, 0, 1), -inf)\n"
    " o = sdpa(q, slice(q, 2, 0, 1), sin(slice(q, 2, 0, 1)), mask = m, lengths = iota([1]) + 2)\n"
    " y = sum(sin(o) * o)",
    "h = constant(0.5, [6, 4])\n scan 3 as t { h = tanh(h @ w @ transpose(w, [1, 0]) + x) }\n"
    " y = sum(h)",
    /* in a scan: by what is carried, by an element, by what is outside, and twice */
    "h = constant(0.5, [4, 3])\n"
    " scan 3 as t { h = h - 0.1 * grad(sum(tanh(x @ (h + w)) ** 2), h) }\n y = sum(h * h)",
    "c = constant(0.1, [6, 3])\n scan x as x_t { e = exp(expand_dims(x_t, 1) * c)\n"
    " c = c + (x @ w) * expand_dims(grad(sum(e * e), x_t), 1) }\n y = sum(c * c)",
    "c = w\n scan 3 as t { s = sum(sin(cast(t, f32) + x @ w) ** 2)\n"
    "  c = 0.5 * c + grad(s, w) }\n y = sum(c * c)",
    "h = w\n scan 2 as t { v = grad(sum(exp(0.1 * (x @ h))), h)\n"
    "  h = h - 0.1 * grad(sum(v * sin(h)), h) }\n y = sum(h * h)",
    /* loops of gradients and of the model after each other */
    "h = x\n scan 3 as t { h = tanh(h @ w @ transpose(w, [1, 0])) }\n v = grad(sum(h), w)\n"
    " k = w\n scan 2 as t { k = sin(k + 0.1 * v) }\n y = sum(k * k)",
    /* a gradient in y */
    "z = sum(tanh(x @ w))\n v = grad(z, w)\n y = sum(v * v * v)",
    /* a step of gradient descent within the step */
    "z = mean((x @ w) ** 4)\n fast = w - 0.1 * grad(z, w)\n y = mean(tanh(x @ fast) ** 2)",
};

/* g is the gradient of y by w, and the loss is not linear in it. */
static TestModel model_of(const char *function)
{
    char text[1000];
    snprintf(text, sizeof text,
             "model m {\n"
             " input x: f32[6, 4]\n input ids: i32[6]\n weight w: f32[4, 3] = normal(0.5)\n"
             " %s\n g = grad(y, w)\n output g, y\n"
             " train sum(g * g * (1 + g)) with sgd(lr = 0.1)\n}\n",
             function);
    TestModel model = test_model_new(text, 1, MW_PASS_differentiate);
    ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
    return model;
}

static MwValueId value_named(const TestModel *model, const char *name)
{
    const MwGraph *graph = model->compilation.graph;
    for (int v = 0; v < graph->values.count; v++)
        if (strcmp(graph->values.at[v].name, name) == 0)
            return (MwValueId){v};
    ck_abort_msg("there is no %s", name);
}

/* The number `of` with element i of w moved by h. */
static double moved(TestModel *model, MwValueId of, int i, double h)
{
    double *w = &model->run->at[value_named(model, "w").index][i], before = *w;
    *w += h;
    model->run->place.step = 0;
    interpreter_step(model->run);
    *w = before;
    return model->run->at[of.index][0];
}

/* Checks that `gradient`, by w, is the difference quotient of `of`. */
static void check_gradient(TestModel *model, MwValueId of, MwValueId gradient, const char *text)
{
    const double h = 1e-5;
    for (int i = 0; i < 12; i++) {
        const double above = moved(model, of, i, h), below = moved(model, of, i, -h);
        moved(model, of, i, 0);
        const double slope = (above - below) / (2 * h), found = model->run->at[gradient.index][i];
        ck_assert_msg(fabs(found - slope) <= 1e-7 * fmax(1, fabs(slope)),
                      "%s: element %d: gradient %.12g, slope %.12g", text, i, found, slope);
    }
}

START_TEST(gradients_are_difference_quotients)
{
    TestModel model = model_of(functions[_i]);
    const MwGraph *graph = model.compilation.graph;
    const MwValueId w = value_named(&model, "w");
    check_gradient(&model, graph->outputs.at[1].value, graph->outputs.at[0].value, functions[_i]);
    check_gradient(&model, graph->metrics.at[0].value, model.compilation.gradient[w.index],
                   functions[_i]);
    test_model_free(&model);
}
END_TEST

/* Statements, and the first line of what is said of them. */
static const struct {
    const char *statements, *says;
} refused[] = {
    {"o, lse = sdpa(w, w, w)\n train sum(grad(sum(lse), w)) with sgd(lr = 0.1)",
     "test.graph:4:11: error: the loss depends on the log-sum-exp of sdpa, which is not "
     "differentiable"},
    {"h = w\n scan 3 as t { h = h - grad(sum(h * w), w) }\n train sum(h) with sgd(lr = 0.1)",
     "test.graph:5:24: error: in a scan, grad is of what one step computes: 'scan.reduce_sum' "
     "depends on 'w' through 'h', with which the step begins (stop_gradient leaves that out)"},
    {"scan w as w_t { collect g = grad(sum(w_t * w_t), w) }\n train sum(g) with sgd(lr = 0.1)",
     "test.graph:4:30: error: in a scan, grad is of what one step computes: 'scan.reduce_sum' "
     "depends on 'w' through 'w_t', with which the step begins (stop_gradient leaves that out)"},
    {"h = w\n scan 2 as t { h = sin(h) }\n"
     " scan 2 as t { collect g = grad(sum(h) * cast(t, f32), w) }\n"
     " train sum(g) with sgd(lr = 0.1)",
     "test.graph:6:28: error: in a scan, grad cannot go through another one, as it does by "
     "'scan.h'"},
    {"train sum(w * (1 + grad(sum(stop_gradient(w)), w))) with sgd(lr = 0.1)",
     "test.graph:4:21: warning: 'reduce_sum' does not depend on 'w', so that this gradient is 0"},
    {"train sum(w * (1 + grad(sum(x), w))) with sgd(lr = 0.1)",
     "test.graph:4:21: warning: 'reduce_sum' does not depend on 'w', so that this gradient is 0"},
    {"train sum(grad(w, w)) with sgd(lr = 0.1)",
     "test.graph:4:12: error: grad needs one number f32[] to differentiate, such as a sum, not "
     "f32[1, 4, 2, 4]"},
};

START_TEST(what_has_no_gradient_is_said)
{
    char text[1000];
    snprintf(text, sizeof text,
             "model m {\n input x: f32[6, 4]\n weight w: f32[1, 4, 2, 4] = normal(1)\n %s\n}\n",
             refused[_i].statements);
    TestModel model = test_model_new(text, 1, MW_PASS_differentiate);
    const char *said = diags_text(model.arena, model.diags);
    ck_assert_msg(strncmp(said, refused[_i].says, strlen(refused[_i].says)) == 0, "%s", said);
    test_model_free(&model);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("derivatives");
    TCase *tests = tcase_create("derivatives");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, gradients_are_difference_quotients, 0, MW_COUNT(functions));
    tcase_add_loop_test(tests, what_has_no_gradient_is_said, 0, MW_COUNT(refused));
    return run_suite(suite);
}
