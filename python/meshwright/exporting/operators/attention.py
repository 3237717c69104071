# SPDX-License-Identifier: GPL-3.0-or-later
"""Scaled dot-product attention."""
from __future__ import annotations

import math
from typing import Any

import torch

from meshwright.exporting.builder import Builder, type_name
from meshwright.exporting.operators import operator
from meshwright.exporting.values import Unsupported, Value, list_text

# Of [batch, heads, sequence, head] in PyTorch's order: [batch, sequence, heads, head].
SEQUENCE_FIRST = (0, 2, 1, 3)


@operator("scaled_dot_product_attention.default")
def attention(builder: Builder, q: Value, k: Value, v: Value, mask: Value | None = None,
              dropout: float = 0.0, causal: bool = False, *, scale: float | None = None) -> Value:
    shape = builder.node.meta["val"].shape
    if q.rank != 4:
        q, k, v = (four_dimensional(builder, x) for x in (q, k, v))
        if mask is not None and mask.rank == 3 and q.shape[1] == 1:
            mask = builder.reshaped(mask, (mask.shape[0], 1, *mask.shape[1:]))
    if dropout:
        found = explicit(builder, q, k, v, mask, (dropout, causal, scale))
    else:
        found = fused(builder, q, k, v, mask, (causal, scale))
    return builder.reshaped(found, shape)


def four_dimensional(builder: Builder, x: Value) -> Value:
    """[.., sequence, head] as [batch, heads, sequence, head]: what is before the heads is one
    batch."""
    if x.rank < 4:
        return builder.reshaped(x, (*x.shape[:-2], *(1,) * (4 - x.rank), *x.shape[-2:]))
    return builder.reshaped(x, (math.prod(x.shape[:-3]), *x.shape[-3:]))


def result_shape(q: Value, v: Value) -> tuple[int, ...]:
    """The shape of attention's result."""
    return (*q.shape[:3], v.shape[3])


def fused(builder: Builder, q: Value, k: Value, v: Value, mask: Value | None, how: Any) -> Value:
    """The function sdpa of the language."""
    causal, scale = how
    texts = [builder.laid(x, SEQUENCE_FIRST) for x in (q, k, v)]
    if causal:
        texts.append("causal = true")
    if scale is not None and not math.isclose(scale, 1 / math.sqrt(q.shape[-1]), rel_tol=1e-9):
        texts.append(f"scale = {scale!r}")
    if mask is not None:
        dtype = torch.bool if mask.dtype == torch.bool else q.dtype
        wide = builder.reshaped(mask, (1,) * (4 - mask.rank) + mask.shape, hint="mask")
        texts.append(f"mask = {builder.operand(wide, dtype)}")
    return builder.define(f"sdpa({', '.join(texts)})", shape=result_shape(q, v), dtype=q.dtype,
                          order=SEQUENCE_FIRST)


def explicit(builder: Builder, q: Value, k: Value, v: Value, mask: Value | None,
             how: Any) -> Value:
    """Attention in which probabilities drop out, which the language has no function for."""
    dropout, causal, scale = how
    if k.shape[1] != q.shape[1]:
        raise Unsupported("with fewer heads of keys, and dropout")
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    texts = [builder.laid(x, SEQUENCE_FIRST) for x in (q, k, v)]
    shape = (*q.shape[:3], k.shape[2])
    scores = f'einsum("bqhd,bkhd->bhqk", {texts[0]}, {texts[1]}) * {scale!r}'
    if mask is not None and mask.dtype != torch.bool:
        scores += f" + {builder.operand(mask, q.dtype)}"
    found = builder.define(scores, shape=shape, dtype=q.dtype, hint="scores")
    allowed = []
    if causal:
        sizes = list_text(shape[2:])
        allowed.append(f"(iota({sizes}, axis = 1) <= iota({sizes}, axis = 0))")
    if mask is not None and mask.dtype == torch.bool:
        allowed.append(builder.plain(mask))
    if allowed:
        lowest = f"constant(-inf, {list_text(shape)}, type = {type_name(q.dtype)})"
        found = builder.define(f"where({' and '.join(allowed)}, {found.stored}, {lowest})",
                               shape=shape, dtype=q.dtype, hint="allowed")
    weights = builder.define(f"dropout(softmax({found.stored}), {dropout!r})", shape=shape,
                             dtype=q.dtype, hint="weights")
    return builder.define(f'einsum("bhqk,bkhd->bqhd", {weights.stored}, {texts[2]})',
                          shape=result_shape(q, v), dtype=q.dtype, order=SEQUENCE_FIRST)
