# SPDX-License-Identifier: GPL-3.0-or-later
"""A module and its loss as one graph of ATen operators."""
from __future__ import annotations

import contextlib
import dataclasses
import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch.export.graph_signature import InputKind
from torch.utils import _pytree as pytree

from meshwright.errors import ExportError
from meshwright.exporting.names import RESERVED
from meshwright.exporting.operators import has_translator, load_all

ROOT = "module"  # where the traced module holds the user's


class Step(torch.nn.Module):
    """What is traced: the module's outputs, or the loss of them and the targets."""

    def __init__(self, module: torch.nn.Module, loss: Callable[..., Any] | None):
        super().__init__()
        self.module = module
        self.loss = loss

    def forward(self, args: Any, kwargs: Any, targets: Any) -> dict[str, torch.Tensor]:
        outputs = self.module(*args, **kwargs)
        found = named_outputs(outputs)
        if self.loss is not None:
            found[LOSS] = self.loss(outputs, *targets)
        return found


LOSS = "loss."  # the key of the loss, which is no name of an output


def named_outputs(outputs: Any) -> dict[str, torch.Tensor]:
    """The tensors among outputs: under their keys, or output_0, output_1 …"""
    if isinstance(outputs, torch.Tensor):
        return {"output_0": outputs}
    items = outputs.items() if isinstance(outputs, Mapping) else \
        ((f"output_{i}", value) for i, value in enumerate(outputs)) \
        if isinstance(outputs, (list, tuple)) else ()
    return {str(key): value for key, value in items if isinstance(value, torch.Tensor)}


@dataclasses.dataclass
class Trace:
    """The graph and what its placeholders and results are."""
    program: Any  # torch.export.ExportedProgram
    inputs: dict[str, tuple[str, torch.Tensor]]  # placeholder: name of the input, its example
    buffers: dict[str, str]  # result: name of the buffer that it becomes
    outputs: dict[str, str]  # name: result
    loss: str | None  # result


def trace(module: torch.nn.Module, given: Any, loss: Callable[..., Any] | None) -> Trace:
    """Traces the module in the mode that it is in, for (arguments, keyword arguments, targets)."""
    load_all()
    step = Step(module, loss)
    given = apart(given)
    with quiet():
        program = torch.export.export(step, given, strict=False)
        stop_gradients(program.graph_module)
        program = decomposed(program)
    signature = program.graph_signature
    if signature.user_inputs_to_mutate:
        raise ExportError("the module changes its inputs in place: "
                          + ", ".join(signature.user_inputs_to_mutate.values()))
    results = program.graph_module.graph.output_node().args[0]
    names = [str(getattr(result, "name", "")) for result in results]
    users = names[len(names) - len(signature.user_outputs):]
    outputs = dict(zip(output_keys(program), users))
    loss_result = outputs.pop(LOSS, None)
    return Trace(program, input_names(program, module, given),
                 dict(signature.buffers_to_mutate), outputs, loss_result)


def apart(given: Any) -> Any:
    """The arguments, none of which is the same tensor as another: PyTorch would take them for one,
    as where labels are the tokens."""
    seen: set[int] = set()

    def once(leaf: Any) -> Any:
        if id(leaf) in seen and isinstance(leaf, torch.Tensor):
            return leaf.clone()
        seen.add(id(leaf))
        return leaf

    return pytree.tree_map(once, given)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without PyTorch's warnings on attributes that are set while it traces."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def output_keys(program: Any) -> list[str]:
    """The keys of the dictionary that the traced module returned."""
    template = pytree.tree_unflatten([0] * program.call_spec.out_spec.num_leaves,
                                     program.call_spec.out_spec)
    return list(template)


def stop_gradients(graph_module: Any) -> None:
    """Detaches what leaves a part that runs without gradients: PyTorch's own passes put such a
    part into the graph around it, and forget that it was one."""
    for part in [part for part in graph_module.modules() if hasattr(part, "graph")]:
        for node in list(part.graph.nodes):
            if node.op == "call_function" and is_without_gradients(part, node):
                for result in list(node.users):
                    detach(part.graph, result)
        part.recompile()


def is_without_gradients(part: Any, node: Any) -> bool:
    """Whether a node runs a graph under torch.no_grad()."""
    if getattr(node.target, "__name__", "") != "wrap_with_set_grad_enabled" or node.args[0]:
        return False
    inner = getattr(part, node.args[1].target)
    if any(getattr(other.target, "__name__", "") == "wrap_with_set_grad_enabled"
           and other.args[0] for other in inner.graph.nodes):
        raise ExportError("a part with gradients within one without (enable_grad in no_grad) "
                          "cannot be expressed")
    return True


def detach(graph: Any, result: Any) -> None:
    """Has the users of a float take it without its gradient."""
    value = result.meta.get("val")
    if not isinstance(value, torch.Tensor) or not value.dtype.is_floating_point:
        return
    with graph.inserting_after(result):
        made = graph.call_function(torch.ops.aten.detach.default, (result,))
    made.meta = dict(result.meta)
    result.replace_all_uses_with(made, delete_user_cb=lambda user: user is not made)


def decomposed(program: Any) -> Any:
    """The graph without changes in place, of operators that can be translated as far as PyTorch
    knows what others consist of."""
    table = torch.export.default_decompositions()
    program = program.run_decompositions({})
    while True:
        unknown = {node.target for node in every_node(program.graph_module)
                   if isinstance(node.target, torch._ops.OpOverload)
                   and not has_translator(node.target)}
        chosen = {target: table[target] for target in unknown if target in table}
        if not chosen:
            return program
        before = unknown
        program = program.run_decompositions(chosen)
        if {node.target for node in every_node(program.graph_module)} >= before:
            return program


def every_node(graph_module: Any) -> Iterator[Any]:
    """The calls of a graph, and of the graphs within it."""
    for part in graph_module.modules():
        if hasattr(part, "graph"):
            for node in part.graph.nodes:
                if node.op == "call_function":
                    yield node


def input_names(program: Any, module: torch.nn.Module, given: Any) -> dict[str, Any]:
    """{placeholder: (name, example)}: names are those of the parameters of `forward`, and of the
    targets."""
    leaves = named_leaves(module, given)
    found: dict[str, Any] = {}
    specs = [spec for spec in program.graph_signature.input_specs
             if spec.kind == InputKind.USER_INPUT]
    for spec, (name, value) in zip(specs, leaves, strict=True):
        if isinstance(value, torch.Tensor):
            found[spec.arg.name] = (name + "_" if name in RESERVED else name, value)
    return found


def named_leaves(module: torch.nn.Module, given: Any) -> list[tuple[str, Any]]:
    """The leaves of arguments, keyword arguments and targets, each with a name."""
    args, kwargs, targets = given
    parameters = [p.name for p in inspect.signature(module.forward).parameters.values()
                  if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    parameters += [f"input_{i}" for i in range(len(parameters), len(args))]
    words = ["targets"] if len(targets) == 1 else [f"targets_{i}" for i in range(len(targets))]
    leaves: list[tuple[str, Any]] = []
    for name, value in [*zip(parameters, args), *kwargs.items(), *zip(words, targets)]:
        parts, _ = pytree.tree_flatten_with_path(value)
        leaves += [("_".join([name, *(key_text(key) for key in path)]), leaf)
                   for path, leaf in parts]
    return leaves


def key_text(key: Any) -> str:
    """A key of a path in nested arguments."""
    return str(getattr(key, "key", getattr(key, "idx", getattr(key, "name", key))))
