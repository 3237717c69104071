/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Element-wise operators, and ranges, of constants. */
#include "frontend/onnx/fold.h"

#include "frontend/onnx/shapes.h"

#include <math.h>
#include <string.h>

/* Bounds of one constant that is computed, of all, and of the elements that are read for them. */
static const int64_t MAX_ELEMENTS = (int64_t)1 << 22, MAX_BYTES = (int64_t)1 << 28;
static const int64_t MAX_WORK = (int64_t)1 << 31;

MwOnnxTensor *mw_onnx_fold_new(MwOnnxImport *import, MwType type, int rank, const int64_t *dim)
{
    int64_t count;
    if (rank > MW_MAX_RANK || !mw_onnx_count(rank, dim, &count) || count > MAX_ELEMENTS)
        return NULL;
    import->folded_bytes += count * mw_type_bytes(type);
    import->folded_work += count;
    if (import->folded_bytes > MAX_BYTES)
        return NULL;
    return mw_onnx_tensor_new(import->arena, type, rank, dim);
}

bool mw_onnx_fold(MwOnnxImport *import, const MwOnnxNode *node, MwOnnxFold fold)
{
    if (!fold || node->output_count != 1 || node->input_count == 0)
        return false;
    for (int i = 0; i < node->input_count; i++) {
        const MwOnnxValue *value = node->inputs[i];
        if (value && (!value->constant || value->is_weight))
            return false;
        import->folded_work += value ? value->constant->count : 0;
    }
    if (import->folded_work > MAX_WORK)
        return false;
    const MwOnnxTensor *result = fold(import, node);
    return result && mw_onnx_set_constant(import, node, 0, result);
}

static const MwOnnxTensor *constant_of(const MwOnnxNode *node, int i)
{
    const MwOnnxValue *value = mw_onnx_input(node, i);
    return value ? value->constant : NULL;
}

/* Elements of a result are written while it is made. */
static void *data_of(MwOnnxTensor *tensor)
{
    return (void *)(uintptr_t)tensor->data;
}

/* ---- One operand ---- */

static double sign_of(double x)
{
    return x > 0 ? 1 : x < 0 ? -1 : 0;
}
static double sigmoid_of(double x)
{
    return 1 / (1 + exp(-x));
}
static double reciprocal_of(double x)
{
    return 1 / x;
}
static double negative_of(double x)
{
    return -x;
}
static double not_of(double x)
{
    return x == 0;
}
static double isnan_of(double x)
{
    return x != x;
}
static double relu_of(double x)
{
    return x < 0 ? 0 : x;
}
static double same_of(double x)
{
    return x;
}
static int64_t negative_integer(int64_t x)
{
    return (int64_t) - (uint64_t)x;
}
static int64_t absolute_integer(int64_t x)
{
    return x < 0 ? negative_integer(x) : x;
}
static int64_t sign_integer(int64_t x)
{
    return (x > 0) - (x < 0);
}
static int64_t relu_integer(int64_t x)
{
    return x < 0 ? 0 : x;
}
static int64_t not_integer(int64_t x)
{
    return x == 0;
}

static const struct {
    const char *op;
    double (*of)(double);
    int64_t (*of_integer)(int64_t); /* NULL: it is for floats */
    bool gives_bool;
} unary[] = {
    {"Neg", negative_of, negative_integer, false},
    {"Abs", fabs, absolute_integer, false},
    {"Sqrt", sqrt, NULL, false},
    {"Exp", exp, NULL, false},
    {"Log", log, NULL, false},
    {"Floor", floor, NULL, false},
    {"Ceil", ceil, NULL, false},
    {"Round", rint, NULL, false},
    {"Erf", erf, NULL, false},
    {"Tanh", tanh, NULL, false},
    {"Sin", sin, NULL, false},
    {"Cos", cos, NULL, false},
    {"Reciprocal", reciprocal_of, NULL, false},
    {"Sign", sign_of, sign_integer, false},
    {"Sigmoid", sigmoid_of, NULL, false},
    {"Relu", relu_of, relu_integer, false},
    {"Not", not_of, not_integer, true},
    {"IsNaN", isnan_of, NULL, true},
    {"Identity", same_of, NULL, false},
};

