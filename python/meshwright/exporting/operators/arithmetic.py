# SPDX-License-Identifier: GPL-3.0-or-later
"""Element-wise operators."""
from __future__ import annotations

from typing import Any

import torch

from meshwright.exporting.builder import Builder, type_name
from meshwright.exporting.operators import operator
from meshwright.exporting.values import Unsupported, Value, list_text

UNARY = {
    "exp.default": "exp", "log.default": "log", "sqrt.default": "sqrt", "rsqrt.default": "rsqrt",
    "sin.default": "sin", "cos.default": "cos", "tan.default": "tan", "tanh.default": "tanh",
    "erf.default": "erf", "abs.default": "abs", "neg.default": "neg", "expm1.default": "expm1",
    "log1p.default": "log1p", "sign.default": "sign", "sgn.default": "sign",
    "floor.default": "floor", "ceil.default": "ceil", "round.default": "round",
    "relu.default": "relu", "silu.default": "silu", "sigmoid.default": "sigmoid",
    "mish.default": "mish", "hardsigmoid.default": "hard_sigmoid", "hardswish.default":
    "hard_swish", "isnan.default": "isnan",
}
BINARY = {
    "mul.Tensor": "{} * {}", "mul.Scalar": "{} * {}", "div.Tensor": "{} / {}",
    "div.Scalar": "{} / {}", "true_divide.Tensor": "{} / {}", "maximum.default": "maximum({}, {})",
    "minimum.default": "minimum({}, {})", "pow.Tensor_Tensor": "pow({}, {})",
    "pow.Scalar": "pow({}, {})", "remainder.Tensor": "{} % {}", "remainder.Scalar": "{} % {}",
    "floor_divide.default": "{} // {}", "atan2.default": "atan2({}, {})",
    "logical_and.default": "{} and {}", "logical_or.default": "{} or {}",
    "logical_xor.default": "{} != {}",
}
COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def unary(name: str) -> Any:
    """The translator of a function of one operand. Integers give floats, as in PyTorch."""
    def translate(builder: Builder, x: Value) -> Value:
        compute = x.dtype if builder.node.meta["val"].dtype == torch.bool else None
        return builder.elementwise(name + "({})", x, compute=compute)
    return translate


def binary(template: str) -> Any:
    """The translator of a function of two operands."""
    def translate(builder: Builder, x: Any, y: Any) -> Value:
        return builder.elementwise(template, x, y)
    return translate


def comparison(sign: str) -> Any:
    """The translator of a comparison, in the type that both operands promote to."""
    def translate(builder: Builder, x: Value, y: Any) -> Value:
        return builder.elementwise(f"{{}} {sign} {{}}", x, y, compute=promoted(x, y))
    return translate


def promoted(*operands: Any) -> torch.dtype:
    """The type that operands of a comparison are converted to."""
    stand_ins = [torch.empty((1,) * operand.rank, dtype=operand.dtype)
                 if isinstance(operand, Value) else operand for operand in operands]
    first, *others = stand_ins
    for other in others:
        first = torch.empty((1,), dtype=torch.result_type(first, other))
    return first.dtype


for _name, _function in UNARY.items():
    operator(_name)(unary(_function))
for _name, _template in BINARY.items():
    operator(_name)(binary(_template))
for _name, _sign in COMPARISONS.items():
    operator(f"{_name}.Tensor", f"{_name}.Scalar")(comparison(_sign))


def scaled(builder: Builder, sign: str, x: Any, y: Any, alpha: Any) -> Value:
    """x + alpha y, or x - alpha y."""
    if alpha == 1:
        return builder.elementwise(f"{{}} {sign} {{}}", x, y)
    return builder.elementwise(f"{{}} {sign} {{}} * {{}}", x, alpha, y)


@operator("add.Tensor", "add.Scalar")
def add(builder: Builder, x: Any, y: Any, alpha: Any = 1) -> Value:
    return scaled(builder, "+", x, y, alpha)


@operator("sub.Tensor", "sub.Scalar")
def sub(builder: Builder, x: Any, y: Any, alpha: Any = 1) -> Value:
    return scaled(builder, "-", x, y, alpha)


@operator("rsub.Tensor", "rsub.Scalar")
def rsub(builder: Builder, x: Any, y: Any, alpha: Any = 1) -> Value:
    return scaled(builder, "-", y, x, alpha)


