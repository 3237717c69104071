# SPDX-License-Identifier: GPL-3.0-or-later
"""Matrix products and einsum."""
from __future__ import annotations

import string
from typing import Any

from meshwright.exporting.builder import Builder
from meshwright.exporting.operators import operator
from meshwright.exporting.values import Value, number_text


def operand_letters(value: Value, letters: str) -> tuple[str, str]:
    """What is stored of an operand of einsum, and the letters of its dimensions: letters follow
    the order in which a value is stored, so that no transpose is needed."""
    if value.plain is not None:
        return value.plain, letters
    stored = [""] * value.rank
    for dimension, letter in enumerate(letters):
        stored[value.order[dimension]] = letter
    return value.stored, "".join(stored)


def contract(builder: Builder, equation: str, *values: Value, **how: Any) -> Value:
    """An einsum whose equation has the letters of PyTorch's orders."""
    terms, result = equation.split("->")
    dtype = how.get("dtype") or builder.node.meta["val"].dtype
    texts, letters = [], []
    for value, term in zip(values, terms.split(",")):
        text, stored = operand_letters(value, term)
        texts.append(text if value.dtype == dtype else builder.operand(value, dtype))
        letters.append(stored if value.dtype == dtype else term)
    return builder.define(f'einsum("{",".join(letters)}->{result}", {", ".join(texts)})', **how)


@operator("linear.default")
def linear(builder: Builder, x: Value, weight: Value, bias: Value | None = None) -> Value:
    batch = string.ascii_lowercase[:x.rank - 1]
    equation = f"{batch}y,zy->{batch}z" if weight.rank == 2 else f"{batch}y,y->{batch}"
    product = contract(builder, equation, x, weight, hint="product" if bias else None)
    return builder.elementwise("{} + {}", product, bias) if bias else product


@operator("mm.default", "bmm.default", "matmul.default", "mv.default", "dot.default")
def matmul(builder: Builder, x: Value, y: Value) -> Value:
    if x.rank >= 2 and y.rank >= 2:
        shared = x.shape[:-2] if x.shape[:-2] == y.shape[:-2] else None
        if shared is not None or y.rank == 2:
            batch = string.ascii_lowercase[:x.rank - 2]
            other = batch if shared is not None else ""
            return contract(builder, f"{batch}xy,{other}yz->{batch}xz", x, y)
    dtype = builder.node.meta["val"].dtype
    return builder.define(f"{builder.operand(x, dtype)} @ {builder.operand(y, dtype)}")


@operator("addmm.default", "baddbmm.default")
def addmm(builder: Builder, bias: Value, x: Value, y: Value, *, beta: Any, alpha: Any) -> Value:
    batch = "a" * (x.rank == 3)
    product = contract(builder, f"{batch}xy,{batch}yz->{batch}xz", x, y, hint="product")
    if alpha == beta == 1:
        return builder.elementwise("{} + {}", product, bias)
    return builder.elementwise(f"{number_text(alpha, True)} * {{}} + {number_text(beta, True)} * "
                               "{}", product, bias)


@operator("outer.default")
def outer(builder: Builder, x: Value, y: Value) -> Value:
    return contract(builder, "a,b->ab", x, y)


@operator("einsum.default")
def einsum(builder: Builder, equation: str, values: Any) -> Value:
    equation = equation.replace(" ", "")
    if "..." not in equation and "->" in equation:
        return contract(builder, equation, *values)
    dtype = builder.node.meta["val"].dtype
    texts = ", ".join(builder.operand(value, dtype) for value in values)
    return builder.define(f'einsum("{with_result(equation)}", {texts})')


def with_result(equation: str) -> str:
    """The equation with the letters of its result, which PyTorch lets one leave out: those that
    stand once, in alphabetical order, capitals first."""
    if "->" in equation:
        return equation
    letters = sorted(letter for letter in set(equation) - set(",.") if equation.count(letter) == 1)
    return f"{equation}->{'...' if '...' in equation else ''}{''.join(letters)}"