const MwOnnxTensor *mw_onnx_fold_unary(MwOnnxImport *import, const MwOnnxNode *node)
{
    const MwOnnxTensor *x = constant_of(node, 0);
    int row = 0;
    while (row < MW_COUNT(unary) && strcmp(unary[row].op, node->op) != 0)
        row++;
    MW_ASSERT(row < MW_COUNT(unary));
    if (!x || unary[row].of == same_of)
        return x;
    const bool is_float = mw_type_is_float(x->type);
    if (!is_float && !unary[row].of_integer)
        return NULL;
    for (int64_t i = 0; x->symbolic && i < x->count; i++)
        mw_onnx_fix(import, &x->symbolic[i]);
    MwOnnxTensor *result =
        mw_onnx_fold_new(import, unary[row].gives_bool ? MW_BOOL : x->type, x->rank, x->dim);
    for (int64_t i = 0; result && i < x->count; i++)
        if (is_float)
            mw_element_put(result->type, data_of(result), i, unary[row].of(mw_onnx_number(x, i)));
        else
            mw_element_put_integer(result->type, data_of(result), i,
                                   unary[row].of_integer(mw_onnx_integer(x, i)));
    return result;
}

/* ---- Two operands ---- */

typedef enum {
    ADD,
    SUB,
    MUL,
    DIV,
    MOD,
    POW,
    MIN,
    MAX,
    EQUAL,
    LESS,
    GREATER,
    LEAST,
    MOST,
    AND,
    OR,
    XOR
} Binary;

static const struct {
    const char *op;
    Binary binary;
    bool gives_bool;
} binaries[] = {
    {"Add", ADD, false},
    {"Sub", SUB, false},
    {"Mul", MUL, false},
    {"Div", DIV, false},
    {"Mod", MOD, false},
    {"Pow", POW, false},
    {"Min", MIN, false},
    {"Max", MAX, false},
    {"Equal", EQUAL, true},
    {"Less", LESS, true},
    {"Greater", GREATER, true},
    {"LessOrEqual", MOST, true},
    {"GreaterOrEqual", LEAST, true},
    {"And", AND, true},
    {"Or", OR, true},
    {"Xor", XOR, true},
};

static double of_numbers(Binary binary, double a, double b)
{
    switch (binary) {
    case ADD:
        return a + b;
    case SUB:
        return a - b;
    case MUL:
        return a * b;
    case DIV:
        return a / b;
    case MOD:
        return a - b * floor(a / b);
    case POW:
        return pow(a, b);
    case MIN:
        return a < b || a != a ? a : b;
    case MAX:
        return a > b || a != a ? a : b;
    case EQUAL:
        return a == b;
    case LESS:
        return a < b;
    case GREATER:
        return a > b;
    case LEAST:
        return a >= b;
    case MOST:
        return a <= b;
    case AND:
        return a != 0 && b != 0;
    case OR:
        return a != 0 || b != 0;
    case XOR:
        return (a != 0) != (b != 0);
    }
    MW_UNREACHABLE();
}

/* The quotient without its fraction, and what is left with the sign of b; false for b = 0. */
static bool divide(Binary binary, int64_t a, int64_t b, int64_t *result)
{
    if (b == 0 || (a == INT64_MIN && b == -1))
        return false;
    const int64_t rest = a % b;
    *result = binary == DIV ? a / b : rest && (rest < 0) != (b < 0) ? rest + b : rest;
    return true;
}

