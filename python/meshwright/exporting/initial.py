# SPDX-License-Identifier: GPL-3.0-or-later
"""What a weight begins with where no file of weights is given: the initialiser of the language that
is nearest to what it holds. Weights of one shape whose names differ in numbers alone get the same,
so that layers stay alike."""
from __future__ import annotations

import collections
import math
import re

import torch

MOST_ELEMENTS = 1 << 16  # that are looked at, of each weight


def pattern(name: str, tensor: torch.Tensor) -> tuple[str, tuple[int, ...]]:
    """What weights that are alike have in common."""
    return re.sub(r"\b\d+\b", "*", name), tuple(tensor.shape)


def initialisers(tensors: dict[str, torch.Tensor]) -> dict[str, str]:
    """The text of the initialiser of each."""
    alike = collections.defaultdict(list)
    for name, tensor in tensors.items():
        alike[pattern(name, tensor)].append(sample(tensor))
    texts = {key: text_of(torch.cat(samples), key[1]) for key, samples in alike.items()}
    return {name: texts[pattern(name, tensor)] for name, tensor in tensors.items()}


def sample(tensor: torch.Tensor) -> torch.Tensor:
    """Some elements of a tensor, evenly spaced."""
    flat = tensor.detach().reshape(-1)
    return flat[::max(1, flat.numel() // MOST_ELEMENTS)].double().cpu()


def text_of(values: torch.Tensor, shape: tuple[int, ...]) -> str:
    """zeros, ones, a constant, or a distribution of the same deviation: uniform where the
    greatest element is no more than that has."""
    if values.numel() == 0 or bool((values == 0).all()):
        return "zeros"
    first = values[0].item()
    if bool((values == first).all()):
        return "ones" if first == 1 else f"constant({first!r})"
    if not bool(torch.isfinite(values).all()):
        return "zeros"
    most, deviation = values.abs().max().item(), values.std().item()
    if values.numel() >= 16 and most < 1.8 * deviation:
        return f"uniform({rounded(math.sqrt(3) * deviation)!r})"
    return f"normal({rounded(deviation)!r})"


def rounded(number: float) -> float:
    """A number with two digits: what it is of a sample is not known better."""
    return float(f"{number:.1e}")
