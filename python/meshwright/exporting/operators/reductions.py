# SPDX-License-Identifier: GPL-3.0-or-later
"""Sums, means, maxima and other functions along axes."""
from __future__ import annotations

from typing import Any

import torch

from meshwright.exporting.builder import Builder, type_name
from meshwright.exporting.operators import operator
from meshwright.exporting.operators.shapes import axis_of
from meshwright.exporting.values import Order, Unsupported, Value, list_text, straight


def axes_of(axes: Any, rank: int) -> list[int]:
    """The axes that are reduced: all, where none is named."""
    if axes is None or axes == []:
        return list(range(rank))
    return [axis_of(axis, rank) for axis in ([axes] if isinstance(axes, int) else axes)]


def kept_order(order: Order, axes: list[int], keep: bool) -> Order:
    """In which order the result of a reduction of `axes` is stored."""
    if keep:
        return order
    removed = {order[axis] for axis in axes}
    left = [dimension for dimension in range(len(order)) if dimension not in removed]
    return tuple(left.index(order[axis]) for axis in range(len(order)) if axis not in axes)


def reduce(builder: Builder, function: str, x: Value, axes: Any, keep: bool = False,
           words: str = "", **how: Any) -> Value:
    """A reduction by a function of the language, of the value as it is stored."""
    axes = axes_of(axes, x.rank)
    if not axes:
        return x
    text, order = (x.plain, straight(x.rank)) if x.plain else (x.stored, x.order)
    if how.get("cast_to") and how["cast_to"] != x.dtype:
        text = f"cast({text}, {type_name(how['cast_to'])})"
    how.pop("cast_to", None)
    places = list_text(sorted(order[axis] for axis in axes))
    text = f"{function}({text}, axis = {places}{', keep = true' if keep else ''}{words})"
    return builder.define(text, order=kept_order(order, axes, keep), **how)


@operator("sum.dim_IntList", "sum.default")
def total(builder: Builder, x: Value, axes: Any = None, keep: bool = False, *,
          dtype: Any = None) -> Value:
    return reduce(builder, "sum", x, axes if isinstance(axes, (list, tuple)) else None, keep,
                  cast_to=builder.node.meta["val"].dtype)


@operator("mean.dim", "mean.default")
def mean(builder: Builder, x: Value, axes: Any = None, keep: bool = False, *,
         dtype: Any = None) -> Value:
    return reduce(builder, "mean", x, axes, keep, cast_to=builder.node.meta["val"].dtype)


@operator("amax.default", "amin.default")
def extreme(builder: Builder, x: Value, axes: Any = (), keep: bool = False) -> Value:
    return reduce(builder, "max" if "amax" in str(builder.node.target) else "min", x,
                  list(axes), keep)


@operator("max.default", "min.default")
def extreme_of_all(builder: Builder, x: Value) -> Value:
    return reduce(builder, "max" if "max" in str(builder.node.target) else "min", x, None)


@operator("max.dim", "min.dim")
def extreme_with_place(builder: Builder, x: Value, axis: int, keep: bool = False) -> Any:
    name = "max" if "max" in str(builder.node.target) else "min"
    example = builder.node.meta["val"]
    found = reduce(builder, name, x, axis, keep, shape=example[0].shape, dtype=x.dtype, hint=name)
    return found, place(builder, "arg" + name, x, axis, keep, example[1].shape)


@operator("argmax.default", "argmin.default")
def arg_extreme(builder: Builder, x: Value, axis: int | None = None, keep: bool = False) -> Value:
    if axis is None:
        x, axis = builder.reshaped(x, (x.elements,), hint="flat"), 0
    name = "argmax" if "argmax" in str(builder.node.target) else "argmin"
    return place(builder, name, x, axis, keep, builder.node.meta["val"].shape)


def place(builder: Builder, function: str, x: Value, axis: int, keep: bool, shape: Any) -> Value:
    """The place of an extreme element, i64 as in PyTorch."""
    words = ", keep = true" if keep else ""
    text = f"{function}({builder.plain(x)}, axis = {axis_of(axis, x.rank)}{words})"
    return builder.define(f"cast({text}, i64)", shape=shape, dtype=torch.int64, hint=function)


@operator("prod.dim_int", "prod.default")
def product(builder: Builder, x: Value, *, dim: int | None = None, keepdim: bool = False,
            dtype: Any = None) -> Value:
    return reduce(builder, "prod", x, dim, keepdim, cast_to=builder.node.meta["val"].dtype)


@operator("any.default", "any.dim", "any.dims", "all.default", "all.dim", "all.dims")
def holds(builder: Builder, x: Value, axes: Any = None, keep: bool = False) -> Value:
    name = "any" if ".any" in "." + str(builder.node.target).split(".")[1] else "all"
    return reduce(builder, name, x, axes, keep, cast_to=torch.bool)


@operator("var.correction", "std.correction")
def variance(builder: Builder, x: Value, axes: Any = None, *, correction: Any = None,
             keepdim: bool = False) -> Value:
    name = "var" if "var" in str(builder.node.target) else "std"
    return spread(builder, name, x, axes, 1 if correction is None else correction, keepdim)


@operator("var.dim", "std.dim", "var.default", "std.default")
def variance_of_axes(builder: Builder, x: Value, *, dim: Any = None, unbiased: bool = True,
                     keepdim: bool = False) -> Value:
    name = "var" if "var" in str(builder.node.target) else "std"
    return spread(builder, name, x, dim, int(unbiased), keepdim)