@operator("addcmul.default")
def addcmul(builder: Builder, x: Value, y: Value, z: Value, *, value: Any) -> Value:
    return builder.elementwise("{} + {} * {} * {}", x, value, y, z)


@operator("addcdiv.default")
def addcdiv(builder: Builder, x: Value, y: Value, z: Value, *, value: Any) -> Value:
    return builder.elementwise("{} + {} * {} / {}", x, value, y, z)


@operator("lerp.Scalar", "lerp.Tensor")
def lerp(builder: Builder, x: Value, y: Value, weight: Any) -> Value:
    return builder.elementwise("{0} + {2} * ({1} - {0})", x, y, weight)


@operator("div.Tensor_mode", "div.Scalar_mode")
def div_rounded(builder: Builder, x: Any, y: Any, *, rounding_mode: str | None) -> Value:
    dtype = builder.node.meta["val"].dtype
    if rounding_mode == "floor":
        return builder.elementwise("{} // {}", x, y)
    if rounding_mode is None:
        return builder.elementwise("{} / {}", x, y)
    if dtype.is_floating_point:
        return builder.elementwise("sign({0} / {1}) * floor(abs({0} / {1}))", x, y)
    return builder.elementwise("sign({0}) * sign({1}) * (abs({0}) // abs({1}))", x, y)


@operator("reciprocal.default")
def reciprocal(builder: Builder, x: Value) -> Value:
    return builder.elementwise("1.0 / {}", x)


@operator("square.default")
def square(builder: Builder, x: Value) -> Value:
    return builder.elementwise("{0} * {0}", x)


@operator("pow.Tensor_Scalar")
def power(builder: Builder, x: Value, exponent: Any) -> Value:
    products = {1: "{0}", 2: "{0} * {0}", 3: "{0} * {0} * {0}", 0.5: "sqrt({0})",
                -0.5: "rsqrt({0})", -1: "1 / {0}"}
    if exponent in products and (exponent > 0 or builder.node.meta["val"].dtype.is_floating_point):
        return builder.elementwise(products[exponent], x)
    return builder.elementwise("pow({}, {})", x, exponent)


@operator("gelu.default")
def gelu(builder: Builder, x: Value, *, approximate: str) -> Value:
    return builder.elementwise("gelu({})" if approximate == "none" else "gelu_tanh({})", x)


@operator("leaky_relu.default")
def leaky_relu(builder: Builder, x: Value, slope: float) -> Value:
    return builder.elementwise("leaky_relu({}, {})", x, slope)


@operator("elu.default")
def elu(builder: Builder, x: Value, alpha: float) -> Value:
    return builder.elementwise("elu({}, {})", x, alpha)


@operator("selu.default")
def selu(builder: Builder, x: Value) -> Value:
    return builder.elementwise("1.0507009873554805 * elu({}, 1.6732632423543772)", x)


@operator("softplus.default")
def softplus(builder: Builder, x: Value, beta: float, threshold: float) -> Value:
    if beta == 1:
        return builder.elementwise("where({0} > {1}, {0}, softplus({0}))", x, threshold)
    return builder.elementwise("where({2} * {0} > {1}, {0}, softplus({2} * {0}) / {2})", x,
                               threshold, beta)


@operator("log_sigmoid.default")
def log_sigmoid(builder: Builder, x: Value) -> Value:
    return builder.elementwise("neg(softplus(neg({})))", x)


@operator("hardtanh.default")
def hardtanh(builder: Builder, x: Value, low: Any, high: Any) -> Value:
    return builder.elementwise("clip({}, {}, {})", x, low, high)


@operator("relu6.default")
def relu6(builder: Builder, x: Value) -> Value:
    return builder.elementwise("clip({}, 0.0, 6.0)", x)


@operator("clamp.default", "clip.default")
def clamp(builder: Builder, x: Value, low: Any = None, high: Any = None) -> Value:
    bounds = [(name, bound) for name, bound in (("low", low), ("high", high)) if bound is not None]
    text = ", ".join(f"{name} = {{}}" for name, _ in bounds)
    return builder.elementwise(f"clip({{}}, {text})", x, *(bound for _, bound in bounds))


@operator("clamp_min.default", "clamp_min.Tensor")
def clamp_min(builder: Builder, x: Value, low: Any) -> Value:
    return builder.elementwise("maximum({}, {})" if isinstance(low, Value) else
                               "clip({}, low = {})", x, low)


