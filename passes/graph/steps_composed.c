/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The steps of optimizers that are composed of operators. All is in f32; t is the step, from 1, W
 * the weight, G its gradient, rms(X) the root of the mean square of all elements.
 *
 *   factored    b = t ** beta2_decay
 *               rows R and columns C: R += b (mean of G G over the last dimension - R), C likewise
 *               over the last but one; V = R C / max(mean of R over the rows, eps1). A vector has
 *               V += b (G G - V)
 *               U = G / max(sqrt(V), eps1); alpha = max(eps2, rms(W)) min(lr, 1 / sqrt(t))
 *               W = W (1 - lr weight_decay) - alpha U / max(1, rms(U) / d)
 *   orthogonal  M += (1 - momentum) (G - M); D = M, or with Nesterov G + momentum (M - G)
 *               X = D / max(|D|, eps), then five times X = a X + (b A + c A A) X with A = X X'
 *               (Newton and Schulz; for a tall matrix on its transpose)
 *               W = W (1 - lr weight_decay) - lr sqrt(max(1, rows / columns)) X
 *               The products are in the precision of the model */
#include "passes/graph/steps.h"

#include "ir/build.h"

#include <math.h>

static MwValueId add(MwGraph *graph, MwValueId a, MwValueId b)
{
    return mw_build_binary(graph, MW_OP_ADD, a, b);
}

static MwValueId sub(MwGraph *graph, MwValueId a, MwValueId b)
{
    return mw_build_binary(graph, MW_OP_SUB, a, b);
}

static MwValueId mul(MwGraph *graph, MwValueId a, MwValueId b)
{
    return mw_build_binary(graph, MW_OP_MUL, a, b);
}

static MwValueId scale(MwGraph *graph, MwValueId a, double factor)
{
    return mw_step_scalar(graph, MW_OP_MUL, a, factor);
}

/* Assigns W (1 - lr weight_decay) - `move`. */
static MwValueId decay_and_move(const MwWeightStep *s, MwValueId move)
{
    MwGraph *graph = s->graph;
    const double decay = mw_step_decay(s);
    MwValueId old = mw_build_cast(graph, s->weight, MW_F32);
    if (decay != 0)
        old = sub(graph, old, mul(graph, old, scale(graph, s->rate, decay)));
    return mw_step_assign(graph, s->weight, sub(graph, old, move));
}

/* ---- Factored ---- */

static MwValueId rms(MwGraph *graph, MwValueId x)
{
    const double count = (double)mw_tensor_elements(mw_value_tensor(graph, x));
    return mw_build_unary(graph, MW_OP_SQRT, scale(graph, mw_step_squares(graph, x), 1 / count));
}

/* The mean over a dimension, which stays with size 1. */
static MwValueId mean_over(MwGraph *graph, MwValueId x, int dim)
{
    const double count = (double)mw_value_tensor(graph, x)->dim[dim];
    return scale(graph, mw_build_sum(graph, x, 1u << dim, true), 1 / count);
}

/* A state that moves to `value` by the fraction `nearing`; returns what it becomes. */
static MwValueId moving_average(const MwWeightStep *s, const char *suffix, MwValueId value,
                                MwValueId nearing)
{
    MwGraph *graph = s->graph;
    const MwTensor tensor = *mw_value_tensor(graph, value);
    const MwKeptState kept = mw_kept_state(s, suffix, &tensor);
    MwValueId move = mul(graph, sub(graph, value, kept.value), nearing);
    MwValueId average = add(graph, kept.value, move);
    mw_kept_state_assign(s, &kept, average);
    return average;
}

/* V, in the shape of the weight or with sizes 1 where it is the same along a dimension. */
static MwValueId estimate_squares(const MwWeightStep *s, MwValueId gradient, MwValueId nearing)
{
    MwGraph *graph = s->graph;
    MwValueId squares = mul(graph, gradient, gradient);
    const int rank = mw_value_tensor(graph, squares)->rank;
    if (rank < 2)
        return moving_average(s, "v", squares, nearing);
    MwValueId rows = moving_average(s, "row", mean_over(graph, squares, rank - 1), nearing);
    MwValueId columns = moving_average(s, "column", mean_over(graph, squares, rank - 2), nearing);
    MwValueId mean = mean_over(graph, rows, rank - 2);
    mean = mw_step_scalar(graph, MW_OP_MAXIMUM, mean, s->train->option[MW_ATTR_EPS1]);
    return mul(graph, mw_build_binary(graph, MW_OP_DIV, rows, mean), columns);
}