@operator("var_mean.correction")
def variance_and_mean(builder: Builder, x: Value, axes: Any = None, *, correction: Any = None,
                      keepdim: bool = False) -> Any:
    how = {"shape": builder.node.meta["val"][0].shape, "dtype": x.dtype}
    found = spread(builder, "var", x, axes, 1 if correction is None else correction, keepdim, **how)
    return found, reduce(builder, "mean", x, axes, keepdim, hint="mean", **how)


def spread(builder: Builder, name: str, x: Value, axes: Any, correction: Any, keep: bool,
           **how: Any) -> Value:
    """The variance or deviation, divided by the count less 0 or 1."""
    if correction not in (0, 1):
        raise Unsupported(f"with correction = {correction}")
    return reduce(builder, name, x, axes, keep, ", unbiased = true" * int(correction), **how)


@operator("logsumexp.default")
def logsumexp(builder: Builder, x: Value, axes: Any, keep: bool = False) -> Value:
    axes = axes_of(axes, x.rank)
    if len(axes) != 1:
        raise Unsupported("over several axes")
    made = builder.define(f"logsumexp({builder.plain(x)}, axis = {axes[0]})",
                          shape=[size for axis, size in enumerate(x.shape) if axis != axes[0]])
    return builder.reshaped(made, builder.node.meta["val"].shape)


@operator("softmax.int", "_safe_softmax.default")
def softmax(builder: Builder, x: Value, axis: int, *, dtype: Any = None) -> Value:
    return along(builder, "softmax", x, axis)


@operator("log_softmax.int")
def log_softmax(builder: Builder, x: Value, axis: int, *, dtype: Any = None) -> Value:
    return along(builder, "log_softmax", x, axis)


def along(builder: Builder, function: str, x: Value, axis: int) -> Value:
    """A function along an axis, of the value as it is stored."""
    dtype = builder.node.meta["val"].dtype
    text, order = (x.plain, straight(x.rank)) if x.plain else (x.stored, x.order)
    if dtype != x.dtype:
        text = f"cast({text}, {type_name(dtype)})"
    axis = order[axis_of(axis, x.rank)]
    words = "" if axis == x.rank - 1 else f", axis = {axis}"
    return builder.define(f"{function}({text}{words})", order=order)


@operator("_softmax.default")
def softmax_half(builder: Builder, x: Value, axis: int, half_to_float: bool = False) -> Value:
    return along(builder, "softmax", x, axis)


@operator("_log_softmax.default")
def log_softmax_half(builder: Builder, x: Value, axis: int, half_to_float: bool = False) -> Value:
    return along(builder, "log_softmax", x, axis)


@operator("cumsum.default")
def cumsum(builder: Builder, x: Value, axis: int, *, dtype: Any = None) -> Value:
    text = builder.operand(x, builder.node.meta["val"].dtype)
    return builder.define(f"cumsum({text}, axis = {axis_of(axis, x.rank)})")


@operator("linalg_vector_norm.default")
def norm(builder: Builder, x: Value, order: Any = 2, axes: Any = None, keep: bool = False) -> Value:
    if order != 2:
        raise Unsupported(f"with ord = {order}")
    square = builder.define(f"{x.plain or x.stored} * {x.plain or x.stored}", shape=x.shape,
                            dtype=x.dtype, order=None if x.plain else x.order, hint="square")
    found = reduce(builder, "sum", square, axes, keep, hint="sum")
    return builder.elementwise("sqrt({})", found)


@operator("topk.default")
def topk(builder: Builder, x: Value, count: int, axis: int = -1, largest: bool = True) -> Any:
    axis = axis_of(axis, x.rank)
    words = "" if axis == x.rank - 1 else f", axis = {axis}"
    words += "" if largest else ", ascending = true"
    return with_places(builder, f"top_k({builder.plain(x)}, {count}{words})", x)


@operator("sort.default", "sort.stable")
def sort(builder: Builder, x: Value, *, dim: int = -1, descending: bool = False,
         stable: Any = None) -> Any:
    axis = axis_of(dim, x.rank)
    words = f", axis = {axis}" + (", descending = true" if descending else "")
    example = builder.node.meta["val"]
    values = builder.define(f"sort({builder.plain(x)}{words})", shape=x.shape, dtype=x.dtype)
    places = builder.define(f"cast(argsort({builder.plain(x)}{words}), i64)",
                            shape=example[1].shape, dtype=torch.int64, hint="argsort")
    return values, places


@operator("argsort.default", "argsort.stable")
def argsort(builder: Builder, x: Value, *, dim: int = -1, descending: bool = False,
            stable: bool = False) -> Value:
    words = f", axis = {axis_of(dim, x.rank)}" + (", descending = true" if descending else "")
    return builder.define(f"cast(argsort({builder.plain(x)}{words}), i64)")


def with_places(builder: Builder, text: str, x: Value) -> Any:
    """The two results of top_k; places are i64 as in PyTorch."""
    example = builder.node.meta["val"]
    values, places = builder.local_name("values"), builder.local_name("places")
    builder.say(f"{values}, {places} = {text}")
    shape = tuple(example[0].shape)
    found = Value(values, shape, x.dtype, straight(len(shape)))
    return found, builder.define(f"cast({places}, i64)", shape=shape, dtype=torch.int64,
                                 hint="ids")
