/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mixed precision: the type that every operator gets, what is cast for it, and that a model's own
 * types stay. */
#include "base/text.h"
#include "cost/cost.h"
#include "ir/print.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/model.h"
#include "tests/unit/support.h"

#include <string.h>

/* Statements, and the node that gives y: its type, and its operands with theirs, each cast named
 * after what it casts. There are the inputs x: f32[4, 4], t: f32[4, 2, 2, 2] and ids: i32[4]; the
 * weights w: f32[4, 4], b: f32[4] and s: f32[]; and n, a product in bf16. */
static const struct {
    const char *statements, *y;
} cases[] = {
    /* Contractions and attention. */
    {"y = x @ w", "bf16 einsum(x.bf16, w.bf16)"},
    {"y = n @ w", "bf16 einsum(n bf16, w.bf16)"},
    {"y = einsum(\"ab,cb->ac\", x, x)", "bf16 einsum(x.bf16, x.bf16)"},
    {"y = einsum(\"ab,bc->ac\", x, w, type = f32)", "f32 einsum(x.bf16, w.bf16)"},
    {"y = sdpa(t, t, t)", "bf16 sdpa(t.bf16, t.bf16, t.bf16)"},
    {"c = stop_gradient(t)\n y = grad(sum(sdpa(t, c, c)), t)",
     "bf16 sdpa_grad(t.bf16, t.bf16, t.bf16, sdpa bf16, sdpa f32, constant bf16)"},
    /* What follows. */
    {"y = n + b", "bf16 add(n bf16, b.bf16)"},
    {"y = n + n", "bf16 add(n bf16, n bf16)"},
    {"y = x + b", "f32 add(x f32, b f32)"},
    {"y = x + n", "f32 add(x f32, n.f32)"},
    {"y = n * 0.1", "bf16 mul(n bf16, constant bf16)"},
    {"y = gelu(n)", "bf16 gelu(n bf16)"},
    {"y = tanh(n)", "bf16 tanh(n bf16)"},
    {"y = transpose(n, [1, 0])", "bf16 transpose(n bf16)"},
    {"y = reshape(n, [16])", "bf16 reshape(n bf16)"},
    {"y = dropout(n, 0.5)", "bf16 dropout(n bf16)"},
    {"y = rope(reshape(n, [1, 2, 2, 4]))", "bf16 rope(reshape bf16)"},
    {"y = einsum(\"ab->ba\", n)", "bf16 einsum(n bf16)"},
    {"y = where(x > 0, n, 0)", "bf16 select(gt bool, n bf16, constant bf16)"},
    {"y = where(x > 0, n, x)", "f32 select(gt bool, n.f32, x f32)"},
    {"y = n > s", "bool gt(n bf16, s.bf16)"},
    {"y = concat(n, w, axis = 0)", "bf16 concat(n bf16, w.bf16)"},
    {"y = embedding(ids, w)", "f32 embedding(ids i32, w f32)"},
    {"y = embedding(ids, n)", "bf16 embedding(ids i32, n bf16)"},
    /* Positions are no constants: 257 is not in bf16. */
    {"y = n * iota([4], type = f32)", "f32 mul(n.f32, iota f32)"},
    {"y = n * (iota([4], type = f32) * s)", "f32 mul(n.f32, mul f32)"},
    {"y = n * cast(step(), f32)", "f32 mul(n.f32, cast f32)"},
    /* What stays in f32. */
    {"y = sum(n, axis = 0)", "f32 reduce_sum(n.f32)"},
    {"y = max(n, axis = 0)", "f32 reduce_max(n.f32)"},
    {"y = einsum(\"ab->a\", n)", "f32 einsum(n.f32)"},
    {"y = softmax(n)", "f32 softmax(n.f32)"},
    {"y = layer_norm(n)", "f32 layer_norm(n.f32)"},
    {"y = logsumexp(n)", "f32 logsumexp(n.f32)"},
    {"y = exp(n)", "f32 exp(n.f32)"},
    {"y = n ** s", "f32 pow(n.f32, s f32)"},
    {"y = pick(n, ids)", "f32 pick(n.f32, ids i32)"},
    {"y = softmax(n) @ w", "bf16 einsum(softmax.bf16, w.bf16)"},
    /* What depends on no input. */
    {"y = w @ w", "f32 einsum(w f32, w f32)"},
    {"y = x @ (w @ w)", "bf16 einsum(x.bf16, einsum.bf16)"},
    {"y = x @ transpose(w, [1, 0])", "bf16 einsum(x.bf16, transpose.bf16)"},
    /* A cast gives what it names. */
    {"y = cast(n, f32)", "f32 cast(n bf16)"},
    {"y = cast(x, f32) + b", "f32 add(x f32, b f32)"},
    {"y = cast(n, f32) + b", "f32 add(n.f32, b f32)"},
    {"y = cast(n, bf16)", "bf16 einsum(x.bf16, w.bf16)"},
    {"y = cast(x, bf16)", "bf16 cast(x f32)"},
    {"y = cast(n, i32)", "i32 cast(n bf16)"},
    {"y = cast(n, f32) @ w", "bf16 einsum(n bf16, w.bf16)"},
    /* What the model types itself. */
    {"h = cast(x, bf16)\n y = softmax(h)", "bf16 softmax(x.bf16)"},
    {"h = cast(x, bf16)\n y = h @ cast(w, bf16)", "bf16 einsum(x.bf16, w.bf16)"},
};

