/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The update phase against updates written by hand: every optimizer, decay, clipping, schedules. */
#include "ir/optimizer.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/model.h"
#include "tests/unit/support.h"

#include <math.h>
#include <string.h>

enum { COUNT = 3, STEPS = 4 };

/* What PyTorch's optimizers, and Lion, do with one weight; `g` is its gradient in every step. */
typedef struct {
    double w[COUNT], m[COUNT], v[COUNT];
} Weight;

static void sgd(Weight *x, const double *g, int step, double decay)
{
    (void)step;
    for (int i = 0; i < COUNT; i++)
        x->w[i] -= 0.1 * (g[i] + decay * x->w[i]);
}

static void momentum(Weight *x, const double *g, int step, double decay)
{
    for (int i = 0; i < COUNT; i++) {
        double d = g[i] + decay * x->w[i];
        x->m[i] = step == 1 ? d : 0.9 * x->m[i] + d;
        x->w[i] -= 0.1 * x->m[i];
    }
}

static void nesterov(Weight *x, const double *g, int step, double decay)
{
    for (int i = 0; i < COUNT; i++) {
        double d = g[i] + decay * x->w[i];
        x->m[i] = step == 1 ? d : 0.9 * x->m[i] + d;
        x->w[i] -= 0.1 * (d + 0.9 * x->m[i]);
    }
}

static void adam_step(Weight *x, const double *g, int step)
{
    const double beta1 = 0.8, beta2 = 0.95, eps = 1e-3, rate = 0.1;
    double step_size = rate / (1 - pow(beta1, step));
    for (int i = 0; i < COUNT; i++) {
        x->m[i] += (g[i] - x->m[i]) * (1 - beta1);
        x->v[i] = x->v[i] * beta2 + (1 - beta2) * g[i] * g[i];
        double denominator = sqrt(x->v[i]) / sqrt(1 - pow(beta2, step)) + eps;
        x->w[i] -= step_size * x->m[i] / denominator;
    }
}

static void adam(Weight *x, const double *g, int step, double decay)
{
    double decayed[COUNT];
    for (int i = 0; i < COUNT; i++)
        decayed[i] = g[i] + decay * x->w[i];
    adam_step(x, decayed, step);
}

static void adamw(Weight *x, const double *g, int step, double decay)
{
    for (int i = 0; i < COUNT; i++)
        x->w[i] *= 1 - 0.1 * decay;
    adam_step(x, g, step);
}

static double norm_of(const double *a)
{
    return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
}

static void lamb(Weight *x, const double *g, int step, double decay)
{
    const double beta1 = 0.8, beta2 = 0.95, eps = 1e-3, rate = 0.1;
    double u[COUNT];
    for (int i = 0; i < COUNT; i++) {
        x->m[i] = beta1 * x->m[i] + (1 - beta1) * g[i];
        x->v[i] = beta2 * x->v[i] + (1 - beta2) * g[i] * g[i];
        u[i] = x->m[i] / (1 - pow(beta1, step)) / (sqrt(x->v[i] / (1 - pow(beta2, step))) + eps) +
               decay * x->w[i];
    }
    const double trust = norm_of(x->w) / norm_of(u);
    for (int i = 0; i < COUNT; i++)
        x->w[i] -= rate * trust * u[i];
}

/* A vector is not factored. */
static void adafactor_vector(Weight *x, const double *g, int step, double decay)
{
    const double nearing = pow(step, -0.8), d = 1, eps1 = 1e-3;
    double u[COUNT], size = norm_of(x->w) / sqrt(COUNT);
    for (int i = 0; i < COUNT; i++) {
        x->v[i] += nearing * (g[i] * g[i] - x->v[i]);
        u[i] = g[i] / fmax(sqrt(x->v[i]), eps1);
    }
    for (int i = 0; i < COUNT; i++)
        x->w[i] -=
            0.1 * decay * x->w[i] + size * 0.1 * u[i] / fmax(1, norm_of(u) / sqrt(COUNT) / d);
}

static void lion(Weight *x, const double *g, int step, double decay)
{
    (void)step;
    for (int i = 0; i < COUNT; i++) {
        double along = 0.8 * x->m[i] + 0.2 * g[i];
        x->w[i] -= 0.1 * decay * x->w[i];
        x->w[i] -= along > 0 ? 0.1 : along < 0 ? -0.1 : 0;
        x->m[i] += (g[i] - x->m[i]) * 0.05;
    }
}

static void rmsprop_momentum(Weight *x, const double *g, int step, double decay)
{
    for (int i = 0; i < COUNT; i++) {
        double d = g[i] + decay * x->w[i];
        x->v[i] += (d * d - x->v[i]) * 0.1;
        double along = d / (sqrt(x->v[i]) + 1e-3);
        x->m[i] = step == 1 ? along : 0.8 * x->m[i] + along;
        x->w[i] -= 0.1 * x->m[i];
    }
}

static void rmsprop(Weight *x, const double *g, int step, double decay)
{
    (void)step;
    for (int i = 0; i < COUNT; i++) {
        double d = g[i] + decay * x->w[i];
        x->v[i] += (d * d - x->v[i]) * 0.1;
        x->w[i] -= 0.1 * d / (sqrt(x->v[i]) + 1e-3);
    }
}

static void adagrad(Weight *x, const double *g, int step, double decay)
{
    (void)step;
    for (int i = 0; i < COUNT; i++) {
        double d = g[i] + decay * x->w[i];
        x->v[i] += d * d;
        x->w[i] -= 0.1 * d / (sqrt(x->v[i]) + 1e-3);
    }
}

static const struct {
    const char *train;
    void (*step)(Weight *x, const double *g, int step, double decay);
    double decay;
} optimizers[] = {
    {"sgd(lr = 0.1)", sgd, 0},
    {"sgd(lr = 0.1, weight_decay = 0.3)", sgd, 0.3},
    {"sgd(lr = 0.1, momentum = 0.9, weight_decay = 0.3)", momentum, 0.3},
    {"sgd(lr = 0.1, momentum = 0.9, nesterov = true, weight_decay = 0.3)", nesterov, 0.3},
    {"adam(lr = 0.1, betas = [0.8, 0.95], eps = 1e-3)", adam, 0},
    {"adam(lr = 0.1, betas = [0.8, 0.95], eps = 1e-3, weight_decay = 0.3)", adam, 0.3},
    {"adamw(lr = 0.1, betas = [0.8, 0.95], eps = 1e-3, weight_decay = 0.3)", adamw, 0.3},
    {"lamb(lr = 0.1, betas = [0.8, 0.95], eps = 1e-3)", lamb, 0},
    {"lamb(lr = 0.1, betas = [0.8, 0.95], eps = 1e-3, weight_decay = 0.3)", lamb, 0.3},
    {"lion(lr = 0.1, betas = [0.8, 0.95])", lion, 0},
    {"lion(lr = 0.1, betas = [0.8, 0.95], weight_decay = 0.3)", lion, 0.3},
    {"rmsprop(lr = 0.1, alpha = 0.9, eps = 1e-3, weight_decay = 0.3)", rmsprop, 0.3},
    {"rmsprop(lr = 0.1, momentum = 0.8, alpha = 0.9, eps = 1e-3, weight_decay = 0.3)",
     rmsprop_momentum, 0.3},
    {"adagrad(lr = 0.1, eps = 1e-3, weight_decay = 0.3)", adagrad, 0.3},
    {"adafactor(lr = 0.1, eps = [1e-3, 1e-3], weight_decay = 0.3)", adafactor_vector, 0.3},
};

