# SPDX-License-Identifier: GPL-3.0-or-later
"""Elements and slices by indices."""
from __future__ import annotations

from typing import Any

import torch

from meshwright.exporting.builder import Builder
from meshwright.exporting.operators import operator
from meshwright.exporting.operators.shapes import axis_of
from meshwright.exporting.values import Unsupported, Value, list_text, straight


@operator("embedding.default")
def embedding(builder: Builder, table: Value, ids: Value, padding: int = -1) -> Value:
    rows = builder.define(f"embedding({builder.plain(ids)}, {builder.plain(table)})",
                          hint="rows" if padding >= 0 else None)
    if padding < 0:
        return rows
    # The row of the padding is looked up, but has no gradient.
    mask = builder.reshaped(ids, (*ids.shape, 1), hint="wide")
    return builder.define(f"where({builder.plain(mask)} == {padding}, "
                          f"stop_gradient({rows.stored}), {rows.stored})")


def gathered(builder: Builder, x: Value, ids: Value, axis: int) -> Value:
    """The slices along an axis at ids of any shape; negative ids count from the end."""
    text = builder.plain(ids)
    if may_be_negative(builder, ids):
        text = f"where({text} < 0, {text} + {x.shape[axis]}, {text})"
    return builder.define(f"gather({builder.plain(x)}, {text}, axis = {axis})")


def may_be_negative(builder: Builder, ids: Value) -> bool:
    """Whether ids may count from the end: inputs that were seen with negative ids only, because
    a run refuses others that are out of range."""
    example = builder.examples.get(ids.leaf or "")
    return example is not None and example.numel() > 0 and bool((example < 0).any())


@operator("index_select.default")
def index_select(builder: Builder, x: Value, axis: int, ids: Value) -> Value:
    return gathered(builder, x, ids, axis_of(axis, x.rank))


@operator("index.Tensor")
def index(builder: Builder, x: Value, ids: Any) -> Value:
    places = [(axis, place) for axis, place in enumerate(ids) if place is not None]
    if any(place.dtype == torch.bool for _, place in places):
        raise Unsupported("by a mask: the shape of the result depends on data")
    if len(places) == 1:
        return gathered(builder, x, places[0][1], places[0][0])
    axes = [axis for axis, _ in places]
    if axes != list(range(axes[0], axes[0] + len(axes))):
        raise Unsupported("by indices of dimensions that are not side by side")
    flat = one_index(builder, [place for _, place in places], [x.shape[axis] for axis in axes])
    first, last = axes[0], axes[-1] + 1
    merged = x.shape[:first] + (-1,) + x.shape[last:]
    text = f"gather(reshape({builder.plain(x)}, {list_text(merged)}), {flat}, axis = {first})"
    return builder.define(text)


def one_index(builder: Builder, places: list[Value], sizes: list[int]) -> str:
    """The index into several dimensions made one, of indices that broadcast."""
    text = builder.plain(places[0])
    for place, size in zip(places[1:], sizes[1:]):
        text = f"({text} * {size} + {builder.plain(place)})"
    return text


@operator("gather.default")
def gather(builder: Builder, x: Value, axis: int, ids: Value) -> Value:
    axis = axis_of(axis, x.rank)
    if x.rank and ids.shape[:axis] + ids.shape[axis + 1:] != x.shape[:axis] + x.shape[axis + 1:]:
        raise Unsupported("with indices for a part of the rows")
    order = list(straight(x.rank))
    order[axis], order[-1] = order[-1], order[axis]
    back = tuple(order)
    text = f"take_along({builder.laid(x, back)}, {builder.laid(ids, back)})"
    return builder.define(text, order=back)


def added_rows(builder: Builder, x: Value, ids: Value, updates: Value, axis: int) -> Value:
    """x with updates added to the slices at ids."""
    dtype = builder.node.meta["val"].dtype
    return builder.define(f"scatter_add({builder.plain(x)}, {builder.plain(ids)}, "
                          f"{builder.operand(updates, dtype)}, axis = {axis})")


