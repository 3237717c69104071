/* SPDX-License-Identifier: GPL-3.0-or-later */
/* States of optimizers in fewer bits: what is kept of them, in blocks of which shapes, and that no
 * change is lost. */
#include "ir/optimizer.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/model.h"
#include "tests/unit/support.h"

#include <math.h>
#include <string.h>

static void set_input(TestModel *model, const double *x)
{
    MwGraph *graph = model->compilation.graph;
    interpreter_set(model->run, mw_graph_find(graph, mw_intern(graph->interner, "x")), x);
}

/* A step without a gradient takes a thousandth off `v`, which is less than half of what numbers of
 * the type are apart, and none is lost: over many elements, it is on average what it is in f32. */
static const struct {
    const char *type;
    double tolerance; /* relative */
} small_types[] = {{"bf16", 0.002}, {"fp8", 0.01}};

START_TEST(no_small_change_of_a_state_is_lost)
{
    enum { ELEMENTS = 4096, MANY = 60, PART = 256 };
    MwArena *arena = mw_arena_new();
    TestModel model = test_model_new(
        mw_arena_printf(
            arena,
            "model m {\n"
            "  input x: f32[%d]\n"
            "  weight w: f32[%d] = ones\n"
            "  train sum(w * x) with adam(lr = 0.1, betas = [0.9, 0.999]), states = %s\n"
            "}\n",
            ELEMENTS, ELEMENTS, small_types[_i].type),
        1, MW_PASS_clean);
    ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
    double ones[ELEMENTS], sum = 0;
    for (int i = 0; i < ELEMENTS; i++)
        ones[i] = 1;
    set_input(&model, ones);
    interpreter_step(model.run);
    const double zeros[ELEMENTS] = {0};
    set_input(&model, zeros);
    for (int step = 0; step < MANY; step++)
        interpreter_step(model.run);
    const MwGraph *graph = model.compilation.graph;
    const bool is_scaled =
        mw_has_value(mw_graph_find(graph, mw_intern(graph->interner, "w.v.scale")));
    ck_assert_int_eq(is_scaled, strcmp(small_types[_i].type, "fp8") == 0);
    const double *v = interpreter_value(model.run, "w.v");
    const double *scale = is_scaled ? interpreter_value(model.run, "w.v.scale") : NULL;
    for (int i = 0; i < ELEMENTS; i++)
        sum += v[i] / (scale ? scale[i / PART] : 1);
    const double wanted = 0.001 * pow(0.999, MANY);
    ck_assert_double_eq_tol(sum / ELEMENTS, wanted, small_types[_i].tolerance * wanted);
    test_model_free(&model);
    mw_arena_free(&arena);
}
END_TEST

enum { ROWS = 32, BLOCKS = 2, BLOCK = 64, MANY_ELEMENTS = ROWS * BLOCKS * BLOCK };

static const char *const in_blocks[] = {
    "adam(lr = 0.1, betas = [0.8, 0.95], eps = 1e-3)",
    "lion(lr = 0.1, betas = [0.8, 0.95])",
    "rmsprop(lr = 0.1, momentum = 0.8, alpha = 0.9, eps = 1e-3)",
    "adagrad(lr = 0.1, eps = 1e-3)",
    "muon(lr = 0.1, nesterov = false)",
};

/* The last number of the type of a state, the bits of its fraction, and its least number. */
typedef struct {
    double last;
    int fraction, least;
} Format;

/* `kept` is a number of the format next to `value`, or if that is a square, the least one. */
static void check_kept(double kept, double value, Format format)
{
    int exponent;
    frexp(value, &exponent);
    const double unit = ldexp(1, (int)fmax(exponent - 1 - format.fraction, format.least));
    const bool is_least = format.last > 448 && value < unit && kept == unit;
    ck_assert_msg(fabs(kept) <= format.last && fmod(kept, unit) == 0 &&
                      (is_least || fabs(kept - value) < unit),
                  "%.10g is kept as %.10g", value, kept);
}

static void check_blocks(const TestModel *model, const TestModel *exact, const char *name)
{
    const MwGraph *graph = model->compilation.graph;
    const MwValueId state = mw_graph_find(graph, mw_intern(graph->interner, name));
    const bool is_square = mw_value_tensor(graph, state)->type == MW_E5M2;
    ck_assert(is_square == (name[2] == 'v') &&
              (is_square || mw_value_tensor(graph, state)->type == MW_E4M3));
    const Format format = is_square ? (Format){57344, 2, -16} : (Format){448, 3, -9};
    const double *kept = interpreter_value(model->run, name),
                 *wanted = interpreter_value(exact->run, name),
                 *scale =
                     interpreter_value(model->run, mw_arena_printf(model->arena, "%s.scale", name));
    for (int b = 0; b < ROWS * BLOCKS; b++) {
        double top = 0;
        for (int i = b * BLOCK; i < (b + 1) * BLOCK; i++)
            top = fmax(top, fabs(wanted[i]));
        const double power = top > 0 ? ldexp(1, (int)floor(log2(format.last / top))) : 1;
        ck_assert_double_eq(scale[b], power);
        for (int i = b * BLOCK; i < (b + 1) * BLOCK; i++)
            check_kept(kept[i], wanted[i] * power, format);
        for (int i = b * BLOCK; i < (b + 1) * BLOCK && is_square; i++)
            ck_assert((kept[i] > 0) == (top > 0)); /* no root is 0 beside others that are not */
    }
}