/* The gradients of w and b are 2 x and -3 x. */
static TestModel two_weights_in(const char *precision, const char *train, MwArena *arena)
{
    const char *text = mw_arena_printf(arena,
                                       "model m {\n"
                                       "  precision %s\n"
                                       "  input x: f32[%d]\n"
                                       "  weight w: f32[%d] = ones\n"
                                       "  weight b: f32[%d] = constant(2)\n"
                                       "  train sum(2 * w * x - 3 * x * b) with %s\n"
                                       "}\n",
                                       precision, COUNT, COUNT, COUNT, train);
    TestModel model = test_model_new(text, 1, MW_PASS_clean);
    ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
    return model;
}

static TestModel two_weights(const char *train, MwArena *arena)
{
    return two_weights_in("f32", train, arena);
}

static void set_input(TestModel *model, const double *x)
{
    MwGraph *graph = model->compilation.graph;
    interpreter_set(model->run, mw_graph_find(graph, mw_intern(graph->interner, "x")), x);
}

static void compare(const TestModel *model, const char *name, const double *wanted)
{
    const double *given = interpreter_value(model->run, name);
    for (int i = 0; i < COUNT; i++)
        ck_assert_msg(fabs(given[i] - wanted[i]) <= 1e-12, "%s: element %d is %.10g, not %.10g",
                      name, i, given[i], wanted[i]);
}

static const double x[COUNT] = {0.5, -1, 0.25};

START_TEST(optimizers_step_as_by_hand)
{
    MwArena *arena = mw_arena_new();
    const char *train = mw_arena_printf(arena, "%s, no_decay = [\"b*\"]", optimizers[_i].train);
    TestModel model = two_weights(train, arena);
    set_input(&model, x);
    Weight w = {.w = {1, 1, 1}}, b = {.w = {2, 2, 2}};
    double gw[COUNT], gb[COUNT];
    for (int i = 0; i < COUNT; i++) {
        gw[i] = 2 * x[i];
        gb[i] = -3 * x[i];
    }
    for (int step = 1; step <= STEPS; step++) {
        interpreter_step(model.run);
        optimizers[_i].step(&w, gw, step, optimizers[_i].decay);
        optimizers[_i].step(&b, gb, step, 0);
        compare(&model, "w", w.w);
        compare(&model, "b", b.w);
    }
    test_model_free(&model);
    mw_arena_free(&arena);
}
END_TEST

/* ---- States in 16 bits ---- */

/* The bits of f32 that bf16 drops are 0. */
static bool is_bf16(double value)
{
    const float number = (float)value;
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return (double)number == value && (bits & 0xffff) == 0;
}

/* The first step computes in f32, and keeps a number of bf16 next to what f32 would keep. */
START_TEST(states_in_16_bits_step_in_f32)
{
    MwArena *arena = mw_arena_new();
    const char *train = mw_arena_printf(arena, "%s, no_decay = [\"b*\"]", optimizers[_i].train);
    TestModel exact = two_weights(train, arena);
    TestModel model = two_weights(mw_arena_printf(arena, "%s, states = bf16", train), arena);
    set_input(&exact, x);
    set_input(&model, x);
    interpreter_step(exact.run);
    interpreter_step(model.run);
    compare(&model, "w", interpreter_value(exact.run, "w"));
    compare(&model, "b", interpreter_value(exact.run, "b"));
    const MwGraph *graph = model.compilation.graph;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwValue *state = &graph->values.at[graph->nodes.at[n].first_result];
        if (graph->nodes.at[n].op != MW_OP_STATE)
            continue;
        ck_assert_int_eq(state->tensor.type, MW_BF16);
        const double *kept = interpreter_value(model.run, state->name),
                     *wanted = interpreter_value(exact.run, state->name);
        for (int i = 0; i < COUNT; i++)
            ck_assert_msg(is_bf16(kept[i]) && fabs(kept[i] - wanted[i]) < 0x1p-7 * fabs(wanted[i]),
                          "%s: %.10g is kept as %.10g", state->name, wanted[i], kept[i]);
    }
    test_model_free(&exact);
    test_model_free(&model);
    mw_arena_free(&arena);
}
END_TEST

/* ---- Steps of rows ---- */

enum { ENTRIES = 7, IDS = 4 };

static const struct {
    const char *train;
    void (*step)(Weight *x, const double *g, int step, double decay);
    double decay;
    int look_ups; /* of the table */
} row_steps[] = {
    {"sgd(lr = 0.1)", sgd, 0, 1},
    {"sgd(lr = 0.1)", sgd, 0, 2},
    {"adagrad(lr = 0.1, eps = 1e-3)", adagrad, 0, 1},
    {"sgd(lr = 0.1, weight_decay = 0.3), sparse = \"w\"", sgd, 0.3, 1},
    {"sgd(lr = 0.1, weight_decay = 0.3), no_decay = \"w\"", sgd, 0, 1},
    {"sgd(lr = 0.1, momentum = 0.9, weight_decay = 0.3), sparse = \"w\"", momentum, 0.3, 1},
    {"adam(lr = 0.1, betas = [0.8, 0.95], eps = 1e-3), sparse = \"*\"", adam, 0, 1},
    {"adamw(lr = 0.1, betas = [0.8, 0.95], eps = 1e-3, weight_decay = 0.3), sparse = \"w\"", adamw,
     0.3, 2},
    {"lion(lr = 0.1, betas = [0.8, 0.95]), sparse = \"w\"", lion, 0, 1},
    /* whose states stay in f32 */
    {"lion(lr = 0.1, betas = [0.8, 0.95]), sparse = \"w\", states = bf16", lion, 0, 1},
    {"rmsprop(lr = 0.1, alpha = 0.9, eps = 1e-3), sparse = \"w\"", rmsprop, 0, 1},
};

