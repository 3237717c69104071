/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operators on constants: the language, simplify and the reference give the same. */
#include "base/text.h"
#include "frontend/frontend.h"
#include "ir/arithmetic.h"
#include "passes/graph/simplify.h"
#include "passes/graph/simplify_rules.h"
#include "tests/reference/interpret.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/graphs.h"
#include "tests/unit/support.h"

#include <math.h>
#include <string.h>

/* Operators with an expression that constants do not go through: they choose or convert, have
 * attributes, or are written by the compiler alone. */
static bool is_excepted(MwOp op)
{
    switch (op) {
    case MW_OP_CONSTANT:
    case MW_OP_SELECT:
    case MW_OP_CAST:
    case MW_OP_BROADCAST:
    case MW_OP_FLIP:
    case MW_OP_GELU_GRAD:
    case MW_OP_GELU_TANH_GRAD:
    case MW_OP_SILU_GRAD:
    case MW_OP_ACCUMULATE:
    case MW_OP_ACCUMULATE_MAX:
    case MW_OP_SCALE_TO:
    case MW_OP_SCAN_CARRY:
    case MW_OP_SCAN_OUT:
        return true;
    default:
        return false;
    }
}

START_TEST(every_operator_with_an_expression_is_computed_or_excepted)
{
    for (int op = 0; op < MW_OP_COUNT; op++) {
        bool is_computed = mw_arithmetic_kind((MwOp)op) != MW_ARITHMETIC_NONE;
        bool has_expression = mw_op_info((MwOp)op)->expression != NULL;
        ck_assert_msg(is_computed == (has_expression && !is_excepted((MwOp)op)), "%s",
                      mw_op_info((MwOp)op)->name);
    }
}
END_TEST

static const double numbers[][2] = {
    {0.5, 1.5},    {-0.5, 2.25},  {3, 3},         {-2, 0.5},     {0, -4},  {7.5, -1}, {1e-3, 1e3},
    {-30, -0.125}, {INFINITY, 1}, {-INFINITY, 1}, {1, INFINITY}, {NAN, 1}, {1, NAN},  {0, 0},
};
static const double truths[][2] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};

static MwGraph *parse(TestGraph *test, const char *statements)
{
    MwSource *source = MW_NEW(test->arena, MwSource, 1);
    source->name = "test.graph";
    source->text = mw_arena_printf(test->arena, "model m {\n%s}\n", statements);
    source->bytes = strlen(source->text);
    MwGraph *graph =
        mw_graph_parse(test->arena, test->graph->interner, source, NULL, 0, test->diags);
    ck_assert_msg(graph != NULL, "%s%s", statements, diags_text(test->arena, test->diags));
    return graph;
}

static const char *literal(TestGraph *test, MwArithmetic kind, double value)
{
    MwText text = {.arena = test->arena};
    if (kind == MW_ARITHMETIC_LOGIC)
        return value != 0 ? "true" : "false";
    mw_text_add_double(&text, value);
    /* A whole number would be exact; with a point it is a double, as in a graph. */
    return strpbrk(text.at, ".einf") ? text.at : mw_arena_printf(test->arena, "%s.0", text.at);
}

static bool is_same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* The value of the constant that y is; false if it is none. */
static bool constant_of(const MwGraph *graph, double *value)
{
    return mw_value_is_constant(graph, graph->outputs.at[0].value, value);
}

/* Functions that the language has give whole numbers for constants, and refuse the others. */
static bool gives_whole(MwOp op)
{
    return op == MW_OP_FLOOR || op == MW_OP_CEIL || op == MW_OP_ROUND;
}

static void check(TestGraph *test, MwOp op, const double operand[2])
{
    const char *name = mw_op_info(op)->name;
    MwArithmetic kind = mw_arithmetic_kind(op);
    const char *type = kind == MW_ARITHMETIC_LOGIC ? "bool" : "f32";
    const char *a = literal(test, kind, operand[0]), *b = literal(test, kind, operand[1]);
    bool is_binary = mw_op_info(op)->operands == 2;
    double value = mw_arithmetic_apply(op, operand[0], operand[1]), folded;

    if (isfinite(value) || !gives_whole(op)) {
        const MwGraph *language =
            parse(test, mw_arena_printf(test->arena, "output y = constant(%s(%s%s%s))\n", name, a,
                                        is_binary ? ", " : "", is_binary ? b : ""));
        ck_assert(constant_of(language, &folded));
        ck_assert_msg(is_same(folded, value), "%s(%s, %s) is %g in the language, not %g", name, a,
                      b, folded, value);
    }

    const MwGraph *graph =
        parse(test, mw_arena_printf(test->arena,
                                    "a = constant(%s, type = %s)\nb = constant(%s, type = %s)\n"
                                    "y = %s(a%s)\noutput y\n",
                                    a, type, b, type, name, is_binary ? ", b" : ""));
    Interpreter *run = interpreter_new(test->arena, graph, 0, 1);
    interpreter_step(run);
    double reference = *interpreter_value(run, "y");
    ck_assert_msg(is_same(reference, value), "%s(%s, %s) is %g in the reference, not %g", name, a,
                  b, reference, value);
    bool is_constant = constant_of(mw_simplify(graph), &folded);
    ck_assert_msg(is_constant || !isfinite(value), "%s(%s, %s) is not computed", name, a, b);
    ck_assert_msg(!is_constant || is_same(folded, value), "%s(%s, %s) is %g in simplify, not %g",
                  name, a, b, folded, value);
}

START_TEST(the_language_and_simplify_and_the_reference_agree)
{
    TestGraph test = test_graph_new();
    for (int op = 0; op < MW_OP_COUNT; op++) {
        MwArithmetic kind = mw_arithmetic_kind((MwOp)op);
        int logic = kind == MW_ARITHMETIC_LOGIC ? MW_COUNT(truths) : 0;
        int arithmetic = kind == MW_ARITHMETIC_NONE || logic ? 0 : MW_COUNT(numbers);
        for (int i = 0; i < logic; i++)
            check(&test, (MwOp)op, truths[i]);
        for (int i = 0; i < arithmetic; i++)
            check(&test, (MwOp)op, numbers[i]);
    }
    test_graph_free(&test);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arithmetic");
    TCase *tests = tcase_create("arithmetic");
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, every_operator_with_an_expression_is_computed_or_excepted);
    tcase_add_test(tests, the_language_and_simplify_and_the_reference_agree);
    return run_suite(suite);
}