static const char model_text[] = "model m {\n"
                                 "  precision %s\n"
                                 "  input x: f32[4, 4]\n"
                                 "  input t: f32[4, 2, 2, 2]\n"
                                 "  input ids: i32[4]\n"
                                 "  weight w: f32[4, 4] = ones\n"
                                 "  weight b: f32[4] = ones\n"
                                 "  weight s: f32[] = ones\n"
                                 "  n = x @ w\n"
                                 "  %s\n"
                                 "  output y\n"
                                 "}\n";

static TestModel model_of(const char *precision, const char *statements, MwPass last)
{
    MwArena *arena = mw_arena_new();
    TestModel model =
        test_model_new(mw_arena_printf(arena, model_text, precision, statements), 1, last);
    ck_assert_msg(model.ok, "%s: %s", statements, diags_text(model.arena, model.diags));
    mw_arena_free(&arena);
    return model;
}

static const char *type_of(const MwGraph *graph, MwValueId value)
{
    return mw_type_name(mw_value_tensor(graph, value)->type);
}

/* "x f32", "x.bf16" for its cast. Without the scopes of functions and numbers of their calls. */
static void add_operand(MwText *text, const MwGraph *graph, MwValueId value)
{
    const MwNode *node = mw_value_node(graph, value);
    bool is_cast = node->op == MW_OP_CAST &&
                   mw_type_is_float(mw_value_tensor(graph, value)->type) &&
                   mw_type_is_float(mw_value_tensor(graph, node->operands[0])->type);
    MwValueId shown = is_cast ? node->operands[0] : value;
    bool is_named = strlen(mw_value(graph, shown)->name) <= 3;
    mw_text_printf(text, "%s%s%s",
                   is_named ? mw_value(graph, shown)->name
                            : mw_op_info(mw_value_node(graph, shown)->op)->name,
                   is_cast ? "." : " ", type_of(graph, value));
}

static const char *describe(MwArena *arena, const MwGraph *graph)
{
    MwValueId y = graph->outputs.at[0].value;
    const MwNode *node = mw_value_node(graph, y);
    MwText text = {.arena = arena};
    mw_text_printf(&text, "%s %s(", type_of(graph, y), mw_op_info(node->op)->name);
    for (int k = 0; k < node->operand_count; k++) {
        mw_text_add(&text, k ? ", " : "");
        add_operand(&text, graph, node->operands[k]);
    }
    mw_text_add(&text, ")");
    return text.at;
}

