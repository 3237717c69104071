# SPDX-License-Identifier: GPL-3.0-or-later
"""The size of the batch as a size of the model.

PyTorch gives the numbers of one batch. The module is exported with three batches, of B, 2B and 3B
rows, and the texts are compared: numbers that are a * batch + c in all three are written so. Where
the texts differ in another way, the numbers of the example stay."""
from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree as pytree

MULTIPLES = (1, 2, 3)
NAME = "batch"
# Numbers that are no part of a name, and the text between them.
NUMBER = re.compile(r"(?<![\w.])(\d+(?:\.\d*)?(?:e[+-]?\d+)?)(?![\w.])")


def rows_of(given: Any) -> int | None:
    """The size of the batch: dimension 0 of the first tensor."""
    for leaf in pytree.tree_leaves(given):
        if isinstance(leaf, torch.Tensor):
            return leaf.shape[0] if leaf.dim() else None
    return None


def resized(given: Any, rows: int, multiple: int) -> Any:
    """The arguments with so many times the rows, where they have those of the batch."""
    def larger(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor) and leaf.dim() and leaf.shape[0] == rows:
            return torch.cat([leaf] * multiple) if multiple > 1 else leaf
        return leaf

    return pytree.tree_map(larger, given)


def sized(text: str, rows: int, export: Callable[[int], str]) -> str:
    """The text with a size `batch`, where there is one; `export` gives the text of multiples of
    the rows. Modules that cannot be traced with more rows keep the numbers of the example."""
    if re.search(rf"(?<! with )\b{NAME}\b", text):  # a name; not an input that is given whole
        return text
    was_disabled = logging.root.manager.disable
    logging.disable()  # PyTorch logs shapes that do not fit
    try:
        texts = [text, *(export(multiple) for multiple in MULTIPLES[1:])]
    except Exception:  # whatever PyTorch, or the module itself, raises on shapes
        return text
    finally:
        logging.disable(was_disabled)
    found = with_size(texts, rows, NAME)
    return f"size {NAME} = {rows}\n\n{found}" if found and found != text else text


def with_size(texts: list[str], rows: int, name: str) -> str | None:
    """The text for any size of the batch, which has the name; None if there is none."""
    parts = [NUMBER.split(text) for text in texts]
    if len({len(split) for split in parts}) != 1:
        return None
    found = []
    for index, words in enumerate(zip(*parts)):
        if len(set(words)) == 1:
            found.append(words[0])
            continue
        number = formula(words, rows, name) if index % 2 else None
        if number is None:
            return None
        between = found[-1].rstrip()[-1:], parts[0][index + 1].lstrip()[:1]
        is_alone = between[0] in "[," and between[1] in "],"
        found.append(number if is_alone or number == name else f"({number})")
    return "".join(found)


def formula(words: tuple[str, ...], rows: int, name: str) -> str | None:
    """a * batch + c for the numbers of the batches, if they are that."""
    is_float = any("." in word or "e" in word for word in words)
    values = [float(word) for word in words]
    if any(value != int(value) for value in values):
        return None
    step, rest = divmod(int(values[1] - values[0]), rows)
    constant = int(values[0]) - step * rows
    if rest or step <= 0 or any(value != step * rows * multiple + constant
                                for value, multiple in zip(values, MULTIPLES)):
        return None
    text = name if step == 1 else f"{step} * {name}"
    if is_float:
        text = f"{float(step)!r} * {name}"
    return text + (f" {'+' if constant > 0 else '-'} {abs(constant)}" if constant else "")
