/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions of the language that expand to several operators: their values and the gradients of
 * their sums, by the reference interpreter, against numbers worked out in another way. Gradients at
 * kinks are those of PyTorch. */
#include "frontend/frontend.h"
#include "passes/pass.h"
#include "tests/reference/interpret.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/graphs.h"
#include "tests/unit/support.h"

#include <math.h>
#include <string.h>

enum { MOST = 24 };

#define PLACE(place) "where(x == x or isnan(x), cast(" place ", f32), x)"

/* An expression over x, a vector; what it gives; and the gradient of the sum of that by x. */
static const struct {
    const char *text;
    int elements, results;
    double x[MOST], y[MOST], gradient[MOST];
} cases[] = {
    {"leaky_relu(x)", 3, 3, {-2, 0, 3}, {-0.02, 0, 3}, {0.01, 0.01, 1}},
    {"leaky_relu(x, slope = 0.5)", 2, 2, {-2, NAN}, {-1, NAN}, {0.5, 0.5}},
    {"elu(x)",
     4,
     4,
     {-1, 0, 2, INFINITY},
     {-0.6321205588285577, 0, 2, INFINITY},
     {0.36787944117144233, 1, 1, 1}},
    {"elu(x, 2)", 2, 2, {-1, NAN}, {-1.2642411176571153, NAN}, {0.7357588823428847, NAN}},
    {"hard_sigmoid(x)",
     6,
     6,
     {-4, -1.5, 0, 1.5, 4, NAN},
     {0, 0.25, 0.5, 0.75, 1, NAN},
     {0, 1. / 6, 1. / 6, 1. / 6, 0, 1. / 6}},
    {"hard_swish(x)", 5, 5, {-4, -1.5, 1.5, 4, 1000}, {0, -0.375, 1.125, 4, 1000}, {0, 0, 1, 1, 1}},
    {"mish(x)",
     3,
     3,
     {-1, 0, 2},
     {-0.30340146137410895, 0, 1.9439589595339946},
     {0.059216755877395, 0.6, 1.0693179342794896}},
    {"clip(x, -1, 1)",
     6,
     6,
     {-2, -1, 0.5, 1, 3, NAN},
     {-1, -1, 0.5, 1, 1, NAN},
     {0, 1, 1, 1, 0, 1}},
    {"clip(x, high = 1)", 2, 2, {-2, 3}, {-2, 1}, {1, 0}},
    {"clip(x, low = 1)", 2, 2, {-2, 3}, {1, 3}, {0, 1}},
    {"min(x)", 3, 1, {3, -1, 2}, {-1}, {0, 1, 0}},
    {"min(x)", 3, 1, {3, NAN, 2}, {NAN}, {NAN, NAN, NAN}},
    {"cast(min(cast(x, i32)), f32) * x",
     2,
     2,
     {-2147483648, 5},
     {4611686018427387904, -10737418240},
     {-2147483648, -2147483648}},
    /* nowhere x, which the loss depends on all the same */
    {PLACE("argmax(x)"), 5, 5, {1, 3, -INFINITY, 3, 2}, {1, 1, 1, 1, 1}, {0}},
    {PLACE("argmax(x)"), 2, 2, {-INFINITY, -INFINITY}, {0, 0}, {0}},
    {PLACE("argmax(x)"), 5, 5, {1, INFINITY, NAN, 3, NAN}, {2, 2, 2, 2, 2}, {0}},
    {PLACE("argmin(x)"), 5, 5, {1, -3, 5, -3, 2}, {1, 1, 1, 1, 1}, {0}},
    {PLACE("argmin(x)"), 4, 4, {1, -INFINITY, 0, NAN}, {3, 3, 3, 3}, {0}},
    {PLACE("argmin(cast(x, i32))"), 3, 3, {0, -2147483648, 2147483520}, {1, 1, 1}, {0}},
    {"reshape(x, [3, 2]) * cast(argmax(reshape(x, [3, 2]), axis = 0), f32)",
     6,
     6,
     {1, 4, 2, 6, 2, 5},
     {1, 4, 2, 6, 2, 5},
     {1, 1, 1, 1, 1, 1}},
    {"x * cast(argmax(x, keep = true), f32)", 3, 3, {1, 2, 3}, {2, 4, 6}, {2, 2, 2}},
    {"sort(x)", 5, 5, {2, NAN, -1, INFINITY, 0}, {-1, 0, 2, INFINITY, NAN}, {1, 1, 1, 1, 1}},
    {"sort(x, descending = true) * cast(iota([4]), f32)",
     4,
     4,
     {1, 4, 2, 3},
     {0, 3, 4, 3},
     {3, 0, 2, 1}},
    {"sort(reshape(x, [2, 3]), axis = 0)",
     6,
     6,
     {1, 5, 3, 4, 2, 6},
     {1, 2, 3, 4, 5, 6},
     {1, 1, 1, 1, 1, 1}},
    {PLACE("argsort(x)"), 4, 4, {3, 1, 3, -0.0}, {3, 1, 0, 2}, {0}},
    {"take_along(x, argsort(x, descending = true))", 3, 3, {1, 3, 2}, {3, 2, 1}, {1, 1, 1}},
    {"prod(x)", 3, 1, {2, 3, 0}, {0}, {0, 0, 6}},
    {"prod(x)", 3, 1, {2, 0, 0}, {0}, {0, 0, 0}},
    {"prod(x)", 7, 1, {1, 2, 3, 4, 5, 6, 7}, {5040}, {5040, 2520, 1680, 1260, 1008, 840, 720}},
    {"prod(reshape(x, [2, 3]), axis = 0)",
     6,
     3,
     {1, 2, 3, 4, 5, 6},
     {4, 10, 18},
     {4, 5, 6, 1, 2, 3}},
    {"prod(reshape(x, [2, 3]), axis = [0, 1], keep = true)",
     6,
     1,
     {1, 2, 3, 4, 5, 6},
     {720},
     {720, 360, 240, 180, 144, 120}},
    {"var(x)", 4, 1, {1, 2, 3, 4}, {1.25}, {-0.75, -0.25, 0.25, 0.75}},
    {"var(x, unbiased = true)", 4, 1, {1, 2, 3, 4}, {5. / 3}, {-1, -1. / 3, 1. / 3, 1}},
    {"var(reshape(x, [2, 2]), axis = 1)", 4, 2, {1, 2, 3, 5}, {0.25, 1}, {-0.5, 0.5, -1, 1}},
    {"std(x)",
     4,
     1,
     {1, 2, 3, 4},
     {1.118033988749895},
     {-0.3354101966249684, -0.1118033988749895, 0.1118033988749895, 0.3354101966249684}},
    {"std(x)", 3, 1, {2, 2, 2}, {0}, {0, 0, 0}},
    {"std(x)", 2, 1, {2, NAN}, {NAN}, {NAN, NAN}},
    {"x * cast(any(x > 2), f32)", 2, 2, {1, 3}, {1, 3}, {1, 1}},
    {"x * cast(any(x > 3), f32)", 2, 2, {1, 3}, {0, 0}, {0, 0}},
    {"x * cast(all(x > 2), f32)", 2, 2, {1, 3}, {0, 0}, {0, 0}},
    {"x * cast(all(x > 0), f32)", 2, 2, {1, 3}, {1, 3}, {1, 1}},
    {"mse(x, constant(1.0, [3]))", 3, 1, {1, 2, 4}, {10. / 3}, {0, 2. / 3, 2}},
    {"mse(x, constant(1.0, [3]), \"none\")", 3, 3, {1, 2, 4}, {0, 1, 9}, {0, 2, 6}},
    {"binary_cross_entropy(x, constant(0.25, [2]))",
     2,
     1,
     {0.5, -2},
     {0.7380024976115396},
     {0.18622966559966866, -0.06539853898979153}},
    {"binary_cross_entropy(x, constant(1.0, [2]), reduction = \"none\")",
     2,
     2,
     {-100, 100},
     {100, 3.720075976020836e-44},
     {-1, -3.720075976020836e-44}},
    {"kl_divergence(log_softmax(x), log_softmax(x * 0))",
     3,
     1,
     {1, 2, 4},
     {0.5743456719404364},
     {-0.11114096568065611, -0.18791726793532246, 0.2990582336492853}},
    {"kl_divergence(x, constant(-0.5, [2]), \"none\")", 2, 1, {-INFINITY, 0}, {0.5}, {0, 1.5}},
    {"cross_entropy(reshape(x, [2, 3]), iota([2]))",
     6,
     1,
     {1, 2, 4, 0, -1, 0.5},
     {2.6369883124465074},
     {-0.4789949669348203, 0.05709759967054139, 0.42189736721987, 0.1657494802298487,
      -0.4390241738594369, 0.27327469362958823}},
    {"cross_entropy(reshape(x, [2, 3]), iota([2]), smoothing = 0.1)",
     6,
     1,
     {1, 2, 4, 0, -1, 0.5},
     {2.528654979113174},
     {-0.4456616335968277, 0.0404309330015451, 0.40523070057307814, 0.1490828135608524,
      -0.4056908405214443, 0.25660802696059193}},
    {"cross_entropy(reshape(x, [2, 3]), iota([2]), ignore = 1)",
     6,
     1,
     {1, 2, 4, 0, -1, 0.5},
     {3.169846019556286},
     {-0.9579899338696406, 0.11419519934108278, 0.8437947344841489, 0, 0, 0}},
    {"cross_entropy(reshape(x, [2, 3]), iota([2]), smoothing = 0.3, ignore = 0)",
     6,
     1,
     {1, 2, 4, 0, -1, 0.5},
     {1.8541306053367284},
     {0, 0, 0, 0.23149896043461735, -0.6780483477020205, 0.4465493872785053}},
    {"cross_entropy(reshape(x, [2, 3]), iota([2]) * 0 - 100, ignore = -100)",
     6,
     1,
     {1, 2, 4, 0, -1, 0.5},
     {0},
     {0, 0, 0, 0, 0, 0}},
    {"cross_entropy(reshape(x, [2, 3]), iota([2]), \"none\", ignore = 0)",
     6,
     2,
     {1, 2, 4, 0, -1, 0.5},
     {0, 2.1041306053367284},
     {0, 0, 0, 0.3314989604240915, -0.8780483476902712, 0.5465493872661796}},
    {"contrastive(reshape(x, [3, 2]), reshape(cast(iota([6]), f32) + 1, [3, 2]), 0.5)",
     6,
     1,
     {1, 2, -0.5, 0.25, 2, -1},
     {1.2991087739346343},
     {0.05943509194473375, -0.029717545972366834, -0.1953070515348957, -0.3906141030697914,
      -0.03587167322599197, -0.07174334645198395}},
    {"contrastive(reshape(x, [3, 2]), reshape(cast(iota([6]), f32) + 1, [3, 2]), symmetric = "
     "false, reduction = \"none\")",
     6,
     3,
     {1, 2, -0.5, 0.25, 2, -1},
     {0.9075410835070539, 2.6648840801641533, 0.4229103393044964},
     {0.6888327332608388, -0.3444163666304194, 0.1611825799004533, 0.3223651598009038,
      0.011444546925435917, 0.022889093850873232}},
    {"einsum(\"ii->i\", reshape(x, [3, 3])) * cast(iota([3]), f32)",
     9,
     3,
     {-4, 6.25, -2.5, 2, -0.75, -0.5, 2, -2.75, 6.5},
     {0, -0.75, 13},
     {0, 0, 0, 0, 1, 0, 0, 0, 2}},
    {"einsum(\"ii->\", reshape(x, [2, 2]))", 4, 1, {1, INFINITY, NAN, 2}, {3}, {1, 0, 0, 1}},
    {"einsum(\"...ii->...i\", reshape(x, [2, 2, 2])) * cast(reshape(iota([4]), [2, 2]), f32)",
     8,
     4,
     {-4, 6.25, -2.5, 2, -0.75, -0.5, 2, -2.75},
     {0, 2, -1.5, -8.25},
     {0, 0, 0, 1, 2, 0, 0, 3}},
    {"einsum(\"iji->j\", reshape(x, [2, 3, 2])) * cast(iota([3]), f32)",
     12,
     3,
     {-4, 6.25, -2.5, 2, -0.75, -0.5, 2, -2.75, 6.5, -4, 0.25, -3.5},
     {0, -6.5, -8.5},
     {0, 0, 1, 0, 2, 0, 0, 0, 0, 1, 0, 2}},
    {"einsum(\"iii->i\", reshape(x, [2, 2, 2]))",
     8,
     2,
     {-4, 6.25, -2.5, 2, -0.75, -0.5, 2, -2.75},
     {-4, -2.75},
     {1, 0, 0, 0, 0, 0, 0, 1}},
    {"einsum(\"ii,ijij->i\", reshape(x, [2, 2]), reshape(cast(iota([16]), f32), [2, 2, 2, 2]))",
     4,
     2,
     {-4, 6.25, -2.5, 2},
     {-20, 50},
     {5, 0, 0, 25}},
    /* by PyTorch 2.15 in f64 */
    {"(flip(x, 0)) * cast(reshape(iota([4]), [4]), f32)",
     4,
     4,
     {-4, 6.25, -2.5, 2},
     {0, -2.5, 12.5, -12},
     {3, 2, 1, 0}},
    {"reshape(x, [2, 3, 2])[:, -1] * cast(reshape(iota([4]), [2, 2]), f32)",
     12,
     4,
     {-4, 6.25, -2.5, 2, -0.75, -0.5, 1, 2, 3, 4, 5, 6},
     {0, -0.5, 10, 18},
     {0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 2, 3}},
    {"reshape(x, [2, 6])[..., 1::2] * cast(reshape(iota([6]), [2, 3]), f32)",
     12,
     6,
     {-4, 6.25, -2.5, 2, -0.75, -0.5, 1, 2, 3, 4, 5, 6},
     {0, 2, -1, 6, 16, 30},
     {0, 0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5}},
    {"stack(reshape(x, [2, 3, 2])[1, 0:2, 1][0], x[-1])",
     12,
     2,
     {-4, 6.25, -2.5, 2, -0.75, -0.5, 1, 2, 3, 4, 5, 6},
     {2, 6},
     {0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1}},
    {"(flip(reshape(x, [2, 3]), [0, -1])) * cast(reshape(iota([6]), [2, 3]), f32)",
     6,
     6,
     {-4, 6.25, -2.5, 2, -0.75, -0.5},
     {-0, -0.75, 4, -7.5, 25, -20},
     {5, 4, 3, 2, 1, 0}},
    {"(gather(x, reshape(iota([4]) * 5 % 3, [2, 2]))) * cast(reshape(iota([4]), [2, 2]), f32)",
     3,
     4,
     {-4, 6.25, -2.5},
     {-0, -2.5, 12.5, -12},
     {3, 2, 1}},
    {"(gather(reshape(x, [3, 2]), reshape(iota([4]) * 5 % 3, [2, 2]))) * cast(reshape(iota([8]), "
     "[2, 2, 2]), f32)",
     6,
     8,
     {-4, 6.25, -2.5, 2, -0.75, -0.5},
     {-0, 6.25, -1.5, -1.5, -10, 10, -24, 43.75},
     {6, 8, 4, 5, 2, 3}},
    {"(gather(reshape(x, [2, 3]), reshape(iota([4]) * 5 % 3, [2, 2]), axis = -1)) * "
     "cast(reshape(iota([8]), [2, 2, 2]), f32)",
     6,
     8,
     {-4, 6.25, -2.5, 2, -0.75, -0.5},
     {-0, -2.5, 12.5, -12, 8, -2.5, -4.5, 14},
     {3, 2, 1, 11, 6, 5}},
    {"(gather(reshape(x, [2, 3, 2]), reshape(iota([4]) * 5 % 3, [2, 2]), axis = 1)) * "
     "cast(reshape(iota([16]), [2, 2, 2, 2]), f32)",
     12,
     16,
     {-4, 6.25, -2.5, 2, -0.75, -0.5, 2, -2.75, 6.5, -4, 0.25, -3.5},
     {-0, 6.25, -1.5, -1.5, -10, 10, -24, 43.75, 16, -24.75, 2.5, -38.5, 78, -52, 28, -41.25},
     {6, 8, 4, 5, 2, 3, 22, 24, 12, 13, 10, 11}},
    {"(gather(x, iota([4]) - 1)) * cast(reshape(iota([4]), [4]), f32)",
     3,
     4,
     {-4, 6.25, -2.5},
     {0, -4, 12.5, -7.5},
     {1, 2, 3}},
    {"(scatter_add(x * 2, iota([3]) % 2, x)) * cast(reshape(iota([3]), [3]), f32)",
     3,
     3,
     {-4, 6.25, -2.5},
     {-0, 18.75, -10},
     {0, 3, 4}},
    {"(scatter_add(reshape(x, [2, 3, 2]), iota([2]) + 1, slice(reshape(x, [2, 3, 2]), 1, 0, 2), "
     "axis = 1)) * cast(reshape(iota([12]), [2, 3, 2]), f32)",
     12,
     12,
     {-4, 6.25, -2.5, 2, -0.75, -0.5, 2, -2.75, 6.5, -4, 0.25, -3.5},
     {-0, 6.25, -13, 24.75, -13, 7.5, 12, -19.25, 68, -60.75, 67.5, -82.5},
     {2, 4, 6, 8, 4, 5, 14, 16, 18, 20, 10, 11}},
    {"(scatter_add(x, reshape(iota([4]) - 1, [2, 2]), reshape(concat(x, slice(x, 0, 0, 1), axis = "
     "0), [2, 2]))) * cast(reshape(iota([3]), [3]), f32)",
     3,
     3,
     {-4, 6.25, -2.5},
     {0, 3.75, -13},
     {2, 1, 3}},
    {"cast(scatter_add(iota([3]) * 10, iota([4]) % 2 * 2, cast(x, i32)), f32) + 0 * sum(x)",
     4,
     3,
     {-4, 6.25, -2.5, 2},
     {-6, 10, 28},
     {0, 0, 0, 0}},
    {"(resize(reshape(x, [1, 2, 1, 2]), [4, 3])) * cast(reshape(iota([24]), [1, 4, 3, 2]), f32)",
     4,
     24,
     {-4, 6.25, -2.5, 2},
     {-0,  6.25, -8,  18.75, -16, 31.25, -24, 43.75, -32, 56.25, -40, 68.75,
      -30, 26,   -35, 30,    -40, 34,    -45, 38,    -50, 42,    -55, 46},
     {30, 36, 102, 108}},
    {"(resize(reshape(x, [1, 4, 2, 1]), [2, 3])) * cast(reshape(iota([6]), [1, 2, 3, 1]), f32)",
     8,
     6,
     {-4, 6.25, -2.5, 2, -0.75, -0.5, 2, -2.75},
     {-0, -4, 12.5, -2.25, -3, -2.5},
     {1, 2, 0, 0, 7, 5, 0, 0}},
    {"(resize(reshape(x, [2, 5, 1]), [3])) * cast(reshape(iota([6]), [2, 3, 1]), f32)",
     10,
     6,
     {-4, 6.25, -2.5, 2, -0.75, -0.5, 2, -2.75, 6.5, -4},
     {-0, 6.25, 4, -1.5, 8, 32.5},
     {0, 1, 0, 2, 0, 3, 4, 0, 5, 0}},
    {"(resize(reshape(x, [1, 2, 2, 2, 1]), [4, 1, 3])) * cast(reshape(iota([12]), [1, 4, 1, 3, "
     "1]), f32)",
     8,
     12,
     {-4, 6.25, -2.5, 2, -0.75, -0.5, 2, -2.75},
     {-0, -4, 12.5, -12, -16, 31.25, -4.5, -5.25, -4, -6.75, -7.5, -5.5},
     {8, 7, 0, 0, 32, 19, 0, 0}},
    {"(resize(reshape(x, [1, 2, 3, 1]), [4, 3], \"bilinear\")) * cast(reshape(iota([12]), [1, 4, "
     "3, 1]), f32)",
     6,
     12,
     {-4, 6.25, -2.5, 2, -0.75, -0.5},
     {-0, 6.25, -5, -7.5, 18, -10, 3, 7, -8, 18, -7.5, -5.5},
     {3.75, 5.75, 7.75, 14.25, 16.25, 18.25}},
    {"(resize(reshape(x, [1, 5, 2]), [3], \"bilinear\")) * cast(reshape(iota([6]), [1, 3, 2]), "
     "f32)",
     10,
     6,
     {-4, 6.25, -2.5, 2, -0.75, -0.5, 2, -2.75, 6.5, -4},
     {-0, 4.833333333333333, -1.5, -1.5, 20.00000000000001, -17.91666666666667},
     {0, 0.6666666666666666, 0, 0.3333333333333334, 2, 3, 1.333333333333332, 1.666666666666665,
      2.666666666666668, 3.333333333333335}},
    {"(resize(reshape(x, [1, 3, 2, 1]), [2, 5], \"bilinear\")) * cast(reshape(iota([10]), [1, 2, "
     "5, 1]), f32)",
     6,
     10,
     {-4, 6.25, -2.5, 2, -0.75, -0.5},
     {-0, -2.74375, 1.5625, 12.91875, 20.75, -5.9375, -6.337499999999999, -3.71875,
      -0.04999999999999805, 1.125},
     {1.649999999999999, 5.85, 4.225, 7.025, 11.025, 15.225}},
    {"(resize(reshape(x, [1, 2, 1, 2, 1]), [3, 2, 3], \"bilinear\")) * cast(reshape(iota([18]), "
     "[1, 3, 2, 3, 1]), f32)",
     4,
     18,
     {-4, 6.25, -2.5, 2},
     {-0, 1.125, 12.5, -12, 4.499999999999998, 31.25, -19.5, 3.062499999999998, 33, -29.25,
      4.374999999999998, 45.375, -30, -3.250000000000001, 28, -37.5, -4.000000000000002, 34},
     {17.25, 23.25, 53.25, 59.24999999999999}},
    {"(adaptive_avg_pool(reshape(x, [1, 4, 2, 1]), [2, 1])) * cast(reshape(iota([2]), [1, 2, 1, "
     "1]), f32)",
     8,
     2,
     {-4, 6.25, -2.5, 2, -0.75, -0.5, 2, -2.75},
     {0, -0.5},
     {0, 0, 0, 0, 0.25, 0.25, 0.25, 0.25}},
    {"(adaptive_avg_pool(reshape(x, [1, 5, 2, 1]), [3, 2])) * cast(reshape(iota([6]), [1, 3, 2, "
     "1]), f32)",
     10,
     6,
     {-4, 6.25, -2.5, 2, -0.75, -0.5, 2, -2.75, 6.5, -4},
     {-0, 4.125, -0.8333333333333334, -1.25, 17, -16.875},
     {0, 0.5, 0.6666666666666666, 1.5, 0.6666666666666666, 1, 2.666666666666667, 3.5, 2, 2.5}},
    {"(adaptive_avg_pool(reshape(x, [1, 3, 1]), [5])) * cast(reshape(iota([5]), [1, 5, 1]), f32)",
     3,
     5,
     {-4, 6.25, -2.5},
     {-0, 1.125, 12.5, 5.625, -10},
     {0.5, 4, 5.5}},
    {"(adaptive_max_pool(reshape(x, [1, 4, 2, 1]), [2, 1])) * cast(reshape(iota([2]), [1, 2, 1, "
     "1]), f32)",
     8,
     2,
     {-4, 6.25, -2.5, 2, -0.75, -0.5, 2, -2.75},
     {0, 2},
     {0, 0, 0, 0, 0, 0, 1, 0}},
    {"(adaptive_max_pool(reshape(x, [1, 5, 2, 1]), [3, 2])) * cast(reshape(iota([6]), [1, 3, 2, "
     "1]), f32)",
     10,
     6,
     {-4, 6.25, -2.5, 2, -0.75, -0.5, 2, -2.75, 6.5, -4},
     {-0, 6.25, 4, 6, 26, -13.75},
     {0, 1, 0, 3, 0, 0, 2, 5, 4, 0}},
    {"(adaptive_max_pool(reshape(x, [1, 7, 1]), [4])) * cast(reshape(iota([4]), [1, 4, 1]), f32)",
     7,
     4,
     {-4, 6.25, -2.5, 2, -0.75, -0.5, 2},
     {0, 6.25, 4, 6},
     {0, 1, 0, 2, 0, 0, 3}},
    {"(adaptive_max_pool(reshape(x, [1, 2, 1]), [5])) * cast(reshape(iota([5]), [1, 5, 1]), f32)",
     2,
     5,
     {-4, 6.25},
     {-0, -4, 12.5, 18.75, 25},
     {1, 9}},
};

