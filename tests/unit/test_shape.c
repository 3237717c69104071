/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shape rules: result types, and the messages where there are none. Every node that there is, of
 * every operator, must also dump and read back as the same. */
#include "base/text.h"
#include "frontend/frontend.h"
#include "ir/print.h"
#include "ir/shape/shape.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/op_text.h"
#include "tests/unit/support.h"

#include <string.h>

/* `expected`: result types, "T; T", or the diagnostics without "meshwright: error: ". */
typedef struct {
    const char *op, *operands, *attrs, *expected;
} Case;

static const Case source_cases[] = {
    {"input", "i32[8, 128]", "", "i32[8, 128]"},
    {"input", "i32[8, 0]", "", "input has size 0 in dimension 1; sizes are at least 1"},
    {"weight", "f32[8]", "init = normal; value = 0.02", "f32[8]"},
    {"weight", "bf16[8]", "init = zeros", "bf16[8]"},
    {"weight", "i32[8]", "init = constant; value = 3", "i32[8]"},
    {"weight", "i32[8]", "init = uniform; value = 3",
     "weight of type i32 cannot begin as uniform: that needs a floating-point type"},
    {"weight", "f32[8]", "init = gauss", "weight has no initialiser \"gauss\""},
    {"weight", "f32[8]", "init = normal; value = inf",
     "weight needs a finite initialiser, not inf"},
    {"weight", "f32[8]", "init = ones; value = 2", "weight begins as ones, which takes no value"},
    {"state", "f32[]", "init = zeros", "f32[]"},
    {"weight", "f32[4194304, 4194304, 4194304]", "init = zeros",
     "weight gives f32[4194304, 4194304, 4194304], which has too many elements to count"},
    {"step", "", "", "i32[]"},
    {"receive", "", "type = bf16; shape = [2, 3]; transfer = 1", "bf16[2, 3]"},
    {"receive", "f32[4]; f32[]", "type = f32; shape = [5]; transfer = 0", "f32[5]"},
    {"constant", "", "type = f32; shape = [2, 3]; value = 0.5", "f32[2, 3]"},
    {"constant", "", "type = i32; shape = []; value = 7", "i32[]"},
    {"constant", "", "type = f32; value = -inf", "f32[]"},
    {"constant", "", "type = f32; value = 3.4028234663852886e+38", "f32[]"},
    {"constant", "", "type = i32; value = -2147483648", "i32[]"},
    {"constant", "", "type = i32; value = 0.5", "constant 0.5 is no value of type i32"},
    {"constant", "", "type = i32; value = 2147483648",
     "constant 2147483648 is no value of type i32"},
    {"constant", "", "type = bool; value = 2", "constant 2 is no value of type bool"},
    {"constant", "", "type = f32; shape = [2, 0]",
     "constant has size 0 in shape; sizes are at least 1"},
    {"constant", "", "type = f32; shape = [1, 1, 1, 1, 1, 1, 1, 1, 1]",
     "constant has a shape of 9 dimensions; at most 8 are possible"},
    {"iota", "", "type = i32; shape = [4, 5]; axis = 1", "i32[4, 5]"},
    {"iota", "", "type = i32; shape = [4, 5]; axis = 2",
     "iota has axis 2, but i32[4, 5] has 2 dimensions"},
    {"iota", "", "shape = [4]", "iota needs a type"},
    {"cast", "f32[4]", "", "cast needs a type"},
    {"iota", "", "type = bool; shape = [4]", "iota counts in numbers, not in bool"},
    {"iota", "", "type = i32; shape = [4]; origin = [8]; split = [S0]", "i32[4]"},
    {"iota", "", "type = i32; shape = [4]; origin = [8]; split = [S0, R]",
     "iota cannot count positions in this part of a tensor: only the compiler writes such parts"},
};

