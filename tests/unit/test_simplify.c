/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simplify: what becomes of single expressions, what it must keep, and that random graphs give the
 * same numbers to the last bit. */
#include "base/philox.h"
#include "base/text.h"
#include "frontend/frontend.h"
#include "ir/verify.h"
#include "passes/graph/simplify.h"
#include "tests/reference/interpret.h"
#include "tests/reference/spread.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/op_text.h"
#include "tests/unit/support.h"

#include <math.h>
#include <string.h>

#define PRODUCTS                                                                                   \
    "t = slice(x, axis = 1, begin = 0, end = 2)\np = einsum(x, z, equation = \"ab,cb->ac\")\n"     \
    "q = einsum(z, x, equation = \"ab,cb->ac\")\nt1 = slice(z, axis = 1, begin = 1, end = 3)\n"    \
    "bias = reduce_max(z, axes = [1])\n"

/* Statements that define y from x: f32[2, 3], z: f32[2, 3], s: f32[], h: bf16[4], b: bool[3] and
 * the constants zero, one, minus and half: f32[]; and y when it is simplified. */
static const struct {
    const char *statements, *y;
} cases[] = {
    {"y = mul(x, one)", "x"},
    {"y = einsum(x, equation = \"ab->ab\")", "x"},
    {"y = einsum(x, equation = \"ab->ba\")", "einsum(x)"},
    {"y = einsum(h, equation = \"a->a\", type = f32)", "einsum(h)"},
    {"y = mul(one, x)", "x"},
    {"y = mul(x, minus)", "neg(x)"},
    {"t = constant(type = f32, value = 1, shape = [2, 3])\ny = mul(s, t)", "mul(s, t)"},
    {"y = add(x, zero)", "x"},
    {"y = add(zero, x)", "x"},
    {"y = sub(x, zero)", "x"},
    {"y = sub(zero, x)", "neg(x)"},
    {"y = div(x, one)", "x"},
    {"y = pow(x, one)", "x"},
    {"n = neg(z)\ny = add(x, n)", "sub(x, z)"},
    {"n = neg(z)\ny = add(n, x)", "sub(x, z)"},
    {"n = neg(z)\ny = sub(x, n)", "add(x, z)"},
    {"n = neg(x)\ny = neg(n)", "x"},
    {"d = sub(x, z)\ny = neg(d)", "sub(z, x)"},
    {"n = not(b)\ny = not(n)", "b"},
    {"y = maximum(x, x)", "x"},
    {"y = and(b, b)", "b"},
    {"y = select(b, x, x)", "x"},
    {"k = constant(type = bool, value = 1)\ny = select(k, x, z)", "x"},
    {"k = constant(type = bool, value = 0)\ny = select(k, x, z)", "z"},
    {"y = cast(x, type = f32)", "x"},
    {"f = cast(h, type = f32)\ny = cast(f, type = bf16)", "h"},
    {"f = cast(x, type = bf16)\ny = cast(f, type = f32)", "cast(f)"},
    {"r = reshape(h, shape = [4, 1])\ny = reduce_sum(r, axes = [1])", "h"},
    {"r = reshape(h, shape = [4, 1])\ny = reduce_sum(r, axes = [1], type = f32)", "reduce_sum(r)"},
    {"y = identity(x)", "x"},
    {"y = dropout(x, rate = 0, key = 1)", "x"},
    {"y = dropout(x, rate = 0.5, key = 1)", "dropout(x)"},
    {"y = reshape(x, shape = [2, 3])", "x"},
    {"r = reshape(x, shape = [6])\ny = reshape(r, shape = [3, 2])", "reshape(x)"},
    {"r = reshape(x, shape = [6])\ny = reshape(r, shape = [2, 3])", "x"},
    {"y = broadcast(x, shape = [2, 3])", "x"},
    {"r = broadcast(s, shape = [3])\ny = broadcast(r, shape = [2, 3])", "broadcast(s)"},
    {"y = transpose(x, perm = [0, 1])", "x"},
    {"t = transpose(x, perm = [1, 0])\ny = transpose(t, perm = [1, 0])", "x"},
    {"p = transpose(c, perm = [1, 0, 2])\nq = transpose(p, perm = [0, 2, 1])\n"
     "y = transpose(q, perm = [2, 0, 1])",
     "c"},
    {"r = reshape(x, shape = [1, 2, 3])\ny = transpose(r, perm = [1, 0, 2])", "reshape(x)"},
    {"y = slice(x, axis = 1, begin = 0, end = 3)", "x"},
    {"y = pad(x, axis = 1, begin = 0, end = 0)", "x"},
    {"y = split(x, axis = 1, sizes = [3])", "x"},
    {"y = concat(x, axis = 1)", "x"},
    {"p, q = split(x, axis = 1, sizes = [1, 2])\ny = concat(p, q, axis = 1)", "x"},
    {"p, q = split(x, axis = 1, sizes = [1, 2])\ny = concat(q, p, axis = 1)", "concat(q, p)"},
    {"r = reshape(x, shape = [6, 1])\ny = reduce_sum(r, axes = [1])", "reshape(x)"},
    {"r = reshape(x, shape = [6, 1])\ny = reduce_max(r, axes = [1], keep = true)", "reshape(x)"},
    {PRODUCTS "a = add(t, p)\ny = add(a, q)", "add(t, y.sum)"},
    {PRODUCTS "a = add(p, t)\nb1 = add(q, t)\ny = add(a, b1)", "add(y.sum, y.sum.1)"},
    {PRODUCTS "a = add(p, q)\ny = add(t, a)", "add(t, a)"},
    {PRODUCTS "a = add(p, q)\ny = add(a, t)", "add(a, t)"},
    {PRODUCTS "a = add(t, p)\nd = add(a, q)\ny = mul(d, a)", "mul(d, a)"},
    {PRODUCTS "y = add(t, p)", "add(t, p)"},
    {PRODUCTS "a = sub(t, p)\ny = sub(a, q)", "sub(t, y.sum)"},
    {PRODUCTS "a = sub(p, t)\ny = sub(a, q)", "sub(y.sum, t)"},
    {PRODUCTS "a = add(p, t)\nn = neg(a)\ny = sub(n, q)", "neg(y.sum.1)"},
    {PRODUCTS "a = sub(t, p)\nd = mul(a, half)\ny = add(d, q)", "add(y.sum, y.sum.2)"},
    {PRODUCTS "a = add(t, t1)\nd = div(a, half)\nf = add(d, p)\ny = add(f, q)", "add(d, y.sum)"},
    {PRODUCTS "d = div(p, s)\na = add(t, d)\nf = exp(q)\ny = add(a, f)", "add(a, f)"},
    {PRODUCTS "d = div(p, s)\na = add(t, d)\nf = mul(t1, q)\ny = add(a, f)", "add(t, y.sum)"},
    {PRODUCTS "d = dropout(p, rate = 0.5, key = 1)\na = add(t, d)\ny = add(a, q)", "add(t, y.sum)"},
    {PRODUCTS "a = add(t, p) with repeat = [0, 0]\ny = add(a, q) with repeat = [0, 0]",
     "add(t, y.sum)"},
    {PRODUCTS "a = add(t, p) with repeat = [0, 0]\ny = add(a, q) with repeat = [0, 1]",
     "add(a, q)"},
    {PRODUCTS "a = add(t, p) with repeat = [1, 0]\ny = add(a, q) with repeat = [1, 1]",
     "add(t, y.sum)"},
    {PRODUCTS "a = add(t, p)\nf = add(q, bias)\ny = add(a, f)", "add(y.sum, y.sum.1)"},
    {"e = scan_in(c, axis = 1, loop = 0)\np = einsum(x, e, equation = \"ab,ac->bc\")\n"
     "y = scan_out(p, axis = 0, loop = 0, steps = 3)",
     "scan_out(p.1)"},
    {"y = add(one, minus)", "0"},
    {"y = exp(zero)", "1"},
    {"y = broadcast(minus, shape = [4])", "-1"},
    {"y = cast(minus, type = i32)", "-1"},
    {"y = lt(minus, zero)", "1"},
    {"y = eq(minus, zero)", "0"},
    {"k = ge(one, zero)\ny = select(k, x, z)", "x"},
    {"y = log(zero)", "log(zero)"},
    {"k = constant(type = i32, value = 2147483647)\ny = add(k, k)", "add(k, k)"},
};