static bool of_integers(Binary binary, int64_t a, int64_t b, int64_t *result)
{
    switch (binary) {
    case ADD:
        *result = (int64_t)((uint64_t)a + (uint64_t)b);
        return true;
    case SUB:
        *result = (int64_t)((uint64_t)a - (uint64_t)b);
        return true;
    case MUL:
        *result = (int64_t)((uint64_t)a * (uint64_t)b);
        return true;
    case DIV:
    case MOD:
        return divide(binary, a, b, result);
    case POW: {
        const double power = pow((double)a, (double)b);
        if (!(fabs(power) < 0x1p53))
            return false;
        *result = (int64_t)power;
        return true;
    }
    case MIN:
        *result = a < b ? a : b;
        return true;
    case MAX:
        *result = a > b ? a : b;
        return true;
    case EQUAL:
        *result = a == b;
        return true;
    case LESS:
        *result = a < b;
        return true;
    case GREATER:
        *result = a > b;
        return true;
    case LEAST:
        *result = a >= b;
        return true;
    case MOST:
        *result = a <= b;
        return true;
    case AND:
    case OR:
    case XOR:
        *result = (int64_t)of_numbers(binary, (double)a, (double)b);
        return true;
    }
    MW_UNREACHABLE();
}

/* Where element i of a result lies in an operand that is broadcast to it. */
static int64_t place_in(const MwOnnxTensor *operand, const MwOnnxTensor *result, int64_t i)
{
    int64_t place = 0, stride = 1;
    for (int d = result->rank - 1; d >= 0; d--) {
        const int at = d - (result->rank - operand->rank);
        if (at >= 0) {
            place += operand->dim[at] == 1 ? 0 : i % result->dim[d] * stride;
            stride *= operand->dim[at];
        }
        i /= result->dim[d];
    }
    return place;
}

static MwOnnxDim dim_of(const MwOnnxTensor *tensor, int64_t i)
{
    return tensor->symbolic ? tensor->symbolic[i] : mw_onnx_dim(mw_onnx_integer(tensor, i));
}

/* An element of a result that depends on symbols. What is no polynomial of them fixes them, unless
 * it compares a size with a number that no size can be. */
static MwOnnxDim of_dims(MwOnnxImport *import, Binary binary, const MwOnnxDim *a,
                         const MwOnnxDim *b)
{
    MwOnnxDim result = mw_onnx_dim(0);
    const bool known = (binary == ADD && mw_onnx_dim_add(a, b, &result)) ||
                       (binary == SUB && mw_onnx_dim_sub(a, b, &result)) ||
                       (binary == MUL && mw_onnx_dim_mul(a, b, &result)) ||
                       (binary == DIV && mw_onnx_dim_div(a, b, &result));
    if (known)
        return result;
    const bool never =
        binary == EQUAL &&
        ((mw_onnx_dim_is_positive(a) && mw_onnx_dim_is_constant(b) && b->value < 1) ||
         (mw_onnx_dim_is_positive(b) && mw_onnx_dim_is_constant(a) && a->value < 1));
    if (!never && !mw_onnx_dim_equal(a, b)) {
        mw_onnx_fix(import, a);
        mw_onnx_fix(import, b);
    }
    int64_t value = 0;
    of_integers(binary, a->value, b->value, &value);
    return mw_onnx_dim(value);
}

static bool shape_of_both(MwOnnxImport *import, const MwOnnxNode *node, const MwOnnxTensor *a,
                          const MwOnnxTensor *b, MwOnnxShape *shape)
{
    MwOnnxShape of_a = {.type = a->type, .rank = a->rank}, of_b = {.rank = b->rank};
    for (int i = 0; i < a->rank; i++)
        of_a.dim[i] = mw_onnx_dim(a->dim[i]);
    for (int i = 0; i < b->rank; i++)
        of_b.dim[i] = mw_onnx_dim(b->dim[i]);
    return mw_onnx_shape_broadcast(import, node, &of_a, &of_b, shape);
}

static MwOnnxTensor *broadcast_result(MwOnnxImport *import, const MwOnnxNode *node, MwType type,
                                      const MwOnnxTensor *a, const MwOnnxTensor *b)
{
    MwOnnxShape shape;
    int64_t dim[MW_MAX_RANK];
    if (!shape_of_both(import, node, a, b, &shape))
        return NULL;
    for (int i = 0; i < shape.rank; i++)
        dim[i] = shape.dim[i].value;
    return mw_onnx_fold_new(import, type, shape.rank, dim);
}