static int count_nodes(const MwGraph *graph, MwOp op)
{
    int count = 0;
    for (int n = 0; n < graph->nodes.count; n++)
        count += graph->nodes.at[n].op == op;
    return count;
}

/* A table w of ones whose rows `ids` are looked up, with gradients x; where it is looked up twice,
 * those of minimum(ids, 1) too, with gradients 2 x. */
static TestModel looked_up(const char *train, int look_ups, int micro_batches, MwArena *arena)
{
    const char *text = mw_arena_printf(arena,
                                       "model m {\n"
                                       "  input ids: i32[%d]\n"
                                       "  input x: f32[%d, %d]\n"
                                       "  weight w: f32[%d, %d] = ones\n"
                                       "  loss = sum(embedding(ids, w) * x)\n"
                                       "  if %d > 1 {\n"
                                       "    loss = loss + sum(2 * embedding(minimum(ids, 1), w)\n"
                                       "                      * x)\n"
                                       "  }\n"
                                       "  train loss with %s, micro_batches = %d\n"
                                       "}\n",
                                       IDS, IDS, COUNT, ENTRIES + 2 * look_ups, COUNT, look_ups,
                                       train, micro_batches);
    return test_model_new(text, micro_batches, MW_PASS_clean);
}

/* Rows that are looked up step as weights of their own, the others stay as they are, and no
 * gradient has the size of the table. */
START_TEST(rows_step_as_by_hand)
{
    MwArena *arena = mw_arena_new();
    TestModel model = looked_up(row_steps[_i].train, row_steps[_i].look_ups, 1, arena);
    ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
    MwGraph *graph = model.compilation.graph;
    const double ids[IDS] = {5, 2, 5, 1},
                 given[IDS * COUNT] = {1, 2, 3, -1, 0.5, 2, 4, 1, 1, 7, 8, 9};
    ck_assert_int_ge(count_nodes(graph, MW_OP_PUT_ROWS), 1);
    ck_assert_int_eq(count_nodes(graph, MW_OP_EMBEDDING_GRAD), 1);
    interpreter_set(model.run, mw_graph_find(graph, mw_intern(graph->interner, "ids")), ids);
    set_input(&model, given);
    Weight row[ENTRIES + 4] = {0};
    double g[ENTRIES + 4][COUNT] = {{0}};
    bool is_touched[ENTRIES + 4] = {false};
    for (int r = 0; r < ENTRIES + 4; r++)
        for (int c = 0; c < COUNT; c++)
            row[r].w[c] = 1;
    for (int look_up = 0; look_up < row_steps[_i].look_ups; look_up++)
        for (int i = 0; i < IDS; i++) {
            const int r = (int)(look_up ? fmin(ids[i], 1) : ids[i]);
            is_touched[r] = true;
            for (int c = 0; c < COUNT; c++)
                g[r][c] += (1 + look_up) * given[i * COUNT + c];
        }
    for (int step = 1; step <= STEPS; step++) {
        interpreter_step(model.run);
        const double *w = interpreter_value(model.run, "w");
        for (int r = 0; r < ENTRIES + 2 * row_steps[_i].look_ups; r++) {
            if (is_touched[r])
                row_steps[_i].step(&row[r], g[r], step, row_steps[_i].decay);
            for (int c = 0; c < COUNT; c++)
                ck_assert_double_eq_tol(w[r * COUNT + c], row[r].w[c], 1e-12);
        }
    }
    test_model_free(&model);
    mw_arena_free(&arena);
}
END_TEST

/* A mean over what counts multiplies the gradient at the end. */
START_TEST(rows_step_where_the_loss_has_a_factor)
{
    TestModel model = test_model_new("model m {\n"
                                     "  input ids: i32[4]\n"
                                     "  input x: f32[4, 3]\n"
                                     "  weight w: f32[9, 3] = ones\n"
                                     "  count = sum(where(x > 0, 1, 0))\n"
                                     "  loss = sum(embedding(ids, w) * x) / count\n"
                                     "  train loss with sgd(lr = 0.1)\n"
                                     "}\n",
                                     1, MW_PASS_clean);
    ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
    MwGraph *graph = model.compilation.graph;
    const double ids[IDS] = {5, 2, 5, 1}, given[12] = {1, 2, 3, -1, 0.5, 2, 4, 1, 1, 7, 8, 9};
    ck_assert_int_eq(count_nodes(graph, MW_OP_PUT_ROWS), 1);
    ck_assert_int_eq(count_nodes(graph, MW_OP_EMBEDDING_GRAD), 1);
    interpreter_set(model.run, mw_graph_find(graph, mw_intern(graph->interner, "ids")), ids);
    interpreter_set(model.run, mw_graph_find(graph, mw_intern(graph->interner, "x")), given);
    interpreter_step(model.run);
    const double *w = interpreter_value(model.run, "w");
    for (int c = 0; c < 3; c++) {
        ck_assert_double_eq_tol(w[5 * 3 + c], 1 - 0.1 * (given[c] + given[6 + c]) / 11, 1e-12);
        ck_assert_double_eq_tol(w[2 * 3 + c], 1 - 0.1 * given[3 + c] / 11, 1e-12);
        ck_assert_double_eq(w[c], 1);
    }
    test_model_free(&model);
}
END_TEST

/* Statements under which a table keeps its whole gradient. */
START_TEST(a_whole_gradient_stays_whole)
{
    static const struct {
        const char *train;
        int micro_batches;
    } whole[] = {{"adam(lr = 0.1)", 1},
                 {"sgd(lr = 0.1, momentum = 0.9)", 1},
                 {"adagrad(lr = 0.1, weight_decay = 0.1)", 1},
                 {"sgd(lr = 0.1), clip_norm = 1", 1},
                 {"sgd(lr = 0.1)", 2}};
    for (int i = 0; i < MW_COUNT(whole); i++) {
        MwArena *arena = mw_arena_new();
        TestModel model = looked_up(whole[i].train, 1, whole[i].micro_batches, arena);
        ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
        ck_assert_int_eq(count_nodes(model.compilation.graph, MW_OP_PUT_ROWS), 0);
        test_model_free(&model);
        mw_arena_free(&arena);
    }
}
END_TEST