static MwGraph *parse(TestGraph *test, const char *statements)
{
    const char *text = mw_arena_printf(
        test->arena,
        "model m {\nrepeat layers = 2\nrepeat parts = 2 with repeat = [0, 0]\n"
        "input x: f32[2, 3]\ninput z: f32[2, 3]\ninput s: f32[]\ninput h: bf16[4]\n"
        "input b: bool[3]\ninput c: f32[2, 3, 4]\n"
        "zero = constant(type = f32, value = 0)\none = constant(type = f32, value = 1)\n"
        "minus = constant(type = f32, value = -1)\nhalf = constant(type = f32, value = 0.5)\n"
        "%s\noutput y\n}\n",
        statements);
    MwSource *source = MW_NEW(test->arena, MwSource, 1);
    *source = (MwSource){"test.graph", text, strlen(text)};
    MwGraph *graph =
        mw_graph_parse(test->arena, test->graph->interner, source, NULL, 0, test->diags);
    ck_assert_msg(graph != NULL, "%s", diags_text(test->arena, test->diags));
    return graph;
}

/* The node that gives the first output: a name, a constant's value, or "op(operands)". */
static const char *describe(TestGraph *test, const MwGraph *graph)
{
    MwValueId y = graph->outputs.at[0].value;
    const MwNode *node = mw_value_node(graph, y);
    MwText text = {.arena = test->arena};
    if (node->op == MW_OP_INPUT)
        return mw_value(graph, y)->name;
    if (node->op == MW_OP_CONSTANT) {
        mw_text_add_double(&text, mw_node_float(node, MW_ATTR_VALUE));
        return text.at;
    }
    mw_text_printf(&text, "%s(", mw_op_info(node->op)->name);
    for (int k = 0; k < node->operand_count; k++)
        mw_text_printf(&text, "%s%s", k ? ", " : "", mw_value(graph, node->operands[k])->name);
    mw_text_add(&text, ")");
    return text.at;
}

