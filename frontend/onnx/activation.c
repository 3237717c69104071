/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Activations with attributes, and those that several nodes make. */
#include "frontend/onnx/map.h"
#include "frontend/onnx/match.h"
#include "frontend/onnx/operators.h"

#include <math.h>
#include <string.h>

static bool set_map(MwOnnxImport *import, const MwOnnxNode *node, MwOnnxValue *x, const char *text)
{
    return mw_onnx_map_values(import, node, x->shape.type, text, &x, 1);
}

static const char *number(MwOnnxImport *import, double value)
{
    return mw_onnx_number_text(import, MW_F32, value);
}

bool mw_onnx_relu(MwOnnxImport *import, const MwOnnxNode *node)
{
    MwOnnxValue *x = node->inputs[0];
    return set_map(import, node, x,
                   mw_type_is_float(x->shape.type) ? "relu($0)" : "maximum($0, 0)");
}

bool mw_onnx_leaky_relu(MwOnnxImport *import, const MwOnnxNode *node)
{
    const double slope = mw_onnx_float_of(node, "alpha", (double)0.01f);
    return set_map(import, node, node->inputs[0],
                   mw_onnx_text(import, "leaky_relu($0, slope = %s)", number(import, slope)));
}

bool mw_onnx_elu(MwOnnxImport *import, const MwOnnxNode *node)
{
    const double alpha = mw_onnx_float_of(node, "alpha", 1);
    return set_map(import, node, node->inputs[0],
                   alpha == 1 ? "elu($0)"
                              : mw_onnx_text(import, "elu($0, alpha = %s)", number(import, alpha)));
}

/* max(0, min(1, alpha * x + beta)) */
bool mw_onnx_hard_sigmoid(MwOnnxImport *import, const MwOnnxNode *node)
{
    const double alpha = mw_onnx_float_of(node, "alpha", (double)0.2f);
    const double beta = mw_onnx_float_of(node, "beta", 0.5);
    if (fabs(alpha - 1.0 / 6) < 1e-7 && beta == 0.5)
        return set_map(import, node, node->inputs[0], "hard_sigmoid($0)");
    return set_map(import, node, node->inputs[0],
                   mw_onnx_text(import, "clip(%s * #0 + %s, 0.0, 1.0)", number(import, alpha),
                                number(import, beta)));
}

bool mw_onnx_gelu(MwOnnxImport *import, const MwOnnxNode *node)
{
    const bool is_tanh = mw_onnx_text_is(node, "approximate", "none", "tanh");
    return set_map(import, node, node->inputs[0], is_tanh ? "gelu_tanh($0)" : "gelu($0)");
}

bool mw_onnx_swish(MwOnnxImport *import, const MwOnnxNode *node)
{
    const double alpha = mw_onnx_float_of(node, "alpha", 1);
    return set_map(import, node, node->inputs[0],
                   alpha == 1
                       ? "silu($0)"
                       : mw_onnx_text(import, "#0 * sigmoid(%s * #0)", number(import, alpha)));
}

/* Bounds that are no numbers are tensors of one element. */
static bool clip_by_tensors(MwOnnxImport *import, const MwOnnxNode *node, MwOnnxValue *least,
                            MwOnnxValue *most)
{
    MwOnnxValue *const operands[] = {node->inputs[0], least ? least : most, most};
    const MwType type = node->inputs[0]->shape.type;
    for (int i = 1; i < 2 + (least && most); i++)
        if (operands[i]->shape.rank > 0 || operands[i]->shape.type != type)
            return mw_onnx_refuse(import, node, "bounds of another type or of several elements");
    const char *text = !most    ? "maximum($0, $1)"
                       : !least ? "minimum($0, $1)"
                                : "minimum(maximum($0, $1), $2)";
    return mw_onnx_map_values(import, node, type, text, operands, 2 + (least && most));
}

