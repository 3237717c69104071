# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators that change shapes, and take or join parts."""
from __future__ import annotations

from typing import Any

from meshwright.exporting.builder import Builder
from meshwright.exporting.operators import operator
from meshwright.exporting.values import Unsupported, Value, list_text, straight


def axis_of(axis: int, rank: int) -> int:
    """An axis that may count from the end."""
    return axis + rank if axis < 0 else axis


@operator("view.default", "_unsafe_view.default", "reshape.default", "unsqueeze.default",
          "squeeze.default", "squeeze.dim", "squeeze.dims", "flatten.using_ints",
          "unflatten.int", "view_copy.default", "_reshape_alias.default", "reshape_as.default")
def reshape(builder: Builder, x: Value, *, size: Any = None, shape: Any = None, dim: Any = None,
            start_dim: Any = None, end_dim: Any = None, sizes: Any = None, stride: Any = None,
            other: Any = None) -> Value:
    return builder.reshaped(x, builder.node.meta["val"].shape)


@operator("permute.default")
def permute(builder: Builder, x: Value, dims: Any) -> Value:
    return builder.transposed(x, tuple(axis_of(dim, x.rank) for dim in dims))


@operator("transpose.int", "swapaxes.default")
def transpose(builder: Builder, x: Value, first: int, second: int) -> Value:
    order = list(straight(x.rank))
    if order:
        first, second = axis_of(first, x.rank), axis_of(second, x.rank)
        order[first], order[second] = order[second], order[first]
    return builder.transposed(x, tuple(order))


@operator("t.default", "numpy_T.default", "mT.default")
def turned(builder: Builder, x: Value) -> Value:
    order = straight(x.rank)
    return builder.transposed(x, (*order[:-2], *reversed(order[-2:])))


@operator("movedim.int", "movedim.intlist")
def movedim(builder: Builder, x: Value, source: Any, target: Any) -> Value:
    sources = [axis_of(a, x.rank) for a in ([source] if isinstance(source, int) else source)]
    targets = [axis_of(a, x.rank) for a in ([target] if isinstance(target, int) else target)]
    rest = iter([axis for axis in range(x.rank) if axis not in sources])
    order = [sources[targets.index(axis)] if axis in targets else next(rest)
             for axis in range(x.rank)]
    return builder.transposed(x, tuple(order))


@operator("expand.default", "expand_as.default", "broadcast_to.default")
def expand(builder: Builder, x: Value, size: Any) -> Value:
    shape = tuple(builder.node.meta["val"].shape)
    if shape == x.shape:
        return x
    return builder.define(f"broadcast({builder.plain(x)}, {list_text(shape)})")


@operator("repeat.default", "tile.default")
def repeat(builder: Builder, x: Value, counts: Any) -> Value:
    counts = [1] * (x.rank - len(counts)) + list(counts)
    wide = builder.reshaped(x, (1,) * (len(counts) - x.rank) + x.shape, hint="expanded")
    if all(count == 1 for count in counts):
        return wide
    return builder.define(f"tile({builder.plain(wide)}, {list_text(counts)})")


@operator("repeat_interleave.self_int")
def repeat_interleave(builder: Builder, x: Value, count: int, axis: int | None) -> Value:
    if axis is None:
        x, axis = builder.reshaped(x, (x.elements,)), 0
    axis = axis_of(axis, x.rank)
    shape = x.shape[:axis + 1] + (1,) + x.shape[axis + 1:]
    wide = shape[:axis + 1] + (count,) + shape[axis + 2:]
    text = f"broadcast(reshape({builder.plain(x)}, {list_text(shape)}), {list_text(wide)})"
    return builder.define(f"reshape({text}, {list_text(builder.node.meta['val'].shape)})")


