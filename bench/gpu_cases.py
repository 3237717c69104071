# SPDX-License-Identifier: GPL-3.0-or-later
"""What bench/gpu times of kernels: models of a few operators, at the sizes of GPT-2 and at tiny ones.

The work of a case is the least that it must do: bytes, each input read once and each output written
once, or floating-point operations. Where a case takes what other kernels make, only the
instructions are timed whose name has `only` in it."""
from dataclasses import dataclass, field

F32, BF16 = 4, 2
BYTES = {"f32": F32, "tf32": F32, "bf16": BF16}
TOLERANCE = {"f32": 1e-5, "tf32": 2e-3, "bf16": 1e-2}


@dataclass
class Case:
    """`body` is that of a model, in which T stands for `type`. `amount` is a function of the bytes of an
    element and of the sizes."""
    name: str
    sizes: dict
    tiny: dict
    body: str
    unit: str  # "GB/s" or "TFLOP/s"
    amount: object
    type: str = "f32"
    only: str = ""
    program: str = "forward"
    feeds: list = field(default_factory=list)  # "INPUT=SIZE": integers below that size

    def text(self):
        lines = "".join(f"size {name} = {value}\n" for name, value in self.sizes.items())
        # no tensor has tf32
        stored, precision = ("f32", "  precision tf32\n") if self.type == "tf32" else (self.type, "")
        return f"{lines}model bench {{\n{precision}{self.body.replace('T[', stored + '[')}\n}}\n"

    def chosen(self, tiny):
        return {**self.sizes, **self.tiny} if tiny else self.sizes

    def work(self, **sizes):
        return self.amount(BYTES[self.type], **sizes)

    @property
    def tolerance(self):
        return TOLERANCE[self.type]


def both(case):
    """The case in f32 and in bf16."""
    for type in ("f32", "bf16"):
        yield Case(**{**vars(case), "name": f"{case.name} {type}", "type": type})


# ---- Rows ----

NORM = {"rows": 8192, "width": 768}, {"rows": 24, "width": 64}
WIDE = {"rows": 8192, "width": 3072}, {"rows": 24, "width": 64}
SCORES = {"rows": 65536, "width": 1024}, {"rows": 24, "width": 64}
LOGITS = {"rows": 4096, "vocab": 50304}, {"rows": 8, "vocab": 128}


def rows():
    yield Case("layer_norm", *NORM, """
  input x: f32[rows, width]
  weight scale: f32[width] = normal(1)
  weight shift: f32[width] = normal(1)
  output y = layer_norm(x) * scale + shift""", "GB/s",
               lambda b, rows, width: 2 * F32 * rows * width)
    yield Case("layer_norm to bf16", *NORM, """
  input x: f32[rows, width]
  weight scale: f32[width] = normal(1)
  weight shift: f32[width] = normal(1)
  output y = cast(layer_norm(x) * scale + shift, bf16)""", "GB/s",
               lambda b, rows, width: (F32 + BF16) * rows * width, type="bf16")
    yield Case("layer_norm backward", *NORM, """
  input x: f32[rows, width]
  input dy: f32[rows, width]
  weight scale: f32[width] = normal(1)
  output dx = layer_norm_grad(x, dy * scale)
  output dscale = sum(dy * layer_norm(x), 0)
  output dshift = sum(dy, 0)""", "GB/s", lambda b, rows, width: 3 * F32 * rows * width)
    yield Case("rms_norm", *NORM, """
  input x: f32[rows, width]
  weight scale: f32[width] = normal(1)
  output y = rms_norm(x) * scale""", "GB/s", lambda b, rows, width: 2 * F32 * rows * width)
    yield from both(Case("softmax", *SCORES, """
  input x: T[rows, width]
  output y = softmax(x)""", "GB/s", lambda b, rows, width: 2 * b * rows * width))
    yield Case("cross_entropy", *LOGITS, """
  input logits: f32[rows, vocab]
  input targets: i32[rows]
  output loss = cross_entropy(logits, targets, reduction = "none")""", "GB/s",
               lambda b, rows, vocab: F32 * rows * vocab, feeds=["targets=vocab"])
    yield Case("cross_entropy backward", *LOGITS, """
  input logits: f32[rows, vocab]
  input targets: i32[rows]
  input lse: f32[rows]
  share = constant(1.0 / rows, shape = [rows])
  output d = (logsumexp_grad(logits, lse, share)
              - pick_grad(targets, share, shape = [rows, vocab]))""", "GB/s",
               lambda b, rows, vocab: 2 * F32 * rows * vocab, feeds=["targets=vocab"])


