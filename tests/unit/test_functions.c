/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions of the language that expand to several operators: their values, on small whole numbers
 * and so exactly. Their gradients are among those of models (test_differentiate.c). */
#include "tests/unit/diags_text.h"
#include "tests/unit/model.h"
#include "tests/unit/support.h"

#include <string.h>

/* y of k: f32[2, 3], which holds 0 to 5, and ids: i32[3], 0 to 2. */
static const struct {
    const char *y, *shape;
    double elements[12];
} cases[] = {
    {"squeeze(reshape(k, [1, 2, 1, 3]))", "f32[2, 3]", {0, 1, 2, 3, 4, 5}},
    {"squeeze(reshape(k, [1, 2, 1, 3]), axis = -2)", "f32[1, 2, 3]", {0, 1, 2, 3, 4, 5}},
    {"squeeze(reshape(k, [1, 2, 1, 3]), axis = [0, 2])", "f32[2, 3]", {0, 1, 2, 3, 4, 5}},
    {"expand_dims(k, 1)", "f32[2, 1, 3]", {0, 1, 2, 3, 4, 5}},
    {"expand_dims(k, axis = -1)", "f32[2, 3, 1]", {0, 1, 2, 3, 4, 5}},
    {"stack(ids, 2 * ids)", "i32[2, 3]", {0, 1, 2, 0, 2, 4}},
    {"stack([ids, 2 * ids], axis = -1)", "i32[3, 2]", {0, 0, 1, 2, 2, 4}},
    {"tile(ids, 2)", "i32[6]", {0, 1, 2, 0, 1, 2}},
    {"tile(k, [2, 1])", "f32[4, 3]", {0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}},
    {"tile(reshape(ids, [3, 1]), [2, 2])", "i32[6, 2]", {0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2}},
    {"roll(k, 1)", "f32[2, 3]", {2, 0, 1, 5, 3, 4}},
    {"roll(k, -4, axis = 1)", "f32[2, 3]", {1, 2, 0, 4, 5, 3}},
    {"roll(k, 2, axis = 0)", "f32[2, 3]", {0, 1, 2, 3, 4, 5}},
    {"pad(ids, axis = -1, end = 2)", "i32[5]", {0, 1, 2, 0, 0}},
    {"pad(k, -2, begin = 1)", "f32[3, 3]", {0, 0, 0, 0, 1, 2, 3, 4, 5}},
    {"slice(k, 1, 0, 3, 2)", "f32[2, 2]", {0, 2, 3, 5}},
    {"slice(reshape(k, [6]), 0, 1, 6, stride = 3)", "f32[2]", {1, 4}},
    {"slice(reshape(k, [6]), 0, 0, 6, stride = 4)", "f32[2]", {0, 4}},
    {"slice(k, 1, -2, -1)", "f32[2, 1]", {1, 4}},
    {"slice(k, -1, 0, -1, stride = 2)", "f32[2, 1]", {0, 3}},
    {"slice(k, 1, 1, 3, stride = 9000000000000000000)", "f32[2, 1]", {1, 4}},
    {"one_hot(ids, 3)", "f32[3, 3]", {1, 0, 0, 0, 1, 0, 0, 0, 1}},
    {"one_hot(ids - 1, 2, type = i32)", "i32[3, 2]", {0, 0, 1, 0, 0, 1}},
    {"linear_scan(k, k - 1)", "f32[2, 3]", {0, 1, 3, 3, 13, 57}},
    {"linear_scan(k, 2, axis = 0)", "f32[2, 3]", {0, 1, 2, 3, 6, 9}},
    {"linear_scan(k, reshape(slice(k, 0, 0, 1), [3]), reverse = true)",
     "f32[2, 3]",
     {0, 3, 2, 3, 9, 5}},
    {"linear_scan(k, 2, initial = cast(slice(ids, 0, 1, 3), f32))",
     "f32[2, 3]",
     {2, 5, 12, 7, 18, 41}},
    {"linear_scan(k, 2, initial = cast(slice(ids, 0, 1, 3), f32), reverse = true)",
     "f32[2, 3]",
     {18, 9, 4, 47, 22, 9}},
    {"sort(ids - 1, descending = true)", "i32[3]", {1, 0, -1}},
    {"argsort((ids - 1) * 70000 % 3)", "i32[3]", {1, 2, 0}},
    {"argsort(cast(ids // 2, i64) * -5000000000)", "i32[3]", {2, 0, 1}},
    {"top_k(cast(3 - ids, u8), 2)[0]", "u8[2]", {3, 2}},
    {"top_k(reshape(ids, [3, 1]) * 65536 - iota([3, 2]), 2, axis = 0, ascending = true)[1]",
     "i32[2, 2]",
     {0, 0, 1, 1}},
    {"gather(ids * 5, ids)", "i32[3]", {0, 5, 10}},
    {"cumsum(k)", "f32[2, 3]", {0, 1, 3, 3, 7, 12}},
    {"cumsum(k, axis = 0)", "f32[2, 3]", {0, 1, 2, 3, 5, 7}},
    {"cumsum(k, inverse = true)", "f32[2, 3]", {3, 3, 2, 12, 9, 5}},
    {"cumsum(ids)", "i32[3]", {0, 1, 3}},
    {"cumsum(cast(reshape(k, [6]), bf16))", "bf16[6]", {0, 1, 3, 6, 10, 15}},
    {"where(k > 2, 1, 0)", "f32[2, 3]", {0, 0, 0, 1, 1, 1}},
    {"where(ids > 1, false, true)", "bool[3]", {1, 1, 0}},
    {"where(ids > 1, 7, ids)", "i32[3]", {0, 1, 7}},
    {"[for part in unstack(k): part * 2][1]", "f32[3]", {6, 8, 10}},
    /* Queries of 0 give the keys that they see equal weights. */
    {"sdpa(0 * reshape(k, [2, 3, 1, 1]), reshape(k, [2, 3, 1, 1]), reshape(k, [2, 3, 1, 1]), "
     "lengths = slice(ids, 0, 1, 3))",
     "f32[2, 3, 1, 1]",
     {0, 0, 0, 3.5, 3.5, 3.5}},
    {"sdpa(0 * reshape(k, [2, 3, 1, 1]), reshape(k, [2, 3, 1, 1]), reshape(k, [2, 3, 1, 1]), "
     "lengths = slice(ids, 0, 0, 2), mask = cast(0 * ids, f32))",
     "f32[2, 3, 1, 1]",
     {0, 0, 0, 3, 3, 3}},
    {"sdpa(0 * reshape(k, [2, 3, 1, 1]), reshape(k, [2, 3, 1, 1]), reshape(k, [2, 3, 1, 1]), "
     "lengths = 0 * slice(ids, 0, 0, 2) + 3, mask = ids != 1)",
     "f32[2, 3, 1, 1]",
     {1, 1, 1, 4, 4, 4}},
    {"sdpa(0 * reshape(k, [2, 3, 1, 1]), reshape(k, [2, 3, 1, 1]), reshape(k, [2, 3, 1, 1]), "
     "causal = true, window = 2)",
     "f32[2, 3, 1, 1]",
     {0, 0.5, 1.5, 3, 3.5, 4.5}},
    {"sdpa(0 * reshape(slice(k, 0, 0, 1), [1, 3, 1, 1]), reshape(k, [1, 6, 1, 1]), reshape(k, [1, "
     "6, 1, 1]), causal = true, offset = 3)",
     "f32[1, 3, 1, 1]",
     {1.5, 2, 2.5}},
    {"sdpa(0 * reshape(k, [1, 6, 1, 1]), cast(reshape(ids, [1, 3, 1, 1]), f32), "
     "cast(reshape(ids, [1, 3, 1, 1]), f32), causal = true, offset = -1)",
     "f32[1, 6, 1, 1]",
     {0, 0, 0.5, 1, 1, 1}},
    /* Values of another width than queries and keys. */
    {"sdpa(reshape(0 * k, [1, 2, 1, 3]), reshape(k, [1, 2, 1, 3]), reshape(slice(k, 1, 0, 2), [1, "
     "2, 1, 2]), causal = true)",
     "f32[1, 2, 1, 2]",
     {0, 1, 1.5, 2.5}},
    {"sdpa(reshape(0 * slice(k, 1, 0, 1), [1, 2, 1, 1]), reshape(slice(k, 1, 0, 1), [1, 2, 1, 1]), "
     "reshape(k, [1, 2, 1, 3]))",
     "f32[1, 2, 1, 3]",
     {1.5, 2.5, 3.5, 1.5, 2.5, 3.5}},
    {"rope(reshape(k, [1, 1, 1, 6]), positions = iota([1, 1]))",
     "f32[1, 1, 1, 6]",
     {0, 1, 2, 3, 4, 5}},
    {"rope(reshape(k, [1, 3, 1, 2]), positions = ids) - rope(reshape(k, [1, 3, 1, 2]))",
     "f32[1, 3, 1, 2]",
     {0}},
};