START_TEST(operators_have_the_types_of_the_rule)
{
    TestModel model = model_of("bf16", cases[_i].statements, MW_PASS_precision);
    const MwGraph *graph = model.compilation.graph;
    ck_assert_msg(strcmp(describe(model.arena, graph), cases[_i].y) == 0, "%s: %s, expected %s",
                  cases[_i].statements, describe(model.arena, graph), cases[_i].y);
    ck_assert_int_eq(graph->precision, MW_F32);
    test_model_free(&model);
}
END_TEST

START_TEST(in_f32_types_stay)
{
    TestModel model = model_of("f32", cases[_i].statements, MW_PASS_precision);
    const MwGraph *graph = model.compilation.graph;
    bool names_type = strstr(cases[_i].statements, "bf16") != NULL;
    for (int v = 0; v < graph->values.count && !names_type; v++)
        ck_assert_int_ne(graph->values.at[v].tensor.type, MW_BF16);
    test_model_free(&model);
}
END_TEST

/* How many casts are left of the statements, besides those of n. */
static const struct {
    const char *statements;
    int casts;
} shared[] = {
    {"y = (x @ w) @ w", 0},
    {"y = x @ w + einsum(\"ab,cb->ac\", x, w)", 0},
    {"y = softmax(n) @ w + softmax(n) @ w", 2}, /* n to f32, the softmax to bf16 */
    {"y = layer_norm(n) + softmax(n)", 1},      /* n to f32 */
    {"y = n + b + (n * b)", 1},                 /* b to bf16 */
    {"y = cast(cast(n, f32), bf16)", 0},
    {"y = cast(cast(x, f32), f32) + n", 1}, /* n to f32 */
};

START_TEST(casts_are_shared_and_not_stacked)
{
    TestModel model = model_of("bf16", shared[_i].statements, MW_PASS_precision);
    const MwGraph *graph = model.compilation.graph;
    int casts = -2; /* of x and w for n */
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        casts += node->op == MW_OP_CAST;
        if (node->op == MW_OP_CAST)
            ck_assert_int_ne(mw_value_node(graph, node->operands[0])->op, MW_OP_CAST);
    }
    ck_assert_msg(casts == shared[_i].casts, "%s: %d casts, expected %d", shared[_i].statements,
                  casts, shared[_i].casts);
    test_model_free(&model);
}
END_TEST

/* The loss is f32, and what is assigned has the type of its target. */
START_TEST(ends_keep_their_types)
{
    TestModel model = test_model_new("model m {\n"
                                     "  precision bf16\n"
                                     "  input x: f32[4]\n"
                                     "  weight w: f32[4] = ones\n"
                                     "  state last: f32[] = zeros\n"
                                     "  y = einsum(\"a,a->\", x, w)\n"
                                     "  assign last = y\n"
                                     "  output y\n"
                                     "  train y with sgd(lr = 1)\n"
                                     "}\n",
                                     1, MW_PASS_precision);
    ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
    const MwGraph *graph = model.compilation.graph;
    ck_assert_str_eq(type_of(graph, graph->outputs.at[0].value), "bf16");
    ck_assert_str_eq(type_of(graph, graph->metrics.at[0].value), "f32");
    ck_assert_str_eq(type_of(graph, graph->assigns.at[0].value), "f32");
    test_model_free(&model);
}
END_TEST

/* The gradient of every weight is f32 from the operator that sums over the batch: none is a
 * cast. */
