# SPDX-License-Identifier: GPL-3.0-or-later
"""How each operator of ATen is expressed: functions by the names of operators.

To add one, write a function in the file of its subject and decorate it with the names. It gets the
builder and the operator's arguments: positional parameters by their place in ATen's schema,
parameters after `*` by their name in it. Tensors are Values. What the function has no parameter
for must have its default, or be one of IGNORED."""
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from meshwright.exporting.values import Unsupported

Translator = Callable[..., Any]
TRANSLATORS: dict[str, Translator] = {}
# Arguments that do not change the values of a result.
IGNORED = frozenset("device layout pin_memory memory_format non_blocking copy sparse generator "
                    "cudnn_enabled cudnn_enable implicit benchmark deterministic allow_tf32 "
                    "is_coalesced enable_gqa".split())


def operator(*names: str) -> Callable[[Translator], Translator]:
    """Registers a translator for operators such as "add.Tensor"."""
    def register(function: Translator) -> Translator:
        for name in names:
            TRANSLATORS[name] = function
        return function
    return register


def name_of(target: Any) -> str:
    """The name of an operator in the table."""
    return str(target).removeprefix("aten.")


def has_translator(target: Any) -> bool:
    """Whether the table has an operator."""
    return name_of(target) in TRANSLATORS


def translate(builder: Any, target: Any, args: Any, kwargs: Any) -> Any:
    """Writes the statements of a call; its value, or those of its results."""
    function = TRANSLATORS[name_of(target)]
    by_place, by_name = [], {}
    parameters = list(inspect.signature(function).parameters.values())[1:]
    places = sum(p.kind is not p.KEYWORD_ONLY for p in parameters)
    named = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
    for index, argument in enumerate(target._schema.arguments):
        given = args[index] if index < len(args) else kwargs.get(argument.name,
                                                                 argument.default_value)
        if argument.name in named:
            by_name[argument.name] = given
        elif index < places:
            by_place.append(given)
        elif argument.name not in IGNORED and given != argument.default_value:
            raise Unsupported(f"with {argument.name} = {given}")
    return function(builder, *by_place, **by_name)


def load_all() -> None:
    """Fills the table."""
    from meshwright.exporting.operators import (arithmetic, attention, constants, contractions,
                                                indexing, losses, norms, recurrent, reductions,
                                                shapes, windows)
    assert all((arithmetic, attention, constants, contractions, indexing, losses, norms, recurrent,
                reductions, shapes, windows))
