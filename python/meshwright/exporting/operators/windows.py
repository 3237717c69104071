# SPDX-License-Identifier: GPL-3.0-or-later
"""Convolutions, pooling, and images in other sizes."""
from __future__ import annotations

from typing import Any

from meshwright.exporting.builder import Builder
from meshwright.exporting.operators import operator
from meshwright.exporting.operators.norms import images
from meshwright.exporting.values import Unsupported, Value, list_text

SPATIAL = {"conv1d": 1, "conv2d": 2, "conv3d": 3}


def spread(numbers: Any, count: int) -> list[int]:
    """One number for each spatial dimension."""
    numbers = [numbers] if isinstance(numbers, int) else list(numbers)
    return numbers * count if len(numbers) == 1 else numbers


def words_of(**options: Any) -> str:
    """Arguments by name, of lists; those of no effect are left out."""
    neutral = {"stride": 1, "padding": 0, "dilation": 1, "output_padding": 0}
    return "".join(f", {name} = {value if isinstance(value, str) else list_text(value)}"
                   for name, value in options.items()
                   if isinstance(value, str) or set(value) != {neutral.get(name)})


@operator("conv1d.default", "conv2d.default", "conv3d.default", "conv1d.padding",
          "conv2d.padding", "conv3d.padding")
def convolve(builder: Builder, x: Value, weight: Value, bias: Value | None = None,
             stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1) -> Value:
    count = weight.rank - 2
    if x.rank != weight.rank:
        raise Unsupported("of images without a batch")
    stride, dilation = spread(stride, count), spread(dilation, count)
    if isinstance(padding, str):
        padding = [0] * count if padding == "valid" else same_padding(weight, dilation)
    else:
        padding = spread(padding, count)
    text, order = images(builder, x)
    filters = builder.laid(weight, (*range(2, weight.rank), 1, 0))
    words = words_of(stride=stride, padding=padding, dilation=dilation)
    product = f"conv({text}, {filters}{words})"
    if bias is not None:
        product += f" + {builder.plain(bias)}"
    return builder.define(product, order=order)