START_TEST(what_cannot_be_sparse_is_an_error)
{
    static const struct {
        const char *train, *error;
        int micro_batches;
    } wrong[] = {{"adam(lr = 0.1), sparse = \"w\", clip_norm = 1", "'w' cannot be sparse", 1},
                 {"lamb(lr = 0.1), sparse = \"w\"", "'w' cannot be sparse", 1},
                 {"adafactor(lr = 0.1), sparse = \"w\"", "'w' cannot be sparse", 1},
                 {"adam(lr = 0.1), sparse = \"w\"",
                  "cannot cut the batch into 2 micro-batches: the step of the rows of 'w'", 2}};
    for (int i = 0; i < MW_COUNT(wrong); i++) {
        MwArena *arena = mw_arena_new();
        TestModel model = looked_up(wrong[i].train, 1, wrong[i].micro_batches, arena);
        const char *text = diags_text(model.arena, model.diags);
        ck_assert_msg(!model.ok && strstr(text, wrong[i].error), "%s", text);
        test_model_free(&model);
        mw_arena_free(&arena);
    }
}
END_TEST

/* Each loss moves its own weights only, along its gradient at the weights from before the step. */
START_TEST(several_statements_step_at_once)
{
    TestModel model = test_model_new("model m {\n"
                                     "  input x: f32[3]\n"
                                     "  weight w: f32[3] = ones\n"
                                     "  weight b: f32[3] = constant(2)\n"
                                     "  product = w * b\n"
                                     "  train sum(x * product) with sgd(lr = 0.1), only = \"w\"\n"
                                     "  train sum(product * product) + sum(x) with\n"
                                     "    sgd(lr = 0.1, momentum = 0.9), only = \"b\"\n"
                                     "}\n",
                                     1, MW_PASS_clean);
    ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
    set_input(&model, x);
    Weight w = {.w = {1, 1, 1}}, b = {.w = {2, 2, 2}};
    for (int step = 1; step <= STEPS; step++) {
        double gw[COUNT], gb[COUNT];
        for (int i = 0; i < COUNT; i++) {
            gw[i] = x[i] * b.w[i];
            gb[i] = 2 * w.w[i] * w.w[i] * b.w[i];
        }
        interpreter_step(model.run);
        sgd(&w, gw, step, 0);
        momentum(&b, gb, step, 0);
        compare(&model, "w", w.w);
        compare(&model, "b", b.w);
    }
    test_model_free(&model);
}
END_TEST

/* Where a norm is zero there is nothing to scale by: the change is subtracted as it is. */
START_TEST(a_change_is_scaled_where_both_norms_are_positive)
{
    TestModel model = test_model_new("model m {\n"
                                     "  input x: f32[2]\n"
                                     "  weight w: f32[2] = zeros\n"
                                     "  weight b: f32[2] = ones\n"
                                     "  train sum(x * w + 0 * b) with lamb(lr = 0.5)\n"
                                     "}\n",
                                     1, MW_PASS_clean);
    ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
    const double given[] = {3, -3}, w[] = {-0.5, 0.5};
    set_input(&model, given);
    interpreter_step(model.run);
    for (int i = 0; i < 2; i++) {
        ck_assert_double_eq_tol(interpreter_value(model.run, "w")[i], w[i], 1e-6);
        ck_assert(interpreter_value(model.run, "b")[i] == 1);
    }
    test_model_free(&model);
}
END_TEST

/* ---- Steps of whole matrices ---- */

/* A weight of R rows and C columns, with the states of its optimizer. */
typedef struct {
    double w[2 * COUNT], m[2 * COUNT], row[COUNT], column[COUNT];
    int rows, columns;
} Matrix;

static double root_mean_square(const double *a)
{
    double sum = 0;
    for (int i = 0; i < 2 * COUNT; i++)
        sum += a[i] * a[i];
    return sqrt(sum / (2 * COUNT));
}

static void adafactor(Matrix *p, const double *g, int step, double decay)
{
    const double nearing = pow(step, -0.7), eps1 = 1e-3, eps2 = 1e-2, d = 1.25;
    double rows[COUNT] = {0}, columns[COUNT] = {0}, u[2 * COUNT], mean = 0;
    for (int i = 0; i < 2 * COUNT; i++) {
        rows[i / p->columns] += g[i] * g[i] / p->columns;
        columns[i % p->columns] += g[i] * g[i] / p->rows;
    }
    for (int r = 0; r < p->rows; r++)
        mean += (p->row[r] += nearing * (rows[r] - p->row[r])) / p->rows;
    for (int c = 0; c < p->columns; c++)
        p->column[c] += nearing * (columns[c] - p->column[c]);
    for (int i = 0; i < 2 * COUNT; i++) {
        double v = p->row[i / p->columns] * p->column[i % p->columns] / fmax(mean, eps1);
        u[i] = g[i] / sqrt(fmax(v, eps1 * eps1));
    }
    double alpha = fmax(eps2, root_mean_square(p->w)) * fmin(0.4, 1 / sqrt(step));
    for (int i = 0; i < 2 * COUNT; i++)
        p->w[i] -= 0.4 * decay * p->w[i] + alpha * u[i] / fmax(1, root_mean_square(u) / d);
}

/* The matrix stands as it is: Y = a X + b X X' X + c X X' X X' X holds for tall ones too. */
static void newton_schulz(const Matrix *shape, double *a)
{
    const int R = shape->rows, C = shape->columns;
    double gram[COUNT][COUNT] = {{0}}, once[2 * COUNT] = {0}, twice[2 * COUNT] = {0};
    for (int i = 0; i < R * R; i++)
        for (int c = 0; c < C; c++)
            gram[i / R][i % R] += a[i / R * C + c] * a[i % R * C + c];
    for (int i = 0; i < R * C; i++)
        for (int r = 0; r < R; r++)
            once[i] += gram[i / C][r] * a[r * C + i % C];
    for (int i = 0; i < R * C; i++)
        for (int r = 0; r < R; r++)
            twice[i] += gram[i / C][r] * once[r * C + i % C];
    for (int i = 0; i < R * C; i++)
        a[i] = 3.4445 * a[i] - 4.7750 * once[i] + 2.0315 * twice[i];
}

static void muon(Matrix *p, const double *g, double decay, bool nesterov)
{
    double along[2 * COUNT], ratio = sqrt(fmax(1, (double)p->rows / p->columns));
    for (int i = 0; i < 2 * COUNT; i++) {
        p->m[i] += 0.2 * (g[i] - p->m[i]);
        along[i] = nesterov ? 0.2 * g[i] + 0.8 * p->m[i] : p->m[i];
    }
    const double norm = root_mean_square(along) * sqrt(2 * COUNT);
    for (int i = 0; i < 2 * COUNT; i++)
        along[i] /= norm;
    for (int i = 0; i < 5; i++)
        newton_schulz(p, along);
    for (int i = 0; i < 2 * COUNT; i++)
        p->w[i] -= 0.4 * (decay * p->w[i] + ratio * along[i]);
}

static void muon_ahead(Matrix *p, const double *g, int step, double decay)
{
    (void)step;
    muon(p, g, decay, true);
}