START_TEST(expressions_become_simpler)
{
    TestGraph test = test_graph_new();
    MwGraph *graph = mw_simplify(parse(&test, cases[_i].statements));
    ck_assert_msg(mw_graph_verify(graph, "simplify", test.diags), "%s",
                  diags_text(test.arena, test.diags));
    ck_assert_str_eq(describe(&test, graph), cases[_i].y);
    ck_assert_str_eq(graph->outputs.at[0].name, "y");
    test_graph_free(&test);
}
END_TEST

/* Statements, and how many nodes are left of them besides the inputs. */
static const struct {
    const char *statements;
    int nodes;
} counts[] = {
    {"idle = exp(x)\ny = neg(x)", 1},
    {"p = exp(x)\nq = exp(x)\ny = mul(p, q)", 2},
    {"p = add(x, z)\nq = add(z, x)\ny = mul(p, q)", 2},
    {"p = sub(x, z)\nq = sub(z, x)\ny = mul(p, q)", 3},
    {"p = dropout(x, rate = 0.5, key = 1)\nq = dropout(x, rate = 0.5, key = 1)\ny = mul(p, q)", 2},
    {"p = dropout(x, rate = 0.5, key = 1)\nq = dropout(x, rate = 0.5, key = 2)\ny = mul(p, q)", 3},
    {"p = reshape(x, shape = [6])\nq = reshape(x, shape = [3, 2])\nr = reshape(q, shape = [6])\n"
     "y = mul(p, r)",
     2},
    /* A pin is about that very value. */
    {"p = identity(x) with spec = [S0, R]\ny = neg(p)", 2},
    {"p = exp(x)\nq = exp(x) with spec = [S0, R]\ny = mul(p, q)", 3},
    {"p = exp(x) with spec = [S0, R]\nq = exp(x)\ny = mul(p, q)", 3},
};

START_TEST(nothing_is_computed_twice_or_in_vain)
{
    enum { INPUTS = 6 };
    TestGraph test = test_graph_new();
    MwGraph *graph = mw_simplify(parse(&test, counts[_i].statements));
    ck_assert_msg(mw_graph_verify(graph, "simplify", test.diags), "%s",
                  diags_text(test.arena, test.diags));
    ck_assert_int_eq(graph->nodes.count - INPUTS, counts[_i].nodes);
    test_graph_free(&test);
}
END_TEST

/* ---- Random graphs ---- */

/* A value of a random graph is f32[6], f32[2, 3], f32[3, 2], f32[1, 3] or f32[]. Every value is
 * kept small, so that nothing overflows. */
