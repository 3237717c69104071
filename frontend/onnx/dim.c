/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/onnx/dim.h"

#include <string.h>

static const int64_t LARGEST = (int64_t)1 << 62;

MwOnnxDim mw_onnx_dim(int64_t value)
{
    return (MwOnnxDim){.value = value, .count = value != 0, .term = {{.coefficient = value}}};
}

MwOnnxDim mw_onnx_dim_symbol(int index, int64_t value)
{
    MwOnnxDim dim = {.value = value, .count = 1, .term = {{.coefficient = 1}}};
    dim.term[0].power[index] = 1;
    return dim;
}

static int compare_powers(const MwOnnxMonomial *a, const MwOnnxMonomial *b)
{
    return memcmp(a->power, b->power, sizeof a->power);
}

static bool is_constant_term(const MwOnnxMonomial *term)
{
    static const MwOnnxMonomial constant;
    return compare_powers(term, &constant) == 0;
}

bool mw_onnx_dim_is_constant(const MwOnnxDim *dim)
{
    return dim->count == 0 || (dim->count == 1 && is_constant_term(&dim->term[0]));
}

bool mw_onnx_dim_is(const MwOnnxDim *dim, int64_t value)
{
    return mw_onnx_dim_is_constant(dim) && dim->value == value;
}

bool mw_onnx_dim_equal(const MwOnnxDim *a, const MwOnnxDim *b)
{
    if (a->value != b->value || a->count != b->count)
        return false;
    for (int i = 0; i < a->count; i++)
        if (a->term[i].coefficient != b->term[i].coefficient ||
            compare_powers(&a->term[i], &b->term[i]) != 0)
            return false;
    return true;
}

bool mw_onnx_dim_is_positive(const MwOnnxDim *dim)
{
    int64_t least = 0; /* where all symbols are 1 and no coefficient is negative but the last */
    for (int i = 0; i < dim->count; i++) {
        if (dim->term[i].coefficient < 0 && !is_constant_term(&dim->term[i]))
            return false;
        least += dim->term[i].coefficient;
    }
    return least >= 1;
}

static bool add_checked(int64_t a, int64_t b, int64_t *sum)
{
    return !__builtin_add_overflow(a, b, sum) && *sum > -LARGEST && *sum < LARGEST;
}

static bool mul_checked(int64_t a, int64_t b, int64_t *product)
{
    return !__builtin_mul_overflow(a, b, product) && *product > -LARGEST && *product < LARGEST;
}

/* Adds a term where it stands in the order. */
static bool add_term(MwOnnxDim *dim, const MwOnnxMonomial *term)
{
    int at = 0;
    while (at < dim->count && compare_powers(&dim->term[at], term) > 0)
        at++;
    if (at < dim->count && compare_powers(&dim->term[at], term) == 0) {
        int64_t *sum = &dim->term[at].coefficient;
        if (!add_checked(*sum, term->coefficient, sum))
            return false;
        if (*sum == 0)
            memmove(&dim->term[at], &dim->term[at + 1],
                    sizeof dim->term[0] * (size_t)(--dim->count - at));
        return true;
    }
    if (dim->count == MW_ONNX_MAX_TERMS)
        return false;
    memmove(&dim->term[at + 1], &dim->term[at], sizeof dim->term[0] * (size_t)(dim->count - at));
    dim->term[at] = *term;
    dim->count++;
    return true;
}

static bool add_scaled(const MwOnnxDim *a, const MwOnnxDim *b, int sign, MwOnnxDim *result)
{
    MwOnnxDim sum = *a;
    if (!add_checked(a->value, sign * b->value, &sum.value))
        return false;
    for (int i = 0; i < b->count; i++) {
        MwOnnxMonomial term = b->term[i];
        term.coefficient *= sign;
        if (!add_term(&sum, &term))
            return false;
    }
    *result = sum;
    return true;
}

bool mw_onnx_dim_add(const MwOnnxDim *a, const MwOnnxDim *b, MwOnnxDim *result)
{
    return add_scaled(a, b, 1, result);
}

bool mw_onnx_dim_sub(const MwOnnxDim *a, const MwOnnxDim *b, MwOnnxDim *result)
{
    return add_scaled(a, b, -1, result);
}

bool mw_onnx_dim_mul(const MwOnnxDim *a, const MwOnnxDim *b, MwOnnxDim *result)
{
    MwOnnxDim product = {0};
    if (!mul_checked(a->value, b->value, &product.value))
        return false;
    for (int i = 0; i < a->count; i++)
        for (int j = 0; j < b->count; j++) {
            MwOnnxMonomial term = a->term[i];
            if (!mul_checked(term.coefficient, b->term[j].coefficient, &term.coefficient))
                return false;
            for (int s = 0; s < MW_ONNX_MAX_SYMBOLS; s++) {
                if (term.power[s] + b->term[j].power[s] > 100)
                    return false;
                term.power[s] += b->term[j].power[s];
            }
            if (!add_term(&product, &term))
                return false;
        }
    *result = product;
    return true;
}

bool mw_onnx_dim_div(const MwOnnxDim *a, const MwOnnxDim *b, MwOnnxDim *result)
{
    if (b->count != 1 || b->value == 0)
        return false;
    MwOnnxDim quotient = *a;
    quotient.value = a->value / b->value;
    for (int i = 0; i < a->count; i++) {
        MwOnnxMonomial *term = &quotient.term[i];
        if (term->coefficient % b->term[0].coefficient != 0)
            return false;
        term->coefficient /= b->term[0].coefficient;
        for (int s = 0; s < MW_ONNX_MAX_SYMBOLS; s++) {
            if (term->power[s] < b->term[0].power[s])
                return false;
            term->power[s] -= b->term[0].power[s];
        }
    }
    *result = quotient;
    return true;
}

/* "4 * batch * seq", without its sign. */
static void print_term(MwText *text, const MwOnnxMonomial *term, const char *const *names)
{
    const int64_t size = term->coefficient < 0 ? -term->coefficient : term->coefficient;
    const char *times = "";
    if (size != 1 || is_constant_term(term)) {
        mw_text_printf(text, "%lld", (long long)size);
        times = " * ";
    }
    for (int s = 0; s < MW_ONNX_MAX_SYMBOLS; s++)
        for (int p = 0; p < term->power[s]; p++) {
            mw_text_printf(text, "%s%s", times, names[s]);
            times = " * ";
        }
}

void mw_onnx_dim_print(MwText *text, const MwOnnxDim *dim, const char *const *names)
{
    if (dim->count == 0)
        mw_text_add(text, "0");
    for (int i = 0; i < dim->count; i++) {
        const bool negative = dim->term[i].coefficient < 0;
        mw_text_add(text, i == 0 ? (negative ? "-" : "") : negative ? " - " : " + ");
        print_term(text, &dim->term[i], names);
    }
}