# ---- Element-wise, moves, sums ----

def maps():
    yield from both(Case("bias, gelu", *WIDE, """
  input x: T[rows, width]
  weight bias: T[width] = normal(1)
  output y = gelu_tanh(x + bias)""", "GB/s", lambda b, rows, width: 2 * b * rows * width))
    yield from both(Case("gelu backward", *WIDE, """
  input x: T[rows, width]
  input dy: T[rows, width]
  weight bias: T[width] = normal(1)
  output dx = gelu_tanh_grad(x + bias, dy)""", "GB/s",
                         lambda b, rows, width: 3 * b * rows * width))
    yield Case("bias, dropout, residual", *WIDE, """
  input x: f32[rows, width]
  input residual: f32[rows, width]
  weight bias: f32[width] = normal(1)
  output y = residual + dropout(x + bias, 0.1)""", "GB/s",
               lambda b, rows, width: 3 * F32 * rows * width)
    yield Case("cast to bf16", *WIDE, """
  input x: f32[rows, width]
  output y = cast(x, bf16)""", "GB/s", lambda b, rows, width: (F32 + BF16) * rows * width,
               type="bf16")
    yield from both(Case("bias gradient", *WIDE, """
  input dy: T[rows, width]
  output dbias = sum(cast(dy, f32), 0)""", "GB/s", lambda b, rows, width: b * rows * width))
    yield from both(Case("transpose", *WIDE, """
  input x: T[rows, width]
  output y = transpose(x, [1, 0])""", "GB/s", lambda b, rows, width: 2 * b * rows * width))
    heads = {"batch": 16, "seq": 1024, "heads": 12, "head": 64}, {"batch": 2, "seq": 8, "heads": 2,
                                                                  "head": 8}
    yield from both(Case("transpose of heads", *heads, """
  input x: T[batch, seq, heads, head]
  output y = transpose(x, [0, 2, 1, 3])""", "GB/s",
                         lambda b, batch, seq, heads, head: 2 * b * batch * seq * heads * head))
    yield from both(Case("rope", *heads, """
  input x: T[batch, seq, heads, head]
  output y = rope(x)""", "GB/s",
                         lambda b, batch, seq, heads, head: 2 * b * batch * seq * heads * head))


# ---- Gathers and the optimizer ----

def tables():
    sizes = {"rows": 16384, "vocab": 50304, "width": 768}, {"rows": 24, "vocab": 32, "width": 16}
    yield Case("embedding", *sizes, """
  input tokens: i32[rows]
  weight table: f32[vocab, width] = normal(1)
  output x = embedding(tokens, table)""", "GB/s",
               lambda b, rows, vocab, width: 2 * F32 * rows * width, feeds=["tokens=vocab"])
    yield Case("embedding backward", *sizes, """
  input tokens: i32[rows]
  input d: f32[rows, width]
  output dtable = embedding_grad(tokens, d, shape = [vocab, width])""", "GB/s",
               lambda b, rows, vocab, width: F32 * (rows + vocab) * width, feeds=["tokens=vocab"])


def optimizers():
    """Of weights with the shapes of GPT-2's: weight and both states are read and written, the gradient
    is read."""
    layer = {"wqkv": "width, 3 * width", "bqkv": "3 * width", "wo": "width, width", "bo": "width",
             "w1": "width, 4 * width", "b1": "4 * width", "w2": "4 * width, width", "b2": "width",
             "scale0": "width", "shift0": "width", "scale1": "width", "shift1": "width"}
    ends = {"wte": "vocab, width", "wpe": "seq, width", "scale": "width", "shift": "width"}

    def add(weights, indent):
        return "".join(f"\n{indent}weight {name}: f32[{shape}] = normal(1)"
                       f"\n{indent}e = e + sum({name} * {name})" for name, shape in weights.items())

    yield Case("adamw of GPT-2 124M", {"vocab": 50304, "seq": 1024, "layers": 12, "width": 768},
               {"vocab": 32, "seq": 8, "layers": 2, "width": 16}, f"""
  input x: f32[8]
  e = mean(x){add(ends, "  ")}
  repeat layers {{{add(layer, "    ")}
  }}
  train e with adamw(lr = 1e-3, betas = [0.9, 0.95], weight_decay = 0.1)""", "GB/s",
               lambda b, vocab, seq, layers, width: 7 * F32 * (
                   layers * (12 * width + 13) * width + (vocab + seq + 2) * width),
               program="update")