@operator("slice.Tensor")
def slice_axis(builder: Builder, x: Value, axis: int = 0, begin: int | None = None,
               end: int | None = None, stride: int = 1) -> Value:
    axis = axis_of(axis, x.rank)
    begin, end, stride = slice(begin, end, stride).indices(x.shape[axis])
    if (begin, end, stride) == (0, x.shape[axis], 1):
        return x
    if end <= begin:
        raise Unsupported("of no elements")
    stored = x.plain or x.stored
    order = x.order if x.plain is None else straight(x.rank)
    words = f", stride = {stride}" if stride != 1 else ""
    return builder.define(f"slice({stored}, {order[axis]}, {begin}, {end}{words})", order=order)


@operator("narrow.default")
def narrow(builder: Builder, x: Value, axis: int, begin: int, length: int) -> Value:
    begin = begin + x.shape[axis] if begin < 0 else begin
    return slice_axis(builder, x, axis, begin, begin + length, 1)


@operator("select.int")
def select(builder: Builder, x: Value, axis: int, index: int) -> Value:
    axis = axis_of(axis, x.rank)
    index = index + x.shape[axis] if index < 0 else index
    places = ", ".join([":"] * axis + [str(index)])
    return builder.define(f"{builder.plain(x)}[{places}]")


def parts(builder: Builder, x: Value, sizes: list[int], axis: int) -> list[Value]:
    """The parts of a dimension, side by side."""
    axis = axis_of(axis, x.rank)
    if len(sizes) == 1:
        return [x]
    stored = x.plain or x.stored
    order = x.order if x.plain is None else straight(x.rank)
    base = builder.local_name("split")
    names = [builder.names.reserve(f"{base}.{i}".replace(f"{base}.", f"{base}_part"))
             for i in range(len(sizes))]
    what = str(len(sizes)) if len(set(sizes)) == 1 else list_text(sizes)
    builder.say(f"{', '.join(names)} = split({stored}, {what}, axis = {order[axis]})")
    return [Value(name, x.shape[:axis] + (size,) + x.shape[axis + 1:], x.dtype, order)
            for name, size in zip(names, sizes)]


@operator("split.Tensor")
def split(builder: Builder, x: Value, size: int, axis: int = 0) -> list[Value]:
    total = x.shape[axis]
    return parts(builder, x, [min(size, total - at) for at in range(0, total, size)], axis)


@operator("split_with_sizes.default", "split.sizes")
def split_with_sizes(builder: Builder, x: Value, sizes: Any, axis: int = 0) -> list[Value]:
    return parts(builder, x, [int(size) for size in sizes], axis)