static const Case map_cases[] = {
    {"grad", "f32[]; f32[8, 128]", "", "f32[8, 128]"},
    {"grad", "f32[]; bf16[8]", "", "bf16[8]"},
    {"grad", "f32[8]; f32[8]", "",
     "grad needs one number f32[] to differentiate, such as a sum, not f32[8]"},
    {"grad", "f32[]; i32[8]", "", "grad needs a floating-point type for the right, not i32[8]"},
    {"add", "f32[8, 128]; f32[128]", "", "f32[8, 128]"},
    {"add", "f32[128]; f32[8, 128]", "", "f32[8, 128]"},
    {"add", "f32[8, 1, 4]; f32[3, 1]", "", "f32[8, 3, 4]"},
    {"add", "f32[]; f32[]", "", "f32[]"},
    {"add", "i32[8]; i32[8]", "", "i32[8]"},
    {"add", "f32[8, 128]; f32[64]", "",
     "add cannot combine f32[8, 128] and f32[64]: their sizes do not broadcast\n"
     "  note: dimension 1 of the left is 128, dimension 0 of the right is 64"},
    {"mul", "f32[8]; bf16[8]", "",
     "mul cannot combine f32[8] and bf16[8]: the types differ\n"
     "  note: cast one of them, for instance cast(x, f32)"},
    {"sub", "bool[8]; bool[8]", "", "sub needs numbers, but the left is bool[8]"},
    {"div", "i32[8]; i32[8]", "", "div needs a floating-point type for the left, not i32[8]"},
    {"exp", "i32[8]", "", "exp needs a floating-point type for the operand, not i32[8]"},
    {"abs", "i32[8]", "", "i32[8]"},
    {"isnan", "bf16[8]", "", "bool[8]"},
    {"isnan", "i32[8]", "", "isnan needs a floating-point type for the operand, not i32[8]"},
    {"mod", "i32[8, 1]; i32[4]", "", "i32[8, 4]"},
    {"gelu", "bf16[8]", "", "bf16[8]"},
    {"gelu_grad", "f32[8]; f32[8]", "", "f32[8]"},
    {"add", "f32[8]", "", "add takes 2 operands, not 1"},
    {"exp", "f32[8]; f32[8]", "", "exp takes 1 operand, not 2"},
    {"lt", "f32[8, 1]; f32[4]", "", "bool[8, 4]"},
    {"eq", "i32[8]; i32[]", "", "bool[8]"},
    {"ge", "f32[8]; i32[8]", "",
     "ge cannot combine f32[8] and i32[8]: the types differ\n"
     "  note: cast one of them, for instance cast(x, f32)"},
    {"and", "bool[8]; bool[8]", "", "bool[8]"},
    {"or", "bool[8]; f32[8]", "", "or needs bool for the right, not f32[8]"},
    {"not", "i32[8]", "", "not needs bool for the operand, not i32[8]"},
    {"select", "bool[8, 4]; f32[]; f32[4]", "", "f32[8, 4]"},
    {"select", "f32[8]; f32[8]; f32[8]", "", "select needs bool for the first operand, not f32[8]"},
    {"select", "bool[8]; f32[8]; i32[8]", "",
     "select cannot combine f32[8] and i32[8]: the types differ\n"
     "  note: cast one of them, for instance cast(x, f32)"},
    {"select", "bool[8]; f32[8]; f32[7]", "",
     "select cannot combine bool[8] and f32[7]: their sizes do not broadcast\n"
     "  note: dimension 0 of the first operand is 8, dimension 0 of the third operand is 7"},
    {"cast", "bool[8]", "type = f32", "f32[8]"},
    {"identity", "bool[8]", "", "bool[8]"},
    {"uniform", "", "shape = [4, 5]; key = 1", "f32[4, 5]"},
    {"uniform", "", "shape = [4, 0]; key = 1", "uniform has size 0 in shape; sizes are at least 1"},
    {"uniform", "", "shape = [4]; key = 4294967296",
     "uniform needs key of at least 0 and at most 4294967295, not 4294967296"},
    {"flip", "bool[4, 5]", "axis = 1", "bool[4, 5]"},
    {"flip", "f32[4, 5]", "axis = 2", "flip has axis 2, but f32[4, 5] has 2 dimensions"},
    {"dropout", "f32[8]", "rate = 0.5; key = 1", "f32[8]"},
    {"cast_stochastic", "f32[8]", "type = e5m2; key = 1", "e5m2[8]"},
    {"cast_stochastic", "f32[8]", "type = f32; key = 1",
     "cast_stochastic rounds to floats of 16 or 8 bits, not to f32"},
    {"cast_stochastic", "bf16[8]", "type = e5m2; key = 1",
     "cast_stochastic rounds f32, not bf16[8]"},
    {"cast_stochastic", "f32[8]", "key = 1", "cast_stochastic needs a type"},
    {"dropout", "f32[8]", "rate = 1", "dropout needs rate of at least 0 and less than 1, not 1"},
    {"dropout", "f32[8]", "rate = 0.5; key = -1",
     "dropout needs key of at least 0 and at most 4294967295, not -1"},
    {"broadcast", "f32[1, 4]", "shape = [2, 3, 4]", "f32[2, 3, 4]"},
    {"broadcast", "f32[]", "shape = [2]", "f32[2]"},
    {"broadcast", "f32[2, 4]", "shape = [4]",
     "broadcast cannot give f32[2, 4] the shape of f32[4]: it has more dimensions"},
    {"broadcast", "f32[2, 4]", "shape = [3, 4]",
     "broadcast cannot stretch f32[2, 4] to f32[3, 4]\n"
     "  note: dimension 0 is 2 and would become 3; only size 1 stretches"},
    {"adamw", "bf16[8]; f32[8]; f32[8]; f32[8]; f32[]; i32[]", "beta1 = 0.9; beta2 = 0.95",
     "bf16[8]; f32[8]; f32[8]"},
    {"adamw", "f32[8]; f32[8]; f32[8]; f32[8]; f32[]; f32[]", "",
     "adamw needs i32[] as operand 6, not f32[]"},
    {"adam", "f32[8]; f32[8]; f32[8]; f32[7]; f32[]; i32[]", "",
     "adam needs the first operand and the fourth operand to have one shape, not f32[8] and "
     "f32[7]"},
    {"adam", "f32[8]; f32[8]; f32[8]; f32[8]; f32[]; i32[]", "beta2 = 1",
     "adam needs beta2 of at least 0 and less than 1, not 1"},
    {"lamb", "bf16[8]; f32[8]; f32[8]; f32[8]; f32[]; i32[]", "", "f32[8]; f32[8]; f32[8]"},
    {"lamb", "bf16[8]; f32[8]; f32[7]; f32[8]; f32[]; i32[]", "",
     "lamb needs the first operand and the third operand to have one shape, not bf16[8] and "
     "f32[7]"},
    {"sgd", "f32[8]; f32[8]; f32[8]; f32[]", "momentum = 0.9", "f32[8]; f32[8]"},
    {"sgd", "f32[8]; f32[8]; f32[8]; f32[8]", "",
     "sgd needs f32[] as the fourth operand, not f32[8]"},
    {"accumulate", "f32[8]; f32[8]", "", "f32[8]"},
    {"accumulate", "bf16[8]; f32[8]", "", "bf16[8]"},
    {"accumulate", "i32[8]; i32[8]", "", "i32[8]"},
};

static const Case row_cases[] = {
    {"reduce_sum", "f32[2, 3, 4]", "axes = [0, 2]", "f32[3]"},
    {"reduce_sum", "f32[2, 3, 4]", "axes = [0, 2]; keep = true", "f32[1, 3, 1]"},
    {"reduce_max", "i32[2, 3]", "axes = [1]", "i32[2]"},
    {"reduce_sum", "bf16[2, 3]", "axes = [1]", "bf16[2]"},
    {"reduce_sum", "bf16[2, 3]", "axes = [1]; type = f32", "f32[2]"},
    {"reduce_sum", "i32[2, 3]", "axes = [1]; type = i32", "i32[2]"},
    {"reduce_sum", "f32[2, 3]", "axes = [1]; type = bf16",
     "reduce_sum of f32 cannot give bf16: only sums of floats of 16 bits can have another type, "
     "f32"},
    {"reduce_sum", "f32[2, 3]", "axes = []", "reduce_sum needs at least one axis"},
    {"reduce_sum", "f32[2, 3]", "axes = [2]",
     "reduce_sum has axis 2, but f32[2, 3] has 2 dimensions"},
    {"reduce_sum", "f32[2, 3]", "axes = [-1]",
     "reduce_sum has axis -1, but f32[2, 3] has 2 dimensions"},
    {"reduce_sum", "f32[2, 3]", "axes = [1, 1]",
     "reduce_sum needs its axes in ascending order, each once"},
    {"reduce_max", "bool[2, 3]", "axes = [1]", "reduce_max needs numbers, not bool[2, 3]"},
    {"logsumexp", "f32[2, 3]", "", "f32[2]"},
    {"logsumexp", "f32[]", "",
     "logsumexp works along the last dimension, but the operand has none"},
    {"logsumexp_grad", "f32[2, 3]; f32[2]; f32[2]", "", "f32[2, 3]"},
    {"logsumexp_grad", "f32[2, 3]; f32[2]; f32[3]", "",
     "logsumexp_grad needs f32[2] beside f32[2, 3], not f32[3]"},
    {"softmax", "f32[2, 3]", "", "f32[2, 3]"},
    {"softmax", "i32[2, 3]", "",
     "softmax needs a floating-point type for the operand, not i32[2, 3]"},
    {"softmax_grad", "f32[2, 3]; f32[2, 3]", "", "f32[2, 3]"},
    {"softmax_grad", "f32[2, 3]; f32[3, 2]", "",
     "softmax_grad needs the left and the right to have one shape and type, not f32[2, 3] and "
     "f32[3, 2]"},
    {"layer_norm", "f32[2, 3]", "eps = 1e-5", "f32[2, 3]"},
    {"rms_norm", "f32[2, 3]", "eps = -1", "rms_norm needs a finite eps of at least 0, not -1"},
    {"rope", "f32[2, 3, 4, 6]", "base = 10000", "f32[2, 3, 4, 6]"},
    {"rope", "f32[2, 3, 4, 5]", "base = 10000",
     "rope rotates halves of the last dimension, but its size 5 is odd"},
    {"rope", "f32[2, 3, 4]", "base = 10000",
     "rope needs [batch, sequence, heads, head size] as the operand, not f32[2, 3, 4]"},
    {"rope", "f32[2, 3, 4, 6]", "base = 1", "rope needs a finite base of more than 1, not 1"},
};

