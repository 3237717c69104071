/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sources that are computed, element-wise operators, and the updates of optimizers. */
#include "base/philox.h"
#include "tests/reference/evaluate_rules.h"

/* Returns the element of operand `k` that broadcasts to the element of the result with index `at`.
 * */
static double broadcast_element(const Eval *e, int k, const int64_t at[MW_MAX_RANK])
{
    const MwTensor *operand = eval_in(e, k), *result = eval_out(e, 0);
    int64_t offset = 0;
    for (int d = 0; d < operand->rank; d++) {
        int64_t index = at[d + result->rank - operand->rank];
        offset = offset * operand->dim[d] + (operand->dim[d] == 1 ? 0 : index);
    }
    return e->in[k][offset];
}

static double gauss_cdf(double x)
{
    return 0.5 * erfc(-x / sqrt(2));
}

static double gauss_density(double x)
{
    return exp(-x * x / 2) / sqrt(2 * M_PI);
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* The tanh approximation of GELU: Hendrycks and Gimpel 2016. */
static double gelu_tanh(double x)
{
    return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

static double gelu_tanh_slope(double x)
{
    double t = tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
    double inner = sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner;
}

static double negative(double x)
{
    return -x;
}

static double rsqrt(double x)
{
    return 1 / sqrt(x);
}

static double relu(double x)
{
    return eval_greater(x, 0);
}

static double gelu(double x)
{
    return x * gauss_cdf(x);
}

static double silu(double x)
{
    return x * sigmoid(x);
}

static double softplus(double x)
{
    return eval_greater(x, 0) + log1p(exp(-fabs(x)));
}

static double sign(double x)
{
    return isnan(x) ? x : (x > 0) - (x < 0);
}

static double is_nan(double x)
{
    return isnan(x);
}

static double is_zero(double x)
{
    return x == 0;
}

static double same(double x)
{
    return x;
}

static double (*const unary[MW_OP_COUNT])(double x) = {
    [MW_OP_NEG] = negative,
    [MW_OP_ABS] = fabs,
    [MW_OP_EXP] = exp,
    [MW_OP_LOG] = log,
    [MW_OP_SQRT] = sqrt,
    [MW_OP_RSQRT] = rsqrt,
    [MW_OP_SIN] = sin,
    [MW_OP_COS] = cos,
    [MW_OP_TANH] = tanh,
    [MW_OP_ERF] = erf,
    [MW_OP_SIGMOID] = sigmoid,
    [MW_OP_RELU] = relu,
    [MW_OP_GELU] = gelu,
    [MW_OP_GELU_TANH] = gelu_tanh,
    [MW_OP_SILU] = silu,
    [MW_OP_SOFTPLUS] = softplus,
    [MW_OP_EXPM1] = expm1,
    [MW_OP_LOG1P] = log1p,
    [MW_OP_TAN] = tan,
    [MW_OP_SIGN] = sign,
    [MW_OP_FLOOR] = floor,
    [MW_OP_CEIL] = ceil,
    [MW_OP_ROUND] = rint,
    [MW_OP_ISNAN] = is_nan,
    [MW_OP_NOT] = is_zero,
    [MW_OP_IDENTITY] = same,
    [MW_OP_STOP_GRADIENT] = same,
    [MW_OP_TO_HOST] = same,
    [MW_OP_TO_DEVICE] = same,
    [MW_OP_BROADCAST] = same,
};

/* The range of an integer type, as the power of two that it has values for, and its least value. */
static double count_of(MwType type, double *least)
{
    const double count = pow(2, 8 * mw_type_bytes(type));
    *least = mw_type_kind(type) == MW_TYPE_UNSIGNED ? 0 : -count / 2;
    return count;
}

/* The value of the type with the same low bits as the whole number x. */
static double wrapped(double x, MwType type)
{
    double least, count;
    if (!mw_type_is_integer(type))
        return x;
    count = count_of(type, &least);
    return x - count * floor((x - least) / count);
}

static double cast(double x, MwType from, MwType to)
{
    double least, count;
    if (to == MW_BOOL)
        return x != 0;
    if (!mw_type_is_integer(to) || !mw_type_is_float(from))
        return wrapped(x, to);
    count = count_of(to, &least);
    return isnan(x) ? 0 : fmax(least, fmin(least + count - 1, trunc(x)));
}

static bool map_unary(const Eval *e, double x, double *y)
{
    if (e->node->op == MW_OP_CAST)
        return *y = cast(x, eval_in(e, 0)->type, eval_out(e, 0)->type), true;
    if (!unary[e->node->op])
        return false;
    *y = unary[e->node->op](x);
    return true;
}

/* a - b (a // b), which lies between 0 and b */
static double modulo(const Eval *e, double a, double b)
{
    if (b == 0)
        return mw_type_is_integer(eval_out(e, 0)->type) ? 0 : NAN;
    double left = fmod(a, b);
    return left * b < 0 ? left + b : left;
}

static double floor_div(const Eval *e, double a, double b)
{
    if (b == 0)
        return mw_type_is_integer(eval_out(e, 0)->type) ? 0 : a / b;
    if (isinf(b) && isfinite(a))
        return a * b < 0 ? -1 : 0;
    return nearbyint((a - modulo(e, a, b)) / b);
}

static double scale_to(double most, double top, double old)
{
    if (!(top > 0) || isinf(top))
        return old;
    return ldexp(1, (int)fmax(-60, fmin(60, floor(log2(most / top)))));
}

static bool map_binary(const Eval *e, double a, double b, double *y)
{
    switch (e->node->op) {
    case MW_OP_ADD:
    case MW_OP_ACCUMULATE:
        return *y = a + b, true;
    case MW_OP_SUB:
        return *y = a - b, true;
    case MW_OP_MUL:
        return *y = a * b, true;
    case MW_OP_DIV:
        return *y = a / b, true;
    case MW_OP_MAXIMUM:
    case MW_OP_ACCUMULATE_MAX:
        return *y = eval_greater(a, b), true;
    case MW_OP_MINIMUM:
        return *y = -eval_greater(-a, -b), true;
    case MW_OP_SCALE_TO:
        return *y = scale_to(mw_node_float(e->node, MW_ATTR_VALUE), a, b), true;
    case MW_OP_POW:
        return *y = pow(a, b), true;
    case MW_OP_ATAN2:
        return *y = atan2(a, b), true;
    case MW_OP_FLOOR_DIV:
        return *y = floor_div(e, a, b), true;
    case MW_OP_MOD:
        return *y = modulo(e, a, b), true;
    case MW_OP_GELU_GRAD:
        return *y = (gauss_cdf(a) + a * gauss_density(a)) * b, true;
    case MW_OP_GELU_TANH_GRAD:
        return *y = gelu_tanh_slope(a) * b, true;
    case MW_OP_SILU_GRAD:
        return *y = sigmoid(a) * (1 + a * (1 - sigmoid(a))) * b, true;
    case MW_OP_LT:
        return *y = a < b, true;
    case MW_OP_LE:
        return *y = a <= b, true;
    case MW_OP_GT:
        return *y = a > b, true;
    case MW_OP_GE:
        return *y = a >= b, true;
    case MW_OP_EQ:
        return *y = a == b, true;
    case MW_OP_NE:
        return *y = a != b, true;
    case MW_OP_AND:
        return *y = a != 0 && b != 0, true;
    case MW_OP_OR:
        return *y = a != 0 || b != 0, true;
    default:
        return false;
    }
}

static bool map_element(const Eval *e, const int64_t at[MW_MAX_RANK], double *y)
{
    int operands = e->node->operand_count;
    if (operands == 1)
        return map_unary(e, broadcast_element(e, 0, at), y);
    if (operands == 2)
        return map_binary(e, broadcast_element(e, 0, at), broadcast_element(e, 1, at), y);
    if (e->node->op != MW_OP_SELECT)
        return false;
    *y = broadcast_element(e, broadcast_element(e, 0, at) != 0 ? 1 : 2, at);
    return true;
}

/* Row-major index, in the global tensor, of the element of `local` at `at`. */
static uint64_t global_index(const Eval *e, const MwTensor *local, const int64_t at[MW_MAX_RANK])
{
    const MwAttr *origin = mw_node_attr(e->node, MW_ATTR_ORIGIN);
    uint64_t index = 0;
    for (int d = 0; d < local->rank; d++) {
        int64_t size = origin->ints.count ? origin->ints.at[d] : local->dim[d];
        index = index * (uint64_t)size + (uint64_t)(eval_origin(e, local, d) + at[d]);
    }
    return index;
}

static uint64_t stream_of(const Eval *e)
{
    return mw_step_stream((uint32_t)mw_node_int(e->node, MW_ATTR_KEY), (uint32_t)e->place->step);
}

static void dropout(const Eval *e)
{
    double rate = mw_node_float(e->node, MW_ATTR_RATE);
    uint64_t stream = stream_of(e);
    for (int64_t i = 0; i < mw_tensor_elements(eval_out(e, 0)); i++) {
        int64_t at[MW_MAX_RANK];
        eval_index(eval_out(e, 0), i, at);
        bool keeps = mw_dropout_keeps(e->place->seed, stream, global_index(e, eval_out(e, 0), at),
                                      mw_dropout_threshold(rate));
        e->out[0][i] = keeps ? e->in[0][i] * (double)mw_dropout_scale(rate) : 0;
    }
}

/* The number of the type at or next to x on the side of zero, plus the distance to the one on the
 * other side if that is less than `u` of it away from 1. */
static double rounded_stochastically(double x, double u, MwType type)
{
    static const struct {
        MwType type;
        int fraction, least; /* bits, and the exponent of the least normal number */
    } formats[] = {{MW_BF16, 7, -126}, {MW_F16, 10, -14}, {MW_E4M3, 3, -6}, {MW_E5M2, 2, -14}};
    int i = 0, exponent;
    while (formats[i].type != type)
        i++;
    frexp(x, &exponent);
    const int least = formats[i].least;
    const double unit =
        ldexp(1, (exponent - 1 < least ? least : exponent - 1) - formats[i].fraction);
    const double whole = floor(fabs(x) / unit);
    return copysign((whole + (fabs(x) / unit - whole + u >= 1)) * unit, x);
}

static void cast_stochastic(const Eval *e)
{
    const MwTensor *result = eval_out(e, 0);
    for (int64_t i = 0; i < mw_tensor_elements(result); i++) {
        int64_t at[MW_MAX_RANK];
        eval_index(result, i, at);
        const double u = mw_step_uniform(e->place->seed, stream_of(e), global_index(e, result, at));
        const double x = e->in[0][i];
        e->out[0][i] = isfinite(x) ? rounded_stochastically(x, u, result->type) : x;
    }
}

bool eval_map(const Eval *e)
{
    if (e->node->op == MW_OP_DROPOUT)
        return dropout(e), true;
    if (e->node->op == MW_OP_CAST_STOCHASTIC)
        return cast_stochastic(e), true;
    bool is_map = mw_op_info(e->node->op)->lowering == MW_LOWER_MAP ||
                  e->node->op == MW_OP_IDENTITY || e->node->op == MW_OP_TO_HOST ||
                  e->node->op == MW_OP_TO_DEVICE;
    if (!is_map || e->node->result_count != 1 || !e->node->operand_count)
        return false;
    for (int64_t i = 0; i < mw_tensor_elements(eval_out(e, 0)); i++) {
        int64_t at[MW_MAX_RANK];
        eval_index(eval_out(e, 0), i, at);
        if (!map_element(e, at, &e->out[0][i]))
            return false;
        if (e->node->op != MW_OP_CAST)
            e->out[0][i] = wrapped(e->out[0][i], eval_out(e, 0)->type);
    }
    return true;
}

static void iota(const Eval *e)
{
    const MwTensor *result = eval_out(e, 0);
    int axis = (int)mw_node_int(e->node, MW_ATTR_AXIS);
    for (int64_t i = 0; i < mw_tensor_elements(result); i++) {
        int64_t at[MW_MAX_RANK];
        eval_index(result, i, at);
        e->out[0][i] = wrapped((double)(eval_origin(e, result, axis) + at[axis]), result->type);
    }
}

static void uniform(const Eval *e)
{
    const MwTensor *result = eval_out(e, 0);
    for (int64_t i = 0; i < mw_tensor_elements(result); i++) {
        int64_t at[MW_MAX_RANK];
        eval_index(result, i, at);
        e->out[0][i] = mw_step_uniform(e->place->seed, stream_of(e), global_index(e, result, at));
    }
}

bool eval_source(const Eval *e)
{
    switch (e->node->op) {
    case MW_OP_STEP:
        e->out[0][0] = (double)e->place->step;
        return true;
    case MW_OP_CONSTANT:
        for (int64_t i = 0; i < mw_tensor_elements(eval_out(e, 0)); i++)
            e->out[0][i] = mw_node_float(e->node, MW_ATTR_VALUE);
        return true;
    case MW_OP_IOTA:
        iota(e);
        return true;
    case MW_OP_UNIFORM:
        uniform(e);
        return true;
    default:
        return false;
    }
}

/* Kingma and Ba 2015, algorithm 1; `decoupled`: Loshchilov and Hutter 2019, algorithm 2. */
static void adam(const Eval *e, bool decoupled)
{
    double beta1 = mw_node_float(e->node, MW_ATTR_BETA1);
    double beta2 = mw_node_float(e->node, MW_ATTR_BETA2);
    double eps = mw_node_float(e->node, MW_ATTR_EPS);
    double decay = mw_node_float(e->node, MW_ATTR_WEIGHT_DECAY);
    double rate = e->in[4][0], step = e->in[5][0];
    for (int64_t i = 0; i < mw_tensor_elements(eval_out(e, 0)); i++) {
        double w = e->in[0][i];
        double g = e->in[1][i] + (decoupled ? 0 : decay * w);
        double m = beta1 * e->in[2][i] + (1 - beta1) * g;
        double v = beta2 * e->in[3][i] + (1 - beta2) * g * g;
        double direction = m / (1 - pow(beta1, step)) / (sqrt(v / (1 - pow(beta2, step))) + eps);
        e->out[0][i] = w - rate * (direction + (decoupled ? decay * w : 0));
        e->out[1][i] = m;
        e->out[2][i] = v;
    }
}

/* You et al. 2020, algorithm 2: lr (r + decay w), before it is scaled. */
static void lamb(const Eval *e)
{
    double beta1 = mw_node_float(e->node, MW_ATTR_BETA1);
    double beta2 = mw_node_float(e->node, MW_ATTR_BETA2);
    double eps = mw_node_float(e->node, MW_ATTR_EPS);
    double decay = mw_node_float(e->node, MW_ATTR_WEIGHT_DECAY);
    double rate = e->in[4][0], step = e->in[5][0];
    for (int64_t i = 0; i < mw_tensor_elements(eval_out(e, 0)); i++) {
        double m = beta1 * e->in[2][i] + (1 - beta1) * e->in[1][i];
        double v = beta2 * e->in[3][i] + (1 - beta2) * e->in[1][i] * e->in[1][i];
        double r = m / (1 - pow(beta1, step)) / (sqrt(v / (1 - pow(beta2, step))) + eps);
        e->out[0][i] = rate * (r + decay * e->in[0][i]);
        e->out[1][i] = m;
        e->out[2][i] = v;
    }
}

/* The decay is added to the gradient; m = momentum m + g; Nesterov's steps along g + momentum m. */
static void sgd(const Eval *e)
{
    double momentum = mw_node_float(e->node, MW_ATTR_MOMENTUM);
    double decay = mw_node_float(e->node, MW_ATTR_WEIGHT_DECAY);
    bool nesterov = mw_node_int(e->node, MW_ATTR_NESTEROV);
    double rate = e->in[3][0];
    for (int64_t i = 0; i < mw_tensor_elements(eval_out(e, 0)); i++) {
        double g = e->in[1][i] + decay * e->in[0][i];
        double m = momentum * e->in[2][i] + g;
        e->out[0][i] = e->in[0][i] - rate * (nesterov ? g + momentum * m : m);
        e->out[1][i] = m;
    }
}

/* The same without momentum. */
static void descent(const Eval *e)
{
    double decay = mw_node_float(e->node, MW_ATTR_WEIGHT_DECAY);
    double rate = e->in[2][0];
    for (int64_t i = 0; i < mw_tensor_elements(eval_out(e, 0)); i++)
        e->out[0][i] = e->in[0][i] - rate * (e->in[1][i] + decay * e->in[0][i]);
}

/* Chen et al. 2023, algorithm 2. */
static void lion(const Eval *e)
{
    double beta1 = mw_node_float(e->node, MW_ATTR_BETA1);
    double beta2 = mw_node_float(e->node, MW_ATTR_BETA2);
    double decay = mw_node_float(e->node, MW_ATTR_WEIGHT_DECAY);
    double rate = e->in[3][0];
    for (int64_t i = 0; i < mw_tensor_elements(eval_out(e, 0)); i++) {
        double w = e->in[0][i], g = e->in[1][i], m = e->in[2][i];
        double along = beta1 * m + (1 - beta1) * g;
        e->out[0][i] = w - rate * ((along > 0) - (along < 0) + decay * w);
        e->out[1][i] = beta2 * m + (1 - beta2) * g;
    }
}

/* v is a moving average of the squares of the decayed gradients, m = momentum m + step. */
static void rmsprop(const Eval *e, bool has_momentum)
{
    double momentum = has_momentum ? mw_node_float(e->node, MW_ATTR_MOMENTUM) : 0;
    double alpha = mw_node_float(e->node, MW_ATTR_ALPHA);
    double eps = mw_node_float(e->node, MW_ATTR_EPS);
    double decay = mw_node_float(e->node, MW_ATTR_WEIGHT_DECAY);
    double rate = e->in[has_momentum ? 4 : 3][0];
    for (int64_t i = 0; i < mw_tensor_elements(eval_out(e, 0)); i++) {
        double g = e->in[1][i] + decay * e->in[0][i];
        double v = alpha * e->in[2][i] + (1 - alpha) * g * g;
        double m = (has_momentum ? momentum * e->in[3][i] : 0) + g / (sqrt(v) + eps);
        e->out[0][i] = e->in[0][i] - rate * m;
        e->out[1][i] = v;
        if (has_momentum)
            e->out[2][i] = m;
    }
}

/* v is the sum of the squares of the decayed gradients. */
static void adagrad(const Eval *e)
{
    double eps = mw_node_float(e->node, MW_ATTR_EPS);
    double decay = mw_node_float(e->node, MW_ATTR_WEIGHT_DECAY);
    double rate = e->in[3][0];
    for (int64_t i = 0; i < mw_tensor_elements(eval_out(e, 0)); i++) {
        double g = e->in[1][i] + decay * e->in[0][i];
        double v = e->in[2][i] + g * g;
        e->out[0][i] = e->in[0][i] - rate * g / (sqrt(v) + eps);
        e->out[1][i] = v;
    }
}

bool eval_update(const Eval *e)
{
    switch (e->node->op) {
    case MW_OP_LAMB:
        return lamb(e), true;
    case MW_OP_LION:
        return lion(e), true;
    case MW_OP_RMSPROP_MOMENTUM:
        return rmsprop(e, true), true;
    case MW_OP_RMSPROP:
        return rmsprop(e, false), true;
    case MW_OP_ADAGRAD:
        return adagrad(e), true;
    case MW_OP_ADAM:
        return adam(e, false), true;
    case MW_OP_ADAMW:
        return adam(e, true), true;
    case MW_OP_SGD:
        return sgd(e), true;
    case MW_OP_DESCENT:
        return descent(e), true;
    default:
        return false;
    }
}
