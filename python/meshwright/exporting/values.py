# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of the flat model while it is written.

A value may be stored with its dimensions in another order: the logical value, which is PyTorch's,
is `transpose(stored, order)`. So transposes cost nothing until an operator needs another order:
images stay [batch, height, width, channels] through a network of convolutions, and attention takes
[batch, sequence, heads, head] where a model makes that from [batch, heads, sequence, head]."""
from __future__ import annotations

import dataclasses
import math
from typing import Any

Order = tuple[int, ...]


class Unsupported(Exception):
    """Why an operator, as it is called, cannot be expressed."""


@dataclasses.dataclass(eq=False)
class Value:
    """A tensor of the model. `stored` is the text of what is stored, a name or a call; `plain`,
    once there is one, the name of the value in PyTorch's order. `leaf` is the input that the value
    is a mere view of, if any."""
    stored: str
    shape: tuple[int, ...]
    dtype: Any
    order: Order
    plain: str | None = None
    leaf: str | None = None

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def elements(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def is_stored_plain(self) -> bool:
        """Whether it is stored in PyTorch's order."""
        return self.order == straight(self.rank)


def straight(rank: int) -> Order:
    """The order of PyTorch."""
    return tuple(range(rank))


def inverse(order: Order) -> Order:
    """The order that undoes another."""
    return tuple(order.index(dimension) for dimension in range(len(order)))


def composed(order: Order, after: Order) -> Order:
    """The order of transpose(transpose(x, order), after) in terms of x."""
    return tuple(order[dimension] for dimension in after)


def list_text(numbers: Any) -> str:
    """A list of numbers in the language."""
    return f"[{', '.join(str(int(number)) for number in numbers)}]"


def number_text(number: Any, is_float: bool) -> str:
    """A number as an operand: a fraction has a point or an exponent, others have none."""
    if isinstance(number, bool):
        return "true" if number else "false"
    if is_float:
        number = float(number)
        text = repr(number) if math.isfinite(number) else \
            "nan" if math.isnan(number) else "inf" if number > 0 else "-inf"
    else:
        text = str(int(number))
    return f"({text})" if text.startswith("-") else text