bool mw_onnx_clip(MwOnnxImport *import, const MwOnnxNode *node)
{
    double low, high;
    MwOnnxValue *least = mw_onnx_input(node, 1), *most = mw_onnx_input(node, 2);
    const MwType type = node->inputs[0]->shape.type;
    if (!least && !most)
        return mw_onnx_set_same(import, node, 0, node->inputs[0]);
    if ((least && !mw_onnx_constant_number(least, &low)) ||
        (most && !mw_onnx_constant_number(most, &high)))
        return clip_by_tensors(import, node, least, most);
    MwText text = {.arena = import->arena};
    mw_text_add(&text, "clip($0");
    if (least)
        mw_text_printf(&text, ", low = %s", mw_onnx_number_text(import, type, low));
    if (most)
        mw_text_printf(&text, ", high = %s", mw_onnx_number_text(import, type, high));
    mw_text_add(&text, ")");
    return set_map(import, node, node->inputs[0], text.at);
}

/* ---- Patterns ---- */

static bool set_pattern(MwOnnxImport *import, const MwOnnxNode *node, MwOnnxValue *x,
                        const char *text)
{
    return mw_onnx_keeps_shape(import, node, x) && set_map(import, node, x, text);
}

/* What is left of a product when the numbers among its factors are taken out. */
typedef struct {
    MwOnnxValue *factor[3];
    int count; /* -1: more */
    double number;
} Product;

static void add_factors(Product *product, MwOnnxValue *value, int depth)
{
    double number;
    if (mw_onnx_constant_number(value, &number)) {
        product->number *= number;
        return;
    }
    const MwOnnxNode *node = mw_onnx_made_by(value, "Mul");
    if (node && depth > 0) {
        add_factors(product, node->inputs[0], depth - 1);
        add_factors(product, node->inputs[1], depth - 1);
        return;
    }
    const MwOnnxNode *quotient = mw_onnx_made_by(value, "Div");
    if (quotient && depth > 0 && mw_onnx_constant_number(quotient->inputs[1], &number)) {
        product->number /= number;
        add_factors(product, quotient->inputs[0], depth - 1);
        return;
    }
    if (product->count < 0 || product->count == MW_COUNT(product->factor))
        product->count = -1;
    else
        product->factor[product->count++] = value;
}

/* The factors of a Mul, to a depth at which x itself is still one factor. */
static Product factors_of(const MwOnnxNode *node, int depth)
{
    Product product = {.number = 1};
    add_factors(&product, node->inputs[0], depth);
    add_factors(&product, node->inputs[1], depth);
    return product;
}

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-6 * fabs(b);
}

/* 1 + f(y), where f is a function of ONNX: y. */
static MwOnnxValue *one_plus(MwOnnxValue *value, const char *function)
{
    double one;
    MwOnnxValue *other;
    const MwOnnxNode *sum = mw_onnx_made_by(value, "Add");
    if (!sum || !(other = mw_onnx_with_number(sum, &one)) || one != 1)
        return NULL;
    const MwOnnxNode *node = mw_onnx_made_by(other, function);
    return node ? node->inputs[0] : NULL;
}

/* x times a number: x, and the number. */
static MwOnnxValue *scaled(MwOnnxValue *value, double *number)
{
    double by;
    const MwOnnxNode *node = mw_onnx_made_by(value, "Mul");
    MwOnnxValue *x;
    *number = 1;
    if (node && (x = mw_onnx_with_number(node, number)))
        return x;
    node = mw_onnx_made_by(value, "Div");
    if (!node || !mw_onnx_constant_number(node->inputs[1], &by))
        return NULL;
    *number = 1 / by;
    return node->inputs[0];
}

bool mw_onnx_match_gelu(MwOnnxImport *import, const MwOnnxNode *node)
{
    for (int depth = 0; depth < 3; depth++) {
        const Product product = factors_of(node, depth);
        if (product.count != 2 || !is_near(product.number, 0.5))
            continue;
        for (int i = 0; i < 2; i++) {
            double number;
            MwOnnxValue *x = product.factor[i];
            MwOnnxValue *inner = one_plus(product.factor[1 - i], "Erf");
            if (inner && scaled(inner, &number) == x && is_near(number, sqrt(0.5)))
                return set_pattern(import, node, x, "gelu($0)");
        }
    }
    return false;
}

