# SPDX-License-Identifier: GPL-3.0-or-later
"""A module as the text of a flat model."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch

from meshwright.exporting.names import legal
from meshwright.exporting.optimizers import Weights, train_statements
from meshwright.exporting.trace import trace
from meshwright.exporting.translation import Translation


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What a model is to compute: a loss, and how it trains; whether it has outputs."""
    loss: Callable[..., Any] | None
    optimizer: Any
    train: dict[str, Any]
    outputs: bool | None


@dataclasses.dataclass(frozen=True)
class Model:
    """A flat model, and its weights by name."""
    name: str
    lines: list[str]
    weights: dict[str, torch.Tensor]

    def text(self) -> str:
        """The text of the file."""
        return "\n".join([f"model {self.name} {{", *self.lines, "}", ""])


def model_of(module: torch.nn.Module, given: Any, wanted: Wanted) -> Model:
    """Exports a module for arguments, keyword arguments and targets."""
    found = trace(module, given, wanted.loss)
    outputs = found.loss is None if wanted.outputs is None else wanted.outputs
    translation = Translation(found, module, outputs)
    lines = translation.run()
    if wanted.optimizer is not None:
        names = {id(parameter): name for name, parameter in module.named_parameters()}
        weights = Weights(names, translation.trained, translation.with_gradients())
        lines += ["  " + statement for statement in train_statements(
            wanted.optimizer, weights, translation.loss, wanted.train)]
    elif found.loss:
        lines.append(f"  output loss = {translation.loss}")
    return Model(legal(type(module).__name__.lower()), lines, translation.weights)