static const Case attention_cases[] = {
    {"conv", "f32[8, 7, 6, 4]; f32[3, 3, 2, 8]",
     "stride = [2, 1]; padding = [1, 1, 0, 2]; dilation = [1, 2]", "f32[8, 4, 4, 8]"},
    {"conv", "f32[8, 7, 4]; f32[3, 4]", "stride = [1]; padding = [0, 0]; dilation = [1]",
     "conv needs a filter [sizes.., channels, features] of 3 dimensions for f32[8, 7, 4], not "
     "f32[3, 4]"},
    {"conv", "f32[8, 7, 4]; f32[3, 3, 4]", "stride = [1]; padding = [0, 0]; dilation = [1]",
     "conv cannot divide 4 channels and 4 features into groups of 3 channels"},
    {"conv", "f32[8, 7, 4]; f32[3, 4, 4]", "stride = [1, 1]; padding = [0, 0]; dilation = [1]",
     "conv needs 1 numbers in stride, not 2"},
    {"conv", "f32[8, 7, 4]; f32[3, 4, 4]", "stride = [1]; padding = [0, -1]; dilation = [1]",
     "conv needs numbers from 0 to 2147483647 in padding, not -1"},
    {"conv", "f32[8, 7, 4]; f32[3, 4, 4]", "stride = [1]; padding = [0, 0]; dilation = [4]",
     "conv has a window of 9 over dimension 1 of f32[8, 7, 4], where 7 are there"},
    {"conv", "f32[8, 4]; f32[4, 4]", "stride = []; padding = []; dilation = []",
     "conv needs float numbers [batch, one to 3 spatial dimensions, channels], not f32[8, 4]"},
    {"conv_transpose", "bf16[8, 3, 5]; bf16[3, 4, 5]",
     "shape = [8, 7, 4]; stride = [2]; padding = [0, 0]; dilation = [1]", "bf16[8, 7, 4]"},
    {"conv_transpose", "f32[8, 4, 5]; f32[3, 4, 5]",
     "shape = [8, 7, 4]; stride = [2]; padding = [0, 0]; dilation = [1]",
     "conv_transpose needs f32[8, 3, 5] as the left, not f32[8, 4, 5]"},
    {"conv_transpose", "f32[8, 4, 5]; f32[3, 4, 5]",
     "shape = [8, 7]; stride = [2]; padding = [0, 0]; dilation = [1]",
     "conv_transpose needs a shape of 3 dimensions, not 2"},
    {"conv_filter_grad", "bf16[8, 7, 4]; bf16[8, 3, 5]",
     "shape = [3, 4, 5]; type = f32; stride = [2]; padding = [0, 0]; dilation = [1]",
     "f32[3, 4, 5]"},
    {"conv_filter_grad", "f32[8, 7, 4]; f32[8, 3, 6]",
     "shape = [3, 4, 5]; stride = [2]; padding = [0, 0]; dilation = [1]",
     "conv_filter_grad needs f32[8, 3, 5] as the right, not f32[8, 3, 6]"},
    {"max_pool", "f32[8, 7, 6, 4]", "window = [3, 2]; stride = [2, 2]; padding = [1, 1, 0, 0]",
     "f32[8, 4, 3, 4]"},
    {"max_pool", "f32[8, 7, 4]", "window = [2]; stride = [2]; padding = [2, 0]",
     "max_pool needs less padding than its window of 2, not 2"},
    {"max_pool_grad", "f32[8, 7, 4]; f32[8, 3, 4]", "window = [2]; stride = [2]; padding = [0, 0]",
     "f32[8, 7, 4]"},
    {"max_pool_pick", "f32[8, 7, 4]; f32[8, 7, 4]", "window = [2]; stride = [2]; padding = [0, 0]",
     "f32[8, 3, 4]"},
    {"max_pool_pick", "f32[8, 7, 4]; f32[8, 6, 4]", "window = [2]; stride = [2]; padding = [0, 0]",
     "max_pool_pick needs f32[8, 7, 4] as the right, not f32[8, 6, 4]"},
    {"sum_pool", "i32[8, 7, 4]", "window = [2]; stride = [2]; padding = [0, 0]",
     "sum_pool needs float numbers [batch, one to 3 spatial dimensions, channels], not i32[8, 7, "
     "4]"},
    {"sum_pool_grad", "f32[8, 3, 4]",
     "shape = [8, 7, 4]; window = [2]; stride = [2]; padding = [0, 0]", "f32[8, 7, 4]"},
    {"sdpa", "f32[2, 4, 4, 16]; f32[2, 4, 4, 16]; f32[2, 4, 4, 16]",
     "scale = 1; key_origin = [2, 8, 4, 16]; key_split = [R, S1, R, R]; key_shift = [1, 1]",
     "f32[2, 4, 4, 16]; f32[2, 4, 4]"},
    {"sdpa", "f32[2, 4, 4, 16]; f32[2, 4, 4, 16]; f32[2, 4, 4, 16]",
     "scale = 1; key_origin = [2, 8, 4, 16]; key_split = [R, S1, R, R]; key_shift = [0, 1]",
     "sdpa cannot take the keys of another device: only the compiler writes what does"},
    {"sdpa", "f32[2, 8, 4, 16]; f32[2, 8, 4, 16]; f32[2, 8, 4, 16]", "scale = 0.25",
     "f32[2, 8, 4, 16]; f32[2, 8, 4]"},
    {"sdpa", "bf16[2, 8, 4, 16]; bf16[2, 6, 2, 16]; bf16[2, 6, 2, 16]", "scale = 0.25",
     "bf16[2, 8, 4, 16]; f32[2, 8, 4]"},
    {"sdpa", "f32[2, 8, 4, 16]; f32[2, 8, 3, 16]; f32[2, 8, 3, 16]", "scale = 0.25",
     "sdpa has 4 query heads over 3 key heads, which does not divide"},
    {"sdpa", "f32[2, 8, 4, 16]; f32[3, 8, 4, 16]; f32[3, 8, 4, 16]", "scale = 0.25",
     "sdpa cannot combine f32[2, 8, 4, 16] and f32[3, 8, 4, 16]: the sizes of the batch differ\n"
     "  note: dimension 0 of the first operand is 2, dimension 0 of the second operand is 3"},
    {"sdpa", "f32[2, 8, 4, 16]; f32[2, 8, 4, 8]; f32[2, 8, 4, 8]", "scale = 0.25",
     "sdpa cannot combine f32[2, 8, 4, 16] and f32[2, 8, 4, 8]: the sizes of the heads' width "
     "differ\n"
     "  note: dimension 3 of the first operand is 16, dimension 3 of the second operand is 8"},
    {"sdpa", "f32[2, 8, 4, 16]; f32[2, 8, 4, 16]; f32[2, 7, 4, 16]", "scale = 0.25",
     "sdpa needs the second operand and the third operand to have one shape and type, not f32[2, "
     "8, 4, 16] and "
     "f32[2, 7, 4, 16]"},
    {"sdpa", "f32[2, 8, 4, 16]; f32[2, 6, 4, 16]; f32[2, 6, 4, 16]", "scale = 0.25; causal = true",
     "f32[2, 8, 4, 16]; f32[2, 8, 4]"},
    {"sdpa", "f32[2, 8, 4, 16]; f32[2, 8, 4, 16]; f32[2, 8, 4, 16]",
     "scale = 1; offset = [-2147483648]",
     "sdpa needs an offset of at least -2147483647 and at most 2147483647, not -2147483648"},
    {"sdpa", "f32[2, 8, 4, 16]; f32[2, 8, 4, 16]; f32[2, 8, 4, 16]", "scale = 1; offset = [1, 2]",
     "sdpa has one offset, not 2"},
    {"sdpa", "f32[2, 4, 4, 16]; f32[2, 8, 4, 16]; f32[2, 8, 4, 16]",
     "scale = 0.25; causal = true; origin = [2, 8, 4, 16]; split = [R, S0, R, R]",
     "f32[2, 4, 4, 16]; f32[2, 4, 4]"},
    {"sdpa", "f32[2, 8, 16]; f32[2, 8, 4, 16]; f32[2, 8, 4, 16]", "scale = 0.25",
     "sdpa needs [batch, sequence, heads, head size] as the first operand, not f32[2, 8, 16]"},
    {"sdpa", "f32[2, 8, 4, 16]; bf16[2, 8, 4, 16]; bf16[2, 8, 4, 16]", "scale = 0.25",
     "sdpa cannot combine f32[2, 8, 4, 16] and bf16[2, 8, 4, 16]: the types differ\n"
     "  note: cast one of them, for instance cast(x, f32)"},
    {"sdpa", "f32[2, 8, 4, 16]; f32[2, 8, 4, 16]; f32[2, 8, 4, 16]", "scale = inf",
     "sdpa needs a finite scale, not inf"},
    {"sdpa", "f32[2, 8, 4, 16]; f32[2, 8, 4, 16]; f32[2, 8, 4, 16]", "scale = 1; soft_cap = -1",
     "sdpa needs a finite soft_cap of at least 0, not -1"},
    {"sdpa", "f32[2, 8, 4, 16]; f32[2, 8, 4, 16]; f32[2, 8, 4, 16]", "scale = 1; window = [0]",
     "sdpa needs a window of at least 1 and at most 2147483647, not 0"},
    {"sdpa", "f32[2, 8, 4, 16]; f32[2, 8, 4, 16]; f32[2, 8, 4, 16]", "scale = 1; window = [2, 3]",
     "sdpa has one window, not 2"},
    {"sdpa_masked", "f32[2, 8, 4, 16]; f32[2, 6, 2, 16]; f32[2, 6, 2, 16]; bool[2, 1, 8, 6]",
     "scale = 1", "f32[2, 8, 4, 16]; f32[2, 8, 4]"},
    {"sdpa_masked", "f32[2, 8, 4, 16]; f32[2, 6, 2, 16]; f32[2, 6, 2, 16]; bool[2, 1, 6, 8]",
     "scale = 1",
     "sdpa_masked needs a mask that broadcasts to bool[2, 4, 8, 6] [batch, heads, queries, keys], "
     "not bool[2, 1, 6, 8]"},
    {"sdpa_masked", "f32[2, 8, 4, 16]; f32[2, 6, 2, 16]; f32[2, 6, 2, 16]; i32[2, 1, 8, 6]",
     "scale = 1", "sdpa_masked needs a mask of bool or f32, the type of the queries, not i32"},
    {"sdpa_mask_grad",
     "f32[2, 8, 4, 16]; f32[2, 6, 2, 16]; f32[2, 6, 2, 16]; f32[2, 8, 4, 16]; f32[2, 8, 4]; "
     "f32[2, 8, 4, 16]; f32[1, 4, 1, 6]",
     "scale = 0.25", "f32[1, 4, 1, 6]"},
    {"sdpa_mask_grad",
     "f32[2, 8, 4, 16]; f32[2, 6, 2, 16]; f32[2, 6, 2, 16]; f32[2, 8, 4, 16]; f32[2, 8, 4]; "
     "f32[2, 8, 4, 16]; bool[1, 4, 1, 6]",
     "scale = 0.25", "sdpa_mask_grad needs a mask that is added, not bool[1, 4, 1, 6]"},
    {"sdpa_grad",
     "f32[2, 8, 4, 16]; f32[2, 6, 2, 16]; f32[2, 6, 2, 16]; f32[2, 8, 4, 16]; f32[2, 8, 4]; "
     "f32[2, 8, 4, 16]",
     "scale = 0.25", "f32[2, 8, 4, 16]; f32[2, 6, 2, 16]; f32[2, 6, 2, 16]"},
    {"sdpa_grad",
     "f32[2, 8, 4, 16]; f32[2, 6, 2, 16]; f32[2, 6, 2, 16]; f32[2, 8, 4, 16]; f32[2, 4, 8]; "
     "f32[2, 8, 4, 16]",
     "scale = 0.25", "sdpa_grad needs f32[2, 8, 4] as the fifth operand, not f32[2, 4, 8]"},
    {"sdpa_grad",
     "f32[2, 8, 4, 16]; f32[2, 6, 2, 16]; f32[2, 6, 2, 16]; f32[2, 8, 4, 16]; f32[2, 8, 4]; "
     "f32[2, 6, 4, 16]",
     "scale = 0.25",
     "sdpa_grad needs the first operand and operand 6 to have one shape and type, not f32[2, 8, 4, "
     "16] and "
     "f32[2, 6, 4, 16]"},
};

