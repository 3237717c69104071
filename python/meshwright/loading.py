# SPDX-License-Identifier: GPL-3.0-or-later
"""Trained weights back into a module."""
from __future__ import annotations

import json
import os
import pathlib
import re
from collections.abc import Mapping
from typing import Any

from meshwright import safetensors
from meshwright.arrays import Array
from meshwright.errors import MeshwrightError
from meshwright.exporting.names import legal

INDEX = "model.safetensors.index.json"


def tensors_of(path: str | os.PathLike[str]) -> Mapping[str, Array]:
    """The weights in a safetensors file, in a checkpoint, or in the newest checkpoint of a
    folder."""
    place = pathlib.Path(path)
    if place.is_file():
        return safetensors.File(place)
    if not (place / "manifest").is_file():
        steps = sorted((folder for folder in place.glob("step-*")
                        if re.fullmatch(r"step-\d+", folder.name)),
                       key=lambda folder: int(folder.name.split("-")[1]))
        if not steps:
            raise MeshwrightError(f"{place} is neither a file of weights nor a checkpoint, and "
                                  "has none")
        place = steps[-1]
    if (place / INDEX).is_file():
        return Parts(place)
    return safetensors.File(place / "model.safetensors")


class Parts(Mapping[str, Array]):
    """Weights in several files, which an index lists."""

    def __init__(self, folder: pathlib.Path):
        try:
            index = json.loads((folder / INDEX).read_text())["weight_map"]
            self.files = {name: folder / pathlib.PurePath(file).name
                          for name, file in index.items()}
        except (ValueError, KeyError, TypeError, AttributeError):
            raise MeshwrightError(f"{folder / INDEX}: this is no index of weights") from None
        self.opened: dict[pathlib.Path, safetensors.File] = {}

    def __getitem__(self, name: str) -> Array:
        path = self.files[name]
        if path not in self.opened:
            self.opened[path] = safetensors.File(path)
        return self.opened[path][name]

    def __iter__(self) -> Any:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)


def load(module: Any, path: str | os.PathLike[str]) -> Any:
    """Loads weights into a module of PyTorch: those of a safetensors file, of a checkpoint, or of
    the newest checkpoint in a folder. Buffers such as running statistics are among them. What the
    model did not use keeps its values. Returns the module."""
    import torch
    tensors = tensors_of(path)
    places = {legal(name): tensor for name, tensor in
              [*module.named_buffers(), *module.named_parameters()]}
    known = [name for name in tensors if name in places]
    if not known:
        raise MeshwrightError(f"{path}: none of its tensors has the name of one of the module's: "
                              f"they are {', '.join(list(tensors)[:3])} …")
    held = {name: tensors[name] for name in known}
    wrong = [f"{name} is {list(value.shape)}, the module's {list(places[name].shape)}"
             for name, value in held.items() if value.shape != tuple(places[name].shape)]
    if wrong:
        raise MeshwrightError("\n  ".join([f"{path} does not fit the module:", *wrong]))
    with torch.no_grad():
        for name, value in held.items():
            places[name].copy_(as_tensor(torch, value))
    return module


def as_tensor(torch: Any, value: Array) -> Any:
    """A tensor of an array's elements."""
    from meshwright.arrays import BY_TORCH
    dtype = getattr(torch, next(name for name, kind in BY_TORCH.items() if kind == value.type))
    if not value.bytes:
        return torch.empty(value.shape, dtype=dtype)
    return torch.frombuffer(value.data, dtype=dtype).reshape(value.shape)
