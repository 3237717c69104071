# SPDX-License-Identifier: GPL-3.0-or-later
"""Losses."""
from __future__ import annotations

from typing import Any

from meshwright.exporting.builder import Builder
from meshwright.exporting.operators import operator
from meshwright.exporting.values import Order, Unsupported, Value

REDUCTIONS = ("none", "mean", "sum")


def words_of(reduction: int) -> str:
    """The argument `reduction` of a loss, by ATen's number."""
    return "" if reduction == 1 else f', reduction = "{REDUCTIONS[reduction]}"'


def classes_last(rank: int) -> Order:
    """[batch, classes, ..] in the order [batch, .., classes]."""
    return (0, *range(2, rank), 1) if rank > 1 else (0,)


def ignored(builder: Builder, targets: Value, ignore: int) -> bool:
    """Whether the loss must look for targets that add nothing. -100, PyTorch's default, is left
    out where targets are an input that was seen without it: a run refuses ids that are no
    classes."""
    example = builder.examples.get(targets.leaf or "")
    return ignore != -100 or example is None or bool((example == ignore).any())


@operator("cross_entropy_loss.default")
def cross_entropy(builder: Builder, logits: Value, targets: Value, weight: Value | None = None,
                  reduction: int = 1, ignore: int = -100, smoothing: float = 0.0) -> Value:
    text = builder.laid(logits, classes_last(logits.rank))
    if targets.dtype.is_floating_point:
        return of_distributions(builder, text, (logits, targets, weight), reduction, smoothing)
    ids = builder.plain(targets)
    words = f", smoothing = {smoothing!r}" if smoothing else ""
    if ignored(builder, targets, ignore):
        words += f", ignore = {ignore}"
    if weight is None:
        return builder.define(f"cross_entropy({text}, {ids}{words}{words_of(reduction)})")
    if smoothing:
        raise Unsupported("with weights of classes and label_smoothing")
    return of_weighted(builder, f'cross_entropy({text}, {ids}{words}, reduction = "none")',
                       (targets, weight), (reduction, ignore))


def of_distributions(builder: Builder, text: str, operands: Any, reduction: int,
                     smoothing: float) -> Value:
    """The loss of targets that are probabilities; its mean is over all but the classes."""
    logits, targets, weight = operands
    shares = builder.laid(targets, classes_last(targets.rank))
    if smoothing:
        classes = logits.shape[1 if logits.rank > 1 else 0]
        shares = f"({1 - smoothing!r} * {shares} + {smoothing / classes!r})"
    terms = f"log_softmax({text}) * {shares}"
    if weight is not None:
        terms += f" * {builder.plain(weight)}"
    order = classes_last(logits.rank)
    rows = builder.define(f"neg(sum({terms}, axis = -1))", dtype=logits.dtype, hint="rows",
                          shape=[logits.shape[axis] for axis in order[:-1]])
    return reduced(builder, rows, reduction)


def of_weighted(builder: Builder, text: str, operands: Any, how: Any) -> Value:
    """The loss with a weight for each class; the mean is over the weights of the targets."""
    (targets, weight), (reduction, ignore) = operands, how
    ids, sizes = builder.plain(targets), {"shape": targets.shape, "dtype": weight.dtype}
    factors = builder.define(f"where({ids} == {ignore}, 0.0, gather({builder.plain(weight)}, "
                             f"where({ids} == {ignore}, 0, {ids})))", hint="factors", **sizes)
    rows = builder.define(f"{factors.stored} * {text}", hint="rows", **sizes)
    if reduction == 1:
        return builder.define(f"sum({rows.stored}) / sum({factors.stored})")
    return reduced(builder, rows, reduction)


def reduced(builder: Builder, rows: Value, reduction: int) -> Value:
    """The mean or the sum of the losses of rows, or these."""
    if reduction == 0:
        return rows
    return builder.define(f"{REDUCTIONS[reduction]}({builder.plain(rows)})")


@operator("nll_loss_nd.default", "nll_loss.default", "nll_loss2d.default",
          "nll_loss_forward.default", "nll_loss2d_forward.default")