def same_padding(weight: Value, dilation: list[int]) -> Any:
    """Numbers before and after each dimension so that stride 1 keeps its size: PyTorch puts the
    odd one after."""
    padding = []
    for size, step in zip(weight.shape[2:], dilation):
        total = step * (size - 1)
        padding += [total // 2, total - total // 2]
    return padding


@operator("convolution.default")
def convolution(builder: Builder, x: Value, weight: Value, bias: Value | None, stride: Any,
                padding: Any, dilation: Any, transposed: bool, output_padding: Any,
                groups: int) -> Value:
    if transposed:
        return convolve_transposed(builder, x, weight, bias, stride, padding, output_padding,
                                   groups, dilation)
    return convolve(builder, x, weight, bias, stride, padding, dilation, groups)


@operator("conv_transpose1d.default", "conv_transpose2d.input", "conv_transpose3d.input")
def convolve_transposed(builder: Builder, x: Value, weight: Value, bias: Value | None = None,
                        stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
                        groups: int = 1, dilation: Any = 1) -> Value:
    count = weight.rank - 2
    if x.rank != weight.rank:
        raise Unsupported("of images without a batch")
    if groups != 1:
        raise Unsupported(f"with groups = {groups}")
    text, order = images(builder, x)
    filters = builder.laid(weight, (*range(2, weight.rank), 1, 0))
    words = words_of(stride=spread(stride, count), padding=spread(padding, count),
                     dilation=spread(dilation, count),
                     output_padding=spread(output_padding, count))
    product = f"conv_transpose({text}, {filters}{words})"
    if bias is not None:
        product += f" + {builder.plain(bias)}"
    return builder.define(product, order=order)


def pool(builder: Builder, function: str, x: Value, window: Any, stride: Any, padding: Any,
         words: str = "", **how: Any) -> Value:
    """Pooling of images; the windows that begin within them are all complete."""
    count = x.rank - 2
    window = spread(window, count)
    stride = spread(stride, count) if stride else window
    text, order = images(builder, x)
    text = (f"{function}({text}, {list_text(window)}, stride = {list_text(stride)}"
            f"{words_of(padding=spread(padding, count))}{words})")
    return builder.define(text, order=order, **how)


@operator("max_pool1d.default", "max_pool2d.default", "max_pool3d.default")
def max_pool(builder: Builder, x: Value, window: Any, stride: Any = (), padding: Any = 0,
             dilation: Any = 1, ceil_mode: bool = False) -> Value:
    refuse(dilation, ceil_mode, x, window, stride, padding)
    return pool(builder, "max_pool", x, window, stride, padding)


@operator("max_pool2d_with_indices.default", "max_pool3d_with_indices.default")
def max_pool_with_places(builder: Builder, x: Value, window: Any, stride: Any = (),
                         padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False) -> Any:
    refuse(dilation, ceil_mode, x, window, stride, padding)
    shape = builder.node.meta["val"][0].shape
    return pool(builder, "max_pool", x, window, stride, padding, shape=shape, dtype=x.dtype), None


@operator("avg_pool1d.default", "avg_pool2d.default", "avg_pool3d.default")
def avg_pool(builder: Builder, x: Value, window: Any, stride: Any = (), padding: Any = 0,
             ceil_mode: bool = False, count_padding: bool = True) -> Value:
    refuse(1, ceil_mode, x, window, stride, padding)
    words = "" if count_padding else ", count_padding = false"
    return pool(builder, "avg_pool", x, window, stride, padding, words)


def refuse(dilation: Any, ceil_mode: bool, x: Value, window: Any, stride: Any,
           padding: Any) -> None:
    """What pooling in the language lacks. Rounding up changes nothing where windows fit."""
    count = x.rank - 2
    if set(spread(dilation, count)) != {1}:
        raise Unsupported(f"with dilation = {dilation}")
    sides = zip(x.shape[2:], spread(window, count), spread(stride or window, count),
                spread(padding, count))
    if ceil_mode and any((size + 2 * pad - side) % step for size, side, step, pad in sides):
        raise Unsupported("with ceil_mode = True")


@operator("adaptive_avg_pool1d.default", "adaptive_avg_pool2d.default",
          "adaptive_avg_pool3d.default", "_adaptive_avg_pool2d.default")
def adaptive_avg_pool(builder: Builder, x: Value, sizes: Any) -> Value:
    text, order = images(builder, x)
    if set(sizes) == {1}:
        axes = list_text(range(1, x.rank - 1))
        return builder.define(f"mean({text}, axis = {axes}, keep = true)", order=order)
    sizes = builder.node.meta["val"].shape[2:]
    return builder.define(f"adaptive_avg_pool({text}, {list_text(sizes)})", order=order)


@operator("adaptive_max_pool2d.default", "adaptive_max_pool3d.default",
          "adaptive_max_pool1d.default")
def adaptive_max_pool(builder: Builder, x: Value, sizes: Any) -> Any:
    text, order = images(builder, x)
    shape = builder.node.meta["val"][0].shape
    return builder.define(f"adaptive_max_pool({text}, {list_text(shape[2:])})", order=order,
                          shape=shape, dtype=x.dtype), None


@operator("upsample_nearest1d.vec", "upsample_nearest2d.vec", "upsample_nearest3d.vec",
          "upsample_nearest1d.default", "upsample_nearest2d.default", "upsample_nearest3d.default")
def nearest(builder: Builder, x: Value, *, output_size: Any, scale_factors: Any = None,
            scales: Any = None, scales_h: Any = None, scales_w: Any = None,
            scales_d: Any = None) -> Value:
    text, order = images(builder, x)
    sizes = list_text(builder.node.meta["val"].shape[2:])
    return builder.define(f"resize({text}, {sizes})", order=order)


@operator("upsample_bilinear2d.vec", "upsample_bilinear2d.default", "upsample_linear1d.vec")
def linear(builder: Builder, x: Value, *, output_size: Any, align_corners: bool,
           scale_factors: Any = None, scales_h: Any = None, scales_w: Any = None) -> Value:
    if align_corners:
        raise Unsupported("with align_corners = True")
    text, order = images(builder, x)
    sizes = list_text(builder.node.meta["val"].shape[2:])
    return builder.define(f'resize({text}, {sizes}, "bilinear")', order=order)


@operator("pixel_shuffle.default")
def pixel_shuffle(builder: Builder, x: Value, factor: int) -> Value:
    batch, channels, height, width = x.shape
    inner = channels // factor ** 2
    parts = builder.reshaped(x, (batch, inner, factor, factor, height, width), hint="parts")
    moved = builder.transposed(parts, (0, 1, 4, 2, 5, 3))
    return builder.reshaped(moved, (batch, inner, height * factor, width * factor))