static const MwOnnxTensor *symbolic_binary(MwOnnxImport *import, Binary binary,
                                           const MwOnnxTensor *a, const MwOnnxTensor *b,
                                           MwOnnxTensor *result)
{
    MwOnnxDim *dims = MW_NEW(import->arena, MwOnnxDim, result->count);
    bool symbolic = false;
    for (int64_t i = 0; i < result->count; i++) {
        const MwOnnxDim x = dim_of(a, place_in(a, result, i)),
                        y = dim_of(b, place_in(b, result, i));
        dims[i] = of_dims(import, binary, &x, &y);
        symbolic |= !mw_onnx_dim_is_constant(&dims[i]);
        mw_element_put_integer(result->type, data_of(result), i, dims[i].value);
    }
    result->symbolic = symbolic ? dims : NULL;
    return result;
}

static const MwOnnxTensor *fold_two(MwOnnxImport *import, const MwOnnxNode *node, int row,
                                    const MwOnnxTensor *a, const MwOnnxTensor *b)
{
    enum { MOST_SYMBOLIC = 4096 };
    const Binary binary = binaries[row].binary;
    const MwType type = binaries[row].gives_bool ? MW_BOOL : a->type;
    MwOnnxTensor *result = broadcast_result(import, node, type, a, b);
    if (!result)
        return NULL;
    const bool symbolic = a->symbolic || b->symbolic;
    if (symbolic &&
        (result->count > MOST_SYMBOLIC || mw_type_is_float(a->type) || mw_type_is_float(b->type)))
        return NULL;
    if (symbolic)
        return symbolic_binary(import, binary, a, b, result);
    const bool floats = mw_type_is_float(a->type) || mw_type_is_float(b->type);
    for (int64_t i = 0; i < result->count; i++) {
        const int64_t x = place_in(a, result, i), y = place_in(b, result, i);
        int64_t value;
        if (floats)
            mw_element_put(type, data_of(result), i,
                           of_numbers(binary, mw_onnx_number(a, x), mw_onnx_number(b, y)));
        else if (of_integers(binary, mw_onnx_integer(a, x), mw_onnx_integer(b, y), &value))
            mw_element_put_integer(type, data_of(result), i, value);
        else
            return NULL;
    }
    return result;
}

const MwOnnxTensor *mw_onnx_fold_binary(MwOnnxImport *import, const MwOnnxNode *node)
{
    int row = 0;
    while (row < MW_COUNT(binaries) && strcmp(binaries[row].op, node->op) != 0)
        row++;
    MW_ASSERT(row < MW_COUNT(binaries));
    if (binaries[row].binary == MOD && mw_onnx_int_of(node, "fmod", 0))
        return NULL;
    const MwOnnxTensor *result = constant_of(node, 0);
    for (int i = 1; result && i < node->input_count; i++)
        result =
            constant_of(node, i) ? fold_two(import, node, row, result, constant_of(node, i)) : NULL;
    return result;
}

/* ---- Other element-wise operators ---- */

const MwOnnxTensor *mw_onnx_fold_where(MwOnnxImport *import, const MwOnnxNode *node)
{
    const MwOnnxTensor *choice = constant_of(node, 0), *a = constant_of(node, 1),
                       *b = constant_of(node, 2);
    if (!choice || !a || !b || a->type != b->type || choice->type != MW_BOOL)
        return NULL;
    const MwOnnxTensor *both = broadcast_result(import, node, a->type, a, b);
    MwOnnxTensor *result = both ? broadcast_result(import, node, a->type, both, choice) : NULL;
    if (!result)
        return NULL;
    const size_t bytes = (size_t)mw_type_bytes(a->type);
    MwOnnxDim *dims =
        a->symbolic || b->symbolic ? MW_NEW(import->arena, MwOnnxDim, result->count) : NULL;
    for (int64_t i = 0; i < result->count; i++) {
        const bool first = mw_onnx_integer(choice, place_in(choice, result, i)) != 0;
        const MwOnnxTensor *from = first ? a : b;
        const int64_t at = place_in(from, result, i);
        memcpy((char *)data_of(result) + (size_t)i * bytes,
               (const char *)from->data + (size_t)at * bytes, bytes);
        if (dims)
            dims[i] = dim_of(from, at);
    }
    result->symbolic = dims;
    return result;
}