static const Case einsum_cases[] = {
    {"einsum", "f32[8, 4, 16]; f32[16, 32]", "equation = bsw,wf->bsf", "f32[8, 4, 32]"},
    {"einsum", "f32[8, 4, 16]; f32[16, 32]", "equation = bsw, wf -> bsf", "f32[8, 4, 32]"},
    {"einsum", "f32[8, 4]; f32[8, 4]", "equation = ab,ab->", "f32[]"},
    {"einsum", "e4m3[8, 4]; e5m2[4, 2]", "equation = ab,bc->ac; type = bf16", "bf16[8, 2]"},
    {"einsum", "e4m3[8, 4]; e4m3[4, 2]", "equation = ab,bc->ac; type = f32", "f32[8, 2]"},
    {"einsum", "e4m3[8, 4]; e4m3[4, 2]", "equation = ab,bc->ac",
     "einsum of floats of 8 bits gives bf16 or f32, not these\n"
     "  note: say which, for instance einsum(\"ij,jk->ik\", a, b, type = bf16)"},
    {"einsum", "e4m3[8, 4]; bf16[4, 2]", "equation = ab,bc->ac; type = f32",
     "einsum does not compute with floats of 8 bits, such as e4m3[8, 4]\n"
     "  note: cast it, for instance cast(x, bf16)"},
    {"einsum", "e5m2[8, 4]", "equation = ab->a; type = f32",
     "einsum does not compute with floats of 8 bits, such as e5m2[8, 4]\n"
     "  note: cast it, for instance cast(x, bf16)"},
    {"add", "e4m3[8]; e4m3[8]", "",
     "add does not compute with floats of 8 bits, such as e4m3[8]\n"
     "  note: cast it, for instance cast(x, bf16)"},
    {"gelu", "e5m2[8]", "",
     "gelu does not compute with floats of 8 bits, such as e5m2[8]\n"
     "  note: cast it, for instance cast(x, bf16)"},
    {"reduce_max", "e5m2[8]", "axes = [0]",
     "reduce_max does not compute with floats of 8 bits, such as e5m2[8]\n"
     "  note: cast it, for instance cast(x, bf16)"},
    {"cast", "f32[8]", "type = e4m3", "e4m3[8]"},
    {"cast", "e5m2[8]", "type = f32", "f32[8]"},
    {"einsum", "f32[8, 4]; f32[5]", "equation = ab,c->cab", "f32[5, 8, 4]"},
    {"einsum", "f32[8, 4]", "equation = ab->ba", "f32[4, 8]"},
    {"einsum", "bf16[8, 4]; bf16[4, 2]", "equation = ab,bc->ac", "bf16[8, 2]"},
    {"einsum", "bf16[8, 4]; bf16[4, 2]", "equation = ab,bc->ac; type = bf16", "bf16[8, 2]"},
    {"einsum", "bf16[8, 4]; bf16[4, 2]", "equation = ab,bc->ac; type = f32", "f32[8, 2]"},
    {"einsum", "bf16[8, 4]; bf16[4, 2]", "equation = ab,bc->ac; type = i32",
     "einsum of bf16 cannot give i32: only sums of floats of 16 bits can have another type, f32"},
    {"einsum", "f32[8, 4]", "equation = Ab->A", "f32[8]"},
    {"einsum", "f32[8, 128]; f32[64, 32]", "equation = ab,bc->ac",
     "einsum \"ab,bc->ac\" cannot combine f32[8, 128] and f32[64, 32]\n"
     "  note: letter 'b' is 128 in the left and 64 in the right"},
    {"einsum", "f32[8, 128]; f32[128]", "equation = ab,bc->ac",
     "einsum \"ab,bc->ac\" has 2 letters for the right, f32[128]"},
    {"einsum", "f32[8, 128]", "equation = ab,bc->ac",
     "einsum \"ab,bc->ac\" is for 2 operands, not for 1"},
    {"einsum", "i32[8]; i32[8]", "equation = a,a->",
     "einsum needs a floating-point type for the left, not i32[8]"},
    {"einsum", "f32[8]; bf16[8]", "equation = a,a->",
     "einsum cannot combine f32[8] and bf16[8]: the types differ\n"
     "  note: cast one of them, for instance cast(x, f32)"},
    {"einsum", "f32[8]", "equation = a",
     "einsum cannot read \"a\": \"->\" and the result's letters are missing"},
    {"einsum", "f32[8]", "equation = a->b",
     "einsum cannot read \"a->b\": a letter of the result is in no operand"},
    {"einsum", "f32[8, 8]", "equation = aa->a",
     "einsum cannot read \"aa->a\": a letter is twice in one term"},
    {"einsum", "f32[8, 8]", "equation = ab->aa",
     "einsum cannot read \"ab->aa\": a letter is twice in one term"},
    {"einsum", "f32[8]; f32[8]", "equation = a,a,a->a",
     "einsum contracts one operand or two, not 3"},
    {"einsum", "f32[8]", "equation = a1->a",
     "einsum cannot read \"a1->a\": a term consists of letters"},
    {"einsum", "f32[8]", "equation = a->a,",
     "einsum cannot read \"a->a,\": something follows the result's letters"},
    {"einsum", "f32[8]", "equation = abcdefghi->a",
     "einsum cannot read \"abcdefghi->a\": a term has more than 8 letters"},
};

