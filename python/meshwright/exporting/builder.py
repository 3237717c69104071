# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the statements of the flat model, node after node of the ATen graph."""
from __future__ import annotations

from typing import Any

import torch

from meshwright.exporting.names import Names, module_path
from meshwright.exporting.values import (Order, Unsupported, Value, composed, inverse, list_text,
                                         number_text, straight)

TYPES = {torch.float32: "f32", torch.bfloat16: "bf16", torch.float16: "f16", torch.int32: "i32",
         torch.int64: "i64", torch.int8: "i8", torch.uint8: "u8", torch.bool: "bool"}


def type_name(dtype: torch.dtype) -> str:
    """The element type in the language."""
    if dtype not in TYPES:
        raise Unsupported(f"values of {dtype} are not in the language")
    return TYPES[dtype]


def type_text(dtype: torch.dtype, shape: Any) -> str:
    """A type with sizes, as declarations have it."""
    return type_name(dtype) + list_text(shape)


class Builder:
    """The statements so far, and the means to add more. `node` is the node whose statements are
    being written: values get the name of its module and of its operator."""

    def __init__(self, names: Names, root: str):
        self.names, self.root = names, root
        self.lines: list[str] = []
        self.node: Any = None
        self.indent = "  "
        self.examples: dict[str, torch.Tensor] = {}

    # ---- Names and statements ----

    def local_name(self, hint: str | None = None) -> str:
        """A new name in the module of the node: the name of its operator, or the hint."""
        if hint is None:
            target = self.node.target
            hint = target._schema.name.split("::")[-1].strip("_") \
                if hasattr(target, "_schema") else self.node.name
        path = module_path(self.node.meta, self.root)
        return self.names.reserve(f"{path}.{hint}" if path else hint)

    def say(self, line: str) -> None:
        """Adds a statement as it stands."""
        self.lines.append(self.indent + line)

    def define(self, text: str, *, shape: Any = None, dtype: torch.dtype | None = None,
               order: Order | None = None, hint: str | None = None) -> Value:
        """Names the value of an expression. Shape and type are those of the node's result unless
        they are given; the shape is PyTorch's, whatever the order."""
        example = self.node.meta.get("val")
        shape = tuple(example.shape) if shape is None else tuple(shape)
        dtype = dtype or example.dtype
        type_name(dtype)
        name = self.local_name(hint)
        self.say(f"{name} = {text}")
        return Value(name, shape, dtype, order or straight(len(shape)))

    # ---- Operands ----

    def laid(self, value: Value, order: Order) -> str:
        """The text of transpose(value, order)."""
        if order == straight(value.rank) and value.plain:
            return value.plain
        inner = composed(value.order, order)
        if inner == straight(value.rank):
            return value.stored
        return f"transpose({value.stored}, {list_text(inner)})"

    def plain(self, value: Value) -> str:
        """The name of the value in PyTorch's order, which is made where there is none yet."""
        if value.plain is None:
            text = self.laid(value, straight(value.rank))
            if text != value.stored:
                name = self.local_name("transposed")
                self.say(f"{name} = {text}")
                text = name
            value.plain = text
        return value.plain

    def operand(self, operand: Any, dtype: torch.dtype, layout: Order | None = None) -> str:
        """The text of an operand in a type: a number, or a value whose `layout` orders the stored
        dimensions of the result (None: PyTorch's order)."""
        if not isinstance(operand, Value):
            return number_text(operand, dtype.is_floating_point)
        if layout is None or operand.rank != len(layout):
            text = self.plain(operand)
        else:
            text = self.laid(operand, inverse(layout))
        return text if operand.dtype == dtype else f"cast({text}, {type_name(dtype)})"

    def layout_of(self, operands: Any, rank: int) -> Order | None:
        """In which order to store the result of an element-wise operator: as its largest operand
        is, if the others can follow."""
        values = [operand for operand in operands if isinstance(operand, Value) and operand.rank]
        if any(value.rank != rank for value in values):
            return None
        moved = [value for value in values if not value.is_stored_plain and value.plain is None]
        if not moved:
            return None
        largest = max(moved, key=lambda value: value.elements)
        return largest.order if largest.elements == max(value.elements for value in values) \
            else None

    def elementwise(self, template: str, *operands: Any, compute: torch.dtype | None = None,
                    dtype: torch.dtype | None = None) -> Value:
        """The value of a template such as "{} + {}" of operands, which broadcast. They are cast to
        the type `compute`, which is that of the result unless it is given."""
        example = self.node.meta["val"]
        compute = compute or dtype or example.dtype
        layout = self.layout_of(operands, example.dim())
        texts = [self.operand(operand, compute, layout) for operand in operands]
        return self.define(template.format(*texts), order=layout, dtype=dtype)

    def constant(self, number: Any, shape: Any, dtype: torch.dtype) -> str:
        """The text of a tensor of one value."""
        text = number_text(number, dtype.is_floating_point)
        return f"constant({text.strip('()')}, {list_text(shape)}, type = {type_name(dtype)})"

    def reshaped(self, value: Value, shape: Any, hint: str | None = None) -> Value:
        """The value in another shape."""
        shape = tuple(int(size) for size in shape)
        if shape == value.shape:
            return value
        made = self.define(f"reshape({self.plain(value)}, {list_text(shape)})", shape=shape,
                           dtype=value.dtype, hint=hint)
        made.leaf = value.leaf
        return made

    def transposed(self, value: Value, order: Order) -> Value:
        """transpose(value, order), which is only remembered."""
        return Value(value.stored, tuple(value.shape[dimension] for dimension in order),
                     value.dtype, composed(value.order, order), leaf=value.leaf)
