# SPDX-License-Identifier: GPL-3.0-or-later
"""Norms of layers, batches and groups."""
from __future__ import annotations

import math
from typing import Any

import torch

from meshwright.exporting.builder import Builder
from meshwright.exporting.operators import operator
from meshwright.exporting.values import Order, Value, inverse, straight


def affine(builder: Builder, text: str, x: Value, weight: Value | None, bias: Value | None,
           order: Order | None = None, hint: str | None = None) -> Value:
    """The normalised values, times the weight, plus the bias, which lie along the last stored
    dimensions."""
    if weight is not None:
        text = f"{text} * {builder.plain(weight)}"
    if bias is not None:
        text = f"{text} + {builder.plain(bias)}"
    return builder.define(text, shape=x.shape, dtype=x.dtype, order=order, hint=hint)


def over_last(builder: Builder, function: str, x: Value, sizes: Any, eps: float) -> str:
    """A norm over the last dimensions, which are made one."""
    if len(sizes) == 1:
        return f"{function}({builder.plain(x)}, eps = {eps!r})"
    flat = builder.reshaped(x, (*x.shape[:-len(sizes)], math.prod(sizes)), hint="flat")
    made = builder.define(f"{function}({builder.plain(flat)}, eps = {eps!r})", shape=flat.shape,
                          dtype=x.dtype)
    return builder.plain(builder.reshaped(made, x.shape, hint="norm"))


@operator("layer_norm.default")
def layer_norm(builder: Builder, x: Value, sizes: Any, weight: Value | None = None,
               bias: Value | None = None, eps: float = 1e-5, cudnn: bool = True) -> Value:
    return affine(builder, over_last(builder, "layer_norm", x, sizes, eps), x, weight, bias)


@operator("rms_norm.default")
def rms_norm(builder: Builder, x: Value, sizes: Any, weight: Value | None = None,
             eps: float | None = None) -> Value:
    eps = torch.finfo(x.dtype).eps if eps is None else eps
    return affine(builder, over_last(builder, "rms_norm", x, sizes, eps), x, weight, None)


def channels_last(rank: int) -> Order:
    """The dimensions of [batch, channels, spatial..] in the order [batch, spatial.., channels]."""
    return (0, *range(2, rank), 1)


def images(builder: Builder, x: Value) -> tuple[str, Order]:
    """The text of images [batch, spatial.., channels], and the order of what is stored so."""
    order = channels_last(x.rank)
    return builder.laid(x, order), inverse(order)


@operator("_native_batch_norm_legit_functional.default", "_native_batch_norm_legit.default",
          "batch_norm.default", "_native_batch_norm_legit_no_training.default",
          "_native_batch_norm_legit.no_stats")
def batch_norm(builder: Builder, x: Value, *, weight: Value | None, bias: Value | None,
               running_mean: Value | None = None, running_var: Value | None = None,
               training: bool = False, momentum: float = 0.1, eps: float = 1e-5) -> Any:
    text, order = images(builder, x)
    if "no_stats" in str(builder.node.target):
        training = True
    if not training:
        assert running_mean is not None and running_var is not None
        text = (f"({text} - {builder.plain(running_mean)}) * "
                f"rsqrt({builder.plain(running_var)} + {eps!r})")
        return results(builder, affine(builder, text, x, weight, bias, order, "batch_norm"))
    names = [builder.local_name(hint) for hint in ("normalized", "mean", "variance")]
    builder.say(f"{', '.join(names)} = batch_norm({text}, eps = {eps!r})")
    y = affine(builder, names[0], x, weight, bias, order, "batch_norm")
    statistics = [Value(name, (x.shape[1],), x.dtype, straight(1)) for name in names[1:]]
    if running_mean is None or running_var is None:
        return results(builder, y, *statistics)
    count = x.elements // x.shape[1]
    unbiased = "" if count == 1 else f" * (1.0 * {count} / {count - 1})"
    new = [builder.define(f"{1 - momentum!r} * {builder.plain(old)} + {momentum!r} * {found}",
                          shape=old.shape, dtype=old.dtype, hint=hint)
           for old, found, hint in ((running_mean, names[1], "new_mean"),
                                    (running_var, names[2] + unbiased, "new_variance"))]
    return results(builder, y, *statistics, *new)


def results(builder: Builder, y: Value, *others: Value) -> Any:
    """One result or several, as the node has them."""
    return (y, *others) if isinstance(builder.node.meta["val"], (tuple, list)) else y


@operator("instance_norm.default")
def instance_norm(builder: Builder, x: Value, weight: Value | None, bias: Value | None,
                  running_mean: Any, running_var: Any, use_input_stats: bool, momentum: float,
                  eps: float) -> Value:
    if not use_input_stats:
        return batch_norm(builder, x, weight=weight, bias=bias, running_mean=running_mean,
                          running_var=running_var, eps=eps)
    return group_norm(builder, x, x.shape[1], weight, bias, eps)


@operator("group_norm.default")
def group_norm(builder: Builder, x: Value, groups: int, weight: Value | None = None,
               bias: Value | None = None, eps: float = 1e-5) -> Value:
    if x.rank == 2:
        wide = builder.reshaped(x, (*x.shape, 1), hint="wide")
        return builder.reshaped(group_norm(builder, wide, groups, weight, bias, eps), x.shape)
    text, order = images(builder, x)
    return affine(builder, f"group_norm({text}, {groups}, eps = {eps!r})", x, weight, bias, order)