static const Case gather_cases[] = {
    {"embedding", "i32[8, 128]; f32[256, 64]", "", "f32[8, 128, 64]"},
    {"embedding", "f32[8, 128]; f32[256, 64]", "",
     "embedding needs i32 or i64 ids, not f32[8, 128]"},
    {"embedding", "i32[8, 128]; f32[256]", "",
     "embedding needs a table [entries, width] as the right, not f32[256]"},
    {"embedding", "i32[1, 1, 1, 1, 1, 1, 1, 1]; f32[256, 4]", "",
     "embedding would give more than 8 dimensions"},
    {"embedding_grad", "i32[8, 128]; f32[8, 128, 64]", "shape = [256, 64]", "f32[256, 64]"},
    {"embedding_grad", "i32[8, 128]; f32[8, 128, 32]", "shape = [256, 64]",
     "embedding_grad needs f32[8, 128, 64] as the right, not f32[8, 128, 32]"},
    {"embedding_grad", "i32[8]; i64[8, 4]", "shape = [5, 4]", "i64[5, 4]"},
    {"embedding_grad", "i32[8]; u8[8, 4]", "shape = [5, 4]",
     "embedding_grad takes floats, i32 or i64, not u8[8, 4]\n"
     "  note: cast it, for instance cast(x, i32)"},
    {"embedding_grad", "i32[8]; f32[8, 4]", "shape = [4]",
     "embedding_grad needs the shape of a table [entries, width], not of 1 dimensions"},
    {"put_rows", "f32[256, 64]; i32[8]; f32[8, 64]", "", "f32[256, 64]"},
    {"put_rows", "f32[256, 64]; i32[8]; f32[8, 32]", "",
     "put_rows needs f32[8, 64] to put, not f32[8, 32]"},
    {"put_rows", "f32[256, 64]; i32[8]; bf16[8, 64]", "",
     "put_rows needs f32[8, 64] to put, not bf16[8, 64]"},
    {"add_rows", "f32[256, 64]; i32[8, 2]; f32[8, 2, 64]", "", "f32[256, 64]"},
    {"add_rows", "f32[256, 64]; i32[8, 2]; f32[16, 64]", "",
     "add_rows needs f32[8, 2, 64] to add, not f32[16, 64]"},
    {"add_rows", "f32[256]; i32[8]; f32[8, 64]", "",
     "add_rows needs a table [entries, width] as the first operand, not f32[256]"},
    {"add_rows", "f32[256, 64]; f32[8]; f32[8, 64]", "",
     "add_rows needs i32 or i64 ids, not f32[8]"},
    {"first_equal", "i32[8]", "", "i32[8]"},
    {"first_equal", "i32[8, 2]", "",
     "first_equal needs a list of ids as the operand, not i32[8, 2]"},
    {"pick", "f32[8, 128, 256]; i32[8, 128]", "", "f32[8, 128]"},
    {"pick", "f32[256]; i32[]", "", "f32[]"},
    {"pick", "f32[8, 128, 256]; i32[128]", "",
     "pick needs one index for each row of f32[8, 128, 256], i32[8, 128], not i32[128]"},
    {"pick", "f32[]; i32[]", "", "pick picks along the last dimension, but f32[] has none"},
    {"take_along", "bf16[8, 128, 256]; i32[8, 128, 3]", "", "bf16[8, 128, 3]"},
    {"take_along", "f32[8, 256]; i32[4, 3]", "",
     "take_along needs a row of indices for each row of f32[8, 256], not i32[4, 3]"},
    {"take_along", "f32[8, 256]; i32[8]", "",
     "take_along needs a row of indices for each row of f32[8, 256], not i32[8]"},
    {"take_along_grad", "i32[8, 3]; f32[8, 3]", "shape = [8, 256]", "f32[8, 256]"},
    {"take_along_grad", "i32[8, 3]; f32[8, 2]", "shape = [8, 256]",
     "take_along_grad needs the left and the right to have one shape, not i32[8, 3] and f32[8, "
     "2]"},
    {"take_along_grad", "i32[]; f32[]", "shape = []",
     "take_along_grad needs the shape of what was picked from"},
    {"linear_scan", "f32[8, 16]; f32[8, 16]", "axis = 1", "f32[8, 16]"},
    {"linear_scan", "f32[8, 16]; f32[8, 1]", "axis = 1",
     "linear_scan needs the left and the right to have one shape and type, not f32[8, 16] and "
     "f32[8, 1]"},
    {"linear_scan", "i32[8, 16]; i32[8, 16]", "axis = 1",
     "linear_scan needs a floating-point type for the left, not i32[8, 16]"},
    {"cumsum", "f32[8, 16]", "", "f32[8, 16]"},
    {"cumsum", "i32[8, 16]", "inverse = true", "i32[8, 16]"},
    {"cumsum", "bool[8]", "",
     "cumsum adds up numbers of more than 8 bits, not bool[8]\n"
     "  note: cast it, for instance cast(x, i32)"},
    {"cumsum", "i64[8]", "", "i64[8]"},
    {"reduce_sum", "u8[2, 3]", "axes = [1]",
     "reduce_sum adds up numbers of more than 8 bits, not u8[2, 3]\n"
     "  note: cast it, for instance cast(x, i32)"},
    {"reduce_sum", "i64[2, 3]", "axes = [1]", "i64[2]"},
    {"reduce_sum", "f16[2, 3]", "axes = [1]; type = f32", "f32[2]"},
    {"reduce_max", "u8[2, 3]", "axes = [1]", "u8[2]"},
    {"embedding", "i64[8, 128]; f16[256, 64]", "", "f16[8, 128, 64]"},
    {"embedding", "i32[8, 128]; i64[256, 64]", "", "i64[8, 128, 64]"},
    {"embedding", "i32[8, 128]; u8[256, 64]", "",
     "embedding takes floats, i32 or i64, not u8[256, 64]\n"
     "  note: cast it, for instance cast(x, i32)"},
    {"pick", "i32[8, 256]; i32[8]", "", "i32[8]"},
    {"take_along", "i64[8, 256]; i32[8, 3]", "", "i64[8, 3]"},
    {"take_along", "bool[8, 256]; i32[8, 3]", "",
     "take_along takes floats, i32 or i64, not bool[8, 256]\n"
     "  note: cast it, for instance cast(x, i32)"},
    {"embedding", "u8[8, 128]; f32[256, 64]", "", "embedding needs i32 or i64 ids, not u8[8, 128]"},
    {"first_equal", "i64[8]", "", "i32[8]"},
    {"mul", "f16[8]; bf16[8]", "",
     "mul cannot combine f16[8] and bf16[8]: the types differ\n"
     "  note: cast one of them, for instance cast(x, f16)"},
    {"add", "u8[8]; i8[8]", "",
     "add cannot combine u8[8] and i8[8]: the types differ\n"
     "  note: cast one of them, for instance cast(x, i8)"},
    {"div", "u8[8]; u8[8]", "", "div needs a floating-point type for the left, not u8[8]"},
    {"constant", "", "type = u8; shape = [2]; value = 256", "constant 256 is no value of type u8"},
    {"constant", "", "type = i8; shape = [2]; value = -128", "i8[2]"},
    {"constant", "", "type = i64; shape = [2]; value = 9007199254740992",
     "constant 9007199254740992 is no value of type i64"},
    {"state", "u8[8]", "init = constant; value = 300",
     "state begins as 300, which is no value of type u8"},
    {"cumsum", "f32[]", "", "cumsum works along the last dimension, but the operand has none"},
    {"top_k", "f32[8, 16]", "k = 16", "f32[8, 16]; i32[8, 16]"},
    {"top_k", "bf16[8, 16]", "k = 2; ascending = true", "bf16[8, 2]; i32[8, 2]"},
    {"top_k", "f32[8, 16]", "k = 17",
     "top_k needs a k from 1 to 16, the last dimension of f32[8, 16], not 17"},
    {"top_k", "f32[8, 16]", "k = 0",
     "top_k needs a k from 1 to 16, the last dimension of f32[8, 16], not 0"},
    {"pick_grad", "i32[8]; f32[8]", "shape = [8, 256]", "f32[8, 256]"},
    {"pick_grad", "i32[8]; f32[7]", "shape = [8, 256]",
     "pick_grad needs the left and the right to have one shape, not i32[8] and f32[7]"},
    {"pick_grad", "i32[]; f32[]", "shape = []",
     "pick_grad needs the shape of what was picked from"},
};