# ---- Contractions and attention ----

def gemms():
    square = {"m": 8192, "n": 8192, "k": 8192}, {"m": 16, "n": 24, "k": 8}
    yield from both(gemm("gemm 8192 x 8192 x 8192", "ak,kb->ab", *square))
    yield gemm("gemm 8192 x 8192 x 8192 tf32", "ak,kb->ab", *square, "tf32")
    tiny = square[1]
    for name, n, k in (("qkv", 2304, 768), ("projection", 768, 768), ("mlp up", 3072, 768),
                       ("mlp down", 768, 3072), ("logits", 50304, 768)):
        yield from both(gemm(f"gemm {name}", "ak,kb->ab", {"m": 8192, "n": n, "k": k}, tiny))
    yield from both(gemm("gemm mlp up, to input", "ak,bk->ab",
                         {"m": 8192, "n": 768, "k": 3072}, tiny))
    to_weight = {"m": 768, "n": 3072, "k": 8192}
    yield from both(gemm("gemm mlp up, to weight", "ka,kb->ab", to_weight, tiny))
    yield gemm("gemm mlp up, to weight in f32", "ka,kb->ab", to_weight, tiny, "bf16",
               ", type = f32")
    yield from both(Case("gemm mlp up, bias, gelu", {"m": 8192, "n": 3072, "k": 768}, tiny, """
  input x: T[m, k]
  weight w: T[k, n] = uniform(0.05)
  weight bias: T[n] = normal(1)
  output y = gelu_tanh(x @ w + bias)""", "TFLOP/s", product_work))
    yield from both(Case("gemm, gelu and bias backward",
                         {"m": 8192, "n": 3072, "k": 768}, tiny, """
  input x: T[m, n]
  input dy: T[m, k]
  weight w: T[n, k] = uniform(0.05)
  dx = gelu_tanh_grad(x, einsum("mk,nk->mn", dy, w))
  output dx
  output dbias = sum(cast(dx, f32), 0)""", "TFLOP/s", product_work))


def product_work(b, m, n, k):
    return 2 * m * n * k


def gemm(name, equation, sizes, tiny, type="f32", result=""):
    """Of einsum letters a (m), b (n) and k."""
    size = {"a": "m", "b": "n", "k": "k"}
    left, right = (", ".join(size[letter] for letter in part)
                   for part in equation.split("->")[0].split(","))
    return Case(name, sizes, tiny, f"""
  input x: T[{left}]
  weight y: T[{right}] = uniform(1)
  output z = einsum("{equation}", x, y{result})""", "TFLOP/s", product_work, type=type)


def attentions():
    tiny = {"batch": 1, "seq": 40, "heads": 2, "head": 16}
    for batch, seq in ((16, 1024), (4, 4096)):
        sizes = {"batch": batch, "seq": seq, "heads": 12, "head": 64}
        yield from both(Case(f"attention {seq}", sizes, tiny, QKV + """
  output o = sdpa(q, k, v, causal = true)""", "TFLOP/s", attention_work(2)))
        yield from both(Case(f"attention {seq} backward", sizes, tiny, QKV + """
  input d: T[batch, seq, heads, head]
  o, lse = sdpa(q, k, v, causal = true)
  dq, dk, dv = sdpa_grad(q, k, v, o, lse, d, causal = true, scale = 1 / sqrt(head))
  output dq, dk, dv""", "TFLOP/s", attention_work(5), only="sdpa_grad"))


QKV = """
  input q: T[batch, seq, heads, head]
  input k: T[batch, seq, heads, head]
  input v: T[batch, seq, heads, head]"""


def attention_work(products):
    """Of so many matrix products of every head, of which the causal half counts."""
    return lambda b, batch, seq, heads, head: products * 2 * batch * heads * seq * seq * head / 2


def all_cases():
    for group in (gemms, rows, maps, tables, optimizers, attentions):
        yield from group()