START_TEST(gradients_of_weights_are_never_rounded)
{
    TestModel model = test_model_new(
        "model m {\n"
        "  precision bf16\n"
        "  input x: f32[8, 4]\n"
        "  input ids: i32[8]\n"
        "  weight table: bf16[4, 4] = ones\n"
        "  weight w: f32[4, 4] = ones\n"
        "  weight turned: bf16[4, 4] = ones\n"
        "  weight b: f32[4] = ones\n"
        "  weight g: f32[2, 4] = ones\n"
        "  h = cast(gelu(x @ w + b), bf16) @ transpose(cast(transpose(turned, [1, 0]), bf16), [1, "
        "0])\n"
        "  p, q = split(g, 2, axis = 0)\n"
        "  h = embedding(ids, table) + cast(cast(h, f32) @ w, bf16) * cast(reshape(p, [4]), bf16)\n"
        "  train sum(cast(h, f32)) with sgd(lr = 1)\n"
        "}\n",
        1, MW_PASS_differentiate);
    ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
    const MwGraph *graph = model.compilation.graph;
    for (int v = 0; v < graph->values.count; v++) {
        if (mw_value_node(graph, (MwValueId){v})->op != MW_OP_WEIGHT)
            continue;
        MwValueId gradient = model.compilation.gradient[v];
        ck_assert_msg(strcmp(type_of(graph, gradient), "f32") == 0, "%s", graph->values.at[v].name);
        ck_assert_msg(mw_value_node(graph, gradient)->op != MW_OP_CAST, "%s",
                      graph->values.at[v].name);
        ck_assert_str_eq(mw_value(graph, gradient)->name,
                         mw_arena_printf(model.arena, "grad.%s", graph->values.at[v].name));
    }
    test_model_free(&model);
}
END_TEST

START_TEST(a_dump_with_gradients_has_its_types)
{
    TestModel model = test_model_new("model m {\n"
                                     "  precision bf16\n"
                                     "  input x: f32[4]\n"
                                     "  y = neg(x) with phase = backward\n"
                                     "  output y\n"
                                     "}\n",
                                     1, MW_PASS_precision);
    ck_assert(!model.ok);
    ck_assert_str_eq(diags_text(model.arena, model.diags),
                     "meshwright: error: model 'm' is a dump with gradients, whose types are "
                     "settled: it cannot become one of precision bf16\n");
    test_model_free(&model);
}
END_TEST

static const int *one_way(void)
{
    static int ways[MW_MAX_FACTORS];
    for (int f = 0; f < MW_MAX_FACTORS; f++)
        ways[f] = 1;
    return ways;
}

/* Products of f32 alone; the statement stays, since no type says it. */
START_TEST(tf32_is_how_products_take_f32)
{
    TestModel model = test_model_new("model m {\n"
                                     "  precision tf32\n"
                                     "  input x: f32[8, 4]\n"
                                     "  weight w: f32[4, 4] = ones\n"
                                     "  weight h: bf16[4, 4] = ones\n"
                                     "  weight f: f32[1, 4, 4] = ones\n"
                                     "  y = cast(x @ w, bf16) @ h\n"
                                     "  z = conv(reshape(x, [8, 1, 4]), f)\n"
                                     "  train sum(cast(y, f32)) + sum(z) with sgd(lr = 1)\n"
                                     "}\n",
                                     1, MW_PASS_update);
    ck_assert_msg(model.ok, "%s", diags_text(model.arena, model.diags));
    const MwGraph *graph = model.compilation.graph;
    int products = 0, halves = 0;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        const MwShardingRule rule = mw_sharding_rule(model.arena, graph, (MwNodeId){n});
        const MwWork work = mw_cost_node_work(graph, (MwNodeId){n}, &rule, one_way());
        if (!mw_work_is_product(work.kind))
            continue;
        const MwType type = mw_value_tensor(graph, node->operands[0])->type;
        ck_assert_int_eq(work.type, type == MW_F32 ? MW_TF32 : MW_BF16);
        halves += type == MW_BF16;
        products++;
    }
    ck_assert_int_eq(graph->precision, MW_TF32);
    ck_assert_int_eq(halves, 3);
    ck_assert_int_eq(products, 7);
    test_model_free(&model);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("precision");
    TCase *tests = tcase_create("precision");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, operators_have_the_types_of_the_rule, 0, MW_COUNT(cases));
    tcase_add_loop_test(tests, in_f32_types_stay, 0, MW_COUNT(cases));
    tcase_add_loop_test(tests, casts_are_shared_and_not_stacked, 0, MW_COUNT(shared));
    tcase_add_test(tests, ends_keep_their_types);
    tcase_add_test(tests, gradients_of_weights_are_never_rounded);
    tcase_add_test(tests, a_dump_with_gradients_has_its_types);
    tcase_add_test(tests, tf32_is_how_products_take_f32);
    return run_suite(suite);
}