static const Case move_cases[] = {
    {"scan_in", "f32[8, 6, 4]", "axis = 1; loop = 0", "f32[8, 4]"},
    {"scan_in", "i32[6]", "axis = 0; loop = 3; reverse = true", "i32[]"},
    {"scan_in", "f32[8]", "axis = 1; loop = 0", "scan_in has axis 1, but f32[8] has 1 dimension"},
    {"scan_in", "f32[8]", "axis = 0; loop = -1", "scan_in has no loop -1"},
    {"scan_carry", "f32[8, 4]", "loop = 0; steps = 6", "f32[8, 4]"},
    {"scan_carry", "f32[8]", "loop = 0", "scan_carry cannot take 0 steps"},
    {"scan_next", "f32[8]; f32[8]", "loop = 0; steps = 6", "f32[8]"},
    {"scan_next", "f32[8]; f32[4]", "loop = 0; steps = 6",
     "scan_next needs the right and the left to have one shape and type, not f32[4] and f32[8]"},
    {"scan_out", "f32[8, 4]", "axis = 1; loop = 0; steps = 6", "f32[8, 6, 4]"},
    {"scan_out", "f32[]", "axis = 0; loop = 0; steps = 6; reverse = true", "f32[6]"},
    {"scan_out", "f32[8]", "axis = 2; loop = 0; steps = 6",
     "scan_out cannot insert dimension 2 into f32[8]"},
    {"scan_out", "f32[1, 1, 1, 1, 1, 1, 1, 1]", "axis = 0; loop = 0; steps = 6",
     "scan_out would give 9 dimensions; at most 8 are possible"},
    {"reshape", "f32[2, 3, 4]", "shape = [6, 4]", "f32[6, 4]"},
    {"reshape", "f32[1]", "shape = []", "f32[]"},
    {"reshape", "f32[2, 3]", "shape = [4, 2]",
     "reshape cannot turn f32[2, 3] into f32[4, 2]\n"
     "  note: the operand has 6 elements, the result would have 8"},
    {"transpose", "f32[2, 3, 4]", "perm = [2, 0, 1]", "f32[4, 2, 3]"},
    {"transpose", "f32[2, 3, 4]", "perm = [2, 0]",
     "transpose needs a perm that names each of the 3 dimensions of f32[2, 3, 4] once"},
    {"transpose", "f32[2, 3]", "perm = [0, 0]",
     "transpose needs a perm that names each of the 2 dimensions of f32[2, 3] once"},
    {"transpose", "f32[2, 3]", "perm = [0, 2]",
     "transpose needs a perm that names each of the 2 dimensions of f32[2, 3] once"},
    {"slice", "f32[8, 4]", "axis = 0; begin = 2; end = 5", "f32[3, 4]"},
    {"slice", "f32[8, 4]", "axis = 0; begin = 5; end = 5",
     "slice [5, 5) is no part of dimension 0 of f32[8, 4]"},
    {"slice", "f32[8, 4]", "axis = 1; begin = 0; end = 5",
     "slice [0, 5) is no part of dimension 1 of f32[8, 4]"},
    {"pad", "f32[8, 4]", "axis = 1; begin = 1; end = 2", "f32[8, 7]"},
    {"pad", "f32[8, 4]", "axis = 1; begin = -1; end = 2", "pad cannot add -1 and 2 elements"},
    {"split", "f32[8, 6]", "axis = 1; sizes = [1, 2, 3]", "f32[8, 1]; f32[8, 2]; f32[8, 3]"},
    {"split", "f32[8, 6]", "axis = 1; sizes = [1, 2]",
     "split has sizes that sum to 3, but dimension 1 of f32[8, 6] is 6"},
    {"split", "f32[8, 6]", "axis = 1; sizes = [0, 6]",
     "split has size 0 in sizes; sizes are at least 1"},
    {"split", "f32[8, 6]", "axis = 1; sizes = []", "split needs at least one size"},
    {"concat", "f32[8, 1]; f32[8, 2]; f32[8, 3]", "axis = 1", "f32[8, 6]"},
    {"concat", "f32[8, 1]", "axis = 1", "f32[8, 1]"},
    {"concat", "", "axis = 0", "concat needs at least one operand"},
    {"concat", "f32[8, 1]; f32[7, 2]", "axis = 1",
     "concat along axis 1 cannot join f32[7, 2] to f32[8, 1]: only that dimension may differ"},
    {"concat", "f32[8, 1]; f32[8]", "axis = 1",
     "concat along axis 1 cannot join f32[8] to f32[8, 1]: only that dimension may differ"},
    {"all_reduce", "f32[8]", "mesh_axis = 1; ways = 4; combine = sum", "f32[8]"},
    {"all_reduce", "f32[8]", "mesh_axis = 1; ways = 4; combine = min",
     "all_reduce combines by sum, max or logsumexp, not by \"min\""},
    {"all_reduce", "f32[8]", "mesh_axis = 3; ways = 4; combine = sum",
     "all_reduce needs mesh_axis of at least 0 and at most 2, not 3"},
    {"all_gather", "f32[8, 2]", "mesh_axis = 0; ways = 4; axis = 1", "f32[8, 8]"},
    {"reduce_scatter", "f32[8, 2]", "mesh_axis = 0; ways = 4; axis = 0; combine = sum",
     "f32[2, 2]"},
    {"reduce_scatter", "f32[8, 2]", "mesh_axis = 0; ways = 4; axis = 1; combine = sum",
     "reduce_scatter cannot divide dimension 1 of f32[8, 2] into 4 equal parts"},
    {"all_to_all", "f32[8, 2]", "mesh_axis = 0; ways = 4; axis = 0; from_axis = 1", "f32[2, 8]"},
    {"all_to_all", "f32[8, 2]", "mesh_axis = 0; ways = 4; axis = 0; from_axis = 0",
     "all_to_all splits and gathers one dimension, 0"},
    {"ring_shift", "f32[8, 2]", "mesh_axis = 0; ways = 4", "f32[8, 2]"},
    {"ring_shift_back", "f32[8, 2]", "mesh_axis = 0; ways = 4", "f32[8, 2]"},
    {"mirror", "f32[8, 2]", "mesh_axis = 0; ways = 4", "f32[8, 2]"},
    {"run_after", "f32[8, 2]; bf16[4]", "", "f32[8, 2]"},
    {"shard", "f32[8, 2]", "mesh_axis = 0; ways = 4; axis = 0", "f32[2, 2]"},
    {"shard", "f32[8, 2]", "mesh_axis = 0; axis = 0",
     "shard needs ways of at least 1 and at most 2147483647, not 0"},
};

