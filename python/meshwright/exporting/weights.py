# SPDX-License-Identifier: GPL-3.0-or-later
"""The tensors that a graph takes: parameters, buffers, and constants of the user's code."""
from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch.export.graph_signature import InputKind

from meshwright.exporting.builder import type_name
from meshwright.exporting.trace import ROOT, Trace
from meshwright.exporting.values import list_text, number_text

HELD = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)


@dataclasses.dataclass
class Held:
    """A tensor that a placeholder stands for. Placeholders of tied weights have one name, the
    first in the module."""
    name: str
    tensor: torch.Tensor
    is_parameter: bool
    changes: bool = False


def held_tensors(trace: Trace, module: torch.nn.Module) -> dict[str, Held]:
    """{placeholder: tensor}."""
    first: dict[int, str] = {}
    named = {**dict(module.named_parameters(remove_duplicate=False)),
             **dict(module.named_buffers(remove_duplicate=False))}
    for name, tensor in named.items():
        first.setdefault(id(tensor), name)
    changed = set(trace.buffers.values())
    found = {}
    for spec in trace.program.graph_signature.input_specs:
        if spec.kind not in HELD:
            continue
        name = str(spec.target).removeprefix(ROOT + ".")
        tensor = named[name] if name in named else constant_of(trace.program, spec.target)
        found[spec.arg.name] = Held(first.get(id(tensor), name), tensor,
                                    spec.kind == InputKind.PARAMETER, spec.target in changed)
    return found


def constant_of(program: Any, name: str) -> torch.Tensor:
    """A tensor that the user's code made outside of the modules, or a weight of the loss."""
    for place in (program.constants, program.state_dict):
        if name in place:
            return place[name]
    raise KeyError(name)


def as_expression(tensor: torch.Tensor) -> str | None:
    """A tensor that need not be kept in a file: of one value, positions along its last axis, or a
    triangle of truth values."""
    kind = type_name(tensor.dtype)
    if tensor.numel() == 0:
        return None
    if bool((tensor == tensor.reshape(-1)[0]).all()):
        number = number_text(tensor.reshape(-1)[0].item(), tensor.dtype.is_floating_point)
        return f"constant({number.strip('()')}, {list_text(tensor.shape)}, type = {kind})"
    if tensor.dtype == torch.bool or tensor.dim() == 0:
        return triangle_text(tensor)
    positions = torch.arange(tensor.shape[-1], dtype=tensor.dtype)
    if bool((tensor == positions).all()):
        return f"iota({list_text(tensor.shape)}, axis = {tensor.dim() - 1}, type = {kind})"
    return None


def triangle_text(tensor: torch.Tensor) -> str | None:
    """The mask of causal attention."""
    if tensor.dim() < 2 or tensor.dtype != torch.bool:
        return None
    if not torch.equal(tensor, torch.ones_like(tensor).tril()):
        return None
    shape, rank = list_text(tensor.shape), tensor.dim()
    return f"iota({shape}, axis = {rank - 1}) <= iota({shape}, axis = {rank - 2})"
