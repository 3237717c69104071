# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules of PyTorch as `.graph` files, with their weights in safetensors files."""
from __future__ import annotations

import dataclasses
import os
import pathlib
import re
from collections.abc import Callable, Mapping
from typing import Any

from meshwright import safetensors
from meshwright.errors import ExportError, ToolError
from meshwright.plans import Plan, Program, compile, plan
from meshwright.tools import call, find_tool


@dataclasses.dataclass(frozen=True)
class Exported:
    """What `export` wrote: a model and its weights. `inputs` are the names of its inputs, with
    their types and shapes as the language has them."""
    path: pathlib.Path
    weights: pathlib.Path
    inputs: dict[str, str]

    def plan(self, output: str | os.PathLike[str] | None = None, **options: Any) -> Plan:
        """Plans it: see `meshwright.plan`."""
        return plan(self, output, **options)

    def compile(self, output: str | os.PathLike[str] | None = None, **options: Any) -> Program:
        """Compiles it: see `meshwright.compile`."""
        return compile(self, output, **options)


def export(module: Any, inputs: Any, *, targets: Any = (), loss: Any = None,
           optimizer: Any = None, train: Mapping[str, Any] | None = None,
           path: str | os.PathLike[str] = "model.graph", outputs: bool | None = None,
           batch_size: bool = True, fold: bool = True) -> Exported:
    """Writes a module as a model, and its weights beside it.

    `inputs` are examples of the arguments of `module.forward`: a tensor, a tuple of arguments, or
    a dictionary of keyword arguments. Dimension 0 of the first is the batch. The module is
    exported in the mode that it is in: `module.train()` for training.

    `optimizer`, one of torch.optim on the module's parameters, makes the model train. The loss is
    `loss(outputs, *targets)` if `loss` is a function; a key or an attribute of the outputs if it is
    a text; by default the outputs' `loss`, or the output itself if that is one number. `train` are
    further options of the train statement, such as {"clip_norm": 1.0, "warmup_steps": 100}.

    `outputs` says whether the module's outputs are outputs of the model; by default only those of
    a model that does not train are. The size of the batch is a size of the model, `batch`, where
    all others follow from it; `batch_size = False` does not look for that. `fold = False` leaves
    the model flat, without blocks."""
    try:
        from meshwright.exporting import batch
        from meshwright.exporting.model import Wanted, model_of
    except ModuleNotFoundError as trouble:
        if trouble.name != "torch":
            raise
        raise ExportError("to export a module needs PyTorch (torch), which is not there") from None
    if optimizer is None and train:
        raise ExportError("options of training need an optimizer")
    if not hasattr(module, "named_parameters"):
        raise ExportError(f"{module!r} is no module of PyTorch")
    args, kwargs = arguments(inputs)
    goals = tuple(targets) if isinstance(targets, (list, tuple)) else (targets,)
    wanted = Wanted(loss_function(loss) if optimizer is not None or loss is not None else None,
                    optimizer, dict(train or {}), outputs)
    model = model_of(module, (args, kwargs, goals), wanted)
    text, given = model.text(), (args, kwargs, goals)
    rows = batch.rows_of(given) if batch_size else None
    if rows:
        text = batch.sized(text, rows, lambda multiple: model_of(
            module, batch.resized(given, rows, multiple), wanted).text())
    return written(pathlib.Path(path), text, model.weights, fold)


def arguments(inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional arguments and keyword arguments."""
    if isinstance(inputs, Mapping):
        return (), dict(inputs)
    return (tuple(inputs) if isinstance(inputs, (list, tuple)) else (inputs,)), {}


def loss_function(loss: Any) -> Callable[..., Any]:
    """The loss of outputs and targets."""
    if callable(loss):
        return loss
    key = "loss" if loss is None else str(loss)

    def of_outputs(outputs: Any, *targets: Any) -> Any:
        if isinstance(outputs, Mapping) and key in outputs:
            return outputs[key]
        if hasattr(outputs, key):
            return getattr(outputs, key)
        if loss is None and hasattr(outputs, "dim") and outputs.dim() == 0:
            return outputs
        raise ExportError(f"the outputs have no '{key}': say what the loss is, as in loss = "
                          "torch.nn.functional.cross_entropy")
    return of_outputs


def written(path: pathlib.Path, text: str, tensors: dict[str, Any], fold: bool) -> Exported:
    """Writes both files; the model with blocks and repeats where the tool can."""
    weights = safetensors.save(path.with_suffix(".safetensors"), tensors)
    if fold and can_import():
        flat = path.with_suffix(".flat.graph")
        flat.write_text(text)
        call([find_tool(), "import", flat, "-o", path])
        flat.unlink()
    else:
        path.write_text(text)
    found = re.findall(r"^  input ([\w.]+): (\w+\[[^\]]*\])", text, re.MULTILINE)
    return Exported(path, weights, dict(found))


def can_import() -> bool:
    """Whether the tool makes blocks of flat models."""
    try:
        return re.search(r"^\s+import\s", call([find_tool(), "--help"]), re.MULTILINE) is not None
    except ToolError:
        return False