START_TEST(functions_have_their_values)
{
    MwArena *arena = mw_arena_new();
    TestModel model =
        test_model_new(mw_arena_printf(arena,
                                       "model m {\n  k = cast(reshape(iota([6]), [2, 3]), f32)\n"
                                       "  ids = iota([3])\n  output y = %s\n}\n",
                                       cases[_i].y),
                       1, MW_PASS_precision);
    ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
    const MwOutput *y = &model.compilation.graph->outputs.at[0];
    const MwTensor *tensor = mw_value_tensor(model.compilation.graph, y->value);
    char text[MW_TENSOR_TEXT_BYTES];
    ck_assert_str_eq(mw_tensor_text(tensor, text), cases[_i].shape);
    interpreter_step(model.run);
    for (int64_t i = 0; i < mw_tensor_elements(tensor); i++)
        ck_assert_msg(model.run->at[y->value.index][i] == cases[_i].elements[i], "%s: element %d",
                      cases[_i].y, (int)i);
    test_model_free(&model);
    mw_arena_free(&arena);
}
END_TEST

/* With bf16 for products, sums along an axis stay in f32 up to any length. */
START_TEST(sums_along_an_axis_stay_in_f32)
{
    TestModel model = test_model_new("model m {\n"
                                     "  precision bf16\n"
                                     "  input x: f32[4, 600]\n"
                                     "  weight w: f32[600, 600] = ones\n"
                                     "  output y = cumsum(x @ w)\n"
                                     "}\n",
                                     1, MW_PASS_precision);
    ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
    const MwGraph *graph = model.compilation.graph;
    int sums = 0;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        if (node->op != MW_OP_CUMSUM)
            continue;
        ck_assert_int_eq(graph->values.at[node->first_result].tensor.type, MW_F32);
        sums++;
    }
    ck_assert_int_eq(sums, 1);
    test_model_free(&model);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("functions");
    TCase *tests = tcase_create("functions");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, functions_have_their_values, 0, MW_COUNT(cases));
    tcase_add_test(tests, sums_along_an_axis_stay_in_f32);
    return run_suite(suite);
}
