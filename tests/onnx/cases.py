# SPDX-License-Identifier: GPL-3.0-or-later
"""Small graphs in onnx's text form, for `make`: {name: (text, weights, sizes, bounds)}. Weights are shapes of
random numbers, or arrays; sizes are values of symbols; bounds are limits of random integers of inputs, or their
elements."""
import numpy as np


def head(version=17):
    return f'<ir_version: 8, opset_import: ["" : {version}]>\n'


def table(function, base, *shape, first=0):
    """A constant of rotary positions from `first` on: [.., sequence, 4] or [.., sequence, 1, 4]."""
    angles = np.arange(first, first + max(shape[:-1]))[:, None] * base ** (-np.arange(2) / 2.0)
    numbers = function(np.concatenate([angles, angles], 1)).astype(np.float32).ravel()
    return f"Constant<value = float{list(shape)} {{{', '.join(map(str, numbers))}}}>()"


CASES = {
    "elementwise": (head() + """
elementwise (float[batch, 6] x, float[batch, 6] y, bool[batch, 6] b) => (float[batch, 6] z, bool[batch, 6] w) {
  one = Constant<value = float {1.0}>()
  low = Constant<value = float {-0.5}>()
  high = Constant<value = float {0.75}>()
  cube = Constant<value = float {3.0}>()
  half = Constant<value = float {0.5}>()
  a0 = Abs(x)
  a1 = Add(a0, one)
  a2 = Log(a1)
  a3 = Sqrt(a1)
  a4 = Exp(low)
  a5 = Mul(a2, a4)
  a6 = Div(a5, a3)
  a7 = Sub(a6, y)
  a8 = Clip(a7, low, high)
  a9 = Pow(a8, cube)
  a10 = Pow(a1, half)
  a11 = Min(a9, a10, y)
  a12 = Max(a11, low)
  a13 = Sigmoid(a12)
  a14 = Tanh(x)
  a15 = Erf(y)
  a16 = Sin(x)
  a17 = Cos(y)
  a18 = Sum(a13, a14, a15, a16, a17)
  a19 = Floor(x)
  a20 = Ceil(y)
  a21 = Round(x)
  a22 = Sign(y)
  a23 = Sum(a18, a19, a20, a21, a22)
  a24 = LeakyRelu<alpha = 0.2>(a23)
  a25 = Elu<alpha = 0.7>(x)
  a26 = Softplus(y)
  a27 = HardSigmoid<alpha = 0.25, beta = 0.4>(x)
  a28 = HardSwish(y)
  a29 = PRelu(x, slope)
  a30 = Softsign(x)
  a31 = Reciprocal(a1)
  a32 = Neg(y)
  a33 = Relu(x)
  a34 = Sum(a24, a25, a26, a27, a28, a29, a30, a31, a32, a33)
  c0 = Less(x, y)
  c1 = GreaterOrEqual(x, low)
  c2 = And(c0, c1)
  c3 = Xor(c2, b)
  c4 = Not(c3)
  c5 = Or(c4, c0)
  c6 = IsNaN(x)
  c7 = Equal(b, c6)
  w = And(c5, c7)
  a35 = Where(c3, a34, one)
  z = Identity(a35)
}""", {"slope": (6,)}, {"batch": 2}, {}),

    "integers": (head() + """
integers (int64[batch, 5] x, int32[batch, 5] y) => (int64[batch, 5] z, float[batch, 5] w, int64[batch] m) {
  three = Constant<value = int64 {3}>()
  two = Constant<value = int64 {2}>()
  x0 = Sub(x, three)
  x1 = Div(x0, two)
  x2 = Mod(x0, three)
  x3 = Mul(x1, x2)
  y0 = Cast<to = 7>(y)
  y1 = Max(x3, y0)
  one = Constant<value = int64[1] {1}>()
  z = CumSum(y1, one)
  w0 = Cast<to = 1>(z)
  w1 = Cast<to = 6>(w0)
  w = Cast<to = 1>(w1)
  m = ArgMax<axis = 1, keepdims = 0>(w0)
}""", {}, {"batch": 2}, {"x": 9, "y": 9}),

    "remainders": (head() + """
remainders (float[batch, 5] x, float[batch, 5] y, int32[batch, 5] i) => (float[batch, 5] a, int32[batch, 5] b,
    float[batch, 5] c, float[3, 5] d) {
  two = Constant<value = int32 {2}>()
  three = Constant<value = int32 {3}>()
  r = Mod<fmod = 1>(x, y)
  a = Atan(r)
  j = Sub(i, two)
  k = Mod<fmod = 1>(j, three)
  minus = Neg(three)
  m = Mod<fmod = 1>(j, minus)
  n = Mul(m, three)
  b = Add(k, n)
  fraction = Constant<value = float {0.3}>()
  c = Mod<fmod = 1>(x, fraction)
  drawn = RandomUniform<shape = [3, 5], low = 2.0, high = 3.0>()
  d = Floor(drawn)
}""", {}, {"batch": 2}, {"i": 9}),

    "shapes": (head() + """
shapes (float[batch, 4, 6] x) => (float[batch, 3, n] y, float[batch, p, 4] z, float[q, r] t) {
  shape = Shape(x)
  zero = Constant<value = int64[1] {0}>()
  one = Constant<value = int64[1] {1}>()
  two = Constant<value = int64[1] {2}>()
  three = Constant<value = int64[1] {3}>()
  left = Constant<value = int64[1] {-1}>()
  end = Constant<value = int64[1] {9223372036854775807}>()
  batch1 = Slice(shape, zero, one)
  goal = Concat<axis = 0>(batch1, three, left)
  y0 = Reshape(x, goal)
  y1 = Slice(y0, left, zero, two, left)
  y2 = Concat<axis = 2>(y0, y1)
  pads = Constant<value = int64[6] {0, 0, 1, 0, 0, 2}>()
  fill = Constant<value = float {0.5}>()
  y = Pad(y2, pads, fill)
  z0 = Transpose<perm = [0, 2, 1]>(x)
  z1, z2, z3 = Split<axis = 1>(z0, parts)
  z4 = Slice(z2, zero, end, one, two)
  z5 = Expand(row, goal2)
  z6 = Mul(z3, z5)
  counts = Constant<value = int64[3] {1, 2, 1}>()
  z7 = Tile(z6, counts)
  z = Concat<axis = 1>(z1, z4, z7)
  t0 = Unsqueeze(x, axes)
  t1 = Squeeze(t0, one2)
  t2 = Flatten<axis = 2>(t1)
  up = Constant<value = int64 {1}>()
  t = Trilu<upper = 0>(t2, up)
}""", {"parts": np.array([1, 3, 2]), "row": (1, 4), "goal2": np.array([1, 2, 4]),
       "axes": np.array([1, 3]), "one2": np.array([1])}, {"batch": 2}, {}),

    "images": (head() + """
images (float[2, 4, 9, 8] x) => (float[2, 6, h, w] y, float[2, 4] p, float[2, 3, u, v] t) {
  y0 = Conv<kernel_shape = [3, 3], pads = [1, 0, 1, 2], strides = [2, 1]>(x, filter, bias)
  y1 = Relu(y0)
  y2 = Conv<group = 2, strides = [2, 1], auto_pad = "SAME_UPPER">(y1, grouped)
  y3 = BatchNormalization(y2, scale, shift, mean, variance)
  y4 = MaxPool<kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1>(y3)
  y5 = AveragePool<kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [1, 1]>(y4)
  y6 = InstanceNormalization(y5, scale, shift)
  y = Mul(y6, gain)
  p0 = GlobalAveragePool(x)
  p1 = GlobalMaxPool(x)
  p2 = Add(p0, p1)
  p = Flatten(p2)
  t0 = ConvTranspose<strides = [2, 2], pads = [1, 0, 0, 1], output_padding = [1, 0]>(x, spread, bias3)
  scales = Constant<value = float[4] {1.0, 1.0, 2.0, 2.0}>()
  t1 = Resize<mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">(t0, , scales)
  t = Resize<mode = "linear">(t1, , , sizes)
}""", {"filter": (6, 4, 3, 3), "bias": (6,), "grouped": (6, 3, 3, 3), "scale": (6,), "shift": (6,), "mean": (6,),
       "variance": np.linspace(0.5, 2, 6, dtype=np.float32), "gain": (6, 1, 1), "spread": (4, 3, 3, 2),
       "bias3": (3,), "sizes": np.array([2, 3, 11, 9])}, {}, {}),

    "fixed_batch": (head() + """
fixed_batch (float[batch, 3] x) => (float[n, 3] y, float[2, 3] z) {
  first = Constant<value = int64[1] {-1}>()
  end = Constant<value = int64[1] {-9}>()
  zero = Constant<value = int64[1] {0}>()
  step = Constant<value = int64[1] {-2}>()
  y = Slice(x, first, end, zero, step)
  ids = Constant<value = int64[2] {1, 0}>()
  z = Gather(x, ids)
}""", {}, {"batch": 3}, {}),

    "signals": (head() + """
signals (float[batch, 3, 12] x, float[batch, 2, 4, 4, 5] y) => (float[batch, 5, n] z, float[batch, 3, a, b, c] w,
    float[batch, 1, m, k] s) {
  z0 = Conv<dilations = [2], pads = [2, 2]>(x, filter)
  z = AveragePool<kernel_shape = [2], strides = [2], count_include_pad = 1, pads = [1, 1]>(z0)
  w = Conv<strides = [1, 2, 1]>(y, cube, bias)
  four = Constant<value = int64[4] {0, 4, 3, 3}>()
  s0 = Reshape(x, four)
  s = DepthToSpace<blocksize = 2>(s0)
}""", {"filter": (5, 3, 3), "cube": (3, 2, 2, 2, 2), "bias": (3,)}, {"batch": 2}, {}),

    "contractions": (head() + """
contractions (float[batch, 3, 4] x, float[batch, 4, 5] y) =>
    (float[batch, 3, 2] a, float[batch, 3, 3] b, float[6, 7] c, float[batch, 3, 5] d, float[batch, 3] e) {
  xy = MatMul(x, y)
  a0 = MatMul(xy, w)
  a = Add(bias2, a0)
  xt = Transpose<perm = [0, 2, 1]>(x)
  b = MatMul(x, xt)
  rows = Constant<value = int64[2] {6, 4}>()
  x2 = Reshape(x, rows)
  c = Gemm<transB = 1, alpha = 0.5, beta = 2.0>(x2, matrix, bias7)
  d = Einsum<equation = "bij,bjk->bik">(x, y)
  e = MatMul(x, column)
}""", {"w": (5, 2), "bias2": (2,), "matrix": (7, 4), "bias7": (7,), "column": (4,)}, {"batch": 2}, {}),

    "reductions": (head(18) + """
reductions (float[batch, 3, 4] x) => (float[batch, 3, 1] a, float[batch, 4] b, float[batch] c, float[batch, 3] d,
    float[batch, 1, 4] e, float[batch, 3, 2] v, int64[batch, 3, 2] i, float[batch, 3, 4] s, float[batch, 3, 4] l) {
  last = Constant<value = int64[1] {-1}>()
  one = Constant<value = int64[1] {1}>()
  both = Constant<value = int64[2] {1, 2}>()
  two = Constant<value = int64[1] {2}>()
  a = ReduceMean(x, last)
  b = ReduceSum<keepdims = 0>(x, one)
  c = ReduceMax<keepdims = 0>(x, both)
  d = ReduceL2<keepdims = 0>(x, last)
  e0 = ReduceMin(x, one)
  e1 = ReduceProd(x, one)
  e = Add(e0, e1)
  v, i = TopK(x, two)
  s = Softmax<axis = 1>(x)
  l = LogSoftmax(x)
}""", {}, {"batch": 2}, {}),

    "lookups": (head(18) + """
lookups (int64[batch, 3] ids, float[batch, 4, 5] x, int64[batch, 2] places) =>
    (float[batch, 3, 6] a, float[batch, 5] b, float[batch, 2, 5] c, float[batch, 2] d, float[batch, 3, 7] e,
    float[9, 6] f, float[9, 6] g) {
  a = Gather(table, ids)
  last = Constant<value = int64 {-1}>()
  b = Gather<axis = 1>(x, last)
  two = Constant<value = int64[2] {2, -4}>()
  c = Gather<axis = 1>(x, two)
  d = GatherElements<axis = 1>(b, places)
  depth = Constant<value = int64 {7}>()
  values = Constant<value = float[2] {0.0, 1.0}>()
  e = OneHot(ids, depth, values)
  last1 = Constant<value = int64[1] {-1}>()
  columns = Unsqueeze(ids, last1)
  f = ScatterND<reduction = "add">(table, columns, a)
  rows = Constant<value = int64[2, 1] {3, -1}>()
  put = Constant<value = int64[2] {1, 0}>()
  new = Gather(table, put)
  g = ScatterND(table, rows, new)
}""", {"table": (9, 6)}, {"batch": 2}, {"ids": 7, "places": 5}),

    "norms": (head(21) + """
norms (float[batch, 4, 6] x) => (float[batch, 4, 6] a, float[batch, 4, 6] b, float[batch, 4, 6] c,
    float[batch, 4, 6] d) {
  last = Constant<value = int64[1] {-1}>()
  two = Constant<value = float {2.0}>()
  eps = Constant<value = float {0.001}>()
  one = Constant<value = float {1.0}>()
  a = LayerNormalization<epsilon = 0.01>(x, scale, shift)
  m = ReduceMean(x, last)
  centered = Sub(x, m)
  square = Pow(centered, two)
  variance = ReduceMean(square, last)
  v1 = Add(variance, eps)
  root = Sqrt(v1)
  unit = Div(centered, root)
  scaled = Mul(unit, scale)
  b = Add(scaled, shift)
  x2 = Mul(x, x)
  m2 = ReduceMean(x2, last)
  m3 = Add(m2, eps)
  root2 = Sqrt(m3)
  factor = Div(one, root2)
  unit2 = Mul(x, factor)
  c = Mul(scale, unit2)
  d = GroupNormalization<num_groups = 2>(x, scale4, shift4)
}""", {"scale": (6,), "shift": (6,), "scale4": (4,), "shift4": (4,)}, {"batch": 2}, {}),

    "activations": (head(20) + """
activations (float[batch, 6] x) => (float[batch, 6] a, float[batch, 6] b, float[batch, 6] c, float[batch, 6] d,
    float[batch, 6] e) {
  root = Constant<value = float {1.4142135623730951}>()
  one = Constant<value = float {1.0}>()
  half = Constant<value = float {0.5}>()
  three = Constant<value = float {3.0}>()
  six = Constant<value = float {6.0}>()
  zero = Constant<value = float {0.0}>()
  k = Constant<value = float {0.044715}>()
  slope = Constant<value = float {0.7978845608028654}>()
  a0 = Div(x, root)
  a1 = Erf(a0)
  a2 = Add(a1, one)
  a3 = Mul(x, a2)
  a = Mul(a3, half)
  b0 = Pow(x, three)
  b1 = Mul(b0, k)
  b2 = Add(x, b1)
  b3 = Mul(b2, slope)
  b4 = Tanh(b3)
  b5 = Add(b4, one)
  b6 = Mul(x, half)
  b = Mul(b6, b5)
  c0 = Sigmoid(x)
  c = Mul(x, c0)
  d0 = Add(x, three)
  d1 = Clip(d0, zero, six)
  d2 = Mul(x, d1)
  d = Div(d2, six)
  e = Gelu(x)
}""", {}, {"batch": 3}, {}),

    "hidden_attention": (head(18) + """
hidden_attention (float[batch, 5, 12] x, bool[batch, 1, 5, 5] seen, float[batch, 1, 1, 5] mask) =>
    (float[batch, 3, 5, 4] y, float[batch, 3, 5, 4] z, float[batch, 3, 5, 4] t, float[batch, 3, 5, 4] u) {
  heads = Constant<value = int64[4] {0, 0, 3, 4}>()
  half = Constant<value = float {0.5}>()
  hidden = Constant<value = float {-3.4028235e38}>()
  infinite = Constant<value = float {-inf}>()
  zero = Constant<value = float {0.0}>()
  last = Constant<value = int64[1] {-1}>()
  x1 = Reshape(x, heads)
  q = Transpose<perm = [0, 2, 1, 3]>(x1)
  kt = Transpose<perm = [0, 2, 3, 1]>(x1)
  s0 = MatMul(q, kt)
  scores = Mul(s0, half)
  masked = Where(seen, scores, hidden)
  p = Softmax(masked)
  shares = Where(seen, p, zero)
  y = MatMul(shares, q)
  large = Log(mask)
  masked2 = Add(scores, large)
  p2 = Softmax(masked2)
  greatest = ReduceMax(masked2, last)
  is_none = Equal(greatest, infinite)
  shares2 = Where(is_none, zero, p2)
  z = MatMul(shares2, q)
  biased = Add(scores, bias)
  masked3 = Where(later, infinite, biased)
  p3 = Softmax(masked3)
  t = MatMul(p3, q)
  masked4 = Where(seen, biased, hidden)
  p4 = Softmax(masked4)
  shares4 = Where(seen, p4, zero)
  u = MatMul(shares4, q)
}""", {"bias": (1, 3, 5, 5), "later": np.triu(np.ones((5, 5), np.bool_), 1)}, {"batch": 2}, {"seen": [[[[True, True, False, True, False]] * 4 + [[False] * 5]]],
                         "mask": [[[[0] * 5]], [[[0.5, 0, 2, 1, 1]]]]}),

    "attention": (head() + """
attention (float[batch, 5, 12] x, bool[batch, 1, 1, 5] seen) => (float[batch, 5, 12] y, float[batch, 5, 12] z,
    float[batch, 5, 12] c, float[batch, 5, 12] d) {
  heads = Constant<value = int64[4] {0, 0, 3, 4}>()
  flat = Constant<value = int64[3] {0, 0, 12}>()
  root = Constant<value = float {2.0}>()
  hidden = Constant<value = float {-inf}>()
  open = Constant<value = float {0.0}>()
  q0 = MatMul(x, wq)
  k0 = MatMul(x, wk)
  v0 = MatMul(x, wv)
  q1 = Reshape(q0, heads)
  k1 = Reshape(k0, heads)
  v1 = Reshape(v0, heads)
  q = Transpose<perm = [0, 2, 1, 3]>(q1)
  kt = Transpose<perm = [0, 2, 3, 1]>(k1)
  v = Transpose<perm = [0, 2, 1, 3]>(v1)
  s0 = MatMul(q, kt)
  scores = Div(s0, root)
  masked = Add(scores, causal)
  p = Softmax(masked)
  o = MatMul(p, v)
  o1 = Transpose<perm = [0, 2, 1, 3]>(o)
  y = Reshape(o1, flat)
  mask = Where(seen, open, hidden)
  masked2 = Add(s0, mask)
  p2 = Softmax(masked2)
  o2 = MatMul(p2, v)
  o3 = Transpose<perm = [0, 2, 1, 3]>(o2)
  z = Reshape(o3, flat)
  masked3 = Add(scores, bias)
  p3 = Softmax(masked3)
  o4 = MatMul(p3, v)
  o5 = Transpose<perm = [0, 2, 1, 3]>(o4)
  c = Reshape(o5, flat)
  masked4 = Add(mask, masked3)
  p4 = Softmax(masked4)
  o6 = MatMul(p4, v)
  o7 = Transpose<perm = [0, 2, 1, 3]>(o6)
  d = Reshape(o7, flat)
}""", {"wq": (12, 12), "wk": (12, 12), "wv": (12, 12), "bias": (1, 3, 5, 5),
       "causal": np.triu(np.full((1, 1, 5, 5), -np.inf, np.float32), 1)},
        {"batch": 2}, {"seen": [True, True, False, True, False]}),

    "attention23": (head(23) + """
attention23 (float[batch, 5, 12] x, bool[5, 5] seen) => (float[batch, 5, 12] y, float[batch, 5, 12] z) {
  q = MatMul(x, wq)
  k = MatMul(x, wk)
  v = MatMul(x, wv)
  y = Attention<q_num_heads = 4, kv_num_heads = 2, is_causal = 1>(q, k, v)
  heads = Constant<value = int64[4] {0, 0, 4, 3}>()
  few = Constant<value = int64[4] {0, 0, 2, 3}>()
  flat = Constant<value = int64[3] {0, 0, 12}>()
  q1 = Reshape(q, heads)
  k1 = Reshape(k, few)
  v1 = Reshape(v, few)
  q2 = Transpose<perm = [0, 2, 1, 3]>(q1)
  k2 = Transpose<perm = [0, 2, 1, 3]>(k1)
  v2 = Transpose<perm = [0, 2, 1, 3]>(v1)
  o = Attention<scale = 0.25>(q2, k2, v2, seen)
  o1 = Transpose<perm = [0, 2, 1, 3]>(o)
  z = Reshape(o1, flat)
}""", {"wq": (12, 12), "wk": (12, 6), "wv": (12, 6)},
        {"batch": 2}, {"seen": np.eye(5, dtype=bool) | (np.arange(5) % 2 == 0)}),

    "recurrences": (head() + """
recurrences (float[batch, 5, 3] x, float[2, batch, 4] h0) => (float[5, 2, batch, 4] a, float[2, batch, 4] b,
    float[2, batch, 4] c, float[5, 2, batch, 4] d, float[1, batch, 4] e, float[5, 2, batch, 4] f,
    float[5, 1, batch, 4] g) {
  steps = Transpose<perm = [1, 0, 2]>(x)
  a, b, c = LSTM<hidden_size = 4, direction = "bidirectional">(steps, w, r, bias, , h0)
  d, d1 = GRU<hidden_size = 4, direction = "bidirectional", linear_before_reset = 1>(steps, w3, r3, bias3)
  e0, e = GRU<hidden_size = 4, direction = "reverse", linear_before_reset = 1>(steps, w1, r1)
  f = GRU<hidden_size = 4, direction = "bidirectional",
          activations = ["Sigmoid", "Tanh", "Sigmoid", "Tanh"]>(steps, w4, r4, bias4, , h0)
  g = RNN<hidden_size = 4, activations = ["Relu"]>(steps, w5, r5, bias5)
}""", {"w": (2, 16, 3), "r": (2, 16, 4), "bias": (2, 32), "w3": (2, 12, 3), "r3": (2, 12, 4), "bias3": (2, 24),
       "w1": (1, 12, 3), "r1": (1, 12, 4), "w4": (2, 12, 3), "r4": (2, 12, 4), "bias4": (2, 24), "w5": (1, 4, 3),
       "r5": (1, 4, 4), "bias5": (1, 8)}, {"batch": 2}, {}),

    "sizes": (head() + """
sizes (float[batch, length, 4] x, float[7] table) => (float[batch, length, 4] y, float[batch, length] z) {
  shape = Shape(x)
  at = Constant<value = int64 {1}>()
  zero = Constant<value = int64 {0}>()
  length0 = Gather(shape, at)
  places = Range(zero, length0, at)
  places2 = Cast<to = 1>(places)
  axes = Constant<value = int64[1] {1}>()
  places3 = Unsqueeze(places2, axes)
  y0 = Add(x, places3)
  ones = ConstantOfShape<value = float[1] {1.5}>(shape)
  y1 = Mul(y0, ones)
  y = Add(y1, four)
  end = Unsqueeze(length0, zero1)
  part = Slice(table, zero1, end)
  z0 = Gather<axis = 2>(x, zero)
  z = Add(z0, part)
}""", {"four": (4,), "zero1": np.array([0])}, {"batch": 2, "length": 3}, {}),

    "large_integers": (head() + """
large_integers (int64[batch, 4] x, bool[batch, 4] b) => (int64[batch, 4] y, int64[batch, 4] z, int64[4] s,
    int64[3] r, int64 m) {
  big = Constant<value = int64 {1152921504606846977}>()
  least = Constant<value = int64 {-9223372036854775808}>()
  none = Constant<value = int64 {0}>()
  y0 = Where(b, big, none)
  y = Add(y0, x)
  z0 = Where(b, x, least)
  z1 = Max(z0, low)
  z = Clip(z1, low, big)
  s0 = CumSum(list, none)
  s1 = Neg(s0)
  s = Abs(s1)
  one = Constant<value = int64 {1}>()
  end = Constant<value = int64 {1152921504606846980}>()
  r0 = Range(big, end, one)
  shape = Constant<value = int64[1] {3}>()
  same = ConstantOfShape<value = int64[1] {9007199254740993}>(shape)
  r = Sub(r0, same)
  m = ReduceMax<keepdims = 0>(list)
}""", {"low": np.array(-(2**60) - 1), "list": np.array([2**53 + 1, 2, -3, 2**61])}, {"batch": 2}, {}),

    "corners": (head(20) + """
corners (float[batch, 3, 4] x, int32[batch, 4] i, bool[batch, 4] b) => (float[batch, 3, 4] p,
    float[batch, 5, 4] pad, float[batch, 3, 4] n, float[batch, 3, 4] q, float[batch, 1, 1] l, float[batch, 4] k,
    float[batch, 3, 1] a, float[batch, 3] g, int32[batch, 4] least, float[batch, 3, 4] c, float[batch, 3, 4] u,
    float[batch, 3, 4] v, float[2, 3] o, float[3, 2] e, float[batch, 1, 4] t, bool[batch] some,
    bool[batch] every, float[2, batch, 3, 4] silu) {
  p0 = Slice(x, zero1, one1, one1)
  p1 = Abs(p0)
  twos = Constant<value = float[3, 1] {2.0, 2.0, 2.0}>()
  p = Pow(p1, twos)
  pads = Constant<value = int64[6] {0, 1, 0, 0, 1, 0}>()
  hidden = Constant<value = float {-1e9}>()
  pad0 = Pad(x, pads, hidden)
  pad = Relu(pad0)
  n = ReduceL2<noop_with_empty_axes = 1>(x)
  q = ReduceSumSquare<noop_with_empty_axes = 1>(x)
  both = Constant<value = int64[2] {1, 2}>()
  l = ReduceLogSumExp(x, both)
  k = ReduceLogSumExp<keepdims = 0>(x, one1)
  last = Constant<value = int64[1] {-1}>()
  a = ReduceL1(x, last)
  x2 = Abs(x)
  g = ReduceLogSum<keepdims = 0>(x2, last)
  two = Constant<value = int32 {2}>()
  i0 = Sub(i, two)
  least = Relu(i0)
  low = ReduceMean<keepdims = 0>(x)
  c = Clip(x, low)
  z = Mul(x, mask)
  u = LpNormalization<axis = 1, p = 1>(z)
  v = LpNormalization<axis = 1>(z)
  ids = Constant<value = int64[2] {-1, 1}>()
  depth = Constant<value = int64 {3}>()
  values = Constant<value = float[2] {0.0, 1.0}>()
  o = OneHot(ids, depth, values)
  ids2 = Constant<value = int64[3, 2] {-1, 1, 0, -4, 2, -2}>()
  e = GatherElements<axis = 1>(table, ids2)
  far = Constant<value = int64[1] {-100}>()
  t = Slice(x, far, far, one1, last)
  some = ReduceMax<keepdims = 0>(b, one1)
  every = ReduceMin<keepdims = 0>(b, one1)
  gate = Sigmoid(x)
  gated = Mul(gate, x)
  ones = Constant<value = float[2, 1, 1, 1] {1.0, 1.0}>()
  s0 = Add(gated, x)
  three2 = Constant<value = float[2, 1, 1, 1] {3.0, 3.0}>()
  zero = Constant<value = float {0.0}>()
  six = Constant<value = float {6.0}>()
  h0 = Add(x, three2)
  h1 = Clip(h0, zero, six)
  h2 = Mul(x, h1)
  h3 = Div(h2, six)
  silu = Mul(h3, ones)
}""", {"mask": np.array([1, 0, 1, 0], np.float32), "table": (3, 4),
       "one1": np.array([1]), "zero1": np.array([0])}, {"batch": 2}, {}),

    "equations": (head() + """
equations (float[batch, 3, 3] x, float[batch, 3, 4] y) => (float[batch, 3] d, float[batch] t, float[batch, 3, 4] p,
    float[4] i, float[batch, 3, 2] m, float[2, batch, 3] s) {
  d = Einsum<equation = "bii->bi">(x)
  t = Einsum<equation = "bii->b">(x)
  p = Einsum<equation = " ...ij, ...jk -> ...ik ">(x, y)
  i = Einsum<equation = "bXX,bXk">(x, y)
  m = Einsum<equation = "bij,bjk,kn->bin">(x, y, w)
  s = Einsum<equation = "...k,kn->n...">(y, w)
}""", {"w": (4, 2)}, {"batch": 2}, {}),

    "stretched_attention": (head() + """
stretched_attention (float[batch, 2, 3, 4] q, float[batch, 2, 4, 5] k, float[batch, 2, 5, 4] v) =>
    (float[batch, 2, 3, 4] a, float[batch, 2, 3, 4] b, float[batch, 2, 3, 4] c, float[batch, 2, 1, 4] d) {
  s = MatMul(q, k)
  rows = Constant<value = float[3, 1] {-1e31, 0.0, 0.0}>()
  s1 = Add(s, rows)
  p1 = Softmax(s1)
  a = MatMul(p1, v)
  zero1 = Constant<value = int64[1] {0}>()
  one1 = Constant<value = int64[1] {1}>()
  two1 = Constant<value = int64[1] {2}>()
  first = Slice(q, zero1, one1, two1)
  t = MatMul(first, k)
  t1 = Add(t, causal)
  p2 = Softmax(t1)
  b = MatMul(p2, v)
  ones = Constant<value = float[3, 1] {0.5, 0.5, 0.5}>()
  t2 = Mul(t, ones)
  p3 = Softmax(t2)
  c = MatMul(p3, v)
  t3 = Add(t, shown)
  p4 = Softmax(t3)
  d = MatMul(p4, v)
}""", {"causal": np.triu(np.full((3, 5), -np.inf, np.float32), 1),
       "shown": np.array([0, -np.inf, 0, -np.inf, -np.inf], np.float32)}, {"batch": 2}, {}),

    "attention24": (head(24) + """
attention24 (float[batch, 4, 3, 6] q, float[batch, 2, 5, 6] k, float[batch, 2, 5, 6] v, bool[3, 5] seen) =>
    (float[batch, 4, 3, 6] a, float[batch, 4, 3, 6] b) {
  a = Attention<softcap = 0.5>(q, k, v)
  b = Attention(q, k, v, seen)
}""", {}, {"batch": 2}, {"seen": [True, True, False, True, False]}),

    "rotary": (head() + f"""
rotary (float[batch, 2, 3, 4] x, float[batch, 3, 2, 4] y) => (float[batch, 2, 3, 4] a, float[batch, 3, 2, 4] b,
    float[batch, 2, 3, 4] c, float[batch, 2, 3, 4] d) {{
  cos = {table(np.cos, 500000.0, 1, 1, 3, 4)}
  sin = {table(np.sin, 500000.0, 1, 1, 3, 4)}
  cos_y = {table(np.cos, 10000.0, 3, 1, 4)}
  sin_y = {table(np.sin, 10000.0, 3, 1, 4)}
  cos_1 = {table(np.cos, 10000.0, 3, 4, first=1)}
  sin_1 = {table(np.sin, 10000.0, 3, 4, first=1)}
""" + """
  zero = Constant<value = int64[1] {0}>()
  half = Constant<value = int64[1] {2}>()
  last = Constant<value = int64[1] {3}>()
  end = Constant<value = int64[1] {9223372036854775807}>()
  x1 = Slice(x, zero, half, last)
  x2 = Slice(x, half, end, last)
  x3 = Neg(x2)
  turned = Concat<axis = -1>(x3, x1)
  a1 = Mul(x, cos)
  a2 = Mul(turned, sin)
  a = Add(a1, a2)
  y1, y2 = Split<axis = 3>(y)
  y3 = Neg(y2)
  y4 = Concat<axis = 3>(y3, y1)
  b1 = Mul(sin_y, y4)
  b2 = Mul(cos_y, y)
  b = Add(b1, b2)
  c1 = Mul(x, cos_1)
  c2 = Mul(turned, sin_1)
  c = Add(c1, c2)
  x4 = Neg(x1)
  other = Concat<axis = 3>(x2, x4)
  d2 = Mul(other, sin)
  d = Add(a1, d2)
}""", {}, {"batch": 2}, {}),
}