@operator("index_add.default")
def index_add(builder: Builder, x: Value, axis: int, ids: Value, updates: Value, *,
              alpha: Any = 1) -> Value:
    if alpha != 1:
        updates = builder.define(f"{alpha} * {builder.plain(updates)}", shape=updates.shape,
                                 dtype=updates.dtype, hint="scaled")
    return added_rows(builder, x, ids, updates, axis_of(axis, x.rank))


@operator("index_put.default")
def index_put(builder: Builder, x: Value, places: Any, values: Value,
              accumulate: bool = False) -> Value:
    if len(places) == 1 and places[0].dtype == torch.bool and values.rank == 0:
        mask = builder.reshaped(places[0], places[0].shape + (1,) * (x.rank - places[0].rank))
        return builder.define(f"where({builder.plain(mask)}, "
                              f"{builder.operand(values, x.dtype)}, {builder.plain(x)})")
    if not accumulate or any(place is None for place in places):
        raise Unsupported("that replaces elements: only sums over indices can be expressed")
    sizes, shape = x.shape[:len(places)], x.shape[len(places):]
    flat = one_index(builder, places, list(sizes))
    count = list_text((-1, *shape))
    wide = f"broadcast({builder.plain(values)}, {list_text((*places[0].shape, *shape))})"
    text = f"scatter_add(reshape({builder.plain(x)}, {count}), {flat}, {wide})"
    return builder.define(f"reshape({text}, {list_text(x.shape)})")


@operator("scatter_add.default", "scatter.src", "scatter.value", "scatter_reduce.two")
def scatter(builder: Builder, x: Value, axis: int, ids: Value, updates: Any, *,
            reduce: str = "sum", include_self: bool = True) -> Value:
    axis, name = axis_of(axis, x.rank), str(builder.node.target)
    if reduce != "sum" or not include_self:
        raise Unsupported(f"with reduce = '{reduce}'")
    if ids.shape[:axis] + ids.shape[axis + 1:] != x.shape[:axis] + x.shape[axis + 1:]:
        raise Unsupported("with indices for a part of the rows")
    # Each index as a vector that is 1 at its place; places are summed over.
    letters = [chr(ord("a") + dimension) for dimension in range(x.rank)]
    inner = list(letters)
    inner[axis] = "z"
    hot = f"one_hot({builder.plain(ids)}, {x.shape[axis]}, type = {'f32'})"
    spread = f"{''.join(inner)}{letters[axis]}"
    if "scatter_add" in name or "scatter_reduce" in name:
        source = builder.operand(updates, torch.float32)
        text = f'einsum("{spread},{"".join(inner)}->{"".join(letters)}", {hot}, {source})'
        return builder.elementwise("{} + {}", x, summed(builder, text, x))
    return replaced(builder, x, updates, hot, spread, (inner, letters))


def summed(builder: Builder, text: str, x: Value) -> Value:
    """What is added, in the type of x."""
    return builder.define(text, shape=x.shape, dtype=torch.float32, hint="scattered")


def replaced(builder: Builder, x: Value, updates: Any, hot: str, spread: str,
             terms: tuple[list[str], list[str]]) -> Value:
    """x with updates in the place of the elements at the indices, which are all different."""
    inner, letters = terms
    count = summed(builder, f'einsum("{spread}->{"".join(letters)}", {hot})', x)
    if not isinstance(updates, Value):
        return builder.define(f"where({count.stored} > 0, "
                              f"{builder.constant(updates, x.shape, x.dtype)}, "
                              f"{builder.plain(x)})")
    source = builder.operand(updates, torch.float32)
    text = f'einsum("{spread},{"".join(inner)}->{"".join(letters)}", {hot}, {source})'
    new = summed(builder, text, x)
    return builder.define(f"where({count.stored} > 0, {builder.operand(new, x.dtype)}, "
                          f"{builder.plain(x)})")
