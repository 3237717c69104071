/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arithmetic on constants: exact on whole numbers, in double precision on the others. What does not
 * fit or does not divide is an error, never a rounded size. */
#include "frontend/terms/fold.h"

#include "frontend/terms/want.h"

#include <math.h>

bool mw_fold_applies(MwOp op)
{
    switch (op) {
    case MW_OP_ADD:
    case MW_OP_SUB:
    case MW_OP_MUL:
    case MW_OP_DIV:
    case MW_OP_POW:
    case MW_OP_MAXIMUM:
    case MW_OP_MINIMUM:
    case MW_OP_NEG:
    case MW_OP_ABS:
    case MW_OP_EXP:
    case MW_OP_LOG:
    case MW_OP_SQRT:
    case MW_OP_RSQRT:
    case MW_OP_SIN:
    case MW_OP_COS:
    case MW_OP_LT:
    case MW_OP_LE:
    case MW_OP_GT:
    case MW_OP_GE:
    case MW_OP_EQ:
    case MW_OP_NE:
    case MW_OP_AND:
    case MW_OP_OR:
    case MW_OP_NOT:
        return true;
    default:
        return false;
    }
}

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

static MwTerm fold_ints(MwExpander *ex, MwSpan span, MwOp op, int64_t a, int64_t b)
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
        fits = a >= 0 || !__builtin_sub_overflow(0, a, &a);
        result = a;
        break;
    case MW_OP_DIV:
        return divide(ex, span, a, b);
    case MW_OP_POW:
        if (b < 0)
            return mw_term_float(pow((double)a, (double)b));
        fits = int_power(a, b, &result);
        break;
    case MW_OP_MAXIMUM:
        result = mw_max(a, b);
        break;
    case MW_OP_MINIMUM:
        result = mw_min(a, b);
        break;
    default:
        MW_UNREACHABLE();
    }
    if (fits)
        return mw_term_int(result);
    mw_expand_error(ex, span, "this number does not fit in 64 bits");
    return mw_term_none();
}

static double fold_floats(MwOp op, double a, double b)
{
    switch (op) {
    case MW_OP_ADD:
        return a + b;
    case MW_OP_SUB:
        return a - b;
    case MW_OP_MUL:
        return a * b;
    case MW_OP_DIV:
        return a / b;
    case MW_OP_POW:
        return pow(a, b);
    case MW_OP_MAXIMUM:
        return fmax(a, b);
    case MW_OP_MINIMUM:
        return fmin(a, b);
    case MW_OP_NEG:
        return -a;
    case MW_OP_ABS:
        return fabs(a);
    case MW_OP_EXP:
        return exp(a);
    case MW_OP_LOG:
        return log(a);
    case MW_OP_SQRT:
        return sqrt(a);
    case MW_OP_RSQRT:
        return 1 / sqrt(a);
    case MW_OP_SIN:
        return sin(a);
    case MW_OP_COS:
        return cos(a);
    default:
        MW_UNREACHABLE();
    }
}

static bool is_int_operator(MwOp op)
{
    switch (op) {
    case MW_OP_ADD:
    case MW_OP_SUB:
    case MW_OP_MUL:
    case MW_OP_DIV:
    case MW_OP_POW:
    case MW_OP_NEG:
    case MW_OP_ABS:
    case MW_OP_MAXIMUM:
    case MW_OP_MINIMUM:
        return true;
    default:
        return false;
    }
}

static MwTerm fold_compare(MwOp op, double a, double b)
{
    switch (op) {
    case MW_OP_LT:
        return mw_term_bool(a < b);
    case MW_OP_LE:
        return mw_term_bool(a <= b);
    case MW_OP_GT:
        return mw_term_bool(a > b);
    case MW_OP_GE:
        return mw_term_bool(a >= b);
    case MW_OP_EQ:
        return mw_term_bool(a == b);
    case MW_OP_NE:
        return mw_term_bool(a != b);
    default:
        return mw_term_none();
    }
}

static MwTerm fold_logic(MwOp op, bool a, bool b)
{
    return mw_term_bool(op == MW_OP_NOT ? !a : op == MW_OP_AND ? a && b : a || b);
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

MwTerm mw_fold(MwExpander *ex, MwSpan span, MwOp op, const MwTerm *terms, int count)
{
    MwTerm b = count > 1 ? terms[1] : mw_term_int(0);
    bool logic = op == MW_OP_AND || op == MW_OP_OR || op == MW_OP_NOT;
    if (logic && all_of_kind(terms, count, is_bool))
        return fold_logic(op, terms[0].b, count > 1 && b.b);
    if (!logic && all_of_kind(terms, count, mw_term_is_number)) {
        MwTerm compared = fold_compare(op, mw_term_number(terms[0]), mw_term_number(b));
        if (compared.kind != MW_TERM_NONE)
            return compared;
        if (all_of_kind(terms, count, is_int) && is_int_operator(op))
            return fold_ints(ex, span, op, terms[0].i, b.i);
        return mw_term_float(fold_floats(op, mw_term_number(terms[0]), mw_term_number(b)));
    }
    mw_expand_error(ex, span, "%s does not apply to %s%s%s", mw_op_info(op)->name,
                    mw_term_describe(ex, terms[0]), count > 1 ? " and " : "",
                    count > 1 ? mw_term_describe(ex, terms[1]) : "");
    return mw_term_none();
}

MwTerm mw_fold_remainder(MwExpander *ex, MwSpan span, MwTerm a, MwTerm b)
{
    if (a.kind == MW_TERM_NONE || b.kind == MW_TERM_NONE)
        return mw_term_none();
    if (is_int(a) && is_int(b) && a.i >= 0 && b.i > 0)
        return mw_term_int(a.i % b.i);
    mw_expand_error(
        ex, span,
        "%% needs whole numbers, the left at least 0 and the right at least 1, not %s and %s",
        mw_term_describe(ex, a), mw_term_describe(ex, b));
    return mw_term_none();
}