static MwGraph *parse(TestGraph *test, int i)
{
    MwSource *source = MW_NEW(test->arena, MwSource, 1);
    source->name = "test.graph";
    source->text = mw_arena_printf(test->arena,
                                   "model m {\nweight x: f32[%d] = zeros\ny = %s\noutput y\ntrain "
                                   "sum(y) with sgd(lr = 1)\n}\n",
                                   cases[i].elements, cases[i].text);
    source->bytes = strlen(source->text);
    MwGraph *graph =
        mw_graph_parse(test->arena, test->graph->interner, source, NULL, 0, test->diags);
    ck_assert_msg(graph != NULL, "%s", diags_text(test->arena, test->diags));
    return graph;
}

/* `found` is NULL where all are 0. */
static void check(int i, const char *what, const double *found, const double *wanted, int count)
{
    for (int e = 0; e < count; e++) {
        const double got = found ? found[e] : 0;
        const bool are_equal = got == wanted[e] || (isnan(got) && isnan(wanted[e])) ||
                               fabs(got - wanted[e]) <= 1e-9 * fabs(wanted[e]) + 1e-300;
        ck_assert_msg(are_equal, "%s: %s %d is %.12g instead of %.12g", cases[i].text, what, e, got,
                      wanted[e]);
    }
}