static void muon_along(Matrix *p, const double *g, int step, double decay)
{
    (void)step;
    muon(p, g, decay, false);
}

static const struct {
    const char *train;
    void (*step)(Matrix *p, const double *g, int step, double decay);
    double decay;
} composed[] = {
    {"adafactor(lr = 0.4, beta2_decay = -0.7, eps = [1e-3, 1e-2], d = 1.25)", adafactor, 0},
    {"adafactor(lr = 0.4, beta2_decay = -0.7, eps = [1e-3, 1e-2], d = 1.25, weight_decay = 0.5)",
     adafactor, 0.5},
    {"muon(lr = 0.4, momentum = 0.8)", muon_ahead, 0.1},
    {"muon(lr = 0.4, momentum = 0.8, nesterov = false, weight_decay = 0.5)", muon_along, 0.5},
};

/* The gradients of w and b are those of 2 w w x and 3 b b x in every element. */
static TestModel two_matrices(const char *train, MwArena *arena)
{
    const char *text = mw_arena_printf(
        arena,
        "model m {\n"
        "  input x: f32[%d]\n"
        "  weight w: f32[2, %d] = ones\n"
        "  weight b: f32[%d, 2] = constant(2)\n"
        "  input y: f32[2]\n"
        "  train sum(w * w * x * expand_dims(y, 1)) + sum(b * b * y * expand_dims(x, 1)) with %s\n"
        "}\n",
        COUNT, COUNT, COUNT, train);
    TestModel model = test_model_new(text, 1, MW_PASS_clean);
    ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
    return model;
}

static void compare_matrix(const TestModel *model, const char *name, const Matrix *wanted)
{
    const double *given = interpreter_value(model->run, name);
    for (int i = 0; i < 2 * COUNT; i++)
        ck_assert_msg(fabs(given[i] - wanted->w[i]) <= 1e-12, "%s: element %d is %.10g, not %.10g",
                      name, i, given[i], wanted->w[i]);
}

START_TEST(matrices_step_as_by_hand)
{
    MwArena *arena = mw_arena_new();
    TestModel model = two_matrices(composed[_i].train, arena);
    MwGraph *graph = model.compilation.graph;
    const double y[2] = {1, -0.75};
    set_input(&model, x);
    interpreter_set(model.run, mw_graph_find(graph, mw_intern(graph->interner, "y")), y);
    Matrix w = {.rows = 2, .columns = COUNT}, b = {.rows = COUNT, .columns = 2};
    for (int i = 0; i < 2 * COUNT; i++) {
        w.w[i] = 1;
        b.w[i] = 2;
    }
    for (int step = 1; step <= STEPS; step++) {
        double gw[2 * COUNT], gb[2 * COUNT];
        for (int i = 0; i < 2 * COUNT; i++) {
            gw[i] = 2 * w.w[i] * x[i % COUNT] * y[i / COUNT];
            gb[i] = 2 * b.w[i] * x[i / 2] * y[i % 2];
        }
        interpreter_step(model.run);
        composed[_i].step(&w, gw, step, composed[_i].decay);
        composed[_i].step(&b, gb, step, composed[_i].decay);
        compare_matrix(&model, "w", &w);
        compare_matrix(&model, "b", &b);
    }
    test_model_free(&model);
    mw_arena_free(&arena);
}
END_TEST

START_TEST(a_vector_is_no_matrix)
{
    TestModel model = test_model_new("model m {\n"
                                     "  input x: f32[3]\n"
                                     "  weight w: f32[3] = ones\n"
                                     "  train sum(x * w) with muon(lr = 0.5)\n"
                                     "}\n",
                                     1, MW_PASS_clean);
    ck_assert(!model.ok);
    ck_assert_ptr_nonnull(strstr(diags_text(model.arena, model.diags),
                                 "test.graph:4:3: error: muon steps matrices, and 'w' is f32[3]"));
    test_model_free(&model);
}
END_TEST

START_TEST(every_optimizer_has_a_step_by_hand)
{
    MwArena *arena = mw_arena_new();
    bool has_step[MW_OPTIMIZER_COUNT] = {false};
    for (int i = 0; i < MW_COUNT(optimizers) + MW_COUNT(composed); i++) {
        const int k = i - MW_COUNT(optimizers);
        TestModel model = k < 0 ? two_weights(optimizers[i].train, arena)
                                : two_matrices(composed[k].train, arena);
        has_step[model.compilation.graph->trains.at[0].optimizer] = true;
        test_model_free(&model);
    }
    for (int i = 0; i < MW_OPTIMIZER_COUNT; i++)
        ck_assert_msg(has_step[i], "no step by hand for optimizer %d, a %s", i,
                      mw_optimizer_info((MwOptimizer)i)->source);
    mw_arena_free(&arena);
}
END_TEST

/* Only beyond the norm given are gradients made smaller, all by one factor. */
START_TEST(clipping_is_by_the_norm_of_all_gradients)
{
    const double norm = sqrt((4 + 9) * (0.25 + 1 + 0.0625));
    const double limits[] = {0.5 * norm, 2 * norm};
    MwArena *arena = mw_arena_new();
    const char *train = mw_arena_printf(arena, "sgd(lr = 1), clip_norm = %.17g", limits[_i]);
    TestModel model = two_weights(train, arena);
    set_input(&model, x);
    interpreter_step(model.run);
    double scale = fmin(1, limits[_i] / (norm + 1e-6)), w[COUNT], b[COUNT];
    for (int i = 0; i < COUNT; i++) {
        w[i] = 1 - scale * 2 * x[i];
        b[i] = 2 + scale * 3 * x[i];
    }
    compare(&model, "w", w);
    compare(&model, "b", b);
    test_model_free(&model);
    mw_arena_free(&arena);
}
END_TEST

/* The rate in steps 1, 2, ... */
static const struct {
    const char *options; /* after "sgd(lr = " */
    int count;
    double rates[8];
} schedules[] = {
    {"0.5)", 3, {0.5, 0.5, 0.5}},
    {"0.5), warmup_steps = 4", 6, {0.125, 0.25, 0.375, 0.5, 0.5, 0.5}},
    {"0.5), schedule = linear, total_steps = 5", 7, {0.4, 0.3, 0.2, 0.1, 0, 0, 0}},
    {"0.5), schedule = linear, warmup_steps = 2, total_steps = 4, final_rate = 0.2",
     6,
     {0.25, 0.5, 0.3, 0.1, 0.1, 0.1}},
    {"0.5), schedule = cosine, total_steps = 4",
     6,
     {0.4267766952966369, 0.25, 0.0732233047033631, 0, 0, 0}},
    {"0.5), schedule = cosine, warmup_steps = 1, total_steps = 5, final_rate = 0.5",
     6,
     {0.5, 0.46338834764831845, 0.375, 0.28661165235168155, 0.25, 0.25}},
    {"2 / cast(step(), f32))", 3, {2, 1, 2.0 / 3}},
    {"minimum(1, cast(step() * step(), f32) / 8)), warmup_steps = 4", 4, {0.03125, 0.25, 0.75, 1}},
};