static const char *result_text(TestGraph *test, MwNodeId id)
{
    MwText text = {.arena = test->arena};
    const MwNode *node = mw_node(test->graph, id);
    for (int k = 0; k < node->result_count; k++) {
        char type[MW_TENSOR_TEXT_BYTES];
        mw_text_printf(
            &text, "%s%s", k ? "; " : "",
            mw_tensor_text(&test->graph->values.at[node->first_result + k].tensor, type));
    }
    return text.at;
}

/* The first error and its notes, without what every message begins and ends with. */
static const char *error_text(TestGraph *test)
{
    static const char prefix[] = "meshwright: error: ";
    const char *text = diags_text(test->arena, test->diags);
    ck_assert_msg(strncmp(text, prefix, sizeof prefix - 1) == 0, "%s", text);
    text += sizeof prefix - 1;
    return mw_arena_strndup(test->arena, text, strlen(text) - 1);
}

static void check_reads_back(TestGraph *test, MwNodeId node)
{
    MwValueId result = mw_node_result(test->graph, node, 0);
    mw_vec_push(test->arena, &test->graph->outputs,
                ((MwOutput){mw_value(test->graph, result)->name, result}));
    MwText dump = {.arena = test->arena}, again = {.arena = test->arena};
    mw_graph_print(&dump, test->graph);
    MwSource source = {"dump.graph", dump.at, dump.bytes};
    MwGraph *graph =
        mw_graph_parse(test->arena, test->graph->interner, &source, NULL, 0, test->diags);
    ck_assert_msg(graph != NULL, "%s", diags_text(test->arena, test->diags));
    mw_graph_print(&again, graph);
    ck_assert_str_eq(again.at, dump.at);
}

