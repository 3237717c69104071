/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arithmetic on constants: exact on whole numbers, in double precision on the others. What does not
 * fit or does not divide is an error, never a rounded size. */
#include "frontend/terms/fold.h"

#include "ir/arithmetic.h"

#include <math.h>

/* a ** b for b >= 0; false if it does not fit. */
static bool int_power(int64_t a, int64_t b, int64_t *result)
{
    *result = 1;
    for (; b > 0; b /= 2) {
        if (b % 2 && __builtin_mul_overflow(*result, a, result))
            return false;
        if (b > 1 && __builtin_mul_overflow(a, a, &a))
            return false;
    }
    return true;
}

static MwTerm divide(MwExpander *ex, MwSpan span, int64_t a, int64_t b)
{
    if (b == 0 || (b == -1 && a == INT64_MIN)) {
        mw_expand_error(ex, span, "%lld cannot be divided by %lld", (long long)a, (long long)b);
        return mw_term_none();
    }
    if (a % b == 0)
        return mw_term_int(a / b);
    mw_expand_note(ex, mw_span_none(),
                   "for a fraction, write one of them with a point, such as %lld.0", (long long)a);
    mw_expand_error(ex, span, "%lld is not divisible by %lld", (long long)a, (long long)b);
    return mw_term_none();
}

/* The quotient rounded down, or what it leaves. */
static MwTerm divide_down(MwExpander *ex, MwSpan span, MwOp op, int64_t a, int64_t b)
{
    if (b == 0 || (b == -1 && a == INT64_MIN))
        return divide(ex, span, a, b);
    bool is_less = a % b != 0 && (a < 0) != (b < 0);
    return mw_term_int(op == MW_OP_FLOOR_DIV ? a / b - is_less : a % b + (is_less ? b : 0));
}

/* Computes an operator that gives a whole number for whole numbers. False for the other operators,
 * and for a power whose exponent is negative. */
static bool fold_ints(MwExpander *ex, MwSpan span, MwOp op, int64_t a, int64_t b, MwTerm *term)
{
    int64_t result = 0;
    bool fits = true;
    switch (op) {
    case MW_OP_ADD:
        fits = !__builtin_add_overflow(a, b, &result);
        break;
    case MW_OP_SUB:
        fits = !__builtin_sub_overflow(a, b, &result);
        break;
    case MW_OP_MUL:
        fits = !__builtin_mul_overflow(a, b, &result);
        break;
    case MW_OP_NEG:
        fits = !__builtin_sub_overflow(0, a, &result);
        break;
    case MW_OP_ABS:
        fits = !__builtin_sub_overflow(a < 0 ? 0 : a, a < 0 ? a : 0, &result);
        break;
    case MW_OP_DIV:
        *term = divide(ex, span, a, b);
        return true;
    case MW_OP_FLOOR_DIV:
    case MW_OP_MOD:
        *term = divide_down(ex, span, op, a, b);
        return true;
    case MW_OP_SIGN:
        result = (a > 0) - (a < 0);
        break;
    case MW_OP_STOP_GRADIENT:
        result = a;
        break;
    case MW_OP_POW:
        if (b < 0)
            return false;
        fits = int_power(a, b, &result);
        break;
    case MW_OP_MAXIMUM:
        result = mw_max(a, b);
        break;
    case MW_OP_MINIMUM:
        result = mw_min(a, b);
        break;
    default:
        return false;
    }
    *term = mw_term_int(result);
    if (!fits) {
        mw_expand_error(ex, span, "this number does not fit in 64 bits");
        *term = mw_term_none();
    }
    return true;
}

static bool all_of_kind(const MwTerm *terms, int count, bool (*holds)(MwTerm))
{
    for (int i = 0; i < count; i++)
        if (!holds(terms[i]))
            return false;
    return true;
}

static bool is_int(MwTerm term)
{
    return term.kind == MW_TERM_INT;
}

static bool is_bool(MwTerm term)
{
    return term.kind == MW_TERM_BOOL;
}

static MwTerm does_not_apply(MwExpander *ex, MwWant want, const MwTerm *terms, int count)
{
    mw_expand_error(ex, want.span, "%s does not apply to %s%s%s", want.what,
                    mw_term_describe(ex, terms[0]), count > 1 ? " and " : "",
                    count > 1 ? mw_term_describe(ex, terms[1]) : "");
    return mw_term_none();
}

MwTerm mw_fold(MwExpander *ex, MwWant want, MwOp op, const MwTerm *terms, int count)
{
    MwArithmetic kind = mw_arithmetic_kind(op);
    MwTerm a = terms[0], b = count > 1 ? terms[1] : a, term;
    if (!all_of_kind(terms, count, kind == MW_ARITHMETIC_LOGIC ? is_bool : mw_term_is_number))
        return does_not_apply(ex, want, terms, count);
    bool whole = is_int(a) && is_int(b);
    if (kind == MW_ARITHMETIC_LOGIC)
        return mw_term_bool(mw_arithmetic_apply(op, a.b, b.b) != 0);
    if (kind == MW_ARITHMETIC_COMPARE && whole) /* doubles do not tell all of them apart */
        return mw_term_bool(mw_arithmetic_apply(op, (a.i > b.i) - (a.i < b.i), 0) != 0);
    if (whole && fold_ints(ex, want.span, op, a.i, b.i, &term))
        return term;
    double value = mw_arithmetic_apply(op, mw_term_number(a), mw_term_number(b));
    return kind == MW_ARITHMETIC_COMPARE ? mw_term_bool(value != 0) : mw_term_float(value);
}