START_TEST(rates_follow_the_schedule)
{
    MwArena *arena = mw_arena_new();
    TestModel model =
        two_weights(mw_arena_printf(arena, "sgd(lr = %s", schedules[_i].options), arena);
    for (int step = 0; step < schedules[_i].count; step++) {
        interpreter_step(model.run);
        double rate = interpreter_value(model.run, "learning_rate")[0];
        ck_assert_msg(fabs(rate - schedules[_i].rates[step]) <= 1e-12,
                      "%s: step %d has rate %.16g, not %.16g", schedules[_i].options, step + 1,
                      rate, schedules[_i].rates[step]);
    }
    test_model_free(&model);
    mw_arena_free(&arena);
}
END_TEST

/* What computes a rate is no work of the model, which is cut into layers as without it. */
START_TEST(a_rate_is_of_no_layer)
{
    TestModel model = test_model_compile("model m {\n"
                                         "  input x: f32[8, 8]\n"
                                         "  weight a: f32[8, 8] = normal(1)\n"
                                         "  weight b: f32[8, 8] = normal(1)\n"
                                         "  t = cast(step(), f32)\n"
                                         "  train mean(tanh(x @ a) @ b) with\n"
                                         "    sgd(lr = minimum(t / 8, rsqrt(t)))\n"
                                         "}\n",
                                         &(MwCompileOptions){.layers = 2}, MW_PASS_layers);
    ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
    const MwGraph *graph = model.compilation.graph;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        ck_assert_int_eq(node->phase == MW_PHASE_UPDATE,
                         strncmp(graph->values.at[node->first_result].name, "rate", 4) == 0);
        ck_assert(node->phase == MW_PHASE_FORWARD || node->origin.layer == 0);
    }
    MwValueId b = mw_graph_find(graph, mw_intern(graph->interner, "b"));
    ck_assert_int_eq(mw_value_node(graph, b)->origin.layer, 1);
    test_model_free(&model);
}
END_TEST

START_TEST(a_pattern_that_matches_nothing_is_pointed_out)
{
    const char *const trains[] = {
        "sgd(lr = 1), no_decay = [\"c*\"]", "sgd(lr = 1), only = [\"w\", \"c*\"]",
        "sgd(lr = 1), sparse = \"c*\"", "sgd(lr = 1), rates = [[\"c*\", 1]]",
        "sgd(lr = 1), decays = [[\"c*\", 1]]"};
    MwArena *arena = mw_arena_new();
    TestModel model = two_weights(trains[_i], arena);
    ck_assert_ptr_nonnull(strstr(diags_text(model.arena, model.diags), "\"c*\" matches no weight"));
    test_model_free(&model);
    mw_arena_free(&arena);
}
END_TEST

/* With lr = 0.5 and a decay of 0.25: those of w and b after the options. */
static const struct {
    const char *options;
    double w_rate, w_decay, b_rate, b_decay;
} overrides[] = {
    {"rates = [[\"w\", 2]]", 2, 0.25, 0.5, 0.25},
    {"rates = [[\"b\", 0], [\"?\", 3]]", 3, 0.25, 0, 0.25},
    {"decays = [[\"w\", 0], [\"*\", 0.75]]", 0.5, 0, 0.5, 0.75},
    {"decays = [[\"*\", 0.75], [\"w\", 0]]", 0.5, 0.75, 0.5, 0.75},
    {"decays = [[\"*\", 0.75]], no_decay = \"b\", rates = [[\"b\", 1]]", 0.5, 0.75, 1, 0},
    {"rates = [[\"w\", exp(0 * cast(step(), f32))]]", 1, 0.25, 0.5, 0.25},
};

/* The first pattern that matches counts, and the schedule scales every rate. */
START_TEST(weights_have_rates_and_decays_by_name)
{
    MwArena *arena = mw_arena_new();
    const char *train = mw_arena_printf(
        arena, "sgd(lr = 0.5, weight_decay = 0.25), warmup_steps = 4, %s", overrides[_i].options);
    TestModel model = two_weights(train, arena);
    set_input(&model, x);
    double w[COUNT] = {1, 1, 1}, b[COUNT] = {2, 2, 2};
    for (int step = 1; step <= STEPS; step++) {
        interpreter_step(model.run);
        for (int i = 0; i < COUNT; i++) {
            w[i] -= overrides[_i].w_rate * step / 4 * (2 * x[i] + overrides[_i].w_decay * w[i]);
            b[i] -= overrides[_i].b_rate * step / 4 * (-3 * x[i] + overrides[_i].b_decay * b[i]);
        }
        compare(&model, "w", w);
        compare(&model, "b", b);
    }
    test_model_free(&model);
    mw_arena_free(&arena);
}
END_TEST

START_TEST(averages_follow_the_weights)
{
    MwArena *arena = mw_arena_new();
    TestModel model = two_weights("sgd(lr = 0.5), only = \"w\", ema = 0.75", arena);
    MwGraph *graph = model.compilation.graph;
    ck_assert_int_eq(graph->assigns.count, 2); /* w and w.ema */
    set_input(&model, x);
    double w[COUNT] = {1, 1, 1}, ema[COUNT];
    for (int step = 1; step <= STEPS; step++) {
        interpreter_step(model.run);
        for (int i = 0; i < COUNT; i++) {
            w[i] -= 0.5 * 2 * x[i];
            ema[i] = step == 1 ? w[i] : 0.75 * ema[i] + 0.25 * w[i];
        }
        compare(&model, "w", w);
        compare(&model, "w.ema", ema);
    }
    test_model_free(&model);
    mw_arena_free(&arena);
}
END_TEST

/* ---- The scale of the loss ---- */

static void check_scale(const TestModel *model, int step, double scale, int good, int skipped)
{
    const struct {
        const char *name;
        double value;
    } states[] = {{"loss_scale", scale},
                  {"loss_scale.good_steps", good},
                  {"loss_scale.skipped_steps", skipped}};
    for (int i = 0; i < MW_COUNT(states); i++) {
        const double found = interpreter_value(model->run, states[i].name)[0];
        ck_assert_msg(found == states[i].value, "step %d: %s is %g, not %g", step, states[i].name,
                      found, states[i].value);
    }
}