/* 0.044715 * x ** 3, in the forms that exporters write. */
static bool is_cube(MwOnnxValue *value, const MwOnnxValue *x)
{
    double number, exponent;
    MwOnnxValue *cube = scaled(value, &number);
    if (cube && is_near(number, 0.044715)) {
        const MwOnnxNode *power = mw_onnx_made_by(cube, "Pow");
        if (power && power->inputs[0] == x &&
            mw_onnx_constant_number(power->inputs[1], &exponent) && exponent == 3)
            return true;
    }
    const MwOnnxNode *last = mw_onnx_made_by(value, "Mul");
    if (!last)
        return false;
    const Product product = factors_of(last, 3);
    return product.count == 3 && is_near(product.number, 0.044715) && product.factor[0] == x &&
           product.factor[1] == x && product.factor[2] == x;
}

/* sqrt(2 / pi) * (x + 0.044715 * x ** 3) */
static bool is_tanh_argument(MwOnnxValue *value, const MwOnnxValue *x)
{
    double number;
    MwOnnxValue *inner = scaled(value, &number);
    const MwOnnxNode *sum = inner ? mw_onnx_made_by(inner, "Add") : NULL;
    if (!sum || !is_near(number, sqrt(2 / M_PI)))
        return false;
    return (sum->inputs[0] == x && is_cube(sum->inputs[1], x)) ||
           (sum->inputs[1] == x && is_cube(sum->inputs[0], x));
}

bool mw_onnx_match_gelu_tanh(MwOnnxImport *import, const MwOnnxNode *node)
{
    for (int depth = 0; depth < 3; depth++) {
        const Product product = factors_of(node, depth);
        if (product.count != 2 || !is_near(product.number, 0.5))
            continue;
        for (int i = 0; i < 2; i++) {
            MwOnnxValue *inner = one_plus(product.factor[1 - i], "Tanh");
            if (inner && is_tanh_argument(inner, product.factor[i]))
                return set_pattern(import, node, product.factor[i], "gelu_tanh($0)");
        }
    }
    return false;
}

static bool match_gate(MwOnnxImport *import, const MwOnnxNode *node, const char *gate,
                       const char *text)
{
    for (int i = 0; i < 2; i++) {
        const MwOnnxNode *made = mw_onnx_made_by(node->inputs[1 - i], gate);
        if (made && made->inputs[0] == node->inputs[i])
            return set_pattern(import, node, node->inputs[i], text);
    }
    return false;
}

bool mw_onnx_match_silu(MwOnnxImport *import, const MwOnnxNode *node)
{
    return match_gate(import, node, "Sigmoid", "silu($0)");
}

bool mw_onnx_match_hard_swish(MwOnnxImport *import, const MwOnnxNode *node)
{
    for (int i = 0; i < 2; i++) {
        const MwOnnxNode *made = mw_onnx_made_by(node->inputs[1 - i], "HardSigmoid");
        if (made && made->inputs[0] == node->inputs[i] &&
            fabs(mw_onnx_float_of(made, "alpha", 0.2) - 1.0 / 6) < 1e-7 &&
            mw_onnx_float_of(made, "beta", 0.5) == 0.5)
            return set_pattern(import, node, node->inputs[i], "hard_swish($0)");
    }
    return false;
}

/* x * clip(x + 3, 0, 6) / 6 */
bool mw_onnx_match_hard_swish_quotient(MwOnnxImport *import, const MwOnnxNode *node)
{
    double six, low, high, three;
    const MwOnnxNode *product = mw_onnx_made_by(node->inputs[0], "Mul");
    if (!product || !mw_onnx_constant_number(node->inputs[1], &six) || six != 6)
        return false;
    for (int i = 0; i < 2; i++) {
        MwOnnxValue *x = product->inputs[i];
        const MwOnnxNode *clip = mw_onnx_made_by(product->inputs[1 - i], "Clip");
        const MwOnnxNode *sum = clip ? mw_onnx_made_by(clip->inputs[0], "Add") : NULL;
        if (sum && mw_onnx_with_number(sum, &three) == x && three == 3 &&
            mw_onnx_constant_number(mw_onnx_input(clip, 1), &low) && low == 0 &&
            mw_onnx_constant_number(mw_onnx_input(clip, 2), &high) && high == 6)
            return set_pattern(import, node, x, "hard_swish($0)");
    }
    return false;
}