def nll_loss(builder: Builder, x: Value, targets: Value, weight: Value | None = None,
             reduction: int = 1, ignore: int = -100) -> Any:
    text, ids = builder.laid(x, classes_last(x.rank)), builder.plain(targets)
    is_pair = isinstance(builder.node.meta["val"], (tuple, list))
    if is_pair and len(builder.node.users) > 1:
        raise Unsupported("whose total weight is used")
    how = {"shape": targets.shape, "dtype": x.dtype}
    if not ignored(builder, targets, ignore) and weight is None:
        found = reduced_as(builder, builder.define(f"neg(pick({text}, {ids}))", hint="rows", **how),
                           reduction, x)
    else:
        is_out = f"{ids} == {ignore}"
        factor = "1.0" if weight is None else \
            f"gather({builder.plain(weight)}, where({is_out}, 0, {ids}))"
        factors = builder.define(f"where({is_out}, 0.0, {factor})", hint="factors", **how)
        rows = builder.define(f"neg({factors.stored} * pick({text}, where({is_out}, 0, {ids})))",
                              hint="rows", **how)
        found = reduced_as(builder, rows, reduction, x) if reduction != 1 else builder.define(
            f"sum({rows.stored}) / sum({factors.stored})", shape=(), dtype=x.dtype)
    return (found, None) if is_pair else found


def reduced_as(builder: Builder, rows: Value, reduction: int, x: Value) -> Value:
    """`reduced` where the node may have several results."""
    if reduction == 0:
        return rows
    return builder.define(f"{REDUCTIONS[reduction]}({rows.stored})", shape=(), dtype=x.dtype)


@operator("mse_loss.default")
def mse_loss(builder: Builder, x: Value, y: Value, reduction: int = 1) -> Value:
    text = f"mse({builder.plain(x)}, {builder.plain(y)}{words_of(reduction)})"
    return builder.define(text)


@operator("l1_loss.default")
def l1_loss(builder: Builder, x: Value, y: Value, reduction: int = 1) -> Value:
    return of_elements(builder, f"abs({builder.plain(x)} - {builder.plain(y)})", x, reduction)


@operator("smooth_l1_loss.default", "huber_loss.default")
def smooth_l1_loss(builder: Builder, x: Value, y: Value, reduction: int = 1,
                   beta: float = 1.0) -> Value:
    error = builder.define(f"abs({builder.plain(x)} - {builder.plain(y)})", shape=x.shape,
                           dtype=x.dtype, hint="error").stored
    inner, outer = f"{0.5 / beta!r} * {error} * {error}", f"{error} - {0.5 * beta!r}"
    if "huber" in str(builder.node.target):
        inner, outer = f"0.5 * {error} * {error}", f"{beta!r} * ({error} - {0.5 * beta!r})"
    return of_elements(builder, f"where({error} < {beta!r}, {inner}, {outer})", x, reduction)


def of_elements(builder: Builder, text: str, x: Value, reduction: int) -> Value:
    """The reduced loss of an expression for each element."""
    if reduction == 0:
        return builder.define(text)
    return builder.define(f"{REDUCTIONS[reduction]}({text})")


@operator("binary_cross_entropy_with_logits.default")
def binary_cross_entropy_with_logits(builder: Builder, x: Value, y: Value,
                                     weight: Value | None = None,
                                     pos_weight: Value | None = None, reduction: int = 1) -> Value:
    logits, targets = builder.plain(x), builder.plain(y)
    if weight is None and pos_weight is None:
        return builder.define(f"binary_cross_entropy({logits}, {targets}{words_of(reduction)})")
    factor = f" * {builder.plain(pos_weight)}" if pos_weight is not None else ""
    text = (f"{targets}{factor} * softplus(neg({logits})) + "
            f"(1.0 - {targets}) * softplus({logits})")
    text = f"{builder.plain(weight)} * ({text})" if weight is not None else text
    return of_elements(builder, text, x, reduction)


@operator("binary_cross_entropy.default")
def binary_cross_entropy(builder: Builder, x: Value, y: Value, weight: Value | None = None,
                         reduction: int = 1) -> Value:
    p, t = builder.plain(x), builder.plain(y)
    text = (f"neg({t} * clip(log({p}), low = -100.0) + "
            f"(1.0 - {t}) * clip(log1p(neg({p})), low = -100.0))")
    text = f"{builder.plain(weight)} * {text}" if weight is not None else text
    return of_elements(builder, text, x, reduction)


@operator("kl_div.default")
def kl_div(builder: Builder, x: Value, y: Value, reduction: int = 1, *,
           log_target: bool = False) -> Value:
    q, p = builder.plain(x), builder.plain(y)
    text = f"exp({p}) * ({p} - {q})" if log_target else \
        f"where({p} > 0.0, {p} * (log(where({p} > 0.0, {p}, 1.0)) - {q}), 0.0)"
    return of_elements(builder, text, x, reduction)