@operator("chunk.default")
def chunk(builder: Builder, x: Value, count: int, axis: int = 0) -> list[Value]:
    return split(builder, x, -(-x.shape[axis] // count), axis)


@operator("unbind.int")
def unbind(builder: Builder, x: Value, axis: int = 0) -> list[Value]:
    axis = axis_of(axis, x.rank)
    count = x.shape[axis]
    shape = x.shape[:axis] + x.shape[axis + 1:]
    base = builder.local_name()
    names = [builder.names.reserve(f"{base}_part{i}") for i in range(count)]
    text = f"unstack({builder.plain(x)}, axis = {axis})"
    builder.say(f"{', '.join(names)} = {text}" if count > 1 else f"{names[0]} = {text}[0]")
    return [Value(name, shape, x.dtype, straight(len(shape))) for name in names]


@operator("cat.default", "concat.default")
def cat(builder: Builder, values: Any, axis: int = 0) -> Value:
    dtype = builder.node.meta["val"].dtype
    values = [value for value in values if value.shape != (0,)]
    if len(values) == 1:
        return values[0]
    axis = axis_of(axis, values[0].rank)
    layout = builder.layout_of(values, values[0].rank) if all(
        value.order == values[0].order and not value.plain for value in values) else None
    texts = ", ".join(builder.operand(value, dtype, layout) for value in values)
    stored_axis = layout[axis] if layout else axis
    return builder.define(f"concat({texts}, axis = {stored_axis})", order=layout)


@operator("stack.default")
def stack(builder: Builder, values: Any, axis: int = 0) -> Value:
    dtype = builder.node.meta["val"].dtype
    texts = ", ".join(builder.operand(value, dtype) for value in values)
    axis = axis_of(axis, values[0].rank + 1)
    return builder.define(f"stack({texts}, axis = {axis})")


@operator("constant_pad_nd.default")
def constant_pad(builder: Builder, x: Value, widths: Any, value: Any = 0) -> Value:
    return padded(builder, x, widths, value)


@operator("pad.default")
def pad(builder: Builder, x: Value, widths: Any, mode: str = "constant",
        value: Any = None) -> Value:
    if mode != "constant":
        raise Unsupported(f"in mode '{mode}'")
    return padded(builder, x, widths, value or 0)


def padded(builder: Builder, x: Value, widths: Any, value: Any) -> Value:
    """Numbers before and after a tensor, from the last axis on; negative ones take away."""
    text = builder.plain(x)
    shape = list(x.shape)
    for index in range(len(widths) // 2):
        axis, (begin, end) = x.rank - 1 - index, widths[2 * index:2 * index + 2]
        if begin < 0 or end < 0:
            text = f"slice({text}, {axis}, {max(-begin, 0)}, {shape[axis] - max(-end, 0)})"
            shape[axis] -= max(-begin, 0) + max(-end, 0)
        for side, width in enumerate((begin, end)):
            if width <= 0:
                continue
            if value == 0:
                text = f"pad({text}, {axis}, {'begin' if side == 0 else 'end'} = {width})"
            else:
                added = builder.constant(value, [*shape[:axis], width, *shape[axis + 1:]], x.dtype)
                joined = (added, text) if side == 0 else (text, added)
                text = f"concat({joined[0]}, {joined[1]}, axis = {axis})"
            shape[axis] += width
    return x if text == x.plain else builder.define(text)


@operator("slice_scatter.default")
def slice_scatter(builder: Builder, x: Value, part: Value, axis: int = 0,
                  begin: int | None = None, end: int | None = None, stride: int = 1) -> Value:
    axis = axis_of(axis, x.rank)
    begin, end, stride = slice(begin, end, stride).indices(x.shape[axis])
    if stride != 1:
        raise Unsupported(f"with step = {stride}")
    return with_part(builder, x, builder.operand(part, x.dtype), axis, (begin, end))


@operator("select_scatter.default")
def select_scatter(builder: Builder, x: Value, part: Value, axis: int, index: int) -> Value:
    axis = axis_of(axis, x.rank)
    index = index + x.shape[axis] if index < 0 else index
    text = f"expand_dims({builder.operand(part, x.dtype)}, {axis})"
    return with_part(builder, x, text, axis, (index, index + 1))


def with_part(builder: Builder, x: Value, part: str, axis: int, place: tuple[int, int]) -> Value:
    """x with another part from the one place to the other."""
    begin, end = place
    texts = [f"slice({builder.plain(x)}, {axis}, 0, {begin})"] if begin else []
    texts += [part] if end > begin else []
    texts += [f"slice({builder.plain(x)}, {axis}, {end}, {x.shape[axis]})"] \
        if end < x.shape[axis] else []
    if len(texts) == 1:
        return builder.define(f"identity({texts[0]})")
    return builder.define(f"concat({', '.join(texts)}, axis = {axis})")


@operator("flip.default")
def flip(builder: Builder, x: Value, axes: Any) -> Value:
    axes = [axis_of(axis, x.rank) for axis in axes]
    return builder.define(f"flip({builder.plain(x)}, {list_text(axes)})") if axes else x


@operator("roll.default")
def roll(builder: Builder, x: Value, shifts: Any, axes: Any = ()) -> Value:
    if not axes:
        flat = builder.reshaped(x, (x.elements,))
        text = f"roll({builder.plain(flat)}, {shifts[0]}, axis = 0)"
        return builder.define(f"reshape({text}, {list_text(x.shape)})")
    text = builder.plain(x)
    for shift, axis in zip(shifts, axes):
        text = f"roll({text}, {shift}, axis = {axis_of(axis, x.rank)})"
    return builder.define(text)