/* Whether all elements are in the type that a cast names, where a longer one stands for it. */
static bool fits(const MwOnnxNode *node, const MwOnnxTensor *x)
{
    static const struct {
        int64_t type;
        double least, below;
    } bounds[] = {
        {MW_ONNX_UINT16, 0, 0x1p16},
        {MW_ONNX_INT16, -0x1p15, 0x1p15},
        {MW_ONNX_UINT32, 0, 0x1p32},
        {MW_ONNX_UINT64, 0, 0x1p63},
    };
    const int64_t type = mw_onnx_int_of(node, "to", 1);
    for (int row = 0; row < MW_COUNT(bounds); row++)
        for (int64_t i = 0; bounds[row].type == type && i < x->count; i++)
            if (!(mw_onnx_number(x, i) >= bounds[row].least &&
                  mw_onnx_number(x, i) < bounds[row].below))
                return false;
    return true;
}

const MwOnnxTensor *mw_onnx_fold_cast(MwOnnxImport *import, const MwOnnxNode *node)
{
    const MwOnnxTensor *x = constant_of(node, 0);
    MwType type;
    if (!x || !mw_onnx_shape_type(import, node, "to", &type) || !fits(node, x))
        return NULL;
    if (type == x->type)
        return x;
    const bool keeps = x->symbolic && mw_type_is_index(type);
    for (int64_t i = 0; x->symbolic && !keeps && i < x->count; i++)
        mw_onnx_fix(import, &x->symbolic[i]);
    MwOnnxTensor *result = mw_onnx_fold_new(import, type, x->rank, x->dim);
    if (!result)
        return NULL;
    for (int64_t i = 0; i < x->count; i++) {
        if (type == MW_BOOL)
            mw_element_put_integer(type, data_of(result), i, mw_onnx_number(x, i) != 0);
        else if (!mw_type_is_float(x->type) && !mw_type_is_float(type))
            mw_element_put_integer(type, data_of(result), i, mw_onnx_integer(x, i));
        else
            mw_element_put(type, data_of(result), i, mw_onnx_number(x, i));
    }
    result->symbolic = keeps ? x->symbolic : NULL;
    return result;
}

static const MwOnnxTensor *range_of_integers(MwOnnxImport *import, const MwOnnxTensor *const *part)
{
    const int64_t start = mw_onnx_integer(part[0], 0), step = mw_onnx_integer(part[2], 0);
    int64_t length, count = 0;
    if (step == 0 || __builtin_sub_overflow(mw_onnx_integer(part[1], 0), start, &length) ||
        length == INT64_MIN)
        return NULL;
    if ((length > 0) == (step > 0) && length != 0)
        count = length / step + (length % step != 0);
    MwOnnxTensor *result =
        count > MAX_ELEMENTS ? NULL : mw_onnx_fold_new(import, part[0]->type, 1, &count);
    for (int64_t i = 0; result && i < count; i++)
        mw_element_put_integer(result->type, data_of(result), i, start + step * i);
    return result;
}

/* Where a limit depends on a symbol, it stays a computation. */
const MwOnnxTensor *mw_onnx_fold_range(MwOnnxImport *import, const MwOnnxNode *node)
{
    const MwOnnxTensor *part[3];
    for (int i = 0; i < 3; i++) {
        part[i] = constant_of(node, i);
        if (!part[i] || part[i]->count != 1 || part[i]->symbolic || part[i]->type != part[0]->type)
            return NULL;
    }
    if (!mw_type_is_float(part[0]->type))
        return range_of_integers(import, part);
    const double start = mw_onnx_number(part[0], 0), step = mw_onnx_number(part[2], 0);
    const double count = ceil((mw_onnx_number(part[1], 0) - start) / step);
    if (!(count >= 0 && count <= (double)MAX_ELEMENTS))
        return NULL;
    const int64_t dim[] = {(int64_t)count};
    MwOnnxTensor *result = mw_onnx_fold_new(import, part[0]->type, 1, dim);
    for (int64_t i = 0; result && i < dim[0]; i++)
        mw_element_put(result->type, data_of(result), i, start + step * (double)i);
    return result;
}