static void run_cases(const Case *cases, int count)
{
    for (int i = 0; i < count; i++) {
        TestGraph test = test_graph_new();
        MwNodeId node = test_node(&test, cases[i].op, cases[i].operands, cases[i].attrs);
        if (node.index >= 0)
            check_reads_back(&test, node);
        const char *got = node.index >= 0 ? result_text(&test, node) : error_text(&test);
        ck_assert_msg(strcmp(got, cases[i].expected) == 0, "%s(%s; %s)\ngives    %s\nexpected %s",
                      cases[i].op, cases[i].operands, cases[i].attrs, got, cases[i].expected);
        test_graph_free(&test);
    }
}

static const struct {
    const char *family;
    const Case *cases;
    int count;
} families[] = {
#define FAMILY(name)                                                                               \
    {                                                                                              \
#name, name##_cases, MW_COUNT(name##_cases)                                                \
    }
    FAMILY(source), FAMILY(map),    FAMILY(row),  FAMILY(attention),
    FAMILY(einsum), FAMILY(gather), FAMILY(move),
#undef FAMILY
};

START_TEST(a_family_of_operators)
{
    run_cases(families[_i].cases, families[_i].count);
}
END_TEST

/* The name of the shape rule of each operator. */
static const char *const rule_names[MW_OP_COUNT] = {
#define OP(id, name, operands, results, attrs, shape, ...) [MW_OP_##id] = #shape,
#include "ir/ops.def"
};

static bool rule_has_case(const char *rule)
{
    for (int f = 0; f < MW_COUNT(families); f++)
        for (int i = 0; i < families[f].count; i++) {
            MwOp op;
            ck_assert(mw_op_parse(families[f].cases[i].op, &op));
            if (strcmp(rule_names[op], rule) == 0)
                return true;
        }
    return false;
}

START_TEST(every_rule_has_a_case)
{
    for (int op = 0; op < MW_OP_COUNT; op++)
        ck_assert_msg(rule_has_case(rule_names[op]), "%s", rule_names[op]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shape");
    TCase *tests = tcase_create("shape");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, a_family_of_operators, 0, MW_COUNT(families));
    tcase_add_test(tests, every_rule_has_a_case);
    return run_suite(suite);
}
