# SPDX-License-Identifier: GPL-3.0-or-later
"""Tensors that are made rather than computed, and random numbers."""
from __future__ import annotations

from typing import Any

import torch

from meshwright.exporting.builder import Builder, type_name
from meshwright.exporting.operators import operator
from meshwright.exporting.operators.shapes import axis_of
from meshwright.exporting.values import Unsupported, Value, list_text


def filled(builder: Builder, number: Any) -> Value:
    """A tensor of one value, in the shape and type of the result."""
    example = builder.node.meta["val"]
    type_name(example.dtype)
    return builder.define(builder.constant(number, example.shape, example.dtype))


@operator("zeros.default", "zeros_like.default", "new_zeros.default", "zero.default")
def zeros(builder: Builder, *, self: Any = None, dtype: Any = None, size: Any = None) -> Value:
    return filled(builder, 0)


@operator("ones.default", "ones_like.default", "new_ones.default")
def ones(builder: Builder, *, self: Any = None, dtype: Any = None, size: Any = None) -> Value:
    return filled(builder, 1)


@operator("full.default", "full_like.default", "new_full.default")
def full(builder: Builder, *, fill_value: Any, self: Any = None, dtype: Any = None,
         size: Any = None) -> Value:
    return filled(builder, fill_value)


@operator("fill.Scalar")
def fill(builder: Builder, x: Value, value: Any) -> Value:
    return filled(builder, value)


@operator("scalar_tensor.default")
def scalar_tensor(builder: Builder, value: Any, *, dtype: Any = None) -> Value:
    return filled(builder, value)


@operator("empty.memory_format", "empty_like.default", "new_empty.default")
def empty(builder: Builder, *, self: Any = None, dtype: Any = None, size: Any = None) -> Value:
    return filled(builder, 0)


@operator("arange.default", "arange.start", "arange.start_step")
def arange(builder: Builder, *, start: Any = 0, end: Any = None, step: Any = 1,
           dtype: Any = None) -> Value:
    example = builder.node.meta["val"]
    kind = type_name(example.dtype)
    text = f"iota({list_text(example.shape)}, type = {kind})"
    if (start or 0) != 0 or (step or 1) != 1:
        fraction = example.dtype.is_floating_point
        number = float if fraction else int
        text = f"{number(start or 0)!r} + {number(step or 1)!r} * {text}"
    return builder.define(text)


@operator("linspace.default")
def linspace(builder: Builder, start: Any, end: Any, steps: int, *, dtype: Any = None) -> Value:
    step = (end - start) / max(steps - 1, 1)
    return builder.define(f"{float(start)!r} + {step!r} * iota([{steps}], type = f32)")


@operator("one_hot.default")
def one_hot(builder: Builder, ids: Value, classes: int = -1) -> Value:
    count = builder.node.meta["val"].shape[-1]
    return builder.define(f"one_hot({builder.plain(ids)}, {count}, type = i64)")


@operator("eye.default", "eye.m")
def eye(builder: Builder, *, dtype: Any = None, n: Any = None, m: Any = None) -> Value:
    example = builder.node.meta["val"]
    return builder.define(f"one_hot(iota([{example.shape[0]}]), {example.shape[1]}, "
                          f"type = {type_name(example.dtype)})")


@operator("tril.default", "triu.default")
def triangle(builder: Builder, x: Value, diagonal: int = 0) -> Value:
    rows = f"iota({list_text(x.shape[-2:])}, axis = 0)"
    columns = f"iota({list_text(x.shape[-2:])}, axis = 1)"
    sign = "<=" if "tril" in str(builder.node.target) else ">="
    mask = builder.define(f"{columns} {sign} {rows} + ({diagonal})", shape=x.shape[-2:],
                          dtype=torch.bool, hint="triangle")
    zero = "false" if x.dtype == torch.bool else \
        builder.constant(0, x.shape, x.dtype)
    if x.dtype == torch.bool:
        wide = f"broadcast({builder.plain(mask)}, {list_text(x.shape)})"
        return builder.define(f"{builder.plain(x)} and {wide}")
    return builder.define(f"where({builder.plain(mask)}, {builder.plain(x)}, {zero})")


def sample(builder: Builder, function: str, words: str = "",
           gives: torch.dtype = torch.float32) -> Value:
    """Random numbers in the shape and type of the result, by a function that gives others."""
    example = builder.node.meta["val"]
    text = f"{function}({list_text(example.shape)}{words})"
    if example.dtype != gives:
        text = f"cast({text}, {type_name(example.dtype)})"
    return builder.define(text, hint=function)


@operator("rand.default", "rand_like.default")
def rand(builder: Builder, *, self: Any = None, dtype: Any = None, size: Any = None) -> Value:
    return sample(builder, "uniform")


@operator("randn.default", "randn_like.default")
def randn(builder: Builder, *, self: Any = None, dtype: Any = None, size: Any = None) -> Value:
    return sample(builder, "normal")


@operator("bernoulli.p")
def bernoulli(builder: Builder, x: Value, p: float = 0.5) -> Value:
    return sample(builder, "bernoulli", f", {float(p)!r}", torch.bool)


@operator("randint.default", "randint.low", "multinomial.default", "bernoulli.default")
def no_draw(builder: Builder, *_: Any) -> Value:
    raise Unsupported("draws from a distribution that the language lacks")


@operator("diagonal.default")
def diagonal(builder: Builder, x: Value, offset: int = 0, first: int = 0, second: int = 1) -> Value:
    first, second = axis_of(first, x.rank), axis_of(second, x.rank)
    if offset or x.shape[first] != x.shape[second]:
        raise Unsupported("of other than the main diagonal of squares")
    letters = [chr(ord("a") + axis) for axis in range(x.rank)]
    letters[second] = letters[first]
    rest = [letter for axis, letter in enumerate(letters) if axis not in (first, second)]
    return builder.define(f'einsum("{"".join(letters)}->{"".join(rest)}{letters[first]}", '
                          f"{builder.plain(x)})")