@operator("clamp_max.default", "clamp_max.Tensor")
def clamp_max(builder: Builder, x: Value, high: Any) -> Value:
    return builder.elementwise("minimum({}, {})" if isinstance(high, Value) else
                               "clip({}, high = {})", x, high)


@operator("threshold.default")
def threshold(builder: Builder, x: Value, least: Any, value: Any) -> Value:
    return builder.elementwise("where({0} > {1}, {0}, {2})", x, least, value)


@operator("isinf.default")
def isinf(builder: Builder, x: Value) -> Value:
    return builder.elementwise("abs({}) == inf", x, compute=x.dtype)


@operator("logical_not.default", "bitwise_not.default")
def logical_not(builder: Builder, x: Value) -> Value:
    if name_is_bitwise(builder) and x.dtype != torch.bool:
        return builder.elementwise("-1 - {}", x)
    return builder.elementwise("not {}", x)


@operator("bitwise_and.Tensor", "bitwise_and.Scalar")
def bitwise_and(builder: Builder, x: Value, y: Any) -> Value:
    return of_bools(builder, "{} and {}", x, y)


@operator("bitwise_or.Tensor", "bitwise_or.Scalar")
def bitwise_or(builder: Builder, x: Value, y: Any) -> Value:
    return of_bools(builder, "{} or {}", x, y)


@operator("bitwise_xor.Tensor", "bitwise_xor.Scalar")
def bitwise_xor(builder: Builder, x: Value, y: Any) -> Value:
    return of_bools(builder, "{} != {}", x, y)


def of_bools(builder: Builder, template: str, x: Value, y: Any) -> Value:
    """A bitwise operator, which the language has for truth values alone."""
    if builder.node.meta["val"].dtype != torch.bool:
        raise Unsupported("of integers")
    return builder.elementwise(template, x, y)


def name_is_bitwise(builder: Builder) -> bool:
    """Whether the node is one of the bitwise operators."""
    return "bitwise" in str(builder.node.target)


@operator("where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar")
def where(builder: Builder, condition: Value, yes: Any, no: Any) -> Value:
    dtype = builder.node.meta["val"].dtype
    layout = builder.layout_of((condition, yes, no), builder.node.meta["val"].dim())
    texts = [builder.operand(condition, torch.bool, layout)]
    for operand in (yes, no):
        text = builder.operand(operand, dtype, layout)
        both_numbers = not isinstance(yes, Value) and not isinstance(no, Value)
        texts.append(builder.constant(operand, (), dtype) if both_numbers else text)
    return builder.define(f"where({', '.join(texts)})", order=layout)


@operator("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(builder: Builder, x: Value, mask: Value, value: Any) -> Value:
    return where(builder, mask, value, x)


@operator("_to_copy.default", "to.dtype")
def to_copy(builder: Builder, x: Value, *, dtype: torch.dtype | None) -> Value:
    if dtype is None or dtype == x.dtype:
        return x
    order = None if x.is_stored_plain or x.plain else x.order
    text = builder.operand(x, x.dtype, order)
    made = builder.define(f"cast({text}, {type_name(dtype)})", order=order, hint="to")
    made.leaf = x.leaf
    return made


@operator("clone.default", "contiguous.default", "alias.default", "lift_fresh_copy.default",
          "lift_fresh.default", "positive.default")
def same(builder: Builder, x: Value) -> Value:
    return x


@operator("copy.default")
def copy(builder: Builder, x: Value, source: Value) -> Value:
    text = builder.operand(source, x.dtype)
    if source.shape != x.shape:
        text = f"broadcast({text}, {list_text(x.shape)})"
    return builder.define(text if text.endswith(")") else f"identity({text})")


@operator("detach.default", "detach_.default")
def detach(builder: Builder, x: Value) -> Value:
    return builder.elementwise("stop_gradient({})", x) if x.dtype.is_floating_point else x


@operator("dropout.default", "native_dropout.default", "feature_dropout.default")
def dropout(builder: Builder, x: Value, rate: float, train: bool | None) -> Any:
    is_native = "native" in str(builder.node.target)
    if "feature" in str(builder.node.target) and train and rate:
        raise Unsupported("which drops whole channels")
    if not train or rate == 0:
        return (x, None) if is_native else x
    layout = None if x.is_stored_plain or x.plain else x.order
    text = f"dropout({builder.operand(x, x.dtype, layout)}, {float(rate)!r})"
    made = builder.define(text, shape=x.shape, dtype=x.dtype, order=layout, hint="dropout")
    return (made, None) if is_native else made