/* Where a gradient is not finite, nothing moves and no optimizer counts the step; in all others
 * steps are those without a scale. */
START_TEST(a_step_that_is_not_finite_is_skipped)
{
    static const struct {
        bool is_finite;
        double scale; /* and counts, after the step */
        int good, skipped;
    } steps[] = {{true, 8, 1, 0}, {true, 16, 0, 0}, {false, 8, 0, 1},
                 {true, 8, 1, 1}, {false, 4, 0, 2}, {false, 2, 0, 3},
                 {true, 2, 1, 3}, {true, 4, 0, 3},  {true, 4, 1, 3}};
    static const double infinite[COUNT] = {0.5, INFINITY, 0.25};
    MwArena *arena = mw_arena_new();
    TestModel model =
        two_weights_in("f32(scale = 8, growth = 2)",
                       "adam(lr = 0.1, betas = [0.8, 0.95], eps = 1e-3), ema = 0.75", arena);
    Weight w = {.w = {1, 1, 1}};
    double g[COUNT], ema[COUNT];
    int taken = 0;
    for (int step = 0; step < MW_COUNT(steps); step++) {
        set_input(&model, steps[step].is_finite ? x : infinite);
        interpreter_step(model.run);
        for (int i = 0; i < COUNT; i++)
            g[i] = 2 * x[i];
        if (steps[step].is_finite)
            adam(&w, g, ++taken, 0);
        for (int i = 0; i < COUNT && steps[step].is_finite; i++)
            ema[i] = taken == 1 ? w.w[i] : 0.75 * ema[i] + 0.25 * w.w[i];
        compare(&model, "w", w.w);
        compare(&model, "w.ema", ema);
        check_scale(&model, step + 1, steps[step].scale, steps[step].good, steps[step].skipped);
    }
    test_model_free(&model);
    mw_arena_free(&arena);
}
END_TEST

/* Else new values of all weights would be kept until it is known whether they count. */
START_TEST(optimizers_wait_for_all_gradients)
{
    static const struct {
        const char *train;
        MwOp maker; /* of the gradient that the optimizer takes */
    } cases[] = {{"adam(lr = 1)", MW_OP_SELECT}, {"adam(lr = 1), clip_norm = 1", MW_OP_MUL}};
    MwArena *arena = mw_arena_new();
    TestModel model = two_weights_in("f32(scale = 8)", cases[_i].train, arena);
    const MwGraph *graph = model.compilation.graph;
    for (int n = 0; n < graph->nodes.count; n++)
        if (graph->nodes.at[n].op == MW_OP_ADAM)
            ck_assert_int_eq(mw_value_node(graph, graph->nodes.at[n].operands[1])->op,
                             cases[_i].maker);
    ck_assert_int_eq(count_nodes(graph, MW_OP_ADAM), 2);
    test_model_free(&model);
    mw_arena_free(&arena);
}
END_TEST

/* The scale stays in its limits, and without growth it only falls. */
START_TEST(a_scale_has_limits)
{
    static const struct {
        const char *precision;
        double x, scale; /* after the second step */
    } cases[] = {{"f32(scale = 2.0 ** 64, growth = 1)", 1, 0x1p64},
                 {"f32(scale = 2 ** -64, growth = 0)", INFINITY, 0x1p-64},
                 {"f32(scale = 4, growth = 0)", 1, 4},
                 {"f32(scale = 4)", 1, 4},
                 {"f32(scale = 4)", INFINITY, 1}};
    MwArena *arena = mw_arena_new();
    TestModel model = two_weights_in(cases[_i].precision, "sgd(lr = 0.1)", arena);
    set_input(&model, (double[COUNT]){cases[_i].x, 0, 0});
    interpreter_step(model.run);
    interpreter_step(model.run);
    ck_assert_double_eq(interpreter_value(model.run, "loss_scale")[0], cases[_i].scale);
    test_model_free(&model);
    mw_arena_free(&arena);
}
END_TEST

/* Only f16 has a scale by itself, and all losses of a step have one. */
START_TEST(losses_of_f16_have_one_scale)
{
    static const struct {
        const char *precision;
        double scale;
    } cases[] = {{"f16", 65536}, {"bf16", 0}, {"tf32", 0}, {"f32", 0}, {"f16(scale = 0)", 0}};
    MwArena *arena = mw_arena_new();
    const char *text = mw_arena_printf(arena,
                                       "model m {\n"
                                       "  precision %s\n"
                                       "  input x: f32[4, 4]\n"
                                       "  weight w: f32[4, 4] = ones\n"
                                       "  weight v: f32[4, 4] = ones\n"
                                       "  train sum(x @ w) with sgd(lr = 1), only = \"w\"\n"
                                       "  train sum(x @ v) with adam(lr = 1), only = \"v\"\n"
                                       "}\n",
                                       cases[_i].precision);
    TestModel model = test_model_new(text, 1, MW_PASS_clean);
    ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
    const MwGraph *graph = model.compilation.graph;
    int states = 0;
    for (int n = 0; n < graph->nodes.count; n++)
        states += graph->nodes.at[n].op == MW_OP_STATE;
    ck_assert_int_eq(states, cases[_i].scale ? 5 : 2);
    ck_assert_double_eq(graph->loss_scale.initial, 0);
    if (cases[_i].scale)
        ck_assert_double_eq(interpreter_value(model.run, "loss_scale")[0], cases[_i].scale);
    test_model_free(&model);
    mw_arena_free(&arena);
}
END_TEST

/* The gradients are clipped by the norm of those that are made. */
START_TEST(only_weights_that_match_are_trained)
{
    MwArena *arena = mw_arena_new();
    TestModel model =
        two_weights("sgd(lr = 1, momentum = 0.9), only = \"w\", clip_norm = 1", arena);
    ck_assert_str_eq(diags_text(model.arena, model.diags), "");
    MwGraph *graph = model.compilation.graph;
    ck_assert_int_eq(graph->assigns.count, 2); /* w and w.m */
    ck_assert(!mw_has_value(mw_graph_find(graph, mw_intern(graph->interner, "grad.b"))));
    ck_assert(!mw_has_value(mw_graph_find(graph, mw_intern(graph->interner, "b.m"))));
    set_input(&model, x);
    interpreter_step(model.run);
    const double norm = 2 * sqrt(0.25 + 1 + 0.0625), b[COUNT] = {2, 2, 2};
    double w[COUNT];
    for (int i = 0; i < COUNT; i++)
        w[i] = 1 - 2 * x[i] / (norm + 1e-6);
    compare(&model, "w", w);
    compare(&model, "b", b);
    test_model_free(&model);
    mw_arena_free(&arena);
}
END_TEST