START_TEST(values_and_gradients_are_as_worked_out)
{
    TestGraph test = test_graph_new();
    MwCompilation compilation = {.arena = test.arena, .graph = parse(&test, _i)};
    ck_assert(mw_pass_differentiate(&compilation, test.diags));
    const MwGraph *graph = compilation.graph;
    const MwValueId y = graph->outputs.at[0].value;
    ck_assert_int_eq(mw_tensor_elements(mw_value_tensor(graph, y)), cases[_i].results);
    Interpreter *run = interpreter_new(test.arena, graph, 0, 1);
    for (int v = 0; v < graph->values.count; v++)
        if (mw_value_node(graph, (MwValueId){v})->op == MW_OP_WEIGHT) {
            const MwValueId gradient = compilation.gradient[v];
            memcpy(run->at[v], cases[_i].x, sizeof(double) * (size_t)cases[_i].elements);
            interpreter_step(run);
            check(_i, "result", run->at[y.index], cases[_i].y, cases[_i].results);
            check(_i, "gradient", mw_has_value(gradient) ? run->at[gradient.index] : NULL,
                  cases[_i].gradient, cases[_i].elements);
        }
    test_graph_free(&test);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("expansions");
    TCase *tests = tcase_create("expansions");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, values_and_gradients_are_as_worked_out, 0, MW_COUNT(cases));
    return run_suite(suite);
}