MwValueId mw_step_factored(const MwWeightStep *s)
{
    MwGraph *graph = s->graph;
    const double *option = s->train->option;
    MwValueId gradient = mw_build_cast(graph, s->gradient, MW_F32);
    MwValueId t = mw_build_cast(graph, s->step, MW_F32);
    MwValueId nearing = mw_step_scalar(graph, MW_OP_POW, t, option[MW_ATTR_BETA2_DECAY]);
    MwValueId squares = estimate_squares(s, gradient, nearing);
    const double least = option[MW_ATTR_EPS1] * option[MW_ATTR_EPS1];
    MwValueId root =
        mw_build_unary(graph, MW_OP_RSQRT, mw_step_scalar(graph, MW_OP_MAXIMUM, squares, least));
    MwValueId along = mul(graph, gradient, root);
    MwValueId excess = scale(graph, rms(graph, along), 1 / option[MW_ATTR_D]);
    excess = mw_step_scalar(graph, MW_OP_MAXIMUM, excess, 1);
    MwValueId rate =
        mw_build_binary(graph, MW_OP_MINIMUM, s->rate, mw_build_unary(graph, MW_OP_RSQRT, t));
    MwValueId size =
        mw_step_scalar(graph, MW_OP_MAXIMUM, rms(graph, s->weight), option[MW_ATTR_EPS2]);
    MwValueId alpha = mw_build_binary(graph, MW_OP_DIV, mul(graph, size, rate), excess);
    return decay_and_move(s, mul(graph, along, alpha));
}

/* ---- Orthogonal ---- */

enum { ROUNDS = 5 };
static const double linear = 3.4445, cubic = -4.7750, quintic = 2.0315;

static MwValueId product(MwGraph *graph, const char *equation, MwValueId a, MwValueId b)
{
    MwAttr attr = mw_attr_text(MW_ATTR_EQUATION, mw_intern(graph->interner, equation));
    return mw_build(graph, NULL, MW_OP_EINSUM, (MwValueId[]){a, b}, 2, &attr, 1);
}

/* A matrix with the singular vectors of `direction` and singular values near 1. */
static MwValueId orthogonalize(const MwWeightStep *s, MwValueId direction)
{
    MwGraph *graph = s->graph;
    const MwTensor *tensor = mw_value_tensor(graph, direction);
    const bool is_tall = tensor->dim[0] > tensor->dim[1];
    MwValueId norm = mw_build_unary(graph, MW_OP_SQRT, mw_step_squares(graph, direction));
    norm = mw_step_scalar(graph, MW_OP_MAXIMUM, norm, s->train->option[MW_ATTR_EPS]);
    MwValueId x = mw_build_binary(graph, MW_OP_DIV, direction, norm);
    x = mw_build_cast(graph, x, MW_F32);
    const MwTensor one = mw_tensor_scalar(MW_F32);
    MwValueId factors[] = {mw_build_constant(graph, &one, linear),
                           mw_build_constant(graph, &one, cubic),
                           mw_build_constant(graph, &one, quintic)};
    for (int i = 0; i < ROUNDS; i++) {
        MwValueId gram = product(graph, is_tall ? "ab,ac->bc" : "ab,cb->ac", x, x);
        MwValueId square = product(graph, "ab,bc->ac", gram, gram);
        MwValueId sum = add(graph, mul(graph, gram, factors[1]), mul(graph, square, factors[2]));
        MwValueId turned =
            is_tall ? product(graph, "ab,bc->ac", x, sum) : product(graph, "ab,bc->ac", sum, x);
        x = add(graph, mul(graph, x, factors[0]), turned);
    }
    return x;
}

static bool check_matrix(const MwWeightStep *s)
{
    const MwValue *weight = mw_value(s->graph, s->weight);
    char type[MW_TENSOR_TEXT_BYTES];
    if (weight->tensor.rank == 2)
        return true;
    mw_diag_error(s->diags, s->train->span,
                  "%s steps matrices, and '%s' is %s: train it by another statement, and say with "
                  "'only' which weights each has",
                  mw_optimizer_info(s->train->optimizer)->source, weight->name,
                  mw_tensor_text(&weight->tensor, type));
    mw_diag_note(s->diags, mw_node(s->graph, weight->node)->origin.span, "it is this weight");
    return false;
}

MwValueId mw_step_orthogonal(const MwWeightStep *s)
{
    MwGraph *graph = s->graph;
    if (!check_matrix(s))
        return s->weight;
    const double momentum = s->train->option[MW_ATTR_MOMENTUM];
    const MwTensor tensor = *mw_value_tensor(graph, s->weight);
    MwValueId gradient = mw_build_cast(graph, s->gradient, MW_F32);
    MwValueId direction = moving_average(s, "m", gradient, mw_build_scalar(graph, 1 - momentum));
    if (s->train->option[MW_ATTR_NESTEROV] != 0) {
        MwValueId ahead = scale(graph, sub(graph, direction, gradient), momentum);
        direction = add(graph, gradient, ahead);
    }
    const double ratio = sqrt(fmax(1, (double)tensor.dim[0] / (double)tensor.dim[1]));
    MwValueId move = mul(graph, orthogonalize(s, direction), scale(graph, s->rate, ratio));
    return decay_and_move(s, move);
}