static const char *const moves[] = {
    "reshape",    "shape = [6]",
    "reshape",    "shape = [2, 3]",
    "reshape",    "shape = [3, 2]",
    "reshape",    "shape = [1, 6]",
    "slice",      "axis = 0; begin = 0; end = 1",
    "slice",      "axis = 1; begin = 0; end = 2",
    "pad",        "axis = 0; begin = 0; end = 0",
    "pad",        "axis = 0; begin = 1; end = 0",
    "transpose",  "perm = [1, 0]",
    "transpose",  "perm = [0, 1]",
    "broadcast",  "shape = [2, 3]",
    "broadcast",  "shape = [6]",
    "reduce_sum", "axes = [0]",
    "reduce_sum", "axes = [1]; keep = true",
    "reduce_max", "axes = [0]",
    "identity",   "",
    "dropout",    "rate = 0; key = 3",
    "dropout",    "rate = 0.5; key = 3",
    "cast",       "type = f32",
    "split",      "axis = 0; sizes = [2]",
    "neg",        "",
    "neg",        "",
    "sin",        "",
    "abs",        "",
};
static const char *const binaries[] = {"add", "sub", "mul", "maximum", "minimum", "add", "sub"};

static MwValueId random_value(TestGraph *test, uint64_t *random)
{
    return (MwValueId){random_below(random, test->graph->values.count)};
}

static void add_random_node(TestGraph *test, uint64_t *random)
{
    static const char *const constants[] = {"0", "1", "-1", "0.5"};
    MwValueId a = random_value(test, random), b = random_value(test, random);
    MwValueId both[] = {a, b};
    int kind = random_below(random, 8);
    if (kind == 0) {
        const char *value = constants[random_below(random, MW_COUNT(constants))];
        test_try(test, "constant", NULL, 0,
                 mw_arena_printf(test->arena, "type = f32; shape = [%s]; value = %s",
                                 random_below(random, 2) ? "2, 3" : "", value));
    } else if (kind < 4) {
        int move = 2 * random_below(random, MW_COUNT(moves) / 2);
        test_try(test, moves[move], &a, 1, moves[move + 1]);
    } else {
        test_try(test, binaries[random_below(random, MW_COUNT(binaries))], both, 2, "");
    }
}

static void run(Interpreter *interpreter)
{
    const MwGraph *graph = interpreter->graph;
    for (int v = 0; v < graph->values.count; v++)
        for (int64_t i = 0;
             interpreter->inputs[v] && i < mw_tensor_elements(&graph->values.at[v].tensor); i++)
            interpreter->inputs[v][i] = mw_uniform_at(1, (uint64_t)v, (uint64_t)i) - 0.5;
    interpreter_step(interpreter);
}

START_TEST(random_graphs_keep_their_numbers)
{
    enum { NODES = 60, OUTPUTS = 8 };
    uint64_t random = (uint64_t)_i;
    TestGraph test = test_graph_new();
    test_source(&test, MW_OP_INPUT, "x", "f32[2, 3]");
    test_source(&test, MW_OP_INPUT, "z", "f32[6]");
    test_source(&test, MW_OP_INPUT, "s", "f32[]");
    for (int i = 0; i < NODES; i++)
        add_random_node(&test, &random);
    MwGraph *graph = test.graph;
    for (int i = 0; i < OUTPUTS; i++) {
        const char *name = mw_intern_printf(graph->interner, "out%d", i);
        mw_vec_push(test.arena, &graph->outputs, ((MwOutput){name, {graph->values.count - 1 - i}}));
    }
    MwGraph *simple = mw_simplify(graph);
    ck_assert_msg(mw_graph_verify(simple, "simplify", test.diags), "%s",
                  diags_text(test.arena, test.diags));
    ck_assert_int_le(simple->nodes.count, graph->nodes.count);
    Interpreter *before = interpreter_new(test.arena, graph, 7, 1);
    Interpreter *after = interpreter_new(test.arena, simple, 7, 1);
    run(before);
    run(after);
    for (int k = 0; k < OUTPUTS; k++) {
        MwValueId wanted = graph->outputs.at[k].value, given = simple->outputs.at[k].value;
        int64_t count = mw_tensor_elements(mw_value_tensor(graph, wanted));
        ck_assert(mw_tensor_equal(mw_value_tensor(graph, wanted), mw_value_tensor(simple, given)));
        for (int64_t i = 0; i < count; i++)
            ck_assert_msg(before->at[wanted.index][i] == after->at[given.index][i],
                          "graph %d, output %d, element %d: %.17g becomes %.17g", _i, k, (int)i,
                          before->at[wanted.index][i], after->at[given.index][i]);
    }
    test_graph_free(&test);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("simplify");
    TCase *tests = tcase_create("simplify");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, expressions_become_simpler, 0, MW_COUNT(cases));
    tcase_add_loop_test(tests, nothing_is_computed_twice_or_in_vain, 0, MW_COUNT(counts));
    tcase_add_loop_test(tests, random_graphs_keep_their_numbers, 0, 200);
    return run_suite(suite);
}