/* The first step computes in f32. Elements of a block differ by factors of up to 2^18, blocks by
 * more, and one block has no gradients. */
START_TEST(states_in_8_bits_step_in_f32)
{
    MwArena *arena = mw_arena_new();
    const char *text = "model m {\n"
                       "  input x: f32[%d, %d]\n"
                       "  weight w: f32[%d, %d] = ones\n"
                       "  train sum(w * x) with %s%s\n"
                       "}\n";
    const int width = BLOCKS * BLOCK;
    TestModel exact =
        test_model_new(mw_arena_printf(arena, text, ROWS, width, ROWS, width, in_blocks[_i], ""), 1,
                       MW_PASS_clean);
    TestModel model = test_model_new(
        mw_arena_printf(arena, text, ROWS, width, ROWS, width, in_blocks[_i], ", states = fp8"), 1,
        MW_PASS_clean);
    ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
    double x[MANY_ELEMENTS];
    for (int i = 0; i < MANY_ELEMENTS; i++)
        x[i] = i / BLOCK == 5 ? 0 : ldexp(i % 3 - 1.3, -(i % 19) - i / BLOCK % 7);
    set_input(&exact, x);
    set_input(&model, x);
    interpreter_step(exact.run);
    interpreter_step(model.run);
    const double *w = interpreter_value(model.run, "w"),
                 *wanted = interpreter_value(exact.run, "w");
    for (int i = 0; i < MANY_ELEMENTS; i++)
        ck_assert_double_eq_tol(w[i], wanted[i], 1e-12);
    const MwGraph *graph = exact.compilation.graph;
    for (int n = 0; n < graph->nodes.count; n++)
        if (graph->nodes.at[n].op == MW_OP_STATE)
            check_blocks(&model, &exact, graph->values.at[graph->nodes.at[n].first_result].name);
    test_model_free(&exact);
    test_model_free(&model);
    mw_arena_free(&arena);
}
END_TEST

/* What has few elements, or no blocks, has states in bf16; a row is cut into up to 16 blocks. */
START_TEST(blocks_leave_parts_of_a_row)
{
    static const struct {
        const char *shape;
        MwType type;
        int64_t blocks;
    } rows[] = {{"[64, 64]", MW_E4M3, 1},  {"[4096]", MW_E4M3, 16},
                {"[6, 768]", MW_E4M3, 8},  {"[8, 12288]", MW_E4M3, 48},
                {"[2, 4106]", MW_BF16, 0}, {"[63, 65]", MW_BF16, 0},
                {"[4095]", MW_BF16, 0},    {"[3, 3, 64, 64]", MW_E4M3, 1}};
    MwArena *arena = mw_arena_new();
    for (int i = 0; i < MW_COUNT(rows); i++) {
        TestModel model =
            test_model_new(mw_arena_printf(arena,
                                           "model m {\n"
                                           "  weight w: f32%s = ones\n"
                                           "  train sum(w * w) with lion(lr = 0.1), states = fp8\n"
                                           "}\n",
                                           rows[i].shape),
                           1, MW_PASS_clean);
        ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
        const MwGraph *graph = model.compilation.graph;
        const MwValueId state = mw_graph_find(graph, mw_intern(graph->interner, "w.m"));
        const MwValueId scale = mw_graph_find(graph, mw_intern(graph->interner, "w.m.scale"));
        ck_assert_int_eq(mw_value_tensor(graph, state)->type, rows[i].type);
        ck_assert_int_eq(mw_has_value(scale), rows[i].blocks > 0);
        if (mw_has_value(scale)) {
            const MwTensor *tensor = mw_value_tensor(graph, scale);
            ck_assert_int_eq(tensor->dim[tensor->rank - 1], rows[i].blocks);
        }
        test_model_free(&model);
    }
    mw_arena_free(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kept_states");
    TCase *tests = tcase_create("kept_states");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, no_small_change_of_a_state_is_lost, 0, MW_COUNT(small_types));
    tcase_add_loop_test(tests, states_in_8_bits_step_in_f32, 0, MW_COUNT(in_blocks));
    tcase_add_test(tests, blocks_leave_parts_of_a_row);
    return run_suite(suite);
}