START_TEST(some_weight_is_trained)
{
    TestModel model = test_model_new("model m {\n"
                                     "  weight w: f32[4] = ones\n"
                                     "  train sum(w) with sgd(lr = 1), only = [\"*.lora_*\"]\n"
                                     "}\n",
                                     1, MW_PASS_update);
    ck_assert(!model.ok);
    const char *says = "test.graph:3:3: error: the loss does not depend on any weight that a "
                       "pattern of 'only' matches\n";
    ck_assert_msg(strncmp(diags_text(model.arena, model.diags), says, strlen(says)) == 0, "%s",
                  diags_text(model.arena, model.diags));
    test_model_free(&model);
}
END_TEST

/* States are f32, and begin at zero, whatever the type of the weight. */
START_TEST(a_bf16_weight_has_f32_states)
{
    TestModel model = test_model_new("model m {\n"
                                     "  input x: f32[4]\n"
                                     "  weight w: bf16[4] = ones\n"
                                     "  train sum(x * cast(w, f32)) with adamw(lr = 1), "
                                     "clip_norm = 1, ema = 0.9\n"
                                     "}\n",
                                     1, MW_PASS_clean);
    ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
    MwGraph *graph = model.compilation.graph;
    static const struct {
        const char *name;
        MwType type;
    } wanted[] = {{"w", MW_BF16}, {"w.m", MW_F32}, {"w.v", MW_F32}, {"w.ema", MW_F32}};
    for (int i = 0; i < MW_COUNT(wanted); i++) {
        MwValueId value = mw_graph_find(graph, mw_intern(graph->interner, wanted[i].name));
        ck_assert(mw_has_value(value));
        ck_assert_int_eq(mw_value_tensor(graph, value)->type, wanted[i].type);
    }
    ck_assert_int_eq(graph->assigns.count, 4);
    test_model_free(&model);
}
END_TEST

/* Where the step is nothing, so that the new weight is the old: it is no accumulator for that. */
START_TEST(a_weight_that_stays_is_still_assigned_in_the_update)
{
    TestModel model = test_model_new("model m {\n"
                                     "  weight w: f32[4] = ones\n"
                                     "  train sum(w) with sgd(lr = 0)\n"
                                     "}\n",
                                     1, MW_PASS_clean);
    ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
    const MwGraph *graph = model.compilation.graph;
    ck_assert_int_eq(graph->assigns.count, 1);
    ck_assert(!mw_assign_accumulates(graph, &graph->assigns.at[0]));
    test_model_free(&model);
}
END_TEST

/* With and without training: what the model assigns is there in the next step. */
START_TEST(what_the_model_assigns_is_kept_from_step_to_step)
{
    const char *const endings[] = {"output x\n}\n", "train sum(w * x) with adam(lr = 0.1)\n}\n"};
    char text[256];
    snprintf(text, sizeof text,
             "model m {\n"
             "  input x: f32[2]\n"
             "  weight w: f32[2] = ones\n"
             "  state seen: f32[] = ones\n"
             "  assign seen = seen * 2\n"
             "%s",
             endings[_i]);
    TestModel model = test_model_new(text, 1, MW_PASS_clean);
    ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
    const MwGraph *graph = model.compilation.graph;
    for (int i = 0; i < graph->assigns.count; i++)
        ck_assert(!mw_assign_accumulates(graph, &graph->assigns.at[i]));
    for (int step = 0; step < STEPS; step++) {
        ck_assert(interpreter_value(model.run, "seen")[0] == pow(2, step));
        interpreter_step(model.run);
    }
    test_model_free(&model);
}
END_TEST

START_TEST(a_weight_is_trained_or_assigned_by_the_model)
{
    TestModel model = test_model_new("model m {\n"
                                     "  weight w: f32[4] = ones\n"
                                     "  assign w = w * 0.9\n"
                                     "  train sum(w) with sgd(lr = 1)\n"
                                     "}\n",
                                     1, MW_PASS_update);
    ck_assert(!model.ok);
    const char *says = "test.graph:4:3: error: 'w' is trained, but the model assigns it too\n";
    ck_assert_msg(strncmp(diags_text(model.arena, model.diags), says, strlen(says)) == 0, "%s",
                  diags_text(model.arena, model.diags));
    test_model_free(&model);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("update");
    TCase *tests = tcase_create("update");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, matrices_step_as_by_hand, 0, MW_COUNT(composed));
    tcase_add_test(tests, a_vector_is_no_matrix);
    tcase_add_test(tests, every_optimizer_has_a_step_by_hand);
    tcase_add_loop_test(tests, optimizers_step_as_by_hand, 0, MW_COUNT(optimizers));
    tcase_add_loop_test(tests, states_in_16_bits_step_in_f32, 0, MW_COUNT(optimizers));
    tcase_add_test(tests, several_statements_step_at_once);
    tcase_add_loop_test(tests, rows_step_as_by_hand, 0, MW_COUNT(row_steps));
    tcase_add_test(tests, rows_step_where_the_loss_has_a_factor);
    tcase_add_test(tests, a_whole_gradient_stays_whole);
    tcase_add_test(tests, what_cannot_be_sparse_is_an_error);
    tcase_add_test(tests, a_change_is_scaled_where_both_norms_are_positive);
    tcase_add_loop_test(tests, clipping_is_by_the_norm_of_all_gradients, 0, 2);
    tcase_add_test(tests, a_rate_is_of_no_layer);
    tcase_add_loop_test(tests, rates_follow_the_schedule, 0, MW_COUNT(schedules));
    tcase_add_loop_test(tests, a_pattern_that_matches_nothing_is_pointed_out, 0, 5);
    tcase_add_loop_test(tests, weights_have_rates_and_decays_by_name, 0, MW_COUNT(overrides));
    tcase_add_test(tests, averages_follow_the_weights);
    tcase_add_test(tests, a_step_that_is_not_finite_is_skipped);
    tcase_add_loop_test(tests, optimizers_wait_for_all_gradients, 0, 2);
    tcase_add_loop_test(tests, a_scale_has_limits, 0, 5);
    tcase_add_loop_test(tests, losses_of_f16_have_one_scale, 0, 5);
    tcase_add_test(tests, only_weights_that_match_are_trained);
    tcase_add_test(tests, some_weight_is_trained);
    tcase_add_test(tests, a_bf16_weight_has_f32_states);
    tcase_add_test(tests, a_weight_that_stays_is_still_assigned_in_the_update);
    tcase_add_loop_test(tests, what_the_model_assigns_is_kept_from_step_to_step, 0, 2);
    tcase_add_test(tests, a_weight_is_trained_or_assigned_by_the_model);
    return run_suite(suite);
}
